/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `holdfast run` holds: one hold, or several (--and) that count as one. It is as good as the worst of
 * them, lasts until the earliest deadline, and is given back as a whole.
 */
#ifndef HFI_CLI_HOLDS_H
#define HFI_CLI_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holdfast/holdfast.h"

struct cli_holds {
    hf_hold *hold[HF_MEMBERS_MAX];
    size_t count; /* 0: nothing is held */
};

/* Does the library say HELD or AT_RISK of each? */
bool hfi_cli_holds_are_valid(const struct cli_holds *holds);
/* To the earliest deadline; 0 when one is lost. */
int64_t hfi_cli_holds_remaining_ms(const struct cli_holds *holds);
/* The one to name when something is wrong: one that is lost, or the one whose deadline is the earliest. */
const hf_hold *hfi_cli_holds_worst(const struct cli_holds *holds);
/* The hold of that name, which is one of them. */
const hf_hold *hfi_cli_holds_find(const struct cli_holds *holds, const char *name);
/* Asks the store; the states say what came of it. Blocks for a round trip each, and asks no further when the
 * store does not answer. */
void hfi_cli_holds_verify(struct cli_holds *holds);
/* Gives all back, at once and not one after the other: blocks for about one operation's timeout at most. What
 * hf_release() would return: LOST when one was, else what went wrong with another. */
int hfi_cli_holds_release(struct cli_holds *holds, hf_client *client);

#endif
