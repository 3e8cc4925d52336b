/* SPDX-License-Identifier: Apache-2.0 */
/* The Redis store without memory: each allocation fails in turn, and every request still comes to one end. */
#include "memory.h"
#include "wire.h"

static struct wire w;

/* ------------------------------------------------------------------------------------------------
 * Nothing is allocated for what a hold depends on
 */

#ifndef MEMORY_INTERPOSED

static void in_peace(const char *what)
{
    if (memory_rest() != 0)
        fail_msg("%s: something is allocated", what);
    memory_watch(1, true);
}

/* Bytes in and out, without the memory that the test itself takes. */
static void exchange(const char *reply)
{
    const char *bytes;
    size_t count;

    while ((count = w.class_->produce(w.store, COMMANDS, w.now, &bytes)) > 0)
        w.class_->produced(w.store, COMMANDS, count);
    w.class_->consume(w.store, COMMANDS, w.now, reply, strlen(reply));
}

/* Where a kind has no such request, it is as a mutex's. */
static void a_life(enum hfi_kind kind)
{
    struct hfi_lease *lease;
    struct hfi_watch *watch;
    struct hfi_renewal_item item;
    struct hfi_renewal renewal = { .count = 1, .items = &item };

    wire_open(&w, "redis://h");
    lease = wire_lease(&w, "L", 1);
    lease->kind = (uint8_t)kind;
    watch = wire_watch(&w, "L");
    watch->kind = (uint8_t)kind;
    item = (struct hfi_renewal_item){ .lease = lease, .ttl_ms = 30000 };
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    wire_up(&w, COMMANDS);
    memory_watch(1, true);
    exchange("*3\r\n:1\r\n:5\r\n:1\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    in_peace("try");
    wire_submit(&w, &renewal.request, HFI_OP_RENEW);
    exchange("-NOSCRIPT x\r\n");
    exchange("*1\r\n:1\r\n");
    wire_finished(&w, &renewal.request, HFI_DONE, HF_OK);
    in_peace("renewal");
    wire_submit(&w, &lease->request, HFI_OP_RELEASE);
    exchange(":0\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    in_peace("release");
    wire_submit(&w, &watch->request, HFI_OP_LEAVE);
    if (hfi_redis_has_tickets(kind))
        exchange(":0\r\n");
    wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
    in_peace("leaving");
    wire_submit(&w, &renewal.request, HFI_OP_RENEW);
    exchange("");
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &renewal.request, HFI_UNKNOWN, HF_ERR_UNSURE);
    in_peace("a connection that ends");
    memory_rest();
    wire_close(&w);
}

/* By our own objects, that is: hiredis makes its replies out of memory, and without it the outcome is unknown. */
static void renewing_and_releasing(void **state)
{
    (void)state;
    for (int kind = 0; kind < HFI_KIND_COUNT; kind++)
        a_life((enum hfi_kind)kind);
}

/* Likewise for locks that are strings under a prefix, by scripts and by the server's own commands. */
static void strings(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct hfi_lease *lease;
        struct hfi_renewal_item item;
        struct hfi_renewal renewal = { .count = 1, .items = &item };

        wire_open(&w, "redis://h?layout=string&prefix=app:");
        w.commands = own ? "*2\r\n*1\r\n:1\r\n*-1\r\n" : NULL;
        lease = wire_lease(&w, "L", 1);
        item = (struct hfi_renewal_item){ .lease = lease, .ttl_ms = 30000 };
        wire_submit(&w, &lease->request, HFI_OP_TRY);
        wire_up(&w, COMMANDS);
        memory_watch(1, true);
        exchange("*3\r\n:1\r\n:5\r\n:1\r\n");
        wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
        in_peace("try");
        wire_submit(&w, &renewal.request, HFI_OP_RENEW);
        if (own)
            exchange("-OOM x\r\n"); /* and then by the script */
        exchange("*1\r\n:1\r\n");
        wire_finished(&w, &renewal.request, HFI_DONE, HF_OK);
        assert_true(item.kept);
        in_peace("renewal");
        wire_redis(&w)->compare = own ? HFI_COMPARE_DELIFEQ : HFI_COMPARE_NONE;
        wire_submit(&w, &lease->request, HFI_OP_RELEASE);
        exchange(own ? ":1\r\n:0\r\n" : ":0\r\n");
        wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
        in_peace("release");
        memory_rest();
        wire_close(&w);
    }
}

#endif

/* ------------------------------------------------------------------------------------------------
 * Each allocation fails in turn
 */

enum { REQUESTS = 7, ASKED = 6 };

struct story {
    struct hfi_lease *lease;
    struct hfi_watch *watch;
    struct hfi_announcement announcement;
    struct hfi_query list, inspect;
    struct hfi_object object;
    const struct hfi_request *done[REQUESTS];
    size_t done_count;
};

static void collect(struct story *story)
{
    const struct hfi_request *request;

    while ((request = w.class_->finished(w.store))) {
        for (size_t i = 0; i < story->done_count; i++)
            assert_ptr_not_equal(story->done[i], request); /* once only */
        assert_true(story->done_count < REQUESTS);
        assert_int_not_equal(request->outcome, HFI_PENDING);
        story->done[story->done_count++] = request;
    }
    while (w.class_->woken(w.store))
        ;
}

/* What a script says of each name, by its first letter: B is a lock, P permits, F a queue, N a number. */
static const char *rows(const struct command *command)
{
    static char text[2048];
    size_t keys = strtoull(command->argv[2], NULL, 10);
    size_t n = (size_t)snprintf(text, sizeof text, "*%zu\r\n", keys + 1);

    for (size_t i = 0; i < keys; i++) {
        char first = command->argv[3 + i][0];

        n += (size_t)snprintf(
            text + n, sizeof text - n, "%s",
            first == 'B' ? "*3\r\n:1\r\n$4\r\nab:1\r\n$1\r\n1\r\n"
            : first == 'P'
                ? "*7\r\n$7\r\npermits\r\n:1\r\n:5\r\n:2\r\n*6\r\n$3\r\nxyz\r\n:1\r\n:1\r\n"
                  "$1\r\nx\r\n:1\r\n:1\r\n:0\r\n*0\r\n"
            : first == 'F'
                ? "*7\r\n$4\r\nfair\r\n:1\r\n:-1\r\n:0\r\n*0\r\n:2\r\n*2\r\n$4\r\ncd:1\r\n"
                  "$4\r\nef:2\r\n"
            : first == 'N' ? "*7\r\n$6\r\nnumber\r\n:1\r\n:5\r\n:0\r\n*0\r\n:0\r\n*0\r\n"
                           : ":0\r\n");
    }
    snprintf(text + n, sizeof text - n, ":9\r\n");
    return text;
}

/* So many listen for each channel. */
static const char *listeners(const struct command *command)
{
    static char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "*%zu\r\n", 2 * (command->argc - 2));

    for (size_t i = 2; i < command->argc; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "$1\r\nx\r\n:3\r\n");
    return text;
}

static bool is(const struct command *command, size_t i, const char *word)
{
    return i < command->argc && strcmp(command->argv[i], word) == 0;
}

/* By its text: what scripts are called with tells them apart. */
static const char *script_answer(const struct command *command)
{
    if (is(command, command->argc - 1, "64") || is(command, command->argc - 1, "4096"))
        return rows(command);
    if (is(command, 4, "get"))
        return "$8\r\nok 0 0 v\r\n";
    return strncmp(command->argv[3], "holdfast:", 9) == 0
               ? ":0\r\n"
               : "*3\r\n:1\r\n:5\r\n:1\r\n"; /* acquire */
}

/* What a good server says to a command. */
static const char *answer_to(const struct command *command)
{
    if (is(command, 0, "EVALSHA"))
        return "-NOSCRIPT x\r\n";
    if (is(command, 0, "EVAL"))
        return script_answer(command);
    if (is(command, 0, "HGETALL"))
        return "*6\r\n$6\r\nwait:A\r\n$3\r\n1 5\r\n$6\r\nhold:B\r\n$7\r\n1 2 3 x\r\n"
               "$12\r\nwait/latch:N\r\n$3\r\n1 5\r\n";
    if (is(command, 7, "zset"))
        return "*2\r\n$1\r\n0\r\n*1\r\n$11\r\n{P}:timeout\r\n";
    if (is(command, 0, "SCAN"))
        return "*2\r\n$1\r\n0\r\n*2\r\n$1\r\nB\r\n$1\r\nC\r\n";
    if (is(command, 2, "redisson_*"))
        return "*1\r\n$65\r\nredisson_lock__channel:{F}:" WIRE_ID ":1\r\n";
    if (is(command, 1, "CHANNELS"))
        return "*1\r\n$18\r\nholdfast:client:ab\r\n";
    if (is(command, 1, "NUMSUB"))
        return listeners(command);
    return is(command, 0, "SUBSCRIBE") || is(command, 0, "UNSUBSCRIBE") ? NULL : "+OK\r\n";
}

static void answer(unsigned link, const struct command *command)
{
    const char *reply = answer_to(command);
    char confirmation[256];

    if (!reply) {
        snprintf(confirmation, sizeof confirmation,
                 "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%.*s\r\n:1\r\n", command->len[1], 200,
                 command->argv[1]);
        reply = confirmation;
    }
    memory_arm(true);
    w.class_->consume(w.store, link, w.now, reply, strlen(reply));
    memory_arm(false);
}

/* The host, with failures only in what the store does. */
static void serve(struct story *story, unsigned link)
{
    struct command command;

    switch (w.class_->want(w.store, link, w.now)) {
    case HFI_LINK_DIAL:
        w.length[link] = 0;
        memory_arm(true);
        w.class_->connected(w.store, link, w.now);
        memory_arm(false);
        break;
    case HFI_LINK_DROP:
        wire_lose(&w, link);
        break;
    default:
        break;
    }
    collect(story);
    while (!wire_redis(&w)->link[link].drop && wire_read(&w, link, &command)) {
        answer(link, &command);
        collect(story);
    }
}

static void submit(struct hfi_request *request, enum hfi_op op)
{
    memory_arm(true);
    wire_submit(&w, request, op);
    memory_arm(false);
}

static void check_end(const struct story *story, bool failed)
{
    assert_int_equal(story->done_count, ASKED);
    if (!failed) {
        for (size_t i = 0; i < story->done_count; i++)
            assert_int_equal(story->done[i]->outcome, HFI_DONE);
        assert_int_equal(hf_list_count(story->list.list), 5);
        assert_string_equal(story->object.data, "v");
    }
    if (story->lease->request.outcome == HFI_DONE)
        assert_int_equal(story->lease->verdict, HFI_GRANTED);
}

static bool tell(size_t nth, bool all_after)
{
    struct story story = { .done_count = 0 };
    bool failed;

    wire_open(&w, "redis://h");
    story.lease = wire_lease(&w, "L", 1);
    story.watch = wire_watch(&w, "L");
    story.list = (struct hfi_query){ .list = hfi_list_new() };
    story.inspect = (struct hfi_query){ .text = "A", .list = hfi_list_new() };
    story.object =
        (struct hfi_object){ .verb = HFI_BUCKET_GET, .name = "V", .name_len = 1, .serial = 1 };
    memory_watch(nth, all_after);
    memory_arm(false);
    submit(&story.lease->request, HFI_OP_TRY);
    submit(&story.watch->request, HFI_OP_WATCH);
    submit(&story.announcement.request, HFI_OP_ANNOUNCE);
    submit(&story.list.request, HFI_OP_LIST);
    submit(&story.inspect.request, HFI_OP_INSPECT);
    submit(&story.object.request, HFI_OP_OBJECT);
    for (int turn = 0; story.done_count < ASKED && turn < 100; turn++) {
        serve(&story, COMMANDS);
        serve(&story, WAKEUPS);
        w.now += 100 * HFI_MSEC;
        w.class_->tick(w.store, w.now);
        collect(&story);
    }
    failed = memory_failed();
    memory_rest();
    check_end(&story, failed);
    wire_close(&w);
    hf_list_free(story.list.list);
    hf_list_free(story.inspect.list);
    free(story.object.data);
    return failed;
}

static void every_allocation(void **state)
{
    size_t nth = 1;

    (void)state;
    assert_false(tell(0, false));
    for (;; nth++) {
        size_t before = memory_blocks();

        if (!tell(nth, false))
            break;
        assert_int_equal(memory_blocks(), before);
        tell(nth, true);
        assert_int_equal(memory_blocks(), before);
    }
    assert_in_range(nth, 15, 2000);
}

static void no_memory_for_a_store(void **state)
{
    extern const struct hfi_driver hfi_driver_redis;
    struct hfi_identity identity = { .id = WIRE_ID };
    struct hfi_store_config config = { .identity = &identity };
    struct hfi_store *store = NULL;
    char detail[HFI_DETAIL_MAX];

    (void)state;
    memory_watch(1, true);
    assert_int_equal(hfi_driver_redis.open("redis", "//h", &config, &store, detail),
                     HF_ERR_NO_MEMORY);
    memory_rest();
    assert_null(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef MEMORY_INTERPOSED
        cmocka_unit_test(renewing_and_releasing),
        cmocka_unit_test(strings),
#endif
        cmocka_unit_test(every_allocation),
        cmocka_unit_test(no_memory_for_a_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
