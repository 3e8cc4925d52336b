/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: Redisson's RedissonObject.prefixName() and suffixName() for keys and channels, and its
 * RedissonCountDownLatch for the one channel that is made differently; the Redis cluster specification for slots.
 *
 * A counter of tokens must lie in its lock's slot, and there is one a slot, not one a lock. Its tag is six
 * letters, each one of eight that differ in their lowest three bits only: 18 bits. CRC16 is linear over
 * GF(2), so each of these bits, when set, changes the slot by a constant, whatever the others are; the bits
 * that make up a wanted slot are found by Gaussian elimination once, and combined by exclusive or for each
 * slot.
 */
#include "store/redis/names.h"

#include <string.h>

#include "store/redis/resp.h"

#define SLOT_BITS   HFI_SLOT_BITS
#define SLOT_COUNT  (1 << SLOT_BITS)
#define TAG_LENGTH  6
#define LETTER_BITS 3
#define TAG_BITS    (TAG_LENGTH * LETTER_BITS)
#define LETTER_BASE 'h' /* 0x68: the eight letters h … o */

static const char *const CHANNEL_PREFIX[HFI_TOPIC_COUNT] = {
    [HFI_TOPIC_LOCK] = "redisson_lock__channel",
    [HFI_TOPIC_READ_WRITE] = "redisson_rwlock",
    [HFI_TOPIC_TURN] = "redisson_lock__channel",
    [HFI_TOPIC_PERMITS] = "redisson_sc",
    [HFI_TOPIC_LATCH] = "redisson_countdownlatch__channel__",
};

static size_t put(char *to, const char *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return len;
}

/* The name with braces around it, if it has none. */
static size_t put_tagged(char *to, const char *name, size_t len)
{
    bool tagged = memchr(name, '{', len) != NULL;
    size_t n = put(to, "{", !tagged);

    n += put(to + n, name, len);
    return n + put(to + n, "}", !tagged);
}

size_t hfi_prefix_name(char *to, const char *prefix, const char *name, size_t len)
{
    size_t n = put(to, prefix, strlen(prefix));

    n += put(to + n, ":", 1);
    return n + put_tagged(to + n, name, len);
}

size_t hfi_suffix_name(char *to, const char *name, size_t len, const char *suffix)
{
    size_t n = put_tagged(to, name, len);

    n += put(to + n, ":", 1);
    return n + put(to + n, suffix, strlen(suffix));
}

/* A latch's has neither a colon nor a look at the name. */
const char *hfi_redis_kind_word(enum hfi_kind kind)
{
    static const char *const WORDS[HFI_KIND_COUNT] = {
        [HFI_KIND_MUTEX] = "mutex",     [HFI_KIND_SPIN] = "spin",
        [HFI_KIND_FENCED] = "fenced",   [HFI_KIND_FAIR] = "fair",
        [HFI_KIND_WRITE] = "write",     [HFI_KIND_READ] = "read",
        [HFI_KIND_PERMITS] = "permits", [HFI_KIND_SEMAPHORE] = "semaphore",
        [HFI_KIND_LATCH] = "latch",
    };

    return WORDS[kind];
}

size_t hfi_channel_name(char *to, const char *name, size_t len, enum hfi_topic topic)
{
    size_t n;

    if (topic != HFI_TOPIC_LATCH)
        return hfi_prefix_name(to, CHANNEL_PREFIX[topic], name, len);
    n = put(to, CHANNEL_PREFIX[topic], strlen(CHANNEL_PREFIX[topic]));
    n += put(to + n, "{", 1);
    n += put(to + n, name, len);
    return n + put(to + n, "}", 1);
}

size_t hfi_owner_text(char *to, const char *client, uint64_t owner)
{
    size_t n = put(to, client, strlen(client));

    n += put(to + n, ":", 1);
    return n + hfi_decimal(to + n, owner);
}

size_t hfi_reader_key(char *to, const char *name, size_t len, const char *client, uint64_t owner)
{
    static const char TAIL[] = ":rwlock_timeout:1";
    size_t n = hfi_suffix_name(to, name, len, "");

    n += hfi_owner_text(to + n, client, owner);
    return n + put(to + n, TAIL, sizeof TAIL - 1);
}

size_t hfi_turn_channel_name(char *to, const char *name, size_t len, const char *client,
                             uint64_t owner)
{
    size_t n = hfi_channel_name(to, name, len, HFI_TOPIC_TURN);

    n += put(to + n, ":", 1);
    return n + hfi_owner_text(to + n, client, owner);
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

#define ID_CLIENT 8 /* bytes */
#define ID_OWNER  6

static unsigned hex_value(char digit)
{
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)((digit | 0x20) - 'a' + 10);
}

static void put_big_endian(char *to, size_t bytes, uint64_t number)
{
    for (; bytes > 0; bytes--, number >>= 8)
        to[bytes - 1] = (char)(number & 0xff);
}

static uint64_t get_big_endian(const char *at, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

void hfi_permit_id(char to[HFI_PERMIT_ID], const char *client, uint64_t owner, unsigned which)
{
    unsigned digits = 0;

    memset(to, 0, ID_CLIENT);
    for (; *client && digits < 2 * ID_CLIENT; client++) {
        if (*client == '-')
            continue;
        to[digits / 2] = (char)((unsigned)(unsigned char)to[digits / 2] << 4 | hex_value(*client));
        digits++;
    }
    put_big_endian(to + ID_CLIENT, ID_OWNER, owner);
    put_big_endian(to + ID_CLIENT + ID_OWNER, HFI_PERMIT_ID - HFI_PERMIT_ID_OWNER, which);
}

void hfi_permit_id_parse(const char id[HFI_PERMIT_ID], char ret_client[HFI_PERMIT_ID_CLIENT + 1],
                         uint64_t *ret_owner, unsigned *ret_which)
{
    static const char DIGITS[] = "0123456789abcdef";
    size_t n = 0;

    for (size_t i = 0; i < ID_CLIENT; i++) {
        ret_client[n++] = DIGITS[(unsigned char)id[i] >> 4];
        ret_client[n++] = DIGITS[id[i] & 0x0f];
        if (i == 3 || i == 5) /* as in "0f8fad5b-d9cb-469f" */
            ret_client[n++] = '-';
    }
    ret_client[n] = '\0';
    *ret_owner = get_big_endian(id + ID_CLIENT, ID_OWNER);
    *ret_which =
        (unsigned)get_big_endian(id + HFI_PERMIT_ID_OWNER, HFI_PERMIT_ID - HFI_PERMIT_ID_OWNER);
}

/* ------------------------------------------------------------------------------------------------
 * Slots
 */

static uint16_t crc16(const char *bytes, size_t len)
{
    uint16_t crc = 0;

    for (size_t i = 0; i < len; i++) {
        crc = (uint16_t)(crc ^ ((unsigned char)bytes[i] << 8));
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0));
    }
    return crc;
}

uint16_t hfi_slot(const char *key, size_t len)
{
    const char *open = memchr(key, '{', len);
    const char *close = open ? memchr(open + 1, '}', len - (size_t)(open + 1 - key)) : NULL;

    if (close && close > open + 1) {
        key = open + 1;
        len = (size_t)(close - key);
    }
    return crc16(key, len) % SLOT_COUNT;
}

static void make_tag(char *tag, uint32_t bits)
{
    for (unsigned i = 0; i < TAG_LENGTH; i++)
        tag[i] = (char)(LETTER_BASE | ((bits >> (i * LETTER_BITS)) & ((1u << LETTER_BITS) - 1)));
}

static uint16_t slot_of_tag(uint32_t bits)
{
    char tag[TAG_LENGTH];

    make_tag(tag, bits);
    return crc16(tag, sizeof tag) % SLOT_COUNT;
}

void hfi_tags_init(struct hfi_tags *tags)
{
    memset(tags, 0, sizeof *tags);
    tags->origin = slot_of_tag(0);
    for (unsigned i = 0; i < TAG_BITS; i++) {
        uint16_t change = slot_of_tag(1u << i) ^ tags->origin;
        uint32_t bits = 1u << i;

        for (int bit = SLOT_BITS - 1; bit >= 0 && change; bit--) {
            if (!(change >> bit & 1))
                continue;
            if (!tags->change[bit]) {
                tags->change[bit] = change;
                tags->bits[bit] = bits;
                break;
            }
            change ^= tags->change[bit];
            bits ^= tags->bits[bit];
        }
    }
}

size_t hfi_token_key(const struct hfi_tags *tags, char *to, uint16_t slot)
{
    static const char PREFIX[] = "holdfast:token:{";
    size_t n = sizeof PREFIX - 1;
    uint16_t wanted = slot ^ tags->origin;
    uint32_t bits = 0;

    for (int bit = SLOT_BITS - 1; bit >= 0; bit--) {
        if (wanted >> bit & 1) {
            wanted ^= tags->change[bit];
            bits ^= tags->bits[bit];
        }
    }
    memcpy(to, PREFIX, n);
    make_tag(to + n, bits);
    n += TAG_LENGTH;
    to[n++] = '}';
    to[n] = '\0';
    return n;
}
