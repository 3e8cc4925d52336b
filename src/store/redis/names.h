/* SPDX-License-Identifier: Apache-2.0 */
/* The names of keys and channels: byte for byte Redisson's, and our own. */
#ifndef HFI_REDIS_NAMES_H
#define HFI_REDIS_NAMES_H

#include "core/request.h"

/* The longest prefix of names, and the longest name with one (map.c). */
#define HFI_PREFIX_MAX 256
#define HFI_MAPPED_MAX (HFI_PREFIX_MAX + HF_NAME_MAX)
/* The longest channel: its kind, colon, braces, name, and for a turn the owner. */
#define HFI_CHANNEL_MAX (HFI_MAPPED_MAX + 40 + 60)
/* The longest key that is derived from a name: what comes before and behind it is at most so long. */
#define HFI_KEY_AFFIX_MAX 112
#define HFI_KEY_MAX       (HFI_MAPPED_MAX + HFI_KEY_AFFIX_MAX + 3)
/* The key of a slot's counter of tokens, with its final NUL. */
#define HFI_TOKEN_KEY_MAX 32

#define HFI_CLIENT_PREFIX "holdfast:client:" /* registry key, and the channel of the same name */

/* "<prefix>:{<name>}", or "<prefix>:<name>" when the name has an opening brace. Returns its length; no NUL is
 * written. */
size_t hfi_prefix_name(char *to, const char *prefix, const char *name, size_t len);
/* "{<name>}:<suffix>", or "<name>:<suffix>". */
size_t hfi_suffix_name(char *to, const char *name, size_t len, const char *suffix);
/* Our own keys beside Redisson's. */
#define HFI_FAIR_PREFIX    "holdfast_fair"   /* waiters of a fair lock, and when they tried last */
#define HFI_WRITERS_PREFIX "holdfast_writer" /* writers that are preferred, and until when */
#define HFI_TAKEN_PREFIX   "holdfast_semaphore" /* and ":<owner>": permits that this one took */

/* "<client id>:<number>"; at most HFI_OWNER_TEXT_MAX for a UUID. Returns its length; no NUL is written. */
#define HFI_OWNER_TEXT_MAX (36 + 1 + 20)
size_t hfi_owner_text(char *to, const char *client, uint64_t owner);
/* The key that lives as long as a reader's hold. Returns its length; no NUL is written. */
size_t hfi_reader_key(char *to, const char *name, size_t len, const char *client, uint64_t owner);

/* The channel that tells of releases of a lock. Returns its length; no NUL is written. */
size_t hfi_channel_name(char *to, const char *name, size_t len, enum hfi_topic topic);
/* The channel that tells one owner that it is its turn. Likewise. */
size_t hfi_turn_channel_name(char *to, const char *name, size_t len, const char *client,
                             uint64_t owner);

/*
 * A permit's id, 16 bytes: half of the client's UUID, the owner's number (6 bytes, big-endian), and which of
 * its permits this is (2 bytes, likewise). Redisson's are random.
 */
#define HFI_PERMIT_ID        16
#define HFI_PERMIT_ID_OWNER  14 /* what all ids of an owner begin with */
#define HFI_PERMIT_ID_CLIENT 18 /* characters of the client's id that can be told from it */
void hfi_permit_id(char to[HFI_PERMIT_ID], const char *client, uint64_t owner, unsigned which);
/* The other way; ret_client gets the first characters of the client's id, and a NUL. */
void hfi_permit_id_parse(const char id[HFI_PERMIT_ID], char ret_client[HFI_PERMIT_ID_CLIENT + 1],
                         uint64_t *ret_owner, unsigned *ret_which);

/* What kinds are called in registries. */
const char *hfi_redis_kind_word(enum hfi_kind kind);

/* The cluster's hash slot of a key: CRC16 (XMODEM) of its hash tag, or of all of it, modulo 16384. */
uint16_t hfi_slot(const char *key, size_t len);

#define HFI_SLOT_BITS 14

/* How to make a tag for any slot; names.c says how. */
struct hfi_tags {
    uint16_t origin;                /* the slot of the tag without any bit */
    uint16_t change[HFI_SLOT_BITS]; /* a change of the slot whose highest bit is this one */
    uint32_t bits[HFI_SLOT_BITS];   /* and the tag bits that make it */
};

void hfi_tags_init(struct hfi_tags *tags);
/* "holdfast:token:{tag}" with a tag that hashes to the slot. Returns its length. */
size_t hfi_token_key(const struct hfi_tags *tags, char *to, uint16_t slot);

#endif
