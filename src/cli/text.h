/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people: what others wrote made harmless, widths on a terminal, ages, holders. */
#ifndef HFI_CLI_TEXT_H
#define HFI_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holdfast/holdfast.h"

/*
 * Copies UTF-8 into to[room] and ends it with NUL. Control characters (C0, DEL, C1), characters that change
 * the direction of text or end a line (U+2028 to U+202E, U+2066 to U+2069), and bytes that are not UTF-8
 * become '?'. What does not fit is cut at a character's boundary. Returns the length written.
 */
size_t hfi_cli_clean(char *to, size_t room, const char *from);
/* As hfi_cli_clean(), but only what is not UTF-8 is replaced, by U+FFFD: for JSON, which escapes the rest. */
size_t hfi_cli_utf8(char *to, size_t room, const char *from);

/* Columns that clean UTF-8 takes on a terminal. */
size_t hfi_cli_width(const char *text);
/* The length in bytes of the longest beginning that takes at most `columns`. */
size_t hfi_cli_fit(const char *text, size_t columns);

#define CLI_AGE_ROOM 24
/* "3s", "12m", "2h05m", "3d04h"; "-" for a negative number (not known). Returns `to`. */
const char *hfi_cli_age(char to[CLI_AGE_ROOM], int64_t ms);

#define CLI_SPAN_ROOM 32
/* A duration as people write it, exactly: "250ms", "1.5s", "90s", "2m", "1h". Not negative. Returns `to`. */
const char *hfi_cli_span(char to[CLI_SPAN_ROOM], int64_t ms);

#define CLI_HOLDER_ROOM 384
/* "user@host pid 17 program" with what is known of it, or the owner id, or "-"; clean. Returns `to`. */
const char *hfi_cli_holder(char to[CLI_HOLDER_ROOM], const struct hf_holder *holder);

#define CLI_SINCE_ROOM 768
/* hfi_cli_holder() and, as far as known, " for 12m" and ": \"label\"". Returns `to`. */
const char *hfi_cli_holder_since(char to[CLI_SINCE_ROOM], const struct hf_holder *holder);

#define CLI_WHO_ROOM (CLI_SINCE_ROOM + 96)
/*
 * Who or what is in the way of somebody who waits: "held by …", "3 readers, first …", "1 permit available, 3
 * holders, first …", "count 3"; "held by someone else" when that is all that is known. Returns `to`.
 */
const char *hfi_cli_who(char to[CLI_WHO_ROOM], const struct hf_lock *lock);

/*
 * The same in short, for a column: hfi_cli_holder() of one; "3, first …" of several; "2 available", "1 available; 3,
 * first …"; "count 3". Without times and labels. Returns `to`.
 */
const char *hfi_cli_holders(char to[CLI_WHO_ROOM], const struct hf_lock *lock);

/* "is" or "has": what stands between a name and what hfi_cli_who() says. */
const char *hfi_cli_is_or_has(const char *who);

/* Does `available` mean something: permits, a semaphore, a latch? It may be below zero. */
bool hfi_cli_has_number(const struct hf_lock *lock);

/* Is anything known of a holder? */
bool hfi_cli_is_somebody(const struct hf_holder *holder);

#endif
