/* SPDX-License-Identifier: Apache-2.0 */
#include "chaos/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long all may take to end in order. The waits of forever end when all others release. */
#define FINISH_MS (TEST_SANITIZED ? 120000 : 60000)

void crew_init(struct crew *crew)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    crew->seen_ns = hist_now();
    hist_thread_init(&crew->history, crew->log, 0, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Starting
 */

static void start(struct crew *crew, int slot)
{
    struct member *member = &crew->member[slot];
    pid_t runner = getpid();
    char number[16];

    snprintf(number, sizeof number, "%d", slot);
    atomic_store(&crew->shared->process[slot], 0);
    member->leaving = false;
    member->stopped_ns = 0;
    fflush(NULL);
    member->pid = fork();
    if (member->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != runner)
            _exit(98);
        execl("/proc/self/exe", "chaos", "--worker", crew->log_path, number, (char *)NULL);
        _exit(127);
    }
    if (member->pid < 0) {
        fprintf(stderr, "chaos: no process to be had: %s\n", strerror(errno));
        member->pid = 0;
        crew->is_bad = true;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Ending
 */

/* A worker has ended by itself. */
static void note_end(struct crew *crew, int slot, int status)
{
    struct member *member = &crew->member[slot];
    bool in_order = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    uint32_t process = atomic_load(&crew->shared->process[slot]);

    member->pid = 0;
    member->start_ms = now_ms();
    if (in_order && (member->leaving || atomic_load(&crew->shared->stop)))
        return;
    fprintf(stderr, "chaos: p%u ended with status %#x\n", (unsigned)process, (unsigned)status);
    if (process && !in_order) /* so that the checker does not take it for a holder */
        hist_note(&crew->history, HIST_KILL, process, "crash", crew->seen_ns, hist_now());
    crew->is_bad = true;
}

/* Children of workers that were killed are ours now; a server is somebody else's to wait for. */
static void bury(struct crew *crew)
{
    siginfo_t info;

    for (;;) {
        bool ours = false;

        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return;
        for (int slot = 0; slot < CHAOS_SLOTS; slot++) {
            int status;

            if (crew->member[slot].pid != info.si_pid)
                continue;
            waitpid(info.si_pid, &status, 0);
            note_end(crew, slot, status);
            ours = true;
        }
        if (ours)
            continue;
        if (crew->server && info.si_pid == crew->server->pid) {
            fputs("chaos: the server has ended by itself\n", stderr);
            crew->is_bad = true;
            return;
        }
        waitpid(info.si_pid, NULL, 0);
    }
}

void crew_tend(struct crew *crew)
{
    uint64_t now = hist_now();

    bury(crew);
    crew->seen_ns = now;
    for (int slot = 0; slot < CHAOS_SLOTS; slot++)
        if (!crew->member[slot].pid && now_ms() >= crew->member[slot].start_ms &&
            !atomic_load(&crew->shared->stop))
            start(crew, slot);
}

static void kill_one(struct crew *crew, int slot)
{
    struct member *member = &crew->member[slot];
    uint64_t from = hist_now();
    uint32_t process;

    kill(member->pid, SIGKILL);
    while (waitpid(member->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    process = atomic_load(&crew->shared->process[slot]);
    if (process && member->stopped_ns)
        hist_note(&crew->history, HIST_STOP, process, "stop", member->stopped_ns, hist_now());
    if (process)
        hist_note(&crew->history, HIST_KILL, process, "kill", from, hist_now());
    member->pid = 0;
    member->stopped_ns = 0;
}

void crew_kill(struct crew *crew, int slot)
{
    if (!crew->member[slot].pid)
        return;
    kill_one(crew, slot);
    crew->member[slot].start_ms = now_ms() + random_next(&crew->random) % 400;
}

void crew_stop(struct crew *crew, int slot)
{
    struct member *member = &crew->member[slot];

    if (!member->pid || member->stopped_ns)
        return;
    member->stopped_ns = hist_now();
    kill(member->pid, SIGSTOP);
}

void crew_continue(struct crew *crew, int slot)
{
    struct member *member = &crew->member[slot];
    uint32_t process = atomic_load(&crew->shared->process[slot]);

    if (!member->pid || !member->stopped_ns)
        return;
    kill(member->pid, SIGCONT);
    if (process)
        hist_note(&crew->history, HIST_STOP, process, "stop", member->stopped_ns, hist_now());
    member->stopped_ns = 0;
}

void crew_dismiss(struct crew *crew, int slot)
{
    if (!crew->member[slot].pid || atomic_load(&crew->shared->process[slot]) == 0)
        return; /* it does not listen to the signal yet */
    crew->member[slot].leaving = true;
    kill(crew->member[slot].pid, SIGTERM);
}

bool crew_finish(struct crew *crew)
{
    int64_t until = now_ms() + FINISH_MS;
    int left;

    atomic_store(&crew->shared->stop, 1);
    do {
        left = 0;
        crew_tend(crew);
        for (int slot = 0; slot < CHAOS_SLOTS; slot++)
            left += crew->member[slot].pid != 0;
        nap_ms(10);
    } while (left && now_ms() < until);
    for (int slot = 0; slot < CHAOS_SLOTS; slot++)
        if (crew->member[slot].pid)
            fprintf(stderr, "chaos: p%u does not end\n",
                    (unsigned)atomic_load(&crew->shared->process[slot]));
    return left == 0;
}

void crew_end(struct crew *crew)
{
    for (int slot = 0; slot < CHAOS_SLOTS; slot++)
        if (crew->member[slot].pid)
            kill_one(crew, slot);
}
