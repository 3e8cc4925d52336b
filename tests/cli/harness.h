/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command's tests share: a folder and a store for each test, processes with pipes or a terminal,
 * and waiting for what happens instead of sleeping.
 *
 * The test program is the reaper of all that its processes leave behind, so h_teardown() sees whether any
 * process is left. A wait that takes longer than H_PATIENCE_MS fails the test.
 */
#ifndef TESTS_CLI_HARNESS_H
#define TESTS_CLI_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#define H_PATIENCE_MS 30000
#define H_TEXT_MAX    65536

struct h_process {
    pid_t pid;
    int in;       /* write end of its standard input; -1: /dev/null */
    int out, err; /* read ends; with a terminal both are its other side, in `out` */
    char out_text[H_TEXT_MAX], err_text[H_TEXT_MAX];
    size_t out_length, err_length;
    size_t out_seen; /* h_expect() looks behind here */
    size_t err_seen;
    int status; /* of waitpid() once `over` */
    bool over;
};

/* How to start: flags. */
enum {
    H_PIPE_IN = 1,    /* standard input is a pipe, else /dev/null */
    H_TERMINAL = 2,   /* a new session on a terminal of its own */
    H_OWN_GROUP = 4,  /* a process group of its own */
    H_CLOSE_STD = 8,  /* 0, 1 and 2 are closed */
    H_IGNORE_HUP = 16 /* as nohup does */
};

/* "sqlite", or "redis" with a server of the test program's own; false: no server is installed. */
bool h_begin(const char *store);
void h_end(void);

int h_setup(void **state);
int h_teardown(void **state);

/* The folder of this test; removed afterwards. */
const char *h_folder(void);
/* folder/name, in a buffer of its own each time, 16 in turn. */
const char *h_path(const char *name);
/* The store of this test; HOLDFAST_STORE says it too. */
const char *h_store(void);
bool h_is_redis(void);
/* Sends a command, inline as in telnet, to the server's database of this test; the reply's first line. */
const char *h_redis(const char *command);
/* Stops the server by SIGSTOP, or continues it. */
void h_server_stop(bool stop);
/* The port of the server, for redis. */
int h_port(void);

/* Starts argv[0], looked for on PATH; "holdfast" and "probe" are ours. Ends with NULL. */
void h_start(struct h_process *process, unsigned flags, const char *const *argv);
#define H_START(process, flags, ...)                                                               \
    h_start(process, flags, (const char *const[]){ __VA_ARGS__, NULL })
/* Waits until it has ended and its output is read: its exit code, or 128 + signal. */
int h_finish(struct h_process *process);
/* Start and finish. */
int h_run(struct h_process *process, const char *const *argv);
#define H_RUN(process, ...) h_run(process, (const char *const[]){ __VA_ARGS__, NULL })

/* Reads until `text` is in its standard output (or the terminal), behind what was found before. */
void h_expect(struct h_process *process, const char *text);
void h_expect_err(struct h_process *process, const char *text);
/* Is it there already, anywhere? Reads what can be read now. */
bool h_has(struct h_process *process, const char *text);
bool h_has_err(struct h_process *process, const char *text);
/* Writes to its standard input or terminal. */
void h_type(struct h_process *process, const char *text);

/* The guard of a holdfast process, waited for. Never 0. */
pid_t h_guard_of(pid_t holdfast);
/* The first process whose parent is `parent` and whose name is `name`; 0: none. */
pid_t h_child_of(pid_t parent, const char *name);
/* The state letter of a process in /proc, 0: there is none. */
char h_state(pid_t pid);
/* Waits for a state: 'T' stopped, 'Z' ended, 0 gone. 'Z' is also satisfied by gone. */
void h_wait_state(pid_t pid, char state);
/* The next number behind `text` in the process's output. */
long h_number(const struct h_process *process, const char *text);
/* Waits until the command `check` says so. */
void h_until(bool (*check)(void *arg), void *arg, const char *what);

uint64_t h_now_ms(void);
void h_sleep_ms(long ms);

#endif
