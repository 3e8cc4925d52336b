/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder: threads and processes that write at once, and one that is killed in the middle. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "history/record.h"

static char path[64];

static struct hist_log *make(size_t records)
{
    struct hist_log *log;

    strcpy(path, "/tmp/holdfast-history-XXXXXX");
    close(mkstemp(path));
    unlink(path);
    log = hist_log_create(path, records, sizeof(atomic_int));
    assert_non_null(log);
    return log;
}

static void done(struct hist_log *log, struct history *history)
{
    hist_free(history);
    hist_log_close(log);
    unlink(path);
}

static void what_is_recorded(void **state)
{
    struct hist_log *log = make(100);
    struct hist_thread me;
    struct hist_record *record;
    struct history history;

    (void)state;
    hist_thread_init(&me, log, hist_log_process(log), 7);
    record = hist_begin(&me, HIST_ACQUIRE, "lock", "who");
    record->token = 5;
    record->until = 99;
    record->ttl_ms = 1000;
    strcpy(record->owner, "x:1");
    hist_end(record, HIST_OK, 0);
    record = hist_begin(&me, HIST_RELEASE, "lock", "who");
    record->until = 3; /* nobody says so yet */
    assert_int_equal(hist_log_process(log), 2);

    hist_init(&history);
    hist_log_collect(log, &history);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.ops[0].token, 5);
    assert_int_equal(history.ops[0].until, 99);
    assert_int_equal(history.ops[0].ttl_ms, 1000);
    assert_int_equal(history.ops[0].process, 1);
    assert_int_equal(history.ops[0].thread, 7);
    assert_int_equal(history.ops[0].outcome, HIST_OK);
    assert_int_equal(history.ops[0].results, 1);
    assert_true(history.ops[0].returned >= history.ops[0].invoked);
    assert_string_equal(hist_text(&history, history.ops[0].lock), "lock");
    assert_string_equal(hist_text(&history, history.ops[0].who), "who");
    assert_string_equal(hist_text(&history, history.ops[0].owner), "x:1");
    assert_true(history.ops[1].returned == HIST_NEVER);
    assert_int_equal(history.ops[1].outcome, HIST_UNKNOWN);
    assert_int_equal(history.ops[1].results, 0);
    assert_int_equal(history.ops[1].until, 0);
    done(log, &history);
}

enum { THREADS = 4, EACH = 1000 };

static void *write_many(void *arg)
{
    struct hist_thread *me = arg;

    for (int i = 0; i < EACH; i++) {
        struct hist_record *record = hist_begin(me, HIST_TRY, "lock", "who");

        record->token = (uint64_t)i + 1;
        hist_end(record, HIST_OK, 0);
    }
    return NULL;
}

static void many_threads(void **state)
{
    struct hist_log *log = make(10000);
    struct hist_thread thread[THREADS];
    pthread_t id[THREADS];
    uint64_t sum = 0;
    struct history history;

    (void)state;
    for (uint32_t i = 0; i < THREADS; i++) {
        hist_thread_init(&thread[i], log, 1, i);
        assert_int_equal(pthread_create(&id[i], NULL, write_many, &thread[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    hist_init(&history);
    hist_log_collect(log, &history);
    assert_int_equal(history.count, THREADS * EACH);
    for (size_t i = 0; i < history.count; i++)
        sum += history.ops[i].token;
    assert_int_equal(sum, (uint64_t)THREADS * EACH * (EACH + 1) / 2);
    assert_int_equal(hist_log_missed(log), 0);
    done(log, &history);
}

/* Whoever it is told of has been written down. */
static void write_until_killed(struct hist_log *log)
{
    atomic_int *told = hist_log_data(log);
    struct hist_thread me;

    hist_thread_init(&me, log, hist_log_process(log), 1);
    for (;;) {
        struct hist_record *record = hist_begin(&me, HIST_TRY, "lock", "who");

        atomic_fetch_add(told, 1);
        hist_end(record, HIST_FAIL, -1);
    }
}

static void killed(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct hist_log *log = make(1000000);
        atomic_int *told = hist_log_data(log);
        size_t pending = 0;
        struct history history;
        pid_t pid = fork();

        if (pid == 0) {
            struct hist_log *own = hist_log_open(path);

            if (own)
                write_until_killed(own);
            _exit(1);
        }
        while (atomic_load(told) < 100 * i)
            usleep(100);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        hist_init(&history);
        hist_log_collect(log, &history);
        for (size_t n = 0; n < history.count; n++)
            pending += history.ops[n].returned == HIST_NEVER;
        assert_true(pending <= 1);
        assert_true(history.count == (size_t)atomic_load(told) ||
                    history.count == (size_t)atomic_load(told) + 1);
        done(log, &history);
    }
}

static void full(void **state)
{
    struct hist_log *log = make(128);
    struct hist_thread me;
    struct history history;

    (void)state;
    hist_thread_init(&me, log, 1, 1);
    for (int i = 0; i < 130; i++)
        hist_end(hist_begin(&me, HIST_TRY, "lock", "who"), HIST_FAIL, -1);
    assert_int_equal(hist_log_missed(log), 2);
    assert_int_equal(hist_log_used(log), 128);
    hist_init(&history);
    hist_log_collect(log, &history);
    assert_int_equal(history.count, 128);
    done(log, &history);
}

static void no_log(void **state)
{
    char file[] = "/tmp/holdfast-history-XXXXXX";
    int fd = mkstemp(file);

    (void)state;
    assert_true(fd >= 0);
    assert_null(hist_log_open(file)); /* empty */
    assert_int_equal(ftruncate(fd, 100000), 0);
    assert_null(hist_log_open(file));           /* of somebody else */
    assert_null(hist_log_create(file, 100, 0)); /* it is there */
    close(fd);
    unlink(file);
    assert_null(hist_log_open(file));
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(what_is_recorded), cmocka_unit_test(many_threads),
        cmocka_unit_test(killed),           cmocka_unit_test(full),
        cmocka_unit_test(no_log),
    };

    return cmocka_run_group_tests_name("recorder", TESTS, NULL, NULL);
}
