/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done to processes, network and server. When it is done is storm.c's business. */
#include "chaos/fault.h"

#include "lib/raw.h"

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

    atomic_store(&proxy->kinds, KINDS[storm_pick(storm, 5)]);
    return proxy;
}

static void net_end(struct storm *storm, int slot)
{
    proxy_clear(&storm->crew->member[slot].proxy);
}

static void slow_down_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->delay_ms, 1 + (long)storm_pick(storm, 400));
    proxy_apply(proxy);
}

static void slow_up_begin(struct storm *storm, int slot)
{
    struct proxy *proxy = net(storm, slot);

    atomic_store(&proxy->delay_up_ms, 1 + (long)storm_pick(storm, 400));
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

    atomic_store(&proxy->reset, storm_pick(storm, 2));
    atomic_store(&proxy->cut_after, (long)storm_pick(storm, 200));
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

    atomic_store(&proxy->split, 1 + (int)storm_pick(storm, 7));
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
    raw_do(storm->server, "CLIENT KILL TYPE %s SKIPME yes",
           storm_pick(storm, 2) ? "normal" : "pubsub");
}

const struct fault FAULTS[] = {
    { "kill", ON_PROCESS, 8, 0, 0, kill_begin, NULL, false },
    { "stop", ON_PROCESS, 14, 20, 4000, stop_begin, stop_end, false },
    { "dismiss", ON_PROCESS, 3, 0, 0, dismiss_begin, NULL, false },
    { "slow-down", ON_NETWORK, 5, 100, 1500, slow_down_begin, net_end, false },
    { "slow-up", ON_NETWORK, 5, 100, 1500, slow_up_begin, net_end, false },
    { "jam", ON_NETWORK, 6, 50, 2500, jam_begin, net_end, false },
    { "deaf", ON_NETWORK, 4, 50, 2000, deaf_begin, cut_end, false },
    { "mute", ON_NETWORK, 4, 50, 2000, mute_begin, cut_end, false },
    { "half-close", ON_NETWORK, 4, 20, 500, half_close_begin, net_end, false },
    { "cut", ON_NETWORK, 6, 20, 500, cut_begin, net_end, false },
    { "reset", ON_NETWORK, 4, 10, 100, reset_begin, net_end, false },
    { "refuse", ON_NETWORK, 4, 50, 1500, refuse_begin, net_end, false },
    { "split", ON_NETWORK, 5, 100, 1500, split_begin, net_end, false },
    { "pause", ON_SERVER, 5, 20, 2500, pause_begin, pause_end, false },
    { "crash", ON_SERVER, 4, 1, 1200, crash_begin, crash_end, false },
    { "forget", ON_SERVER, 6, 1, 1200, crash_begin, forget_end, true },
    { "no-scripts", ON_SERVER, 2, 0, 0, flush_scripts_begin, NULL, false },
    { "cut-off", ON_SERVER, 2, 0, 0, kill_connections_begin, NULL, false },
};

_Static_assert(sizeof FAULTS / sizeof FAULTS[0] == FAULT_COUNT, "as many as fault.h says");
