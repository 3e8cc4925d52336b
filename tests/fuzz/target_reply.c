/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reply path of the Redis store: any bytes, at any moment, on either connection, with any requests in flight.
 *
 * The input is what the server says, byte by byte. 0xff is the way out: the byte behind it says what happens
 * next (enum step), after what was said so far has been delivered. A seed is so nearly a text that can be read:
 *
 *   <flags> … ff ask TRY … "*3\r\n:1\r\n:7\r\n:1\r\n" ff pump …
 *
 * Checked are the answers (reply_requests.c), the store's invariants (reply_store.c), the commands that it sends
 * (command.c), that each request is finished once, and that time never stands still.
 */
#include "fuzz/command.h"
#include "fuzz/reply_requests.h"
#include "fuzz/reply_store.h"

extern const struct hfi_driver hfi_driver_redis;

#define SECRET    "s3cr3t" /* the password: a server that says it by itself is no test */
#define STEPS_MAX 2000
#define CHUNK_MAX (64 * 1024)

enum step {
    STEP_LITERAL, /* the byte 0xff itself */
    STEP_PUMP,    /* nothing else: only a border between two reads */
    STEP_OTHER,   /* speak on the other connection from now on */
    STEP_LOSE,    /* the connection ends */
    STEP_TIME,    /* time passes */
    STEP_ASK,     /* a request */
    STEP_WATCH,   /* a request for wake-ups */
    STEP_CONNECT, /* a connection that is being made is made */
    STEP_GREET,   /* the greeting is answered as a good server does */
    STEP_BLOCK,   /* the socket takes nothing, until the same again */
    STEP_SPLIT,   /* bytes arrive one by one, until the same again */
    STEP_ABANDON, /* the client ends */
    STEP_COUNT
};

struct side {
    bool connected, blocked;
    struct stream stream;        /* what was sent, as the server reads it */
    char greeting[16][8];        /* the first words of the first commands, */
    char greeting_about[16][16]; /* and the second */
    size_t greetings;
};

struct host {
    struct requests requests;
    struct hfi_redis *redis;
    struct side side[HFI_REDIS_LINKS];
    unsigned speaking;
    bool connects, split, abandoned;
    bool compares; /* the server has commands of its own for locks that are strings */
    hfi_time now;
    uint8_t *chunk;
    size_t chunk_len;
};

static const struct hfi_wire_class *wire_of(const struct host *host)
{
    return host->requests.wire;
}

static struct hfi_store *store_of(const struct host *host)
{
    return host->requests.store;
}

static void hear(void *arg, enum hf_trace_level level, const char *text)
{
    (void)arg;
    (void)level;
    MUST(!strstr(text, SECRET) && strlen(text) < HFI_TRACE_MAX);
    MUST(!strpbrk(text, "\r\n"));
}

/* ------------------------------------------------------------------------------------------------
 * The host
 */

static void connect(struct host *host, unsigned link)
{
    struct side *side = &host->side[link];

    if (side->connected || host->redis->link[link].state != HFI_LINK_DIALING)
        return;
    side->connected = true;
    side->blocked = false;
    side->greetings = 0;
    stream_reset(&side->stream);
    wire_of(host)->connected(store_of(host), link, host->now);
}

static void lose(struct host *host, unsigned link)
{
    if (host->redis->link[link].state == HFI_LINK_DOWN)
        return;
    host->side[link].connected = false;
    wire_of(host)->lost(store_of(host), link, host->now, "the connection is gone");
}

static void read_commands(struct side *side)
{
    struct command command;

    while (stream_take(&side->stream, &command)) {
        command_script(&command);
        if (side->greetings == 16)
            continue;
        snprintf(side->greeting[side->greetings], 8, "%s", command.argv[0]);
        snprintf(side->greeting_about[side->greetings++], 16, "%s",
                 command.argc > 1 ? command.argv[1] : "");
    }
}

static void send_output(struct host *host, unsigned link)
{
    struct side *side = &host->side[link];
    const char *bytes;
    size_t count;

    while (side->connected && !side->blocked && wire_of(host)->has_output(store_of(host), link)) {
        count = wire_of(host)->produce(store_of(host), link, host->now, &bytes);
        MUST(count > 0); /* what is to be sent fits */
        stream_add(&side->stream, bytes, count);
        wire_of(host)->produced(store_of(host), link, count);
        read_commands(side);
    }
}

/* As src/runtime: what is finished, what connections want, what is to be sent. */
static void pump(struct host *host)
{
    requests_take(&host->requests, host->now);
    for (unsigned link = 0; link < HFI_REDIS_LINKS; link++) {
        switch (wire_of(host)->want(store_of(host), link, host->now)) {
        case HFI_LINK_DROP:
            lose(host, link);
            break;
        case HFI_LINK_DIAL:
            MUST(!host->side[link].connected);
            if (host->connects)
                connect(host, link);
            break;
        case HFI_LINK_NONE:
        case HFI_LINK_KEEP:
            break;
        }
        send_output(host, link);
    }
    requests_take(&host->requests, host->now);
    reply_check_store(host->redis);
}

static bool is_settled(struct host *host)
{
    for (unsigned link = 0; link < HFI_REDIS_LINKS; link++)
        if (wire_of(host)->want(store_of(host), link, host->now) == HFI_LINK_DROP)
            return false;
    return true;
}

static void pump_all(struct host *host)
{
    unsigned turns = 0;

    do {
        MUST(turns++ < 8);
        pump(host);
    } while (!is_settled(host));
}

static void pass(struct host *host, hfi_time duration)
{
    host->now += duration;
    wire_of(host)->tick(store_of(host), host->now);
    pump_all(host);
    /* Whoever sleeps until this time does not sleep in vain. */
    MUST(wire_of(host)->deadline(store_of(host)) > host->now);
}

static hfi_time to_deadline(const struct host *host)
{
    hfi_time at = wire_of(host)->deadline(store_of(host));

    return at == HF_TIME_NEVER ? HFI_SEC : hfi_time_until(host->now, at);
}

static void some_time(struct host *host, struct input *input)
{
    static const hfi_time TIMES[] = {
        1, HFI_MSEC, 20 * HFI_MSEC, 400 * HFI_MSEC, 1999 * HFI_MSEC, 2 * HFI_SEC, 11 * HFI_SEC
    };
    uint32_t which = input_below(input, 8);

    pass(host, which == 7 ? to_deadline(host) : TIMES[which]);
}

/* ------------------------------------------------------------------------------------------------
 * The server
 */

static void say(struct host *host, unsigned link, const void *bytes, size_t count)
{
    enum hfi_link_state state = host->redis->link[link].state;
    char *exact;

    if (count == 0 || !host->side[link].connected)
        return;
    MUST(state == HFI_LINK_GREETING || state == HFI_LINK_READY);
    exact = fuzz_alloc(count); /* so that the address sanitizer sees its end */
    memcpy(exact, bytes, count);
    wire_of(host)->consume(store_of(host), link, host->now, exact, count);
    free(exact);
}

static void deliver(struct host *host)
{
    size_t step = host->split ? 1 : host->chunk_len;

    for (size_t i = 0; i < host->chunk_len; i += step) {
        say(host, host->speaking, host->chunk + i, step);
        pump_all(host);
    }
    host->chunk_len = 0;
}

static const char *bulk(const char *text)
{
    static char bytes[128];

    snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(text), text);
    return bytes;
}

static const char *greeting_answer(const struct host *host, const char *word, const char *about)
{
    if (strcmp(word, "COMMAND") == 0)
        return host->compares ? "*2\r\n*1\r\n$1\r\nx\r\n*-1\r\n" : "*2\r\n*-1\r\n*-1\r\n";
    if (strcmp(about, "ID") == 0)
        return ":70\r\n";
    if (strcmp(about, "server") == 0)
        return bulk("redis_version:7.0.15\r\nrun_id:c0ffee\r\nx:y\r\n");
    if (strcmp(about, "replication") == 0)
        return bulk("role:master\r\n");
    if (strcmp(word, "INFO") == 0)
        return bulk("maxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
    return "+OK\r\n";
}

static void greet(struct host *host)
{
    struct side *side = &host->side[host->speaking];
    struct hfi_redis_link *link = &host->redis->link[host->speaking];
    unsigned turns = 0;

    /* What was said before may swallow some of it. */
    while (side->connected && link->state == HFI_LINK_GREETING && !link->drop &&
           link->greeted < side->greetings && turns++ < 16) {
        const char *answer = greeting_answer(host, side->greeting[link->greeted],
                                             side->greeting_about[link->greeted]);

        say(host, host->speaking, answer, strlen(answer));
        pump_all(host);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The input
 */

/* As hf_close() does it: the connections end first. */
static void abandon(struct host *host)
{
    lose(host, HFI_REDIS_WAKEUPS);
    lose(host, HFI_REDIS_COMMANDS);
    wire_of(host)->abandon(store_of(host));
    host->abandoned = true;
}

static void step(struct host *host, struct input *input, enum step what)
{
    deliver(host);
    switch (what) {
    case STEP_OTHER:
        host->speaking = !host->speaking;
        break;
    case STEP_LOSE:
        lose(host, host->speaking);
        break;
    case STEP_TIME:
        some_time(host, input);
        break;
    case STEP_ASK:
        requests_submit(&host->requests, input, host->now);
        break;
    case STEP_WATCH:
        requests_watch(&host->requests, input, host->now);
        break;
    case STEP_CONNECT:
        connect(host, host->speaking);
        break;
    case STEP_GREET:
        greet(host);
        break;
    case STEP_BLOCK:
        host->side[host->speaking].blocked ^= true;
        break;
    case STEP_SPLIT:
        host->split ^= true;
        break;
    case STEP_ABANDON:
        abandon(host);
        break;
    default:
        break;
    }
    pump_all(host);
}

static void run(struct host *host, struct input *input)
{
    unsigned steps = 0;

    while (input_left(input) > 0 && steps < STEPS_MAX) {
        uint8_t byte = input_byte(input);
        enum step what = STEP_LITERAL;

        if (byte == 0xff)
            what = (enum step)input_below(input, STEP_COUNT);
        if (byte == 0xff && what != STEP_LITERAL) {
            step(host, input, what);
            steps++;
        } else if (host->chunk_len < CHUNK_MAX) {
            host->chunk[host->chunk_len++] = byte;
        }
    }
    deliver(host);
}

static void open_store(struct host *host, struct input *input)
{
    static const struct hfi_identity IDENTITY = { .id = "0f8fad5b-d9cb-469f-a165-70867728950e",
                                                  .host = "host",
                                                  .user = "user",
                                                  .program = "prog",
                                                  .pid = 4711 };
    static const char *const URIS[] = { "//h", "//u:" SECRET "@h:7/3", "//:" SECRET "@h" };
    static const char *const OTHERS[] = { "//h?layout=string", "//u:" SECRET "@h/3?prefix=a%7B",
                                          "//:" SECRET "@h?layout=string&prefix=lock:" };
    struct hfi_store_config config = { .identity = &IDENTITY,
                                       .trace = { .hook = hear },
                                       .op_timeout_ns = 2 * HFI_SEC,
                                       .connect_timeout_ns = 2 * HFI_SEC,
                                       .seed = 1 };
    char detail[HFI_DETAIL_MAX] = "";
    uint32_t flags = input_byte(input);
    const char *const *uris = flags & 0x80 ? OTHERS : URIS;

    host->connects = !(flags & 1);
    host->compares = flags & 0x40;
    MUST(hfi_driver_redis.open("redis", uris[(flags >> 1) % 3], &config, &host->requests.store,
                               detail) == HF_OK);
    host->requests.wire = host->requests.store->class_->wire;
    host->redis = (struct hfi_redis *)host->requests.store;
    host->now = 1000 * HFI_SEC;
}

/* Everything comes to its end: because the client ends, or by time. */
static void end(struct host *host)
{
    if (host->now % 2)
        for (unsigned turns = 0; turns < 400 && !requests_are_done(&host->requests); turns++)
            pass(host, to_deadline(host));
    else if (!host->abandoned)
        abandon(host);
    pump_all(host);
    MUST(requests_are_done(&host->requests));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, data + size };
    struct host *host;

    if (memmem(data, size, SECRET, strlen(SECRET)))
        return 0;
    host = fuzz_alloc(sizeof *host);
    host->chunk = fuzz_alloc(CHUNK_MAX);
    open_store(host, &input);
    run(host, &input);
    end(host);
    store_of(host)->class_->free(store_of(host));
    requests_free(&host->requests);
    for (unsigned link = 0; link < HFI_REDIS_LINKS; link++)
        stream_free(&host->side[link].stream);
    free(host->chunk);
    free(host);
    return 0;
}
