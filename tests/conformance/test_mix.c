/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything at random: threads of two clients that take a few locks in every way there is, and a referee
 * that sees who is in. Seeds are fixed; the order of the threads is not.
 */
#include "conformance/store.h"

#include <poll.h>

enum { NAMES = 3, THREADS = 6, RUN_MS = 2500, SHORT = 3 };

static const char *const NAME[NAMES] = { "mix:a", "mix:b", "mix:c" };

/* The referee of a name: which owner is in, how often, with which token. */
struct referee {
    pthread_mutex_t lock;
    int inside;
    uint64_t owner, token;
};

static struct referee referee[NAMES];
static atomic_int fouls, entries;
static atomic_bool stop;

static void enter(int name, uint64_t owner, uint64_t token)
{
    struct referee *r = &referee[name];

    pthread_mutex_lock(&r->lock);
    if (r->inside > 0 && r->owner != owner)
        atomic_fetch_add(&fouls, 1);
    if (token < r->token || (token == r->token && r->owner != owner))
        atomic_fetch_add(&fouls, 1);
    r->inside++;
    r->owner = owner;
    r->token = token;
    pthread_mutex_unlock(&r->lock);
    atomic_fetch_add(&entries, 1);
}

static void leave(int name)
{
    pthread_mutex_lock(&referee[name].lock);
    referee[name].inside--;
    pthread_mutex_unlock(&referee[name].lock);
}

/* Notes what must not be; the first of them in words. */
static int wrong(bool is_so, const char *what, int error)
{
    if (is_so)
        fprintf(stderr, "%s: %s (%s)\n", what, hf_strerror(error), hf_last_error());
    return is_so;
}

struct player {
    hf_client *client;
    int number;
    uint32_t seed;
    int wrong;
};

static uint32_t pick(struct player *player, uint32_t below)
{
    return random_next(&player->seed) % below;
}

/* What to ask for; the owner as the referee knows it. */
static struct hf_acquire_options choose(struct player *player, uint64_t *ret_owner)
{
    static const int64_t TTLS[] = { 5000, 8000, 30000 };
    struct hf_acquire_options options = { .size = sizeof options };
    bool named = pick(player, 4) == 0;

    if (pick(player, 5) == 0)
        options.lease_ms = 8000;
    else
        options.ttl_ms = TTLS[pick(player, 3)];
    switch (pick(player, 4)) {
    case 0:
        options.wait_ms = HF_TRY_ONCE;
        break;
    case 1:
        options.wait_ms = SHORT;
        break;
    default:
        options.wait_ms = 3000;
    }
    if (pick(player, 3) == 0)
        options.label = "mixed";
    if (pick(player, 6) == 0)
        options.max_hold_ms = 8000;
    options.owner = named ? 5 : 0;
    /* threads are owners of their own; a named one is shared by the threads of a client */
    *ret_owner = named ? 1000 + (uint64_t)(player->number % 2) : (uint64_t)player->number;
    return options;
}

static void play(struct player *player)
{
    int name = (int)pick(player, NAMES), error;
    uint64_t owner;
    struct hf_acquire_options options = choose(player, &owner);
    hf_hold *hold = NULL, *again = NULL;

    error = hf_acquire(player->client, NAME[name], &options, &hold);
    if (error) {
        /* a wait can be over before the first answer comes */
        player->wrong +=
            wrong(error != HF_ERR_BUSY && (options.wait_ms != SHORT ||
                                           (error != HF_ERR_UNSURE && error != HF_ERR_UNREACHABLE)),
                  "acquire", error);
        return;
    }
    enter(name, owner, hf_hold_token(hold));
    player->wrong += wrong(hf_hold_state(hold) != HF_HELD, "state", hf_hold_state(hold));
    if (pick(player, 4) == 0)
        nap_us((long)pick(player, 3000));
    if (pick(player, 5) == 0) {
        error = hf_hold_verify(hold);
        player->wrong += wrong(error != HF_OK, "verify", error);
    }
    if (pick(player, 4) == 0) {
        error = hf_acquire(player->client, NAME[name], &options, &again);
        player->wrong +=
            wrong(error || hf_hold_token(again) != hf_hold_token(hold), "again", error);
        error = hf_release(again);
        player->wrong += wrong(error != HF_OK, "release of it", error);
    }
    leave(name);
    error = hf_release(hold);
    player->wrong += wrong(error != HF_OK, "release", error);
}

static void *run_player(void *arg)
{
    struct player *player = arg;

    while (!atomic_load(&stop))
        play(player);
    return NULL;
}

/* One that plays by events: fresh owners, several acquires at once, some of them cancelled. */
static void take_events(struct player *player, uint64_t *owner, int *open)
{
    struct hf_event event = { .size = sizeof event };

    while (hf_next(player->client, &event) == 1) {
        int name = (int)((intptr_t)event.cookie % NAMES);

        if (event.type == HF_EVENT_ACQUIRED) {
            enter(name, ++*owner, hf_hold_token(event.hold));
            leave(name);
            player->wrong += hf_release_start(event.hold, event.cookie) != HF_OK;
            continue;
        }
        if (event.type == HF_EVENT_RELEASED)
            player->wrong += event.error != HF_OK;
        else
            player->wrong += event.type != HF_EVENT_FAILED ||
                             (event.error != HF_ERR_BUSY && event.error != HF_ERR_CANCELLED &&
                              event.error != HF_ERR_UNSURE && event.error != HF_ERR_UNREACHABLE);
        --*open;
    }
}

static void *run_events(void *arg)
{
    struct player *player = arg;
    struct pollfd p = { .fd = hf_fd(player->client), .events = POLLIN };
    uint64_t owner = (uint64_t)player->number * 1000000, ignored;
    int open = 0;
    intptr_t cookie = 0;

    while (!atomic_load(&stop) || open > 0) {
        if (open < 4 && !atomic_load(&stop)) {
            struct hf_acquire_options options = choose(player, &ignored);

            options.owner = 0;
            cookie++;
            player->wrong += hf_acquire_start(player->client, NAME[cookie % NAMES], &options,
                                              (void *)cookie) != HF_OK;
            open++;
            if (pick(player, 4) == 0)
                hf_cancel(player->client, (void *)cookie);
        }
        poll(&p, 1, open < 4 ? 1 : 100);
        take_events(player, &owner, &open);
    }
    return NULL;
}

static void everything(void **state)
{
    hf_client *client[3] = { client_open(),
                             client_open_with(HF_CLIENT(.pass_ms = 2, .pass_count = 5)),
                             client_open_with(HF_CLIENT(.pass_ms = HF_OFF)) };
    struct player player[THREADS + 2];
    pthread_t thread[THREADS + 2];

    (void)state;
    for (int i = 0; i < NAMES; i++)
        referee[i] = (struct referee){ .lock = PTHREAD_MUTEX_INITIALIZER };
    for (int i = 0; i < THREADS + 2; i++) {
        bool events = i >= THREADS;

        player[i] = (struct player){ .client = events ? client[1 + i % 2] : client[i % 2],
                                     .number = i + 1,
                                     .seed = 77u + (uint32_t)i };
        if (!events)
            player[i].number = i % 2 + 2 * (i + 1); /* even: the first client's */
        assert_int_equal(
            pthread_create(&thread[i], NULL, events ? run_events : run_player, &player[i]), 0);
    }
    nap_ms(RUN_MS);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS + 2; i++) {
        pthread_join(thread[i], NULL);
        if (player[i].wrong)
            fail_msg("player %d saw %d things that must not be", i, player[i].wrong);
    }
    assert_int_equal(atomic_load(&fouls), 0);
    assert_true(atomic_load(&entries) > 50);
    print_message("%d entries\n", atomic_load(&entries));
    for (int i = 0; i < NAMES; i++)
        assert_int_equal(try_once(client[2], NAME[i]), HF_OK);
    for (int i = 0; i < 3; i++)
        hf_close(client[i]);
}

static const struct CMUnitTest TESTS[] = { TEST(everything) };

SUITE_MAIN("mix", TESTS)
