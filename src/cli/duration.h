/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as people write them: 250ms, 5s, 1.5m, 1h; a bare number is seconds. */
#ifndef HFI_CLI_DURATION_H
#define HFI_CLI_DURATION_H

#include <stdint.h>

enum cli_duration {
    CLI_DURATION_OK,
    CLI_DURATION_MALFORMED, /* not a number with ms, s, m, h or nothing behind it */
    CLI_DURATION_TOO_LONG   /* more than CLI_DURATION_MAX_MS */
};

#define CLI_DURATION_MAX_MS INT64_C(31536000000) /* 365 days */
#define CLI_DURATION_DIGITS 9                    /* behind the point; more are malformed */

/*
 * DIGITS[.DIGITS][ms|s|m|h], nothing before or behind. A fraction of a millisecond is rounded up, so only
 * what is zero becomes 0. Depends on its argument alone; *ret_ms is written on success only.
 */
enum cli_duration hfi_cli_duration(const char *text, int64_t *ret_ms);

#endif
