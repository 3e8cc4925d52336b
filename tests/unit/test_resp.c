/* SPDX-License-Identifier: Apache-2.0 */
/* Writing commands: exact bytes, whole pieces, and nothing past the end of the buffer. */
#include "unit.h"

#include "store/redis/redis.h"

static struct hfi_resp into(char *buffer, size_t room)
{
    return (struct hfi_resp){ .at = buffer, .end = buffer + room };
}

static void decimals(void **state)
{
    char digits[20];

    (void)state;
    assert_int_equal(hfi_decimal(digits, 0), 1);
    assert_memory_equal(digits, "0", 1);
    assert_int_equal(hfi_decimal(digits, 10), 2);
    assert_memory_equal(digits, "10", 2);
    assert_int_equal(hfi_decimal(digits, UINT64_MAX), 20);
    assert_memory_equal(digits, "18446744073709551615", 20);
}

static void write_all(struct hfi_resp *resp)
{
    hfi_resp_command(resp, 5);
    hfi_resp_text(resp, "EVAL");
    hfi_resp_bytes(resp, "a\0\r\nb", 5);
    hfi_resp_number(resp, 1234567890);
    hfi_resp_owner(resp, "uuid", 42);
    hfi_resp_joined(resp, "head:", "tail-and-more", 4);
    hfi_resp_text(resp, "");
}

static const char ALL[] =
    "*5\r\n$4\r\nEVAL\r\n$5\r\na\0\r\nb\r\n$10\r\n1234567890\r\n$7\r\nuuid:42\r\n"
    "$9\r\nhead:tail\r\n$0\r\n\r\n";

static void exact_bytes(void **state)
{
    char buffer[sizeof ALL];
    struct hfi_resp resp = into(buffer, sizeof ALL - 1);

    (void)state;
    write_all(&resp);
    assert_false(resp.full);
    assert_int_equal(resp.at - buffer, sizeof ALL - 1);
    assert_memory_equal(buffer, ALL, sizeof ALL - 1);
}

/* In every smaller buffer: it says so, and nothing is written behind it. */
static void full_at_every_size(void **state)
{
    (void)state;
    for (size_t room = 0; room < sizeof ALL - 1; room++) {
        char *buffer = malloc(room + 1);
        struct hfi_resp resp = into(buffer, room);

        buffer[room] = '!';
        write_all(&resp);
        assert_true(resp.full);
        assert_true(resp.at <= resp.end);
        assert_int_equal(buffer[room], '!');
        assert_memory_equal(buffer, ALL, (size_t)(resp.at - buffer));
        free(buffer);
    }
}

/* Once full, it stays full, though a smaller piece would still fit: no command has a hole. */
static void full_is_for_good(void **state)
{
    char buffer[16];
    struct hfi_resp resp = into(buffer, sizeof buffer);
    char *at;

    (void)state;
    hfi_resp_text(&resp, "much too long for this");
    assert_true(resp.full);
    at = resp.at;
    hfi_resp_command(&resp, 1);
    assert_true(resp.full);
    assert_ptr_equal(resp.at, at);
}

/* ------------------------------------------------------------------------------------------------
 * Whole commands
 */

static struct hfi_lease lease = {
    .name = "order:1001", .name_len = 10, .owner = 7, .ttl_ms = 30000, .tokens = 3
};

/* A command goes in whole or not at all, in every size of buffer. */
static void commands_are_whole(void **state)
{
    static const uint8_t OPS[] = { HFI_OP_TRY, HFI_OP_RELEASE, HFI_OP_FAREWELL, HFI_OP_CHECK };
    static const struct hfi_identity who = { .id = "0f8fad5b-d9cb-469f-a165-70867728950e" };
    static struct hfi_redis redis;
    static char buffer[1024];

    (void)state;
    redis.identity = &who;
    hfi_tags_init(&redis.tags);
    for (size_t i = 0; i < UNIT_COUNT(OPS); i++) {
        struct hfi_resp resp = into(buffer, sizeof buffer);
        size_t length;

        lease.request.op = OPS[i];
        assert_true(hfi_redis_encode(&redis, 0, &lease.request, &resp));
        length = (size_t)(resp.at - buffer);
        for (size_t room = 0; room <= length; room++) {
            char *exact = malloc(room + 1);
            bool fits;

            resp = into(exact, room);
            fits = hfi_redis_encode(&redis, 0, &lease.request, &resp);
            assert_int_equal(fits, room == length);
            assert_false(resp.full);
            assert_ptr_equal(resp.at, exact + (fits ? length : 0));
            if (fits)
                assert_memory_equal(exact, buffer, length);
            free(exact);
        }
    }
}

/* The buffer of a connection holds the largest commands there are, and an EVAL with the text of its script. */
static void the_largest_commands_fit(void **state)
{
    static char name[HF_NAME_MAX];
    static const struct hfi_identity who = { .id = "0f8fad5b-d9cb-469f-a165-70867728950e" };
    static struct hfi_redis redis;
    static struct hfi_renewal_item items[HFI_RENEWAL_MAX];
    static struct hfi_announcement announcement;
    struct hfi_renewal renewal = { .request = { .op = HFI_OP_RENEW, .stage = HFI_STAGE_TEXT },
                                   .count = HFI_RENEWAL_MAX,
                                   .items = items };
    struct hfi_lease large = { .name = name, .name_len = HF_NAME_MAX, .owner = UINT64_MAX };
    char *buffer = malloc(HFI_REDIS_OUT_SIZE);
    struct hfi_resp resp = into(buffer, HFI_REDIS_OUT_SIZE);

    (void)state;
    memset(name, 'n', sizeof name);
    redis.identity = &who;
    for (size_t i = 0; i < HFI_RENEWAL_MAX; i++)
        items[i] = (struct hfi_renewal_item){ .lease = &large, .ttl_ms = HF_TTL_MAX_MS };
    assert_true(hfi_redis_encode(&redis, 0, &renewal.request, &resp));

    announcement.request.op = HFI_OP_ANNOUNCE;
    announcement.request.stage = HFI_STAGE_TEXT;
    announcement.count = HFI_ANNOUNCEMENT_MAX;
    for (size_t i = 0; i < HFI_ANNOUNCEMENT_MAX; i++) {
        struct hfi_announcement_item *item = &announcement.items[i];

        *item = (struct hfi_announcement_item){ .name = name,
                                                .name_len = HF_NAME_MAX,
                                                .held = true,
                                                .owner = UINT64_MAX,
                                                .token = UINT64_MAX };
        memset(item->label, 'l', HF_LABEL_MAX);
    }
    resp = into(buffer, HFI_REDIS_OUT_SIZE);
    assert_true(hfi_redis_encode(&redis, 0, &announcement.request, &resp));
    free(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals),           cmocka_unit_test(exact_bytes),
        cmocka_unit_test(full_at_every_size), cmocka_unit_test(full_is_for_good),
        cmocka_unit_test(commands_are_whole), cmocka_unit_test(the_largest_commands_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
