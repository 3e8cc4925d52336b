/* SPDX-License-Identifier: Apache-2.0 */
#include "chaos/storm.h"

#include <string.h>

#include "lib/raw.h"

enum where { PROCESS, NETWORK, SERVER };

struct kind {
    const char *name;
    enum where where;
    unsigned weight;
    int least_ms, most_ms; /* it lasts; 0: it is done at once */
    void (*begin)(struct storm *storm, int slot);
    void (*end)(struct storm *storm, int slot);
};

static uint32_t pick(struct storm *storm, uint32_t below)
{
    return random_next(&storm->random) % below;
}

/* ------------------------------------------------------------------------------------------------
 * Processes
 */

static void kill_begin(struct storm *storm, int slot)
{
    crew_kill(storm->crew, slot);
}

static void dismiss_begin(struct storm *storm, int slot)
{
    crew_dismiss(storm->crew, slot);
}

static void stop_begin(struct storm *storm, int slot)
{
    crew_stop(storm->crew, slot);
}

static void stop_end(struct storm *storm, int slot)
{
    crew_continue(storm->crew, slot);
}

/* ------------------------------------------------------------------------------------------------
 * Network. A connection never loses bytes and goes on: what was swallowed ends with the connection.
 */

static struct proxy *net(struct storm *storm, int slot)
{
    struct proxy *proxy = &storm->crew->member[slot].proxy;
    static const int KINDS[] = { PROXY_ANY, PROXY_ANY, PROXY_ANY, PROXY_COMMANDS, PROXY_WAKEUPS };

    atomic_store(&proxy->kinds, KINDS[pick(storm, 5)]);
    return proxy;
}

static void net_end(struct storm *storm, int slot)
{
    proxy_clear(&storm->crew->member[slot].proxy);
}

static void slow_down_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->delay_ms, 1 + (long)pick(storm, 400));
    proxy_apply(proxy);
}

static void slow_up_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->delay_up_ms, 1 + (long)pick(storm, 400));
    proxy_apply(proxy);
}

static void jam_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->stall, true);
    proxy_apply(proxy);
}

static void deaf_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->swallow_down, true);
    proxy_apply(proxy);
}

static void mute_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->swallow_up, true);
    proxy_apply(proxy);
}

static void cut_end(struct storm *storm, int slot)
{
    struct proxy *proxy = &storm->crew->member[slot].proxy;

    atomic_store(&proxy->refuse, true); /* no new one, of which some bytes are missing */
    proxy_cut_all(proxy);
    proxy_clear(proxy);
}

static void half_close_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->half_close, true);
    proxy_apply(proxy);
}

static void cut_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->reset, pick(storm, 2));
    atomic_store(&proxy->cut_after, (long)pick(storm, 200));
    proxy_apply(proxy);
}

static void reset_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->reset, true);
    proxy_cut_all(proxy);
}

static void refuse_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->refuse, true);
    proxy_cut_all(proxy);
}

static void split_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->split, 1 + (int)pick(storm, 7));
    proxy_apply(proxy);
}

/* ------------------------------------------------------------------------------------------------
 * Server
 */

static void pause_begin(struct storm *storm, int slot)
{
    (void)slot;
    server_pause(storm->server);
}

static void pause_end(struct storm *storm, int slot)
{
    (void)slot;
    server_continue(storm->server);
}

static void crash_begin(struct storm *storm, int slot)
{
    (void)slot;
    server_kill(storm->server);
}

static void crash_end(struct storm *storm, int slot)
{
    (void)slot;
    server_restart(storm->server, true);
}

static void forget_end(struct storm *storm, int slot)
{
    (void)slot;
    server_restart(storm->server, false);
}

static void flush_scripts_begin(struct storm *storm, int slot)
{
    (void)slot;
    raw_do(storm->server, "SCRIPT FLUSH");
}

/* The server ends connections by itself; ours goes on. */
static void kill_connections_begin(struct storm *storm, int slot)
{
    (void)slot;
    raw_do(storm->server, "CLIENT KILL TYPE %s SKIPME yes", pick(storm, 2) ? "normal" : "pubsub");
}

static const struct kind KIND[] = {
    { "kill", PROCESS, 8, 0, 0, kill_begin, NULL },
    { "stop", PROCESS, 14, 20, 4000, stop_begin, stop_end },
    { "dismiss", PROCESS, 3, 0, 0, dismiss_begin, NULL },
    { "slow-down", NETWORK, 5, 100, 1500, slow_down_begin, net_end },
    { "slow-up", NETWORK, 5, 100, 1500, slow_up_begin, net_end },
    { "jam", NETWORK, 6, 50, 2500, jam_begin, net_end },
    { "deaf", NETWORK, 4, 50, 2000, deaf_begin, cut_end },
    { "mute", NETWORK, 4, 50, 2000, mute_begin, cut_end },
    { "half-close", NETWORK, 4, 20, 500, half_close_begin, net_end },
    { "cut", NETWORK, 6, 20, 500, cut_begin, net_end },
    { "reset", NETWORK, 4, 10, 100, reset_begin, net_end },
    { "refuse", NETWORK, 4, 50, 1500, refuse_begin, net_end },
    { "split", NETWORK, 5, 100, 1500, split_begin, net_end },
    { "pause", SERVER, 5, 20, 2500, pause_begin, pause_end },
    { "crash", SERVER, 4, 1, 1200, crash_begin, crash_end },
    { "forget", SERVER, 6, 1, 1200, crash_begin, forget_end },
    { "no-scripts", SERVER, 2, 0, 0, flush_scripts_begin, NULL },
    { "cut-off", SERVER, 2, 0, 0, kill_connections_begin, NULL },
};

enum { KINDS = sizeof KIND / sizeof KIND[0], FORGET = 15 };
_Static_assert(KINDS <= STORM_KINDS, "room for the counts");

/* ------------------------------------------------------------------------------------------------
 * The course of things
 */

static bool can_happen(const struct storm *storm, int kind)
{
    if (kind == FORGET)
        return storm->forgets;
    return KIND[kind].where == PROCESS || storm->server;
}

size_t storm_unseen(const struct storm *storm)
{
    size_t sum = 0;

    for (int i = 0; i < KINDS; i++)
        sum += can_happen(storm, i) && storm->count[i] == 0;
    return sum;
}

/* One that has not been yet; -1: there is none. */
static int choose_new(struct storm *storm)
{
    size_t at = storm_unseen(storm);

    if (at == 0)
        return -1;
    at = pick(storm, (uint32_t)at);
    for (int i = 0; i < KINDS; i++)
        if (can_happen(storm, i) && storm->count[i] == 0 && at-- == 0)
            return i;
    return -1;
}

static int choose(struct storm *storm)
{
    unsigned sum = 0, at;
    int new = pick(storm, 2) ? choose_new(storm) : -1;

    if (new >= 0)
        return new;

    for (int i = 0; i < KINDS; i++)
        sum += can_happen(storm, i) ? KIND[i].weight : 0;
    at = pick(storm, sum);
    for (int i = 0; i < KINDS; i++) {
        unsigned weight = can_happen(storm, i) ? KIND[i].weight : 0;

        if (at < weight)
            return i;
        at -= weight;
    }
    return 0;
}

/* Mostly short: the longest are rare. */
static int how_long(struct storm *storm, const struct kind *kind)
{
    int range = kind->most_ms - kind->least_ms;

    if (range <= 0)
        return 0;
    if (pick(storm, 3))
        range = range / 4 + 1;
    return kind->least_ms + (int)pick(storm, (uint32_t)range);
}

static struct storm_fault *place_of(struct storm *storm, int kind, int slot)
{
    switch (KIND[kind].where) {
    case PROCESS:
        return &storm->process[slot];
    case NETWORK:
        return &storm->network[slot];
    default:
        return &storm->at_server;
    }
}

static void note(struct storm *storm, int kind, uint64_t since)
{
    /* what is done to a process is its own line (crew.c) */
    if (KIND[kind].where != PROCESS)
        hist_note(&storm->crew->history, HIST_FAULT, 0, KIND[kind].name, since, hist_now());
}

static void begin(struct storm *storm, int kind, int slot)
{
    struct storm_fault *fault = place_of(storm, kind, slot);
    int ms = how_long(storm, &KIND[kind]);
    uint64_t since = hist_now();

    if (fault->kind >= 0)
        return; /* one at a time */
    storm->count[kind]++;
    KIND[kind].begin(storm, slot);
    if (!KIND[kind].end) {
        note(storm, kind, since);
        return;
    }
    *fault = (struct storm_fault){ .kind = kind, .until_ms = now_ms() + ms, .since_ns = since };
}

static void end(struct storm *storm, struct storm_fault *fault, int slot)
{
    int kind = fault->kind;

    if (kind < 0)
        return;
    KIND[kind].end(storm, slot);
    note(storm, kind, fault->since_ns);
    fault->kind = -1;
}

static void end_due(struct storm *storm, int64_t now)
{
    for (int slot = 0; slot < CHAOS_SLOTS; slot++) {
        if (storm->process[slot].until_ms <= now)
            end(storm, &storm->process[slot], slot);
        if (storm->network[slot].until_ms <= now)
            end(storm, &storm->network[slot], slot);
    }
    if (storm->at_server.until_ms <= now)
        end(storm, &storm->at_server, 0);
}

void storm_init(struct storm *storm, uint32_t seed)
{
    storm->random = seed | 1;
    for (int slot = 0; slot < CHAOS_SLOTS; slot++)
        storm->process[slot].kind = storm->network[slot].kind = -1;
    storm->at_server.kind = -1;
    storm->next_ms = now_ms() + 500;
}

void storm_step(struct storm *storm)
{
    int64_t now = now_ms();

    end_due(storm, now);
    if (now < storm->next_ms)
        return;
    begin(storm, choose(storm), (int)pick(storm, CHAOS_SLOTS));
    storm->next_ms = now_ms() + 20 + (int64_t)pick(storm, 350);
}

void storm_step_calm(struct storm *storm)
{
    if (now_ms() < storm->next_ms)
        return;
    begin(storm, 0, (int)pick(storm, CHAOS_SLOTS));
    storm->next_ms = now_ms() + 300 + (int64_t)pick(storm, 600);
}

void storm_end(struct storm *storm)
{
    end_due(storm, INT64_MAX);
}

size_t storm_total(const struct storm *storm)
{
    size_t sum = 0;

    for (int i = 0; i < KINDS; i++)
        sum += storm->count[i];
    return sum;
}

void storm_print(const struct storm *storm, FILE *file)
{
    fputs("faults:", file);
    for (int i = 0; i < KINDS; i++)
        if (can_happen(storm, i))
            fprintf(file, " %s %zu", KIND[i].name, storm->count[i]);
    fputc('\n', file);
}
