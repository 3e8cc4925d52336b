/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of all modes: who keeps whom out, who is woken, who is served first, and how each ends. */
#include "conformance/store.h"

#include <signal.h>

#define TRY HF_ACQUIRE(.wait_ms = HF_TRY_ONCE)

/* With wake-ups only: what is lost would hang. */
#define RARELY HF_CLIENT(.poll_ms = 60000)

static const enum hf_mode LOCKS[] = {
    HF_EXCLUSIVE, HF_SHARED, HF_WRITE, HF_FAIR, HF_FENCED, HF_SPIN
};
#define LOCK_COUNT (sizeof LOCKS / sizeof LOCKS[0])

static int try_mode(hf_client *client, const char *name, enum hf_mode mode)
{
    hf_hold *hold = NULL;
    int error = hf_acquire(client, name, HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .mode = mode), &hold);

    if (error == HF_OK)
        give(hold);
    return error;
}

static hf_hold *take_mode(hf_client *client, const char *name, enum hf_mode mode)
{
    return take(client, name, HF_ACQUIRE(.wait_ms = PATIENCE_MS, .mode = mode));
}

/* ------------------------------------------------------------------------------------------------
 * Who keeps whom out
 */

static void matrix(void **state)
{
    hf_client *a = client_open(), *b = client_open();

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++)
        for (size_t j = 0; j < LOCK_COUNT; j++) {
            hf_hold *hold = take_mode(a, "lock", LOCKS[i]);
            bool together = LOCKS[i] == HF_SHARED && LOCKS[j] == HF_SHARED;

            assert_int_equal(try_mode(b, "lock", LOCKS[j]), together ? HF_OK : HF_ERR_BUSY);
            give(hold);
            assert_int_equal(try_mode(b, "lock", LOCKS[j]), HF_OK);
        }
    hf_close(a);
    hf_close(b);
}

/* A waiter of one kind is woken by the release of another. */
static void woken_across_kinds(void **state)
{
    hf_client *a = client_open(), *b = client_open();

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++)
        for (size_t j = 0; j < LOCK_COUNT; j++) {
            hf_hold *hold = take_mode(a, "lock", LOCKS[i]);
            struct taker taker;
            int64_t start;

            if (LOCKS[i] == HF_SHARED && LOCKS[j] == HF_SHARED) {
                give(hold);
                continue;
            }
            taker_start(&taker, b, "lock", HF_ACQUIRE(.wait_ms = PATIENCE_MS, .mode = LOCKS[j]));
            AWAIT(count_waiters(a, "lock") == 1);
            start = now_ms();
            give(hold);
            assert_int_equal(taker_join(&taker), HF_OK);
            assert_true(now_ms() - start < 3000); /* at the latest by the poll */
            give(taker.hold);
        }
    hf_close(a);
    hf_close(b);
}

/* Of one kind, messages alone do. */
static void woken_by_message(void **state)
{
    static const enum hf_mode MODES[] = { HF_EXCLUSIVE, HF_WRITE, HF_FAIR, HF_FENCED };
    hf_client *a = client_open_with(RARELY), *b = client_open_with(RARELY);

    (void)state;
    for (size_t i = 0; i < sizeof MODES / sizeof MODES[0]; i++)
        for (int round = 0; round < 5; round++) {
            hf_hold *hold = take_mode(a, "lock", MODES[i]);
            struct taker taker;

            taker_start(&taker, b, "lock", HF_ACQUIRE(.wait_ms = PATIENCE_MS, .mode = MODES[i]));
            AWAIT(count_waiters(a, "lock") == 1);
            give(hold);
            assert_int_equal(taker_join(&taker), HF_OK);
            give(taker.hold);
        }
    hf_close(a);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * Readers and writers
 */

static void many_readers(void **state)
{
    enum { N = 6 };
    hf_client *client[N], *w = client_open_with(RARELY);
    hf_hold *hold[N];
    struct taker writer;

    (void)state;
    for (int i = 0; i < N; i++) {
        client[i] = client_open();
        hold[i] = take_mode(client[i], "lock", HF_SHARED);
        assert_int_equal(hf_hold_token(hold[i]), 0);
    }
    taker_start(&writer, w, "lock", HF_ACQUIRE(.mode = HF_WRITE));
    AWAIT(count_waiters(client[0], "lock") == 1);
    for (int i = 0; i < N; i++) {
        assert_false(taker_done(&writer));
        assert_int_equal(hf_hold_verify(hold[i]), HF_OK);
        give(hold[i]);
    }
    assert_int_equal(taker_join(&writer), HF_OK); /* the last one's release has woken it */
    for (int i = 0; i < N; i++)
        assert_int_equal(try_mode(client[i], "lock", HF_SHARED), HF_ERR_BUSY);
    give(writer.hold);
    for (int i = 0; i < N; i++)
        hf_close(client[i]);
    hf_close(w);
}

/* All readers that wait come in when the writer goes. */
static void readers_come_in_together(void **state)
{
    enum { N = 5 };
    hf_client *a = client_open(), *client[N];
    hf_hold *hold = take_mode(a, "lock", HF_WRITE);
    struct taker reader[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        client[i] = client_open_with(RARELY);
        taker_start(&reader[i], client[i], "lock", HF_ACQUIRE(.mode = HF_SHARED));
    }
    AWAIT(count_waiters(a, "lock") == N);
    give(hold);
    for (int i = 0; i < N; i++)
        assert_int_equal(taker_join(&reader[i]), HF_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(hf_hold_state(reader[i].hold), HF_HELD);
        give(reader[i].hold);
        hf_close(client[i]);
    }
    hf_close(a);
}

/* Threads of one process, too. */
static void readers_of_one_process(void **state)
{
    enum { N = 8 };
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take_mode(a, "lock", HF_WRITE);
    struct taker reader[N];

    (void)state;
    for (int i = 0; i < N; i++)
        taker_start(&reader[i], b, "lock", HF_ACQUIRE(.mode = HF_SHARED));
    AWAIT(count_waiters(a, "lock") >= 1);
    give(hold);
    for (int i = 0; i < N; i++)
        assert_int_equal(taker_join(&reader[i]), HF_OK);
    assert_int_equal(try_mode(a, "lock", HF_WRITE), HF_ERR_BUSY);
    for (int i = 0; i < N; i++)
        give(reader[i].hold);
    assert_int_equal(try_mode(a, "lock", HF_WRITE), HF_OK);
    hf_close(a);
    hf_close(b);
}

/* Who writes may read; who then ends writing lets other readers in, and they are told. */
static void downgrade(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    hf_hold *write = take_mode(a, "lock", HF_WRITE), *read = take_mode(a, "lock", HF_SHARED);
    struct taker reader;

    (void)state;
    assert_int_equal(try_mode(b, "lock", HF_SHARED), HF_ERR_BUSY);
    taker_start(&reader, b, "lock", HF_ACQUIRE(.mode = HF_SHARED));
    AWAIT(count_waiters(a, "lock") == 1);
    give(write);
    assert_int_equal(taker_join(&reader), HF_OK);
    assert_int_equal(hf_hold_verify(read), HF_OK);
    assert_int_equal(try_mode(b, "lock", HF_FAIR), HF_ERR_BUSY);
    give(reader.hold);
    assert_int_equal(hf_hold_verify(read), HF_OK);
    give(read);
    assert_int_equal(try_mode(b, "lock", HF_WRITE), HF_OK);
    hf_close(a);
    hf_close(b);
}

/* The read hold first, then the write hold. */
static void read_within_write(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *write = take_mode(a, "lock", HF_WRITE), *read, *again;

    (void)state;
    for (int i = 0; i < 3; i++) {
        read = take_mode(a, "lock", HF_SHARED);
        again = take_mode(a, "lock", HF_WRITE);
        assert_int_equal(hf_hold_token(again), hf_hold_token(write));
        give(again);
        give(read);
        assert_int_equal(hf_hold_verify(write), HF_OK);
        assert_int_equal(try_mode(b, "lock", HF_SHARED), HF_ERR_BUSY);
    }
    give(write);
    assert_int_equal(try_mode(b, "lock", HF_WRITE), HF_OK);
    hf_close(a);
    hf_close(b);
}

static void upgrade_is_refused(void **state)
{
    hf_client *a = client_open();
    hf_hold *read = take_mode(a, "lock", HF_SHARED), *none = NULL;

    (void)state;
    assert_int_equal(hf_write_acquire(a, "lock", NULL, &none), HF_ERR_UPGRADE);
    assert_int_equal(hf_write_acquire(a, "lock", TRY, &none), HF_ERR_UPGRADE);
    assert_null(none);
    give(read);
    give(take_mode(a, "lock", HF_WRITE));
    hf_close(a);
}

/* Readers that come and go never all go: a writer that is preferred gets in all the same. */
static void writers_preferred(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *w = client_open();
    hf_hold *one = take_mode(a, "lock", HF_SHARED), *two = NULL;
    struct taker writer;

    (void)state;
    taker_start(&writer, w, "lock", HF_ACQUIRE(.mode = HF_WRITE, .prefer = 1));
    AWAIT(count_waiters(a, "lock") >= 1);
    AWAIT(try_mode(b, "lock", HF_SHARED) == HF_ERR_BUSY);
    assert_int_equal(hf_shared_acquire(a, "lock", NULL, &two),
                     HF_OK); /* enters again all the same */
    give(two);
    assert_false(taker_done(&writer));
    give(one);
    assert_int_equal(taker_join(&writer), HF_OK);
    give(writer.hold);
    assert_int_equal(try_mode(b, "lock", HF_SHARED), HF_OK);
    hf_close(a);
    hf_close(b);
    hf_close(w);
}

/* One that gives up keeps nobody waiting. */
static void a_preferred_writer_gives_up(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY), *w = client_open();
    hf_hold *one = take_mode(a, "lock", HF_SHARED), *none = NULL;
    struct taker reader;

    (void)state;
    assert_int_equal(hf_write_acquire(w, "lock", HF_ACQUIRE(.wait_ms = 300, .prefer = 1), &none),
                     HF_ERR_BUSY);
    taker_start(&reader, b, "lock", HF_ACQUIRE(.mode = HF_SHARED));
    assert_int_equal(taker_join(&reader), HF_OK);
    give(reader.hold);
    give(one);
    hf_close(a);
    hf_close(b);
    hf_close(w);
}

/* ------------------------------------------------------------------------------------------------
 * The end of those who do not come to it
 */

struct dying {
    enum hf_mode mode;
    int64_t permits;
};

static int die_holding(const struct parent *parent, void *arg)
{
    const struct dying *dying = arg;
    hf_client *client = child_client();
    hf_hold *hold;

    CHECK_EQUAL(
        hf_acquire(client, "lock",
                   HF_ACQUIRE(.ttl_ms = 1000, .mode = dying->mode, .permits = dying->permits),
                   &hold),
        HF_OK);
    parent_tell(parent, 'h');
    parent_hear(parent);
    return 0;
}

/* Whatever it held is free after its ttl at the latest, and others that read meanwhile go on. */
static void a_holder_dies(void **state)
{
    hf_client *a = client_open(), *b = client_open();

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        struct dying dying = { .mode = LOCKS[i] };
        struct child child;
        hf_hold *beside = NULL, *hold;

        child_start(&child, die_holding, &dying);
        child_expect(&child, 'h');
        if (LOCKS[i] == HF_SHARED)
            beside = take_mode(b, "lock", HF_SHARED);
        assert_int_equal(try_mode(a, "lock", HF_WRITE), HF_ERR_BUSY);
        child_kill(&child);
        if (beside) {
            int64_t until = now_ms() + 1500;

            AWAIT(now_ms() > until); /* it is the death of the other that must change nothing */
            assert_int_equal(hf_hold_verify(beside), HF_OK);
            give(beside);
        }
        hold = take_mode(a, "lock", HF_WRITE);
        give(hold);
        store->bury();
    }
    hf_close(a);
    hf_close(b);
}

static int die_waiting(const struct parent *parent, void *arg)
{
    hf_client *client = child_client();
    hf_hold *hold;

    (void)arg;
    parent_tell(parent, 'w');
    hf_fair_acquire(client, "lock", NULL, &hold);
    return 0;
}

/* A dead one in the line costs seconds, not minutes. */
static void a_fair_waiter_dies(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take_mode(a, "lock", HF_FAIR);
    struct taker taker;
    struct child child;

    (void)state;
    child_start(&child, die_waiting, NULL);
    child_expect(&child, 'w');
    AWAIT(count_waiters(a, "lock") == 1);
    taker_start(&taker, b, "lock", HF_ACQUIRE(.mode = HF_FAIR));
    AWAIT(count_waiters(a, "lock") == 2);
    child_kill(&child);
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
    store->bury();
}

/* ------------------------------------------------------------------------------------------------
 * Fair
 */

static int first_done(struct taker *taker, int count)
{
    for (int i = 0; i < count; i++)
        if (taker[i].client && taker_done(&taker[i]))
            return i;
    return -1;
}

/* Threads of two processes, in turn: they are served as they came, and no pass overtakes. */
static void in_order(void **state)
{
    enum { N = 8 };
    hf_client *a = client_open(), *b = client_open(), *client[2] = { a, b };
    hf_hold *hold = take_mode(a, "lock", HF_FAIR);
    uint64_t last = hf_hold_token(hold);
    struct taker taker[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        taker_start(&taker[i], client[i % 2], "lock", HF_ACQUIRE(.mode = HF_FAIR));
        AWAIT(count_waiters(a, "lock") == i + 1);
    }
    give(hold);
    for (int served = 0; served < N; served++) {
        int who = -1;

        AWAIT((who = first_done(taker, N)) >= 0);
        assert_int_equal(who, served);
        assert_int_equal(taker_join(&taker[who]), HF_OK);
        assert_true(hf_hold_token(taker[who].hold) > last);
        last = hf_hold_token(taker[who].hold);
        taker[who].client = NULL;
        give(taker[who].hold);
    }
    hf_close(a);
    hf_close(b);
}

/* Those who give up leave, and a single attempt never has a place. */
static void leaving(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open();
    hf_hold *hold = take_mode(a, "lock", HF_FAIR), *none = NULL;
    struct taker taker;

    (void)state;
    assert_int_equal(hf_fair_acquire(b, "lock", HF_ACQUIRE(.wait_ms = 200), &none), HF_ERR_BUSY);
    assert_int_equal(try_mode(b, "lock", HF_FAIR), HF_ERR_BUSY);
    AWAIT(count_waiters(a, "lock") == 0);
    taker_start(&taker, c, "lock", HF_ACQUIRE(.mode = HF_FAIR));
    AWAIT(count_waiters(a, "lock") == 1);
    assert_int_equal(hf_acquire_start(b, "lock", HF_ACQUIRE(.mode = HF_FAIR), &none), HF_OK);
    AWAIT(count_waiters(a, "lock") == 2);
    assert_int_equal(hf_cancel(b, &none), HF_OK);
    assert_int_equal(next_event(b).error, HF_ERR_CANCELLED);
    AWAIT(count_waiters(a, "lock") == 1);
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_int_equal(try_mode(b, "lock", HF_FAIR), HF_ERR_BUSY);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* ------------------------------------------------------------------------------------------------
 * Small things
 */

static void non_reentrant(void **state)
{
    hf_client *a = client_open();

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        hf_hold *hold = take_mode(a, "lock", LOCKS[i]), *none = NULL;

        assert_int_equal(
            hf_acquire(a, "lock", HF_ACQUIRE(.mode = LOCKS[i], .reentry = HF_OFF), &none),
            HF_ERR_REENTRY);
        assert_null(none);
        give(take_mode(a, "lock", LOCKS[i]));
        give(hold);
    }
    hf_close(a);
}

/* Tokens of whatever exclusive mode grow, and re-entry keeps them. */
static void tokens(void **state)
{
    hf_client *a = client_open(), *b = client_open();

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        uint64_t last = 0;

        if (LOCKS[i] == HF_SHARED)
            continue;
        for (int round = 0; round < 4; round++) {
            hf_hold *hold = take_mode(round % 2 ? a : b, "lock", LOCKS[i]);

            assert_true(hf_hold_token(hold) > last);
            last = hf_hold_token(hold);
            give(hold);
        }
    }
    hf_close(a);
    hf_close(b);
}

static void renewed_and_fixed(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold[LOCK_COUNT];
    char name[16];
    int64_t until;

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        snprintf(name, sizeof name, "lock %zu", i);
        hold[i] = take(a, name, HF_ACQUIRE(.ttl_ms = 1000, .mode = LOCKS[i]));
    }
    until = now_ms() + 2500;
    AWAIT(now_ms() > until); /* past two ttls: it is their passing that is tested */
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        snprintf(name, sizeof name, "lock %zu", i);
        assert_int_equal(try_mode(b, name, HF_WRITE), HF_ERR_BUSY);
        assert_int_equal(hf_hold_verify(hold[i]), HF_OK);
        give(hold[i]);
    }
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        hf_hold *fixed = take(a, "lock", HF_ACQUIRE(.lease_ms = 200, .mode = LOCKS[i]));

        give(take_mode(b, "lock", HF_WRITE)); /* waits until it is over */
        assert_int_equal(hf_release(fixed), HF_ERR_LOST);
    }
    hf_close(a);
    hf_close(b);
}

static void events_of_all_kinds(void **state)
{
    hf_client *a = client_open(), *b = client_open();

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        struct hf_event event;
        int cookie, other;

        assert_int_equal(hf_acquire_start(a, "lock", HF_ACQUIRE(.mode = LOCKS[i]), &cookie), HF_OK);
        event = next_event(a);
        assert_int_equal(event.type, HF_EVENT_ACQUIRED);
        assert_int_equal(hf_acquire_start(b, "lock", HF_ACQUIRE(.mode = HF_WRITE), &other), HF_OK);
        AWAIT(count_waiters(a, "lock") == 1);
        no_event(b);
        assert_int_equal(hf_release_start(event.hold, &cookie), HF_OK);
        assert_int_equal(next_event(a).type, HF_EVENT_RELEASED);
        event = next_event(b);
        assert_int_equal(event.type, HF_EVENT_ACQUIRED);
        give(event.hold);
    }
    hf_close(a);
    hf_close(b);
}

/* A client that ends gives back what it has of every kind, and its waiters are told. */
static void closing(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold[LOCK_COUNT];
    char name[16];

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        snprintf(name, sizeof name, "lock %zu", i);
        hold[i] = take_mode(a, name, LOCKS[i]);
    }
    hf_close(a);
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        snprintf(name, sizeof name, "lock %zu", i);
        assert_int_equal(try_mode(b, name, HF_WRITE), HF_OK);
        assert_int_equal(hf_hold_state(hold[i]), HF_RELEASED);
        assert_int_equal(hf_release(hold[i]), HF_ERR_CLOSED);
    }
    hf_close(b);
}

/* Takes it away: the holder is told, and others are not touched. */
static void broken(void **state)
{
    hf_client *a = client_open(), *b = client_open();

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        hf_hold *hold = take_mode(a, "lock", LOCKS[i]), *beside = NULL;
        char owner[HF_OWNER_MAX + 1];

        if (LOCKS[i] == HF_SHARED)
            beside = take_mode(b, "lock", HF_SHARED);
        hf_hold_owner(hold, owner, sizeof owner);
        assert_int_equal(hf_break(b, "lock", owner), HF_OK);
        AWAIT(hf_hold_state(hold) == HF_LOST || hf_hold_verify(hold) == HF_ERR_LOST);
        assert_int_equal(hf_release(hold), HF_ERR_LOST);
        if (beside) {
            assert_int_equal(hf_hold_verify(beside), HF_OK);
            give(beside);
        }
        assert_int_equal(try_mode(b, "lock", HF_WRITE), HF_OK);
    }
    hf_close(a);
    hf_close(b);
}

static void shown(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    static const char *const KINDS[] = { "mutex", "read", "write", "fair", "mutex", "mutex" };

    (void)state;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        hf_hold *hold = take(a, "lock", HF_ACQUIRE(.mode = LOCKS[i], .label = "why"));
        struct hf_lock lock = { .size = sizeof lock };
        hf_list *list;

        AWAIT(strcmp(holder_of(b, "lock")->label, "why") == 0);
        assert_int_equal(hf_inspect(b, "lock", &list), HF_OK);
        assert_int_equal(hf_list_get(list, 0, &lock), HF_OK);
        assert_string_equal(lock.state, "held");
        /* a fair hold that nobody waits for may look like a mutex's: their data are the same */
        if (LOCKS[i] != HF_FAIR)
            assert_string_equal(lock.kind, KINDS[i]);
        assert_int_equal(lock.holders, 1);
        assert_int_equal(lock.holder.pid, getpid());
        hf_list_free(list);
        give(hold);
    }
    hf_close(a);
    hf_close(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(matrix),
        TEST(woken_across_kinds),
        TEST(woken_by_message),
        TEST(many_readers),
        TEST(readers_come_in_together),
        TEST(readers_of_one_process),
        TEST(downgrade),
        TEST(read_within_write),
        TEST(upgrade_is_refused),
        TEST(writers_preferred),
        TEST(a_preferred_writer_gives_up),
        TEST(a_holder_dies),
        TEST(a_fair_waiter_dies),
        TEST(in_order),
        TEST(leaving),
        TEST(non_reentrant),
        TEST(tokens),
        TEST(renewed_and_fixed),
        TEST(events_of_all_kinds),
        TEST(closing),
        TEST(broken),
        TEST(shown),
    };

    return suite_main(argc, argv, "kinds", tests, sizeof tests / sizeof tests[0]);
}
