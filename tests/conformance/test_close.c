/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a client, and what a child of fork() has of it. */
#include "conformance/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define LONG HF_ACQUIRE(.ttl_ms = 60000)

/* Wake-ups, not polls, must do it: looks are far apart. */
#define RARELY HF_CLIENT(.poll_ms = 60000)

static void gives_everything_back(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    hf_hold *outer = take(a, "one", LONG), *inner = take(a, "one", LONG);
    struct taker taker[2];
    int64_t start;

    (void)state;
    assert_int_equal(hf_acquire_start(a, "two", LONG, NULL), HF_OK); /* its event is never taken */
    AWAIT(count_waiters(b, "two") == 0);
    taker_start(&taker[0], b, "one", NULL);
    taker_start(&taker[1], b, "two", NULL);
    AWAIT(count_waiters(b, "one") == 1 && count_waiters(b, "two") == 1);
    start = now_ms();
    hf_close(a);
    assert_int_equal(taker_join(&taker[0]), HF_OK);
    assert_int_equal(taker_join(&taker[1]), HF_OK);
    assert_true(now_ms() - start < 5000);
    assert_int_equal(hf_hold_state(outer), HF_RELEASED);
    assert_int_equal(hf_release(outer), HF_ERR_CLOSED);
    assert_int_equal(hf_release(inner), HF_ERR_CLOSED);
    give(taker[0].hold);
    give(taker[1].hold);
    hf_close(b);
}

static void handles_are_inert(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", LONG), *other = take(a, "other", LONG);
    uint64_t token = hf_hold_token(hold);
    char before[HF_OWNER_MAX + 1], after[HF_OWNER_MAX + 1];

    (void)state;
    hf_hold_owner(hold, before, sizeof before);
    assert_null(hf_close(a));
    assert_int_equal(hf_hold_state(hold), HF_RELEASED);
    assert_int_equal(hf_hold_remaining_ms(hold), 0);
    assert_true(hf_hold_token(hold) == token);
    assert_string_equal(hf_hold_name(hold), "lock");
    hf_hold_owner(hold, after, sizeof after);
    assert_string_equal(before, after);
    assert_int_equal(hf_hold_verify(hold), HF_ERR_CLOSED);
    assert_int_equal(hf_release(hold), HF_ERR_CLOSED);
    assert_int_equal(hf_release_start(other, NULL), HF_ERR_CLOSED);
    assert_null(hf_close(NULL));
}

static void calls_return(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG), *third = take(a, "lock three", LONG);
    struct taker taker[4];
    int64_t start;

    (void)state;
    /* Each is seen to be inside: a client must not be closed under a call that is yet to come. */
    taker_start(&taker[0], b, "lock two", HF_ACQUIRE(.wait_ms = 60000));
    AWAIT(taker_done(&taker[0]));
    taker_start(&taker[1], b, "lock two", LONG);
    taker_start(&taker[2], b, "lock", HF_ACQUIRE(.wait_ms = 60000));
    taker_start(&taker[3], b, "lock three", LONG);
    AWAIT(count_waiters(a, "lock") == 1 && count_waiters(a, "lock two") == 1 &&
          count_waiters(a, "lock three") == 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire_start(b, "lock", LONG, NULL), HF_OK);
    start = now_ms();
    hf_close(b);
    assert_true(now_ms() - start < 3000);
    for (int i = 0; i < 4; i++) {
        int error = taker_join(&taker[i]);

        if (error == HF_OK) /* one had "lock two" */
            assert_int_equal(hf_release(taker[i].hold), HF_ERR_CLOSED);
        else
            assert_int_equal(error, HF_ERR_CLOSED);
    }
    give(hold);
    give(third);
    hf_close(a);
}

/* Threads that release while the client is being closed: none may see it half gone. */
struct releasing {
    hf_hold *hold[20];
    atomic_int *go;
    int wrong;
};

static void *release_all(void *arg)
{
    struct releasing *releasing = arg;

    while (!atomic_load(releasing->go))
        ;
    for (int i = 0; i < 20; i++) {
        int state = hf_hold_state(releasing->hold[i]);
        int error = hf_release(releasing->hold[i]);

        releasing->wrong += state != HF_HELD && state != HF_RELEASED;
        releasing->wrong += error != HF_OK && error != HF_ERR_CLOSED;
    }
    return NULL;
}

static void releases_meanwhile(void **state)
{
    uint32_t seed = 3;

    (void)state;
    for (int round = 0; round < 40; round++) {
        enum { N = 3 };
        hf_client *a = client_open();
        struct releasing releasing[N];
        pthread_t thread[N];
        atomic_int go = 0;

        for (int i = 0; i < N; i++) {
            releasing[i] = (struct releasing){ .go = &go };
            for (int j = 0; j < 20; j++) {
                char name[32];

                snprintf(name, sizeof name, "%d:%d", i, j);
                releasing[i].hold[j] = take(a, name, LONG);
            }
            assert_int_equal(pthread_create(&thread[i], NULL, release_all, &releasing[i]), 0);
        }
        atomic_store(&go, 1);
        nap_us((long)(random_next(&seed) % 3000));
        hf_close(a);
        for (int i = 0; i < N; i++) {
            pthread_join(thread[i], NULL);
            assert_int_equal(releasing[i].wrong, 0);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * fork()
 */

struct family {
    hf_client *client;
    hf_hold *hold;
    int descriptors; /* before the client was opened */
};

static int be_a_child(const struct parent *parent, void *arg)
{
    const struct family *family = arg;
    hf_client *parents = family->client, *own;
    struct hf_event event = { .size = sizeof event };
    hf_hold *hold = NULL;
    hf_list *list = NULL;

    /* The pipes of this child; SQLite's files stay, they cannot be closed behind its back. */
    CHECK(count_descriptors() <= family->descriptors + 2 + (store->death_at_once ? 3 : 0));
    CHECK_EQUAL(hf_hold_state(family->hold), HF_ERR_FORKED);
    CHECK_EQUAL(hf_hold_remaining_ms(family->hold), 0);
    CHECK_EQUAL(hf_hold_verify(family->hold), HF_ERR_FORKED);
    CHECK_EQUAL(hf_acquire(parents, "lock", LONG, &hold), HF_ERR_FORKED);
    CHECK_EQUAL(hf_acquire_start(parents, "lock", LONG, NULL), HF_ERR_FORKED);
    CHECK_EQUAL(hf_cancel(parents, NULL), HF_ERR_FORKED);
    CHECK_EQUAL(hf_fd(parents), HF_ERR_FORKED);
    CHECK_EQUAL(hf_next(parents, &event), HF_ERR_FORKED);
    CHECK_EQUAL(hf_check(parents), HF_ERR_FORKED);
    CHECK_EQUAL(hf_inspect(parents, "lock", &list), HF_ERR_FORKED);
    CHECK_EQUAL(hf_list_locks(parents, NULL, &list), HF_ERR_FORKED);
    CHECK_EQUAL(hf_break(parents, "lock", "x:1"), HF_ERR_FORKED);
    CHECK_EQUAL(hf_guard_fd(parents), HF_ERR_FORKED);
    CHECK_EQUAL(hf_release(family->hold), HF_ERR_FORKED);
    CHECK(hf_close(parents) == NULL);
    if (!TEST_CAN_FORK) { /* the thread sanitizer knows no new threads in such a child */
        parent_tell(parent, 'd');
        return 0;
    }
    own = child_client();
    CHECK(strcmp(hf_client_id(own), hf_client_id(parents)) != 0);
    CHECK_EQUAL(hf_acquire(own, "lock", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &hold), HF_ERR_BUSY);
    CHECK_EQUAL(hf_acquire(own, "other", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &hold), HF_OK);
    CHECK_EQUAL(hf_release(hold), HF_OK);
    hf_close(own);
    parent_tell(parent, 'd');
    return 0;
}

static void a_child_of_a_holder(void **state)
{
    struct family family = { .descriptors = count_descriptors() };
    struct child child;
    hf_client *b;

    (void)state;
    family.client = client_open();
    family.hold = take(family.client, "lock", HF_ACQUIRE(.ttl_ms = 3000));
    assert_true(hf_fd(family.client) >= 0);
    child_start(&child, be_a_child, &family);
    assert_int_equal(child_join(&child), 0);
    assert_int_equal(hf_hold_verify(family.hold), HF_OK);
    assert_int_equal(hf_hold_state(family.hold), HF_HELD);
    b = client_open();
    assert_int_equal(try_once(b, "lock"), HF_ERR_BUSY);
    give(family.hold);
    assert_int_equal(try_once(b, "lock"), HF_OK);
    hf_close(family.client);
    hf_close(b);
}

/* fork() while threads wait, while an event is pending, while a release is under way. */
static void a_child_of_a_waiter(void **state)
{
    struct family family = { 0 };
    hf_client *b = client_open();
    hf_hold *hold = take(b, "wanted", LONG);
    int64_t until = now_ms() + PATIENCE_MS;
    struct child child;
    struct taker taker[2];
    struct hf_event event;

    (void)state;
    family.client = client_open();
    family.hold = take(family.client, "lock", LONG);
    taker_start(&taker[0], family.client, "wanted", NULL);
    taker_start(&taker[1], family.client, "wanted", NULL);
    AWAIT(count_waiters(b, "wanted") == 1);
    assert_int_equal(hf_acquire_start(family.client, "wanted", LONG, NULL), HF_OK);
    assert_int_equal(hf_acquire_start(family.client, "third", LONG, NULL), HF_OK);
    AWAIT(count_waiters(b, "third") == 0);
    give(hold);
    hf_close(b);
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            hf_hold *none = NULL;

            CHECK_EQUAL(hf_acquire(family.client, "x", NULL, &none), HF_ERR_FORKED);
            CHECK_EQUAL(hf_hold_state(family.hold), HF_ERR_FORKED);
            hf_close(family.client);
            _exit(0);
        }
        child = (struct child){ .pid = pid, .to = dup(2), .from = dup(2) };
        assert_int_equal(child_join(&child), 0);
    }
    for (int served = 0; served < 4;) { /* in whatever order */
        for (int i = 0; i < 2; i++) {
            if (!taker[i].client || !taker_done(&taker[i]))
                continue;
            assert_int_equal(taker_join(&taker[i]), HF_OK);
            give(taker[i].hold);
            taker[i].client = NULL;
            served++;
        }
        event = (struct hf_event){ .size = sizeof event };
        if (hf_next(family.client, &event) == 1) {
            assert_int_equal(event.type, HF_EVENT_ACQUIRED);
            give(event.hold);
            served++;
        }
        assert_true(now_ms() < until);
        nap_us(500);
    }
    give(family.hold);
    hf_close(family.client);
}

/* Forking again and again while other threads work. */
struct busy_bee {
    hf_client *client;
    atomic_bool *stop;
    int wrong, rounds;
};

static void *work(void *arg)
{
    struct busy_bee *bee = arg;

    while (!atomic_load(bee->stop)) {
        hf_hold *hold = NULL;

        bee->wrong += hf_acquire(bee->client, "lock", LONG, &hold) != HF_OK;
        bee->wrong += hf_release(hold) != HF_OK;
        bee->rounds++;
    }
    return NULL;
}

static void forks_meanwhile(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    atomic_bool stop = false;
    struct busy_bee bee[4];
    pthread_t thread[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        bee[i] = (struct busy_bee){ .client = i % 2 ? a : b, .stop = &stop };
        assert_int_equal(pthread_create(&thread[i], NULL, work, &bee[i]), 0);
    }
    for (int i = 0; i < 40; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            hf_hold *none = NULL;
            hf_client *own = NULL;

            CHECK_EQUAL(hf_acquire(a, "lock", NULL, &none), HF_ERR_FORKED);
            if (i % 4 == 0 && !TEST_SANITIZED) {
                CHECK_EQUAL(hf_open(store->uri(), NULL, &own), HF_OK);
                CHECK_EQUAL(hf_acquire(own, "own", NULL, &none), HF_OK);
                CHECK_EQUAL(hf_release(none), HF_OK);
                hf_close(own);
            }
            _exit(0);
        }
        assert_true(pid > 0);
        AWAIT(waitpid(pid, &status, WNOHANG) == pid);
        assert_int_equal(status, 0);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(bee[i].wrong, 0);
        assert_true(bee[i].rounds > 0);
    }
    hf_close(a);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * Descriptors and threads of ours
 */

static void close_on_exec(void **state)
{
    bool before[1024] = { false };
    hf_client *a, *b;
    struct taker taker;
    hf_hold *hold;
    int count = 0;

    (void)state;
    for (int fd = 0; fd < 1024; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    a = client_open();
    b = client_open();
    hold = take(a, "lock", LONG);
    assert_true(hf_fd(a) >= 0);
    taker_start(&taker, b, "lock", NULL);
    AWAIT(count_waiters(a, "lock") == 1);
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (flags < 0 || before[fd])
            continue;
        assert_true(flags & FD_CLOEXEC);
        count++;
    }
    assert_true(count > 4);
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

static uint64_t blocked_signals(const char *task)
{
    char path[64], line[256];
    unsigned long long mask = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigBlk: %llx", &mask) == 1)
            break;
    if (file)
        fclose(file);
    return mask;
}

/* Threads besides those of the test, and how many of them do not block everything. */
static int count_others(const bool *known, int *ret_open)
{
    const uint64_t never = 1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1) | UINT64_C(3) << 31;
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;

    *ret_open = 0;
    while (dir && (entry = readdir(dir)) != NULL) {
        int task = atoi(entry->d_name);

        if (task <= 0 || known[task % 65536])
            continue;
        count++;
        *ret_open += (blocked_signals(entry->d_name) | never) != UINT64_MAX;
    }
    if (dir)
        closedir(dir);
    return count;
}

static void threads_block_signals(void **state)
{
    static bool known[65536];
    hf_client *a;
    hf_hold *hold;
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    int unblocked;

    (void)state;
    memset(known, 0, sizeof known);
    while ((entry = readdir(dir)) != NULL)
        known[atoi(entry->d_name) % 65536] = true;
    closedir(dir);
    a = client_open();
    hold = take(a, "lock", LONG);
    assert_true(count_others(known, &unblocked) >= 1);
    assert_int_equal(unblocked, 0);
    give(hold);
    hf_close(a);
    AWAIT(count_others(known, &unblocked) == 0);
}

/* A copy of this descriptor keeps what a dead holder had, where a store of this host is. */
static void guards(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold;
    int fd = hf_guard_fd(a);

    (void)state;
    assert_int_equal(fd, store->death_at_once ? HF_ERR_NOT_FOUND : HF_ERR_UNSUPPORTED);
    hold = take(a, "lock", LONG);
    fd = hf_guard_fd(a);
    if (store->death_at_once)
        assert_true(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    else
        assert_int_equal(fd, HF_ERR_UNSUPPORTED);
    give(hold);
    hf_close(a);
}

static const struct CMUnitTest TESTS[] = {
    TEST(gives_everything_back), TEST(handles_are_inert),
    TEST(calls_return),          TEST(releases_meanwhile),
    TEST(a_child_of_a_holder),   TEST(a_child_of_a_waiter),
    TEST(forks_meanwhile),       TEST(close_on_exec),
    TEST(threads_block_signals), TEST(guards),
};

SUITE_MAIN("close", TESTS)
