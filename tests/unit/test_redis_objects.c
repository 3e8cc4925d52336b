/* SPDX-License-Identifier: Apache-2.0 */
/* The Redis store: steps with objects as commands, and their answers. Nothing in a reply is trusted. */
#include "wire.h"

#include "store/redis/objects.h"

static struct wire w;
static struct hfi_object object;

#define NOTE(n) "holdfast_done:{x}:" WIRE_ID ":" #n
#define B(s)                                                                                       \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

static int setup(void **state)
{
    static struct hfi_request check;

    (void)state;
    wire_open(&w, "redis://h");
    wire_submit(&w, &check, HFI_OP_CHECK);
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "+PONG\r\n");
    wire_finished(&w, &check, HFI_DONE, HF_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wire_close(&w);
    return 0;
}

static void submit(struct hfi_object wanted)
{
    object = wanted;
    if (!object.name)
        object.name = "x";
    object.name_len = (uint16_t)strlen(object.name);
    if (!object.serial)
        object.serial = 7;
    wire_submit(&w, &object.request, HFI_OP_OBJECT);
}

#define SUBMIT(...) submit((struct hfi_object){ __VA_ARGS__ })

static void say_text(const char *text, size_t len)
{
    static char bytes[HF_VALUE_MAX + 128];
    int n = snprintf(bytes, sizeof bytes, "$%zu\r\n", len);

    memcpy(bytes + n, text, len);
    memcpy(bytes + n + len, "\r\n", 2);
    wire_say_bytes(&w, COMMANDS, bytes, (size_t)n + len + 2);
}

static void say(const char *text)
{
    say_text(text, strlen(text));
}

static void finished(enum hfi_outcome outcome, int error)
{
    wire_finished(&w, &object.request, outcome, error);
    free(object.data);
    object.data = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Commands
 */

struct as_command {
    struct hfi_object object;
    const char *command;
};

static const struct as_command COMMANDS_OF[] = {
    { { .verb = HFI_SEMAPHORE_SET, .number = 5, .ttl_ms = 1000 },
      "semaphore 4 x " NOTE(7) " " NOTE(0) " redisson_sc:{x} set 60000 5 1000 1000000000" },
    { { .verb = HFI_SEMAPHORE_ADD, .number = -5 },
      "semaphore 4 x " NOTE(7) " " NOTE(0) " redisson_sc:{x} add 60000 -5 0 1000000000" },
    { { .verb = HFI_SEMAPHORE_AVAILABLE }, "semaphore 1 x available" },
    { { .verb = HFI_PERMITS_RESIZE, .number = 5 },
      "permits 5 x " NOTE(7) " " NOTE(0) " redisson_sc:{x} {x}:timeout resize 60000 5 1000000000" },
    { { .verb = HFI_PERMITS_COUNT }, "permits 2 x {x}:timeout count" },
    { { .verb = HFI_LATCH_SET, .number = 5 },
      "latch 5 x " NOTE(7) " " NOTE(0) " redisson_countdownlatch__channel__{x} "
                                       "holdfast_deleted:{x} set 60000 5 60000" },
    { { .verb = HFI_LATCH_GET }, "latch 1 x get" },
    { { .verb = HFI_BUCKET_GET }, "bucket 1 x get 65536 60000 0 2592000000 0 " },
    { { .verb = HFI_BUCKET_SET, .value = B("v"), .ttl_ms = 9, .token = UINT64_MAX },
      "bucket 4 x " NOTE(7) " " NOTE(0) " holdfast_guard:{x} set 65536 60000 "
                                        "18446744073709551615 2592000000 9 v" },
    { { .verb = HFI_BUCKET_COMPARE_SET, .value = B("v"), .expected = B("w") },
      "bucket 4 x " NOTE(7) " " NOTE(
          0) " holdfast_guard:{x} compare 65536 60000 0 2592000000 0 v w" },
    { { .verb = HFI_BUCKET_COMPARE_SET, .value = B("v") },
      "bucket 4 x " NOTE(7) " " NOTE(
          0) " holdfast_guard:{x} compare 65536 60000 0 2592000000 0 v" },
    { { .verb = HFI_MAP_PUT, .key = B("k"), .value = B("v") },
      "map 4 x " NOTE(7) " " NOTE(0) " holdfast_guard:{x} put 65536 60000 0 2592000000 k v" },
    { { .verb = HFI_MAP_SIZE }, "map 1 x size 65536 60000 0 2592000000  " },
    { { .verb = HFI_STAMP_SET, .ttl_ms = 5000 },
      "stamp 3 holdfast:stamp:{x} " NOTE(7) " " NOTE(0) " set 60000 5000" },
    { { .verb = HFI_STAMP_GET }, "stamp 1 holdfast:stamp:{x} get 60000 0" },
};

static void as_commands(void **state)
{
    char expected[512];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(COMMANDS_OF); i++) {
        submit(COMMANDS_OF[i].object);
        snprintf(expected, sizeof expected, "EVALSHA %s\n", COMMANDS_OF[i].command);
        wire_expect(&w, COMMANDS, expected);
        say("absent");
        finished(HFI_NOT_DONE, HF_ERR_NOT_FOUND);
    }
}

/* All keys of a command share a slot, so that a cluster would run it; also under a tag. */
static void in_one_slot(void **state)
{
    static const char *const NAMES[] = { "x", "job:1", "a{t}b", "\xc3\xa9" };
    struct command command;

    (void)state;
    for (unsigned verb = 0; verb < HFI_VERB_COUNT; verb++) {
        for (size_t i = 0; i < UNIT_COUNT(NAMES); i++) {
            size_t keys;

            SUBMIT(.verb = (uint8_t)verb, .name = NAMES[i], .value = B("v"), .key = B("k"));
            assert_true(wire_read(&w, COMMANDS, &command));
            keys = strtoull(command.argv[2], NULL, 10);
            assert_in_range(keys, 1, command.argc - 3);
            for (size_t k = 0; k < keys; k++) {
                /* A latch's channel has a tag of its own when the name has one: so Redisson has it. */
                if (strchr(NAMES[i], '{') &&
                    strncmp(command.argv[3 + k], "redisson_countdownlatch", 23) == 0)
                    continue;
                assert_int_equal(hfi_slot(command.argv[3 + k], command.len[3 + k]),
                                 hfi_slot(NAMES[i], strlen(NAMES[i])));
            }
            say("absent");
            finished(HFI_NOT_DONE, HF_ERR_NOT_FOUND);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

struct answered {
    enum hfi_verb verb;
    const char *text;
    enum hfi_outcome outcome;
    int error;
    int64_t number, number2;
    const char *data;
};

static const struct answered ANSWERS[] = {
    { HFI_SEMAPHORE_AVAILABLE, "ok 5", HFI_DONE, 0, 5, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok -5", HFI_DONE, 0, -5, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok 9223372036854775807", HFI_DONE, 0, INT64_MAX, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok 9223372036854775808", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok ", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok x", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok 5x", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok +5", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok 5 6 7", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "ok 5 -6", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "okay 5", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_AVAILABLE, "", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_DRAIN, "ok -1", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_LATCH_DOWN, "ok 0", HFI_DONE, 0, 0, 0, NULL },
    { HFI_LATCH_GET, "ok -1", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_LATCH_SET, "exists", HFI_NOT_DONE, HF_ERR_EXISTS, 0, 0, NULL },
    { HFI_LATCH_SET, "exists ", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_LATCH_DELETE, "absent", HFI_NOT_DONE, HF_ERR_NOT_FOUND, 0, 0, NULL },
    { HFI_BUCKET_COMPARE_SET, "changed", HFI_NOT_DONE, HF_ERR_CHANGED, 0, 0, NULL },
    { HFI_BUCKET_SET, "stale", HFI_NOT_DONE, HF_ERR_STALE, 0, 0, NULL },
    { HFI_BUCKET_GET, "large 65537", HFI_NOT_DONE, HF_ERR_UNSUPPORTED, 0, 0, NULL },
    { HFI_BUCKET_GET, "large", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_SEMAPHORE_ADD, "range 1000000001", HFI_NOT_DONE, HF_ERR_INVALID, 0, 0, NULL },
    { HFI_PERMITS_COUNT, "ok -3 5", HFI_DONE, 0, -3, 5, NULL },
    { HFI_BUCKET_GET, "ok 0 0 v", HFI_DONE, 0, 0, 0, "v" },
    { HFI_BUCKET_GET, "ok 0 0 ", HFI_DONE, 0, 0, 0, "" },
    { HFI_BUCKET_GET, "ok 0 0", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_BUCKET_GET, "ok 0", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_BUCKET_SWAP, "ok 0 0", HFI_DONE, 0, 0, 0, NULL },
    { HFI_BUCKET_SWAP, "ok 0 0  ok 1 2", HFI_DONE, 0, 0, 0, " ok 1 2" },
    { HFI_BUCKET_SET, "ok 0 0 v", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_BUCKET_TTL, "ok -1 0", HFI_DONE, 0, -1, 0, NULL },
    { HFI_BUCKET_TTL, "ok -2 0", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
    { HFI_MAP_REMOVE, "ok 0 0 x", HFI_DONE, 0, 0, 0, "x" },
    { HFI_STAMP_GET, "ok 5 6", HFI_DONE, 0, 5, 6, NULL },
    { HFI_STAMP_GET, "ok -5 6", HFI_UNKNOWN, HF_ERR_UNSURE, 0, 0, NULL },
};

static void answered(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ANSWERS); i++) {
        const struct answered *expected = &ANSWERS[i];

        SUBMIT(.verb = (uint8_t)expected->verb, .number = 42, .value = B("v"), .key = B("k"));
        wire_commands(&w, COMMANDS);
        say(expected->text);
        wire_finished(&w, &object.request, expected->outcome, expected->error);
        assert_int_equal(object.found, expected->data != NULL);
        if (expected->data)
            assert_string_equal(object.data, expected->data);
        else
            assert_null(object.data);
        free(object.data);
        object.data = NULL;
        if (expected->outcome == HFI_DONE) {
            assert_int_equal(object.number, expected->number);
            assert_int_equal(object.number2, expected->number2);
        } else {
            assert_int_equal(object.number, 42); /* it may be asked again */
        }
    }
}

static void answered_otherwise(void **state)
{
    static const char *const REPLIES[] = { "+ok 5\r\n", ":5\r\n", "$-1\r\n", "*0\r\n",
                                           "*1\r\n$4\r\nok 5\r\n" };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(REPLIES); i++) {
        SUBMIT(.verb = HFI_SEMAPHORE_RELEASE, .number = 1);
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, REPLIES[i]);
        finished(HFI_UNKNOWN, HF_ERR_UNSURE);
    }
    SUBMIT(.verb = HFI_SEMAPHORE_RELEASE, .number = 1);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-WRONGTYPE the value under this name is not a count\r\n");
    finished(HFI_NOT_DONE, HF_ERR_WRONG_TYPE);
}

/* A value with anything in it, up to the largest. One more byte is no answer that we asked for. */
static void values(void **state)
{
    static char text[HF_VALUE_MAX + 16];

    (void)state;
    memset(text, '\0', sizeof text);
    memcpy(text, "ok 0 0 ", 7);
    for (size_t more = 0; more < 2; more++) {
        SUBMIT(.verb = HFI_BUCKET_GET);
        wire_commands(&w, COMMANDS);
        say_text(text, 7 + HF_VALUE_MAX + more);
        wire_finished(&w, &object.request, more ? HFI_UNKNOWN : HFI_DONE,
                      more ? HF_ERR_UNSURE : HF_OK);
        if (more)
            continue;
        assert_int_equal(object.data_len, HF_VALUE_MAX);
        free(object.data);
    }
}

static void refused_at_once(void **state)
{
    static char large[HF_VALUE_MAX + 1];
    struct hfi_bytes bytes = { large, sizeof large };

    (void)state;
    SUBMIT(.verb = HFI_BUCKET_SET, .value = bytes);
    finished(HFI_NOT_DONE, HF_ERR_INVALID);
    SUBMIT(.verb = HFI_MAP_GET, .key = bytes);
    finished(HFI_NOT_DONE, HF_ERR_INVALID);
    SUBMIT(.verb = HFI_BUCKET_COMPARE_SET, .expected = bytes, .value = B("v"));
    finished(HFI_NOT_DONE, HF_ERR_INVALID);
    SUBMIT(.verb = HFI_VERB_COUNT);
    finished(HFI_NOT_DONE, HF_ERR_UNSUPPORTED);
    wire_expect(&w, COMMANDS, "");
}

/* ------------------------------------------------------------------------------------------------
 * Notes
 */

static void stamped(uint64_t serial, const char *name, const char *notes)
{
    SUBMIT(.verb = HFI_STAMP_SET, .name = name, .serial = serial);
    if (!strstr(wire_commands(&w, COMMANDS), notes))
        fail_msg("%s is not in %s", notes, w.text);
}

/* The next request for the same name takes the note of one that was answered. */
static void notes(void **state)
{
    (void)state;
    stamped(10, "x", NOTE(10) " " NOTE(0));
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
    stamped(11, "y", "{y}:" WIRE_ID ":11 holdfast_done:{y}:" WIRE_ID ":0");
    say("absent"); /* not done: there is no note */
    finished(HFI_NOT_DONE, HF_ERR_NOT_FOUND);
    stamped(12, "x", NOTE(12) " " NOTE(10));
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
    SUBMIT(.verb = HFI_STAMP_GET, .serial = 13);
    wire_commands(&w, COMMANDS);
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
    stamped(14, "x", NOTE(14) " " NOTE(12));
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
}

/* What went unanswered may be executed late: its note stays, and those of all before it. */
static void notes_in_doubt(void **state)
{
    (void)state;
    stamped(10, "x", NOTE(10) " " NOTE(0));
    wire_lose(&w, COMMANDS);
    finished(HFI_UNKNOWN, HF_ERR_UNSURE);
    wire_pass(&w, 5000);
    SUBMIT(.verb = HFI_STAMP_SET, .serial = 10);
    wire_up(&w, COMMANDS);
    assert_non_null(strstr(wire_commands(&w, COMMANDS), NOTE(10) " " NOTE(0)));
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
    stamped(11, "x", NOTE(11) " " NOTE(0));
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
    stamped(12, "x", NOTE(12) " " NOTE(11));
    wire_say(&w, COMMANDS, "+what\r\n"); /* makes no sense: as good as none */
    finished(HFI_UNKNOWN, HF_ERR_UNSURE);
    stamped(12, "x", NOTE(12) " " NOTE(0));
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
    stamped(13, "x", NOTE(13) " " NOTE(0));
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
}

/* More names than are remembered: the oldest notes end by themselves. */
static void notes_of_many_names(void **state)
{
    char name[16], expected[128];

    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < HFI_REDIS_SETTLED + 10; i++) {
            snprintf(name, sizeof name, "n%u", i);
            snprintf(expected, sizeof expected, "%s} ", name);
            stamped(100 + i, name, expected);
            say("ok 0 0");
            finished(HFI_DONE, HF_OK);
        }
    }
    stamped(1000, "n5", "{n5}:" WIRE_ID ":0"); /* forgotten */
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
    stamped(1001, "n73", "{n73}:" WIRE_ID ":173");
    say("ok 0 0");
    finished(HFI_DONE, HF_OK);
}

/* The server does not know the script: the same once more, with its text. */
static void noscript(void **state)
{
    (void)state;
    SUBMIT(.verb = HFI_LATCH_GET);
    wire_expect(&w, COMMANDS, "EVALSHA latch 1 x get\n");
    wire_say(&w, COMMANDS, "-NOSCRIPT No matching script.\r\n");
    wire_expect(&w, COMMANDS, "EVAL latch 1 x get\n");
    say("ok 3");
    finished(HFI_DONE, HF_OK);
}

#define OPEN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(as_commands),     OPEN(in_one_slot), OPEN(answered),       OPEN(answered_otherwise),
        OPEN(values),          OPEN(notes),       OPEN(notes_in_doubt), OPEN(notes_of_many_names),
        OPEN(refused_at_once), OPEN(noscript),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
