/* SPDX-License-Identifier: Apache-2.0 */
/* The guard, and holdfast's side of it. See guard.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/group.h"
#include "cli/guard.h"
#include "cli/message.h"

#define NAME         "holdfast-guard"
#define RETRY_MIN_MS 1
#define RETRY_MAX_MS 50

struct duty {
    struct cli_board *board;
    pid_t group;
    int alive; /* read end: ends when holdfast has died */
    int gate;
    int keep;
};

/* ------------------------------------------------------------------------------------------------
 * In the guard
 */

static void pause_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

/* Holdfast is dead. A process that cannot be killed now (a dead disk) is waited for as long as the ttl. */
static void end_group(const struct duty *duty)
{
    uint64_t until = cli_later(cli_now(), atomic_load(&duty->board->ttl_ns));
    long wait_ms = RETRY_MIN_MS;

    for (;;) {
        kill(-duty->group, SIGKILL);
        if (hfi_cli_group_look(duty->group) == CLI_GROUP_GONE || cli_now() >= until)
            return;
        pause_ms(wait_ms);
        wait_ms = wait_ms * 2 < RETRY_MAX_MS ? wait_ms * 2 : RETRY_MAX_MS;
    }
}

/* The alarm went off: is the limit reached, or was it moved? Returns when to look next. */
static uint64_t check_limit(const struct duty *duty)
{
    uint64_t limit = atomic_load(&duty->board->limit_ns), now = cli_now();

    if (now < limit)
        return limit;
    atomic_store(&duty->board->killed, true);
    kill(-duty->group, SIGKILL);
    return cli_later(now, RETRY_MAX_MS * CLI_MS);
}

/* A byte says that the limit came nearer; the end of the pipe, that holdfast is dead. */
static bool poked(const struct duty *duty)
{
    char bytes[16];

    return read(duty->alive, bytes, sizeof bytes) > 0;
}

static void open_gate(const struct duty *duty)
{
    ssize_t ignored;

    if (duty->gate < 0)
        return;
    ignored = write(duty->gate, "", 1);
    (void)ignored;
    close(duty->gate);
}

static void keep_only(const struct duty *duty)
{
    int fds[3], count = 0;

    for (int pass = 0; pass < 3; pass++) {
        int fd = pass == 0 ? duty->alive : pass == 1 ? duty->gate : duty->keep, at = count;

        if (fd < 0)
            continue;
        for (; at > 0 && fds[at - 1] > fd; at--)
            fds[at] = fds[at - 1];
        fds[at] = fd;
        count++;
    }
    hfi_cli_close_others(fds, (unsigned)count);
}

static void guard_main(const struct duty *duty)
{
    struct pollfd polled[2] = { { .fd = duty->alive, .events = POLLIN }, { .events = POLLIN } };
    sigset_t all;
    int ignored;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, NAME);
    hfi_cli_rename(NAME, sizeof NAME - 1);
    ignored = chdir("/");
    (void)ignored;
    keep_only(duty);
    polled[1].fd = hfi_cli_alarm_open();
    hfi_cli_alarm_set(polled[1].fd, atomic_load(&duty->board->limit_ns));
    open_gate(duty);
    for (;;) {
        if (poll(polled, 2, -1) < 0 && errno != EINTR)
            pause_ms(RETRY_MIN_MS);
        if (polled[0].revents && !poked(duty))
            break;
        if (polled[0].revents || polled[1].revents) {
            hfi_cli_alarm_clear(polled[1].fd);
            hfi_cli_alarm_set(polled[1].fd, check_limit(duty));
        }
    }
    end_group(duty);
    _exit(0);
}

/* ------------------------------------------------------------------------------------------------
 * In holdfast
 */

bool hfi_cli_guard_init(struct cli_guard *guard)
{
    memset(guard, 0, sizeof *guard);
    guard->alive = -1;
    guard->board =
        mmap(NULL, sizeof *guard->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (guard->board == MAP_FAILED) {
        guard->board = NULL;
        return false;
    }
    atomic_init(&guard->board->limit_ns, CLI_NEVER);
    return true;
}

bool hfi_cli_guard_start(struct cli_guard *guard, pid_t group, int gate, int keep)
{
    struct duty duty = { guard->board, group, -1, gate, keep };
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    duty.alive = ends[0];
    pid = fork();
    if (pid == 0)
        guard_main(&duty);
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return false;
    }
    guard->pid = pid;
    guard->alive = ends[1];
    guard->started_ns = cli_now();
    return true;
}

static void forget(struct cli_guard *guard)
{
    guard->pid = 0;
    if (guard->alive >= 0)
        close(guard->alive);
    guard->alive = -1;
}

bool hfi_cli_guard_died(struct cli_guard *guard)
{
    siginfo_t info = { .si_pid = 0 };

    if (guard->pid <= 0)
        return false;
    if (waitid(P_PID, (id_t)guard->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid > 0)
        kill(guard->pid, SIGCONT);
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)guard->pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
        return false;
    forget(guard);
    return true;
}

void hfi_cli_guard_limit(struct cli_guard *guard, uint64_t limit_ns)
{
    uint64_t before = atomic_exchange(&guard->board->limit_ns, limit_ns);
    ssize_t ignored;

    if (limit_ns < before && guard->alive >= 0) {
        ignored = write(guard->alive, "", 1); /* never full: limits come nearer once or twice */
        (void)ignored;
    }
}

void hfi_cli_guard_dismiss(struct cli_guard *guard)
{
    siginfo_t info;

    if (guard->pid <= 0)
        return;
    kill(guard->pid, SIGKILL); /* before its pipe ends, so that it does nothing more */
    while (waitid(P_PID, (id_t)guard->pid, &info, WEXITED) < 0 && errno == EINTR)
        ;
    forget(guard);
}

void hfi_cli_guard_fini(struct cli_guard *guard)
{
    hfi_cli_guard_dismiss(guard);
    if (guard->board)
        munmap(guard->board, sizeof *guard->board);
    guard->board = NULL;
}
