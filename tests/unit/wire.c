/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#define HFI_SCRIPT_TEXTS
#include "redis_scripts.inc"
#undef HFI_SCRIPT_TEXTS

extern const struct hfi_driver hfi_driver_redis;

#define SENT_MAX (1024 * 1024)

struct wire_memory {
    struct wire_memory *next;
    struct hfi_lease lease;
    struct hfi_watch watch;
};

static void hear(void *arg, enum hf_trace_level level, const char *text)
{
    struct wire *wire = arg;
    size_t n = strlen(wire->warnings);

    assert_null(strstr(text, "s3cr3t"));
    if (level == HF_TRACE_WARNING)
        snprintf(wire->warnings + n, sizeof wire->warnings - n, "%s\n", text);
}

void wire_open(struct wire *wire, const char *uri)
{
    const char *colon = strchr(uri, ':');
    struct hfi_store_config config = { .identity = &wire->identity,
                                       .trace = { .hook = hear, .arg = wire },
                                       .op_timeout_ns = 2 * HFI_SEC,
                                       .connect_timeout_ns = 2 * HFI_SEC,
                                       .seed = 1 };
    char scheme[16], detail[HFI_DETAIL_MAX] = "";

    memset(wire, 0, sizeof *wire);
    wire->now = 1000 * HFI_SEC;
    wire->client_id = 70;
    wire->run_id = "c0ffee";
    wire->identity = (struct hfi_identity){
        .id = WIRE_ID, .host = "host", .user = "user", .program = "prog", .pid = 4711
    };
    for (int i = 0; i < 2; i++)
        wire->bytes[i] = malloc(SENT_MAX);
    snprintf(scheme, sizeof scheme, "%.*s", (int)(colon - uri), uri);
    if (hfi_driver_redis.open(scheme, colon + 1, &config, &wire->store, detail) != HF_OK)
        fail_msg("%s: %s", uri, detail);
    wire->class_ = wire->store->class_->wire;
    assert_non_null(wire->class_);
    assert_int_equal(wire->class_->links, 2);
}

void wire_close(struct wire *wire)
{
    struct wire_memory *memory;

    wire->store->class_->free(wire->store);
    while ((memory = wire->memory)) {
        wire->memory = memory->next;
        free(memory);
    }
    for (int i = 0; i < 2; i++)
        free(wire->bytes[i]);
}

/* ------------------------------------------------------------------------------------------------
 * The host
 */

void wire_connect(struct wire *wire, unsigned link)
{
    assert_int_equal(wire->class_->want(wire->store, link, wire->now), HFI_LINK_DIAL);
    assert_int_equal(wire->class_->want(wire->store, link, wire->now), HFI_LINK_KEEP);
    wire->length[link] = 0;
    wire->class_->connected(wire->store, link, wire->now);
}

void wire_lose(struct wire *wire, unsigned link)
{
    wire->length[link] = 0;
    wire->class_->lost(wire->store, link, wire->now, "the test says so");
}

bool wire_drops(struct wire *wire, unsigned link)
{
    if (wire->class_->want(wire->store, link, wire->now) != HFI_LINK_DROP)
        return false;
    wire->length[link] = 0;
    wire->class_->lost(wire->store, link, wire->now, "the connection was given up");
    return true;
}

/* Goes from deadline to deadline, as a host does; it never has to spin. */
void wire_pass(struct wire *wire, hfi_time ms)
{
    hfi_time end = wire->now + ms * HFI_MSEC, at;
    unsigned turns = 0;

    while ((at = wire->class_->deadline(wire->store)) <= end) {
        assert_true(turns++ < 10000);
        wire->now = hfi_time_max(wire->now, at);
        wire->class_->tick(wire->store, wire->now);
        for (unsigned link = 0; link < 2; link++)
            if (wire->class_->want(wire->store, link, wire->now) == HFI_LINK_DROP ||
                wire_redis(wire)->link[link].state == HFI_LINK_DIALING)
                return; /* the test has something to do */
    }
    wire->now = end;
}

void wire_submit(struct wire *wire, struct hfi_request *request, enum hfi_op op)
{
    request->op = (uint8_t)op;
    request->outcome = HFI_PENDING;
    request->error = HF_OK;
    request->sent_ns = 0;
    request->stage = 0;
    request->deadline_ns = wire->now + 2 * HFI_SEC;
    wire->class_->submit(wire->store, wire->now, request);
}

void wire_finished(struct wire *wire, const struct hfi_request *request, enum hfi_outcome outcome,
                   int error)
{
    const struct hfi_request *finished = wire->class_->finished(wire->store);

    assert_non_null(finished);
    assert_ptr_equal(finished, request);
    assert_int_equal(finished->outcome, outcome);
    assert_int_equal(finished->error, error);
}

void wire_nothing_finished(struct wire *wire)
{
    assert_null(wire->class_->finished(wire->store));
}

/* ------------------------------------------------------------------------------------------------
 * Reading commands
 */

static void take_output(struct wire *wire, unsigned link)
{
    const char *bytes;
    size_t count;

    while (wire->class_->has_output(wire->store, link) &&
           (count = wire->class_->produce(wire->store, link, wire->now, &bytes)) > 0) {
        assert_true(wire->length[link] + count <= SENT_MAX);
        memcpy(wire->bytes[link] + wire->length[link], bytes, count);
        wire->length[link] += count;
        wire->class_->produced(wire->store, link, count);
    }
}

/* "*<n>\r\n" or "$<n>\r\n", and nothing else. */
static size_t read_head(const char **at, const char *end, char kind)
{
    size_t n = 0;

    assert_true(*at < end && **at == kind);
    for (++*at; *at < end && **at >= '0' && **at <= '9'; ++*at)
        n = n * 10 + (size_t)(**at - '0');
    assert_true(end - *at >= 2 && (*at)[-1] != kind && memcmp(*at, "\r\n", 2) == 0);
    *at += 2;
    return n;
}

bool wire_read(struct wire *wire, unsigned link, struct command *command)
{
    static char copy[2][SENT_MAX];
    const char *at = copy[link], *end;

    take_output(wire, link);
    if (wire->length[link] == 0)
        return false;
    memcpy(copy[link], wire->bytes[link], wire->length[link]);
    end = copy[link] + wire->length[link];
    command->argc = read_head(&at, end, '*');
    assert_in_range(command->argc, 1, WIRE_ARGS_MAX);
    for (size_t i = 0; i < command->argc; i++) {
        command->len[i] = read_head(&at, end, '$');
        command->argv[i] = at;
        assert_true((size_t)(end - at) >= command->len[i] + 2);
        at += command->len[i];
        assert_memory_equal(at, "\r\n", 2);
        copy[link][at - copy[link]] = '\0';
        at += 2;
    }
    wire->length[link] = (size_t)(end - at);
    memcpy(wire->bytes[link], at, wire->length[link]);
    return true;
}

/* A script's hash or text as its name; other arguments as they are. */
static const char *readable(const struct command *command, size_t i)
{
    static const struct {
        const char *name, *sha, *text;
        size_t length;
    } SCRIPTS[] = {
#define HFI_SCRIPT(name, sha, text, length) { #name, sha, text, length },
#include "redis_scripts.inc"
#undef HFI_SCRIPT
    };

    for (size_t k = 0; k < UNIT_COUNT(SCRIPTS) && i == 1; k++) {
        if (strcmp(command->argv[0], "EVALSHA") == 0 &&
            strcmp(command->argv[1], SCRIPTS[k].sha) == 0)
            return SCRIPTS[k].name;
        if (strcmp(command->argv[0], "EVAL") == 0 && command->len[1] == SCRIPTS[k].length &&
            memcmp(command->argv[1], SCRIPTS[k].text, SCRIPTS[k].length) == 0)
            return SCRIPTS[k].name;
    }
    return command->argv[i];
}

const char *wire_commands(struct wire *wire, unsigned link)
{
    struct command command;
    size_t n = 0;

    wire->text[0] = '\0';
    while (wire_read(wire, link, &command)) {
        for (size_t i = 0; i < command.argc; i++)
            n += (size_t)snprintf(wire->text + n, sizeof wire->text - n, "%s%s", i ? " " : "",
                                  readable(&command, i));
        n += (size_t)snprintf(wire->text + n, sizeof wire->text - n, "\n");
        assert_true(n < sizeof wire->text);
    }
    return wire->text;
}

void wire_expect(struct wire *wire, unsigned link, const char *text)
{
    if (strcmp(wire_commands(wire, link), text) == 0)
        return;
    fprintf(stderr, "was sent:\n%sexpected:\n%s", wire->text, text);
    fail();
}

/* ------------------------------------------------------------------------------------------------
 * The server
 */

void wire_say_bytes(struct wire *wire, unsigned link, const char *bytes, size_t count)
{
    char *exact = malloc(count); /* so that the address sanitizer sees its end */

    memcpy(exact, bytes, count);
    wire->class_->consume(wire->store, link, wire->now, exact, count);
    free(exact);
}

void wire_say(struct wire *wire, unsigned link, const char *bytes)
{
    wire_say_bytes(wire, link, bytes, strlen(bytes));
}

static void say_bulk(struct wire *wire, unsigned link, const char *text)
{
    char bytes[512];

    snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(text), text);
    wire_say(wire, link, bytes);
}

static void answer_greeting(struct wire *wire, unsigned link, const struct command *command)
{
    char id[32], server[256];

    snprintf(server, sizeof server, INFO_SERVER_OK, wire->run_id);
    if (strcmp(command->argv[0], "INFO") == 0) {
        say_bulk(wire, link,
                 strcmp(command->argv[1], "server") == 0        ? server
                 : strcmp(command->argv[1], "replication") == 0 ? INFO_REPLICATION_OK
                                                                : INFO_MEMORY_OK);
    } else if (command->argc == 2 && strcmp(command->argv[1], "ID") == 0) {
        snprintf(id, sizeof id, ":%u\r\n", wire->client_id++);
        wire_say(wire, link, id);
    } else if (command->argc == 4 && strcmp(command->argv[1], "KILL") == 0) {
        wire_say(wire, link, ":1\r\n");
    } else if (strcmp(command->argv[0], "COMMAND") == 0) {
        wire_say(wire, link, wire->commands ? wire->commands : "*2\r\n*-1\r\n*-1\r\n");
    } else {
        wire_say(wire, link, "+OK\r\n");
    }
}

void wire_greet(struct wire *wire, unsigned link)
{
    struct command command;

    while (wire_redis(wire)->link[link].state == HFI_LINK_GREETING) {
        assert_true(wire_read(wire, link, &command));
        answer_greeting(wire, link, &command);
    }
    assert_int_equal(wire_redis(wire)->link[link].state, HFI_LINK_READY);
}

void wire_up(struct wire *wire, unsigned link)
{
    wire_connect(wire, link);
    wire_greet(wire, link);
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

static void *keep(struct wire *wire)
{
    struct wire_memory *memory = calloc(1, sizeof *memory);

    memory->next = wire->memory;
    wire->memory = memory;
    return memory;
}

struct hfi_lease *wire_lease(struct wire *wire, const char *name, uint64_t owner)
{
    struct hfi_lease *lease = &((struct wire_memory *)keep(wire))->lease;

    *lease = (struct hfi_lease){ .name = name,
                                 .name_len = (uint16_t)strlen(name),
                                 .owner = owner,
                                 .ttl_ms = 30000,
                                 .tokens = 1 };
    return lease;
}

struct hfi_watch *wire_watch(struct wire *wire, const char *name)
{
    struct hfi_watch *watch = &((struct wire_memory *)keep(wire))->watch;

    *watch = (struct hfi_watch){ .name = name, .name_len = (uint16_t)strlen(name) };
    return watch;
}
