/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void make_pipe(int *ends)
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail_msg("no pipe to be had");
}

void child_start(struct child *child, child_body *body, void *arg)
{
    int down[2], up[2];
    pid_t test = getpid();

    make_pipe(down);
    make_pipe(up);
    fflush(NULL);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        struct parent parent = { .in = down[0], .out = up[1] };

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != test)
            _exit(98);
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* not on with the parent's other tests */
        signal(SIGPIPE, SIG_IGN);
        close(down[1]);
        close(up[0]);
        _exit(body(&parent, arg));
    }
    close(down[0]);
    close(up[1]);
    child->to = down[1];
    child->from = up[0];
}

static void put(int fd, const void *from, size_t size)
{
    const char *at = from;

    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        at += n;
        size -= (size_t)n;
    }
}

/* False: the other end is gone. */
static bool get(int fd, void *to, size_t size)
{
    char *at = to;

    while (size > 0) {
        ssize_t n = read(fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

void child_tell(const struct child *child, char what)
{
    put(child->to, &what, 1);
}

bool child_hears(const struct child *child, int ms, char *ret_what)
{
    struct pollfd p = { .fd = child->from, .events = POLLIN };
    int n;

    do
        n = poll(&p, 1, ms);
    while (n < 0 && errno == EINTR);
    return n > 0 && get(child->from, ret_what, 1);
}

char child_hear(const struct child *child)
{
    char what = 0;

    if (!child_hears(child, PATIENCE_MS, &what))
        fail_msg("child %d has ended, or says nothing", (int)child->pid);
    return what;
}

void child_read(const struct child *child, void *to, size_t size)
{
    struct pollfd p = { .fd = child->from, .events = POLLIN };

    if (poll(&p, 1, PATIENCE_MS) != 1 || !get(child->from, to, size))
        fail_msg("child %d has ended, or says nothing", (int)child->pid);
}

void child_expect(const struct child *child, char what)
{
    char said = child_hear(child);

    if (said != what)
        fail_msg("child %d said '%c' and not '%c'", (int)child->pid, said, what);
}

static void forget(struct child *child)
{
    close(child->to);
    close(child->from);
    child->pid = 0;
}

int child_join(struct child *child)
{
    int64_t until = now_ms() + 2 * PATIENCE_MS;
    int status = 0;
    pid_t pid;

    while ((pid = waitpid(child->pid, &status, WNOHANG)) == 0 || (pid < 0 && errno == EINTR)) {
        if (now_ms() > until) {
            pid = child->pid;
            child_kill(child);
            fail_msg("child %d does not end", (int)pid);
        }
        nap_us(500);
    }
    assert_int_equal(pid, child->pid);
    forget(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child_kill(struct child *child)
{
    if (!child->pid)
        return;
    kill(child->pid, SIGKILL);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    forget(child);
}

void parent_tell(const struct parent *parent, char what)
{
    put(parent->out, &what, 1);
}

void parent_write(const struct parent *parent, const void *from, size_t size)
{
    put(parent->out, from, size);
}

char parent_hear(const struct parent *parent)
{
    char what;

    return get(parent->in, &what, 1) ? what : '\0';
}
