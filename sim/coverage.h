/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a campaign has seen: moves of the hold's state machine, and in which states of holds each fault came.
 * Counted over all runs of the program.
 */
#ifndef SIM_COVERAGE_H
#define SIM_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/hold.h"

enum sim_fault_kind {
#define SIM_FAULT(name, kind, text) SIM_FAULT_##name,
#include "fault_kinds.inc"
#undef SIM_FAULT
    SIM_FAULT_KINDS
};

/* States that last: IDLE and GONE are passed through, or nothing can befall them. */
#define SIM_COVER_STATES HFI_HOLD_STATES

struct sim_coverage {
    uint64_t moves[HFI_HOLD_STATES][HFI_HOLD_STATES];
    uint64_t met[SIM_FAULT_KINDS][HFI_HOLD_STATES];
    uint64_t faults[SIM_FAULT_KINDS];
};

extern struct sim_coverage sim_coverage;

/* A move of a hold, from the engine's own trace. */
struct sim_move {
    uint64_t owner;
    enum hfi_hold_state from, to;
};

/* Reads "… owner N: FROM -> TO", and counts it. False: the text is of something else. */
bool sim_cover_move(const char *text, struct sim_move *ret_move);
void sim_coverage_add(struct sim_coverage *to, const struct sim_coverage *from);
/* Prints both tables; false: something that should have been seen was not. */
bool sim_coverage_print(const struct sim_coverage *coverage, FILE *out);

#endif
