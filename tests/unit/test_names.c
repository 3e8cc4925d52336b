/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, channels and slots: what is shared with Redisson and with the cluster, byte for byte. */
#include "unit.h"

#include "store/redis/names.h"

static void check_channel(const char *name, enum hfi_topic kind, const char *expected)
{
    char *to = malloc(HFI_CHANNEL_MAX);
    size_t len = hfi_channel_name(to, name, strlen(name), kind);

    if (len != strlen(expected) || memcmp(to, expected, len) != 0)
        fail_msg("%s: %.*s instead of %s", name, (int)len, to, expected);
    free(to);
}

/* prefixName() of Redisson: what counts is whether there is an opening brace anywhere. */
static void channels_are_redissons(void **state)
{
    (void)state;
    check_channel("order", HFI_TOPIC_LOCK, "redisson_lock__channel:{order}");
    check_channel("order", HFI_TOPIC_READ_WRITE, "redisson_rwlock:{order}");
    check_channel("foo{t}", HFI_TOPIC_LOCK, "redisson_lock__channel:foo{t}");
    check_channel("foo{t}", HFI_TOPIC_READ_WRITE, "redisson_rwlock:foo{t}");
    check_channel("a{b", HFI_TOPIC_LOCK, "redisson_lock__channel:a{b");
    check_channel("a}b", HFI_TOPIC_LOCK, "redisson_lock__channel:{a}b}");
    check_channel("{}", HFI_TOPIC_LOCK, "redisson_lock__channel:{}");
    check_channel("{test}:abc:key", HFI_TOPIC_LOCK, "redisson_lock__channel:{test}:abc:key");
    check_channel("\xc3\xa9:x", HFI_TOPIC_LOCK, "redisson_lock__channel:{\xc3\xa9:x}");
    check_channel("order", HFI_TOPIC_PERMITS, "redisson_sc:{order}");
    check_channel("foo{t}", HFI_TOPIC_PERMITS, "redisson_sc:foo{t}");
    check_channel("order", HFI_TOPIC_LATCH, "redisson_countdownlatch__channel__{order}");
    check_channel("a{x}b", HFI_TOPIC_LATCH, "redisson_countdownlatch__channel__{a{x}b}");
}

static void check_suffix(const char *name, const char *suffix, const char *expected)
{
    char *to = malloc(strlen(expected)); /* so that the address sanitizer sees its end */

    assert_int_equal(hfi_suffix_name(to, name, strlen(name), suffix), strlen(expected));
    assert_memory_equal(to, expected, strlen(expected));
    free(to);
}

/* suffixName() */
static void keys_are_redissons(void **state)
{
    (void)state;
    check_suffix("order", "timeout", "{order}:timeout");
    check_suffix("foo{t}", "timeout", "foo{t}:timeout");
    check_suffix("a{b", "x:1", "a{b:x:1");
    check_suffix("a}b", "", "{a}b}:");
}

/* The longest name fits into the longest channel, and the length counts, not a NUL. */
static void channels_of_the_longest_name(void **state)
{
    static const char HEAD[] = "redisson_lock__channel:{";
    char *name = malloc(HF_NAME_MAX), *to = malloc(HFI_CHANNEL_MAX);
    size_t len;

    (void)state;
    memset(name, 'n', HF_NAME_MAX);
    len = hfi_channel_name(to, name, HF_NAME_MAX, HFI_TOPIC_LOCK);
    assert_int_equal(len, sizeof HEAD - 1 + HF_NAME_MAX + 1);
    assert_true(len <= HFI_CHANNEL_MAX);
    assert_memory_equal(to, HEAD, sizeof HEAD - 1);
    assert_int_equal(to[len - 1], '}');
    len = hfi_channel_name(to, name, 3, HFI_TOPIC_LOCK);
    assert_memory_equal(to, "redisson_lock__channel:{nnn}", len);
    for (unsigned topic = 0; topic < HFI_TOPIC_COUNT; topic++)
        assert_true(hfi_channel_name(to, name, HF_NAME_MAX, (enum hfi_topic)topic) <=
                    HFI_CHANNEL_MAX - HFI_PREFIX_MAX);
    free(name);
    free(to);
}

static void check_slot(const char *key, unsigned slot)
{
    if (hfi_slot(key, strlen(key)) != slot)
        fail_msg("%s: slot %u instead of %u", key, hfi_slot(key, strlen(key)), slot);
}

/* Values of the cluster specification, and of CLUSTER KEYSLOT of a Redis 7.0 server. */
static void slots_are_the_clusters(void **state)
{
    (void)state;
    check_slot("123456789", 0x31c3);
    check_slot("", 0);
    check_slot("foo", 12182);
    check_slot("bar", 5061);
    check_slot("hello", 866);
    check_slot("somekey", 11058);
    check_slot("foo{hash_tag}", 2515);
    check_slot("bar{hash_tag}", 2515);
    check_slot("hash_tag", 2515);
    check_slot("{user1000}.following", 3443);
    check_slot("user1000", 3443);
}

static unsigned slot_of(const char *key)
{
    return hfi_slot(key, strlen(key));
}

/* Whole keys, without any tag, by a plain CRC: what the rules below are told in. */
static unsigned whole(const char *key)
{
    unsigned crc = 0;

    for (; *key; key++)
        for (unsigned bit = 0; bit < 8; bit++) {
            unsigned in = ((unsigned char)*key >> (7 - bit)) & 1, out = crc >> 15 & 1;

            crc = (crc << 1 & 0xffff) ^ (in ^ out ? 0x1021 : 0);
        }
    return crc & 0x3fff;
}

static void tags_by_the_specification(void **state)
{
    (void)state;
    assert_int_equal(whole("123456789"), 0x31c3);
    assert_int_equal(slot_of("foo{}{bar}"), whole("foo{}{bar}")); /* an empty tag is none */
    assert_int_equal(slot_of("{}"), whole("{}"));
    assert_int_equal(slot_of("{}x"), whole("{}x"));
    assert_int_equal(slot_of("foo{{bar}}zap"), whole("{bar"));
    assert_int_equal(slot_of("foo{bar}{zap}"), whole("bar"));
    assert_int_equal(slot_of("foo{bar"), whole("foo{bar"));
    assert_int_equal(slot_of("foo}bar"), whole("foo}bar"));
    assert_int_equal(slot_of("a}b{c}d"), whole("c")); /* the server's rule, not Redisson's */
    assert_int_equal(slot_of("{a}"), whole("a"));
    assert_int_equal(slot_of("x{"), whole("x{"));
}

static void slots_of_random_keys(void **state)
{
    struct hfi_random random;

    (void)state;
    hfi_random_init(&random, unit_first_seed());
    for (int i = 0; i < 20000; i++) {
        char key[20];
        size_t len = (size_t)hfi_random_below(&random, sizeof key);

        for (size_t k = 0; k < len; k++)
            key[k] = (char)(1 + hfi_random_below(&random, 122)); /* no braces */
        key[len] = '\0';
        assert_int_equal(slot_of(key), whole(key));
    }
}

/* Every slot has a counter of tokens, which lies in that very slot; and no two are the same. */
static void a_token_key_for_every_slot(void **state)
{
    enum { SLOTS = 1 << HFI_SLOT_BITS };
    static char keys[SLOTS][HFI_TOKEN_KEY_MAX];
    struct hfi_tags tags;

    (void)state;
    hfi_tags_init(&tags);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        size_t len = hfi_token_key(&tags, keys[slot], (uint16_t)slot);

        assert_true(len < HFI_TOKEN_KEY_MAX);
        assert_int_equal(len, strlen(keys[slot]));
        assert_memory_equal(keys[slot], "holdfast:token:{", 16);
        assert_int_equal(keys[slot][len - 1], '}');
        for (size_t i = 16; i < len - 1; i++)
            assert_in_range(keys[slot][i], 'h', 'o');
        assert_int_equal(hfi_slot(keys[slot], len), slot);
    }
}

/* They must never change: a counter under another name would begin anew. */
static void token_keys_stay_the_same(void **state)
{
    struct hfi_tags tags;
    char first[HFI_TOKEN_KEY_MAX], again[HFI_TOKEN_KEY_MAX];

    (void)state;
    hfi_tags_init(&tags);
    hfi_token_key(&tags, first, 12182);
    hfi_tags_init(&tags);
    hfi_token_key(&tags, again, 12182);
    assert_string_equal(first, again);
    hfi_token_key(&tags, first, 0);
    assert_string_equal(first, "holdfast:token:{kikihh}");
    hfi_token_key(&tags, first, 12182);
    assert_string_equal(first, "holdfast:token:{hlnolh}");
    hfi_token_key(&tags, first, 16383);
    assert_string_equal(first, "holdfast:token:{kjlihh}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_redissons),   cmocka_unit_test(channels_of_the_longest_name),
        cmocka_unit_test(slots_are_the_clusters),   cmocka_unit_test(tags_by_the_specification),
        cmocka_unit_test(slots_of_random_keys),     cmocka_unit_test(a_token_key_for_every_slot),
        cmocka_unit_test(token_keys_stay_the_same), cmocka_unit_test(keys_are_redissons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
