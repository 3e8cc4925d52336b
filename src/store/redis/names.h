/* SPDX-License-Identifier: Apache-2.0 */
/* The names of keys and channels: byte for byte Redisson's, and our own. */
#ifndef HFI_REDIS_NAMES_H
#define HFI_REDIS_NAMES_H

#include "core/request.h"

/* The longest prefix of names, and the longest name with one (map.c). */
#define HFI_PREFIX_MAX 256
#define HFI_MAPPED_MAX (HFI_PREFIX_MAX + HF_NAME_MAX)
/* The longest channel: its kind, colon, braces, name. */
#define HFI_CHANNEL_MAX (HFI_MAPPED_MAX + 40)
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
/* The channel that tells of releases of a lock. Returns its length; no NUL is written. */
size_t hfi_channel_name(char *to, const char *name, size_t len, enum hfi_topic topic);

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
