/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile server and network drive the whole core (core.h). Each byte of the input is a choice: what users
 * do, what the server answers, what the network delivers, how time passes. Then, as the input's second byte
 * says, the world becomes good, and everybody gets what he waits for and nothing is left; or the server is
 * dead; or the client is closed in the middle of it.
 */
#include "fuzz/core.h"

#include <stdarg.h>

#include "core/presence.h"

#define STEPS_MAX 600

const char *const CORE_NAMES[NAMES] = { "L", "M", "{N}" };

int core_name(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(CORE_NAMES[i], name) == 0)
            return i;
    return -1;
}

void core_trace(const struct core *core, const char *format, ...)
{
    static int on = -1;
    va_list args;

    if (on < 0)
        on = getenv("FUZZ_TRACE") != NULL;
    if (!on)
        return;
    fprintf(stderr, "%.6f ", (double)(core->now - CORE_START) / (double)HFI_SEC);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

uint32_t choose(struct core *core, uint32_t limit)
{
    return core->calm ? 0 : input_below(&core->input, limit);
}

struct owner *core_owner(struct core *core, uint64_t number)
{
    MUST(number >= 1 && number < OWNERS);
    return &core->owner[number];
}

/* ------------------------------------------------------------------------------------------------
 * What happens
 */

static void do_release(struct core *core)
{
    struct held *held = users_some_held(core);

    if (held)
        users_release(core, held);
}

static void do_cancel(struct core *core)
{
    struct call *call = users_some_call(core, false);

    if (call)
        users_cancel(core, call);
}

static void do_take(struct core *core)
{
    struct call *call = users_some_call(core, true);

    if (call)
        users_take(core, call);
}

static void do_verify(struct core *core)
{
    struct held *held = users_some_held(core);

    if (held)
        users_verify(core, held);
}

static void do_time(struct core *core)
{
    static const hfi_time TIMES[] = { HFI_MSEC / 10,  HFI_MSEC, 3 * HFI_MSEC, 20 * HFI_MSEC,
                                      100 * HFI_MSEC, HFI_SEC,  10 * HFI_SEC };
    uint32_t how = choose(core, 16);
    hfi_time next = host_deadline(core);

    if ((how & 7) < 7)
        host_pass(core, TIMES[how & 7], how & 8);
    else if (next != HF_TIME_NEVER) /* just before it, or at it */
        host_pass(core, hfi_time_until(core->now + (how >> 3), next), false);
}

/* All that there is, true and at once, as input allows. */
static void serve(struct core *core, unsigned link)
{
    while (server_execute(core, &core->conn[link]))
        ;
    server_answer(core, link, SIZE_MAX);
}

static void do_server(struct core *core)
{
    unsigned link = choose(core, 4) == 3;

    if (core->conn[link].up)
        server_execute(core, &core->conn[link]);
}

static void do_answer(struct core *core)
{
    uint32_t how = choose(core, 8);

    server_answer(core, how & 1, how < 2 ? SIZE_MAX : how);
}

static void do_serve(struct core *core)
{
    uint32_t rounds = 1 + choose(core, 8);

    for (uint32_t i = 0; i < rounds; i++) {
        host_connect(core, HFI_REDIS_COMMANDS, true);
        host_connect(core, HFI_REDIS_WAKEUPS, true);
        serve(core, HFI_REDIS_COMMANDS);
        serve(core, HFI_REDIS_WAKEUPS);
    }
}

static void do_block(struct core *core)
{
    uint32_t how = choose(core, 8);
    struct conn *conn = &core->conn[how & 1];

    if (how < 4)
        conn->blocked = !conn->blocked;
    else
        host_send(core, how & 1, 1 + choose(core, 64));
    host_pump(core);
}

static void do_close(struct core *core)
{
    if (choose(core, 256) != 'c' || core->closed)
        return;
    core->closed = true;
    host_input(core, &(struct hfi_input){ .kind = HFI_INPUT_CLOSE });
}

static void something(struct core *core)
{
    switch (choose(core, 20)) {
    case 0:
    case 1:
        users_acquire(core);
        break;
    case 2:
    case 3:
        do_release(core);
        break;
    case 4:
        do_cancel(core);
        break;
    case 5:
        do_take(core);
        break;
    case 6:
        do_verify(core);
        break;
    case 7:
    case 8:
        do_time(core);
        break;
    case 9:
        do_server(core);
        break;
    case 10:
        do_answer(core);
        break;
    case 11:
    case 12:
        do_serve(core);
        break;
    case 13:
        host_lose(core, choose(core, 2));
        break;
    case 14:
        host_connect(core, choose(core, 2), choose(core, 4) > 0);
        break;
    case 15:
        server_late(core);
        break;
    case 16:
        model_stranger(core);
        break;
    case 17:
        do_block(core);
        break;
    case 18:
        server_babble(core, choose(core, 2));
        break;
    default:
        do_close(core);
    }
    host_pump(core);
    check_core(core);
}

/* ------------------------------------------------------------------------------------------------
 * The end
 */

/* A good server and network for so long; every thread runs when it is called. */
static void be_calm(struct core *core, hfi_time duration)
{
    hfi_time end = core->now + duration;
    unsigned turns = 0;

    while (core->now < end) {
        struct call *call;
        hfi_time next;

        MUST(turns++ < 20000); /* nobody spins */
        host_pump(core);
        if (core->redis->link[HFI_REDIS_COMMANDS].state == HFI_LINK_READY)
            core->calm_ns = hfi_time_min(core->calm_ns, core->now);
        serve(core, HFI_REDIS_COMMANDS);
        serve(core, HFI_REDIS_WAKEUPS);
        while ((call = users_some_call(core, true)))
            users_take(core, call);
        check_core(core);
        if (core->conn[0].orders || core->conn[1].orders)
            continue;
        next = hfi_time_min(host_deadline(core), end);
        host_pass(core, hfi_time_until(core->now, hfi_time_max(next, core->now + 1)), false);
        check_core(core);
    }
}

static void become_calm(struct core *core)
{
    core_trace(core, "all is well from now on");
    core->calm = true;
    core->calm_ns = HF_TIME_NEVER;
    host_lose(core, HFI_REDIS_WAKEUPS);
    host_lose(core, HFI_REDIS_COMMANDS);
    for (int i = 0; i < NAMES; i++)
        if (core->lock[i].holder == STRANGER)
            core->lock[i].holder = NOBODY;
}

/* Holders let go after a while, and nobody comes anew: all are served, and in the end nothing is left. */
static void end_well(struct core *core, hfi_time while_)
{
    hfi_time latest = core->now + 120 * HFI_SEC;

    become_calm(core);
    while (core->calls || core->helds) {
        MUST(core->now < latest);
        be_calm(core, while_);
        while (core->helds)
            users_release(core, core->helds);
    }
    be_calm(core, 6 * HFI_SEC);
    check_given_back(core);
    be_calm(core, 70 * HFI_SEC); /* what a lost TRY left has run out */
    if (!core->closed)
        check_rest(core);
}

static void close_client(struct core *core)
{
    if (core->closed)
        return;
    core->closed = true;
    host_input(core, &(struct hfi_input){ .kind = HFI_INPUT_CLOSE });
}

/* Nothing is ever answered again: what is owed to the server ends by its ttl. */
static void end_dead(struct core *core)
{
    hfi_time latest;
    unsigned turns = 0;

    close_client(core);
    /* A try's answer is waited for, then its release's, its lease, which may begin late, once more a release's
     * answer, the farewell's. */
    latest = core->now + 31 * HFI_SEC + 5 * core->engine.config.op_timeout_ns + HFI_DELAYED_NS;
    while (!hfi_engine_quiet(&core->engine)) {
        hfi_time next = host_deadline(core);

        MUST(turns++ < 20000 && core->now < latest && next != HF_TIME_NEVER);
        host_pass(core, hfi_time_until(core->now, hfi_time_max(next, core->now + 1)), false);
        check_core(core);
    }
}

static void end(struct core *core, uint32_t how)
{
    bool closed_before;

    if (how % 4 < 2)
        end_well(core, how & 4 ? HFI_SEC : 50 * HFI_MSEC);
    if (how % 4 == 2)
        end_dead(core);
    closed_before = core->closed; /* then its farewell may have been lost: it is said once */
    close_client(core);
    if (how % 4 == 0) {
        be_calm(core, HFI_SEC);
        MUST(hfi_engine_quiet(&core->engine));
        MUST(core->lied || closed_before || !core->registered);
    }
    host_cut_off(core);
    core->store->class_->free(core->store);
    hfi_engine_fini(&core->engine);
    users_free(core);
    server_free(core);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct core *core = fuzz_alloc(sizeof *core);
    uint32_t how;

    core->input = (struct input){ data, data + size };
    host_open(core);
    how = choose(core, 256);
    for (unsigned i = 0; i < STEPS_MAX && input_left(&core->input) > 0; i++)
        if (core->engine.last_owner < OWNERS / 2)
            something(core);
    end(core, how);
    free(core);
    return 0;
}
