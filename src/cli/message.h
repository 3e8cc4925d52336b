/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: one line each, on standard error, "holdfast: " in front, clean (text.h). And the one line that
 * is drawn over and over while we wait on a terminal: it is cleared before anything else is printed.
 *
 * Not for the guard or a forked child: they print nothing.
 */
#ifndef HFI_CLI_MESSAGE_H
#define HFI_CLI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define CLI_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define CLI_PRINTF(at, first)
#endif

#define CLI_MESSAGE_MAX 3072 /* bytes of a line: a name, a label and words around them */

/* Remembers where the arguments are in memory (hfi_cli_rename()). */
void hfi_cli_message_init(int argc, char **argv);
/* Overwrites our arguments, as `ps` shows them, in this process: async-signal-safe. */
void hfi_cli_rename(const char *text, size_t length);

void hfi_cli_say(const char *format, ...) CLI_PRINTF(1, 2);

/* Can a line be drawn over on standard error: a terminal that has cursor control, and is ours now? */
bool hfi_cli_can_draw(void);
/* Draws the line, cut to the terminal's width. */
void hfi_cli_draw(const char *text);
/* Removes it, if it is there. */
void hfi_cli_clear(void);

#endif
