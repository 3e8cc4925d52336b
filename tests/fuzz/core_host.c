/* SPDX-License-Identifier: Apache-2.0 */
/* Between engine, store and server, as src/runtime/pump.c and channel.c. */
#include "fuzz/core.h"

extern const struct hfi_driver hfi_driver_redis;

static void hear(void *arg, enum hf_trace_level level, const char *text)
{
    (void)level;
    core_trace(arg, "client: %s", text);
    MUST(strncmp(text, "internal error", 14) != 0);
}

void host_open(struct core *core)
{
    static const struct hfi_identity IDENTITY = {
        .id = CLIENT_ID, .host = "host", .user = "user", .program = "prog", .pid = 4711
    };
    static const hfi_time TIMEOUTS[] = { 2 * HFI_SEC, 300 * HFI_MSEC };
    static const uint32_t PASSES[] = { 1000, 3, 0 };
    uint32_t how = choose(core, 256);
    hfi_time timeout = TIMEOUTS[how >> 2 & 1];
    struct hfi_store_config store = { .identity = &IDENTITY,
                                      .trace = { .hook = hear, .arg = core },
                                      .op_timeout_ns = timeout,
                                      .connect_timeout_ns = timeout,
                                      .seed = 1 };
    struct hfi_engine_config engine = { .poll_ns = HFI_SEC,
                                        .pass_ns = 10 * HFI_MSEC,
                                        .pass_count = PASSES[(how >> 3) % 3],
                                        .op_timeout_ns = timeout,
                                        .announces = true,
                                        .seed = 2,
                                        .trace = { .hook = hear, .arg = core } };
    char detail[HFI_DETAIL_MAX] = "";

    core->honest = how & 1;
    core->kills = !(how & 2);
    core->now = CORE_START;
    MUST(hfi_driver_redis.open("redis", "//h", &store, &core->store, detail) == HF_OK);
    core->wire = core->store->class_->wire;
    core->redis = (struct hfi_redis *)core->store;
    MUST(hfi_engine_init(&core->engine, core->now, &engine) == HF_OK);
}

/* ------------------------------------------------------------------------------------------------
 * Requests and answers
 */

static void answer(struct core *core, struct hfi_request *request)
{
    struct hfi_input input = { .kind = HFI_INPUT_ANSWER, .u.request = request };
    bool ours = request->host != NULL;

    check_finished(core, request);
    hfi_engine_step(&core->engine, core->now, &input);
    if (ours)
        users_checked(core, request);
}

static bool pump_once(struct core *core)
{
    struct hfi_request *request;
    struct hfi_watch *watch;
    bool any = false;

    for (; (request = hfi_engine_next_request(&core->engine)); any = true) {
        check_submitted(core, request);
        core->wire->submit(core->store, core->now, request);
    }
    for (; (request = core->wire->finished(core->store)); any = true)
        answer(core, request);
    for (; (watch = core->wire->woken(core->store)); any = true) {
        core->lock[core_name(watch->name)].woken = ++core->count;
        hfi_engine_step(&core->engine, core->now,
                        &(struct hfi_input){ .kind = HFI_INPUT_WAKE, .u.watch = watch });
    }
    if (core->wire->restored(core->store)) {
        hfi_engine_step(&core->engine, core->now,
                        &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
        any = true;
    }
    return any;
}

static bool service(struct core *core, unsigned link)
{
    switch (core->wire->want(core->store, link, core->now)) {
    case HFI_LINK_DROP:
        host_lose(core, link);
        return true;
    case HFI_LINK_DIAL:
        if (core->calm)
            host_connect(core, link, true);
        return true;
    case HFI_LINK_NONE:
    case HFI_LINK_KEEP:
        break;
    }
    host_send(core, link, SIZE_MAX);
    return false;
}

void host_pump(struct core *core)
{
    unsigned turns = 0;
    bool again;

    do {
        MUST(turns++ < 1000); /* it comes to rest without time */
        while (pump_once(core))
            MUST(turns++ < 1000);
        users_hear(core);
        again = service(core, HFI_REDIS_COMMANDS);
        again |= service(core, HFI_REDIS_WAKEUPS);
    } while (again);
}

void host_input(struct core *core, const struct hfi_input *input)
{
    hfi_engine_step(&core->engine, core->now, input);
    host_pump(core);
}

/* ------------------------------------------------------------------------------------------------
 * Connections
 */

void host_connect(struct core *core, unsigned link, bool works)
{
    if (core->redis->link[link].state != HFI_LINK_DIALING || core->redis->link[link].drop)
        return;
    if (!works) {
        host_lose(core, link);
        return;
    }
    server_accept(core, link);
    core->wire->connected(core->store, link, core->now);
    host_send(core, link, SIZE_MAX);
}

void host_lose(struct core *core, unsigned link)
{
    if (core->redis->link[link].state == HFI_LINK_DOWN)
        return;
    server_hang_up(core, link);
    core->wire->lost(core->store, link, core->now, "the connection is gone");
}

/* Up to so many bytes; what the socket does not take is offered again. */
void host_send(struct core *core, unsigned link, size_t most)
{
    struct conn *conn = &core->conn[link];
    const char *bytes;
    size_t count;

    while (conn->up && most > 0 && (!conn->blocked || most != SIZE_MAX) &&
           core->wire->has_output(core->store, link)) {
        count = core->wire->produce(core->store, link, core->now, &bytes);
        MUST(count > 0); /* what is to be sent fits */
        if (count > most)
            count = most;
        server_receive(core, link, bytes, count);
        core->wire->produced(core->store, link, count);
        if (most != SIZE_MAX)
            most -= count;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Time
 */

hfi_time host_deadline(struct core *core)
{
    return hfi_time_min(hfi_engine_deadline(&core->engine), core->wire->deadline(core->store));
}

void host_pass(struct core *core, hfi_time duration, bool lazy)
{
    core->now += duration;
    if (lazy)
        return; /* the thread that keeps time does not run yet */
    core->wire->tick(core->store, core->now);
    core->ticked = ++core->count;
    host_input(core, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    core->ticked_ns = core->now;
}

void host_cut_off(struct core *core)
{
    host_lose(core, HFI_REDIS_WAKEUPS);
    host_lose(core, HFI_REDIS_COMMANDS);
    core->wire->abandon(core->store);
    host_pump(core);
}
