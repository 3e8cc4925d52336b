/* SPDX-License-Identifier: Apache-2.0 */
/* What the command's tests share. See harness.h. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/harness.h"

static char root[256], folder[320], store[640];
static int test_number;
static pid_t server;
static int server_port;

uint64_t h_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void h_sleep_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

void h_until(bool (*check)(void *arg), void *arg, const char *what)
{
    uint64_t end = h_now_ms() + H_PATIENCE_MS;

    while (!check(arg)) {
        if (h_now_ms() > end)
            fail_msg("waited in vain: %s", what);
        h_sleep_ms(2);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Folders and stores
 */

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        abort();
    close(fd);
    return ntohs(address.sin_port);
}

static const char *ask_server(const char *command)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)server_port) };
    static char reply[512];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ssize_t count = -1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        dprintf(fd, "%s\r\n", command) > 0)
        count = read(fd, reply, sizeof reply - 1);
    reply[count > 0 ? count : 0] = '\0';
    close(fd);
    return reply;
}

const char *h_redis(const char *command)
{
    char both[1024];
    const char *reply;

    snprintf(both, sizeof both, "SELECT %d\r\n%s", test_number % 16, command);
    reply = ask_server(both);
    return strncmp(reply, "+OK\r\n", 5) == 0 ? reply + 5 : reply;
}

/* Nothing older than Redis 6.2 is supported. */
static bool is_supported(void)
{
    const char *version = strstr(ask_server("INFO server"), "redis_version:");
    unsigned long long major;
    char *end;

    if (!version)
        return false;
    major = strtoull(version + strlen("redis_version:"), &end, 10);
    return major > 6 || (major == 6 && *end == '.' && strtoull(end + 1, NULL, 10) >= 2);
}

/* A server that does not come up on its port had it taken by somebody else: another try. */
static bool start_server(void)
{
    static const char *const names[] = { "redis-server", "valkey-server" };

    for (int try = 0; try < 10; try++) {
        char port[16];

        server_port = free_port();
        snprintf(port, sizeof port, "%d", server_port);
        server = fork();
        if (server == 0) {
            int null = open("/dev/null", O_RDWR);

            prctl(PR_SET_PDEATHSIG, SIGKILL);
            dup2(null, 0);
            dup2(null, 1);
            dup2(null, 2);
            for (int i = 0; i < 2; i++)
                execlp(names[i], names[i], "--port", port, "--bind", "127.0.0.1", "--save", "",
                       "--appendonly", "no", "--dir", root, (char *)NULL);
            _exit(127);
        }
        for (int i = 0; i < 500; i++) {
            int status;

            if (strncmp(ask_server("PING"), "+PONG", 5) == 0)
                return is_supported();
            if (waitpid(server, &status, WNOHANG) == server) {
                server = 0;
                if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
                    return false;
                break;
            }
            h_sleep_ms(20);
        }
        if (server > 0) {
            kill(server, SIGKILL);
            waitpid(server, NULL, 0);
            server = 0;
        }
    }
    return false;
}

bool h_begin(const char *kind)
{
    const char *parent = getenv("TMPDIR");

    snprintf(root, sizeof root, "%s/holdfast-cli.XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(root))
        abort();
    if (getenv("HF_TEST_ONLY"))
        cmocka_set_test_filter(getenv("HF_TEST_ONLY"));
    for (int fd = 3; fd < 1024; fd++)
        close(fd); /* what whoever runs the tests left open would be passed on */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    setenv("TERM", "xterm", 1);
    unsetenv("LINES");
    unsetenv("COLUMNS");
    if (strcmp(kind, "redis") != 0 || start_server())
        return true;
    h_end();
    return false;
}

void h_end(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
        server = 0;
    }
    nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *h_folder(void)
{
    return folder;
}

const char *h_path(const char *name)
{
    static char paths[16][512];
    static int next;
    char *path = paths[next++ % 16];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *h_store(void)
{
    return store;
}

bool h_is_redis(void)
{
    return server > 0;
}

void h_server_stop(bool stop)
{
    kill(server, stop ? SIGSTOP : SIGCONT);
    if (stop)
        h_wait_state(server, 'T');
}

int h_port(void)
{
    return server_port;
}

int h_setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/%d", root, ++test_number);
    if (mkdir(folder, 0700) != 0)
        return -1;
    if (server > 0)
        snprintf(store, sizeof store, "redis://127.0.0.1:%d/%d", server_port, test_number % 16);
    else
        snprintf(store, sizeof store, "sqlite:%s/store", folder);
    if (server > 0)
        h_redis("FLUSHDB"); /* there are sixteen */
    return setenv("HOLDFAST_STORE", store, 1);
}

/* ------------------------------------------------------------------------------------------------
 * Processes
 */

static const char *program(const char *name)
{
    if (strcmp(name, "holdfast") == 0)
        return HF_TEST_COMMAND;
    if (strcmp(name, "probe") == 0)
        return HF_TEST_BIN "/cli_probe";
    return name;
}

static void exec_child(unsigned flags, const char *const *argv)
{
    if (flags & H_OWN_GROUP)
        setpgid(0, 0);
    if (flags & H_IGNORE_HUP)
        signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    if (flags & H_CLOSE_STD)
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
    execvp(program(argv[0]), (char *const *)(uintptr_t)argv);
    _exit(99);
}

static void start_on_terminal(struct h_process *process, unsigned flags, const char *const *argv)
{
    struct winsize size = { .ws_row = 24, .ws_col = 100 };

    process->pid = forkpty(&process->out, NULL, NULL, &size);
    if (process->pid == 0)
        exec_child(flags & ~(unsigned)H_OWN_GROUP, argv);
    assert_true(process->pid > 0);
    fcntl(process->out, F_SETFD, FD_CLOEXEC);
    process->in = process->out;
}

static void start_on_pipes(struct h_process *process, unsigned flags, const char *const *argv)
{
    int in[2] = { -1, -1 }, out[2], err[2];

    if (flags & H_PIPE_IN)
        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    else
        in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    process->pid = fork();
    if (process->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        exec_child(flags, argv);
    }
    assert_true(process->pid > 0);
    if (flags & H_OWN_GROUP)
        setpgid(process->pid, process->pid);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    process->in = in[1];
    process->out = out[0];
    process->err = err[0];
}

void h_start(struct h_process *process, unsigned flags, const char *const *argv)
{
    memset(process, 0, sizeof *process);
    process->in = process->out = process->err = -1;
    if (flags & H_TERMINAL)
        start_on_terminal(process, flags, argv);
    else
        start_on_pipes(process, flags, argv);
}

static void read_some(int *fd, char *text, size_t *length)
{
    ssize_t count;

    if (*length >= H_TEXT_MAX - 1)
        fail_msg("too much output");
    count = read(*fd, text + *length, H_TEXT_MAX - 1 - *length);
    if (count > 0) {
        *length += (size_t)count;
        text[*length] = '\0';
    } else if (count == 0 || errno != EINTR) { /* a terminal whose other side is closed: EIO */
        close(*fd);
        *fd = -1;
    }
}

/* Reads what comes within timeout_ms; false when there is nothing left to come. */
static bool pump(struct h_process *process, int timeout_ms)
{
    struct pollfd polled[2] = { { .fd = process->out, .events = POLLIN },
                                { .fd = process->err, .events = POLLIN } };

    if (process->out < 0 && process->err < 0)
        return false;
    if (poll(polled, 2, timeout_ms) <= 0)
        return true;
    if (polled[0].revents)
        read_some(&process->out, process->out_text, &process->out_length);
    if (polled[1].revents)
        read_some(&process->err, process->err_text, &process->err_length);
    return true;
}

static void expect(struct h_process *process, const char *text, bool err)
{
    uint64_t end = h_now_ms() + H_PATIENCE_MS;
    char *all = err ? process->err_text : process->out_text;
    size_t *seen = err ? &process->err_seen : &process->out_seen;

    for (;;) {
        const char *found = strstr(all + *seen, text);

        if (found) {
            *seen = (size_t)(found - all) + strlen(text);
            return;
        }
        if (!pump(process, 20) || h_now_ms() > end)
            fail_msg("'%s' did not come; there is: %s -- and: %s", text, process->out_text,
                     process->err_text);
    }
}

void h_expect(struct h_process *process, const char *text)
{
    expect(process, text, false);
}

void h_expect_err(struct h_process *process, const char *text)
{
    expect(process, text, true);
}

bool h_has(struct h_process *process, const char *text)
{
    pump(process, 0);
    return strstr(process->out_text, text) != NULL;
}

bool h_has_err(struct h_process *process, const char *text)
{
    pump(process, 0);
    return strstr(process->err_text, text) != NULL;
}

void h_type(struct h_process *process, const char *text)
{
    assert_int_equal(write(process->in, text, strlen(text)), strlen(text));
}

/* Pipes may stay open in a background process of the command, so the end of the output is not waited for. */
int h_finish(struct h_process *process)
{
    uint64_t end = h_now_ms() + H_PATIENCE_MS;

    if (process->in >= 0 && process->in != process->out)
        close(process->in);
    process->in = -1;
    while (!process->over) {
        if (waitpid(process->pid, &process->status, WNOHANG) == process->pid)
            process->over = true;
        else if (!pump(process, 5))
            h_sleep_ms(2);
        if (h_now_ms() > end)
            fail_msg("process %d does not end; there is: %s -- and: %s", (int)process->pid,
                     process->out_text, process->err_text);
    }
    for (int i = 0; i < 20 && pump(process, 2); i++)
        ;
    if (process->out >= 0)
        close(process->out);
    if (process->err >= 0)
        close(process->err);
    process->out = process->err = -1;
    return WIFEXITED(process->status) ? WEXITSTATUS(process->status)
                                      : 128 + WTERMSIG(process->status);
}

int h_run(struct h_process *process, const char *const *argv)
{
    h_start(process, 0, argv);
    return h_finish(process);
}

long h_number(const struct h_process *process, const char *text)
{
    const char *found = strstr(process->out_text, text);

    assert_non_null(found);
    return strtol(found + strlen(text), NULL, 10);
}

/* ------------------------------------------------------------------------------------------------
 * /proc
 */

static bool read_stat(pid_t pid, char name[32], char *ret_state, pid_t *ret_parent)
{
    char path[64], text[512];
    const char *open_at, *close_at;
    int fd, parent;
    ssize_t count;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    count = read(fd, text, sizeof text - 1);
    close(fd);
    if (count <= 0)
        return false;
    text[count] = '\0';
    open_at = strchr(text, '(');
    close_at = strrchr(text, ')');
    snprintf(name, 32, "%.*s", (int)(close_at - open_at - 1), open_at + 1);
    if (sscanf(close_at + 2, "%c %d", ret_state, &parent) != 2)
        return false;
    *ret_parent = parent;
    return true;
}

pid_t h_child_of(pid_t parent, const char *wanted)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    pid_t result = 0;

    while (result == 0 && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), its;
        char name[32], state;

        if (pid > 0 && read_stat(pid, name, &state, &its) && its == parent && state != 'Z' &&
            strcmp(name, wanted) == 0)
            result = pid;
    }
    closedir(proc);
    return result;
}

static bool has_guard(void *arg)
{
    return h_child_of(*(pid_t *)arg, "holdfast-guard") > 0;
}

pid_t h_guard_of(pid_t holdfast)
{
    h_until(has_guard, &holdfast, "a guard");
    return h_child_of(holdfast, "holdfast-guard");
}

char h_state(pid_t pid)
{
    char name[32], state;
    pid_t parent;

    return read_stat(pid, name, &state, &parent) ? state : '\0';
}

struct wanted_state {
    pid_t pid;
    char state;
};

static bool is_in_state(void *arg)
{
    const struct wanted_state *wanted = arg;
    char state = h_state(wanted->pid);

    return state == wanted->state || (wanted->state == 'Z' && state == '\0');
}

void h_wait_state(pid_t pid, char state)
{
    struct wanted_state wanted = { pid, state };

    h_until(is_in_state, &wanted, "a process's state");
}

/* Every process that a test has started, and what those left behind, must be gone soon. */
static int reap_children(int signal_number)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int left = 0;

    while ((entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), parent;
        char name[32], state;

        if (pid <= 0 || pid == server || !read_stat(pid, name, &state, &parent) ||
            parent != getpid())
            continue;
        if (waitpid(pid, NULL, WNOHANG) == pid)
            continue;
        left++;
        if (signal_number) {
            print_error("left behind: %d (%s), state %c\n", (int)pid, name, state);
            kill(pid, signal_number);
        }
    }
    closedir(proc);
    return left;
}

int h_teardown(void **state)
{
    uint64_t end = h_now_ms() + H_PATIENCE_MS;

    (void)state;
    if (server > 0)
        h_server_stop(false);
    while (reap_children(0) > 0) {
        if (h_now_ms() > end) {
            while (reap_children(SIGKILL) > 0) /* the next test shall have a chance */
                h_sleep_ms(10);
            return -1;
        }
        h_sleep_ms(5);
    }
    return 0;
}
