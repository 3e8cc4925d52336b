/* SPDX-License-Identifier: Apache-2.0 */
#include "coverage.h"

#include <stdlib.h>
#include <string.h>

struct sim_coverage sim_coverage;

static const char *const FAULT_NAMES[SIM_FAULT_KINDS] = {
#define SIM_FAULT(name, kind, text) #name,
#include "fault_kinds.inc"
#undef SIM_FAULT
};

#define TO(state) (1u << HFI_HOLD_##state)

/* The moves that hold.c permits, again: a new one there is to be seen here, too. */
static const unsigned EXPECTED[HFI_HOLD_STATES] = {
    [HFI_HOLD_IDLE] = TO(TRYING),
    [HFI_HOLD_TRYING] = TO(IDLE) | TO(HELD) | TO(RELEASING),
    [HFI_HOLD_HELD] = TO(AT_RISK) | TO(LOST) | TO(RELEASING) | TO(GONE),
    [HFI_HOLD_AT_RISK] = TO(HELD) | TO(LOST) | TO(RELEASING),
    [HFI_HOLD_LOST] = TO(RELEASING) | TO(GONE),
    [HFI_HOLD_RELEASING] = TO(GONE),
};

static bool state_of(const char *text, size_t len, enum hfi_hold_state *ret_state)
{
    for (int state = 0; state < HFI_HOLD_STATES; state++) {
        const char *name = hfi_hold_state_name((enum hfi_hold_state)state);

        if (strlen(name) == len && memcmp(name, text, len) == 0) {
            *ret_state = (enum hfi_hold_state)state;
            return true;
        }
    }
    return false;
}

bool sim_cover_move(const char *text, struct sim_move *ret_move)
{
    const char *arrow = strstr(text, " -> "), *from = arrow;

    if (!arrow)
        return false;
    while (from > text && from[-1] != ' ')
        from--;
    if (!state_of(from, (size_t)(arrow - from), &ret_move->from) ||
        !state_of(arrow + 4, strlen(arrow + 4), &ret_move->to))
        return false;
    while (from > text && (from[-1] == ' ' || from[-1] == ':'))
        from--;
    while (from > text && from[-1] >= '0' && from[-1] <= '9')
        from--;
    ret_move->owner = strtoull(from, NULL, 10);
    sim_coverage.moves[ret_move->from][ret_move->to]++;
    return true;
}

void sim_coverage_add(struct sim_coverage *to, const struct sim_coverage *from)
{
    const uint64_t *more = (const uint64_t *)from;
    uint64_t *sum = (uint64_t *)to;

    for (size_t i = 0; i < sizeof *to / sizeof *sum; i++)
        sum[i] += more[i];
}

static bool print_moves(const struct sim_coverage *coverage, FILE *out)
{
    bool all = true;

    fprintf(out, "moves of holds\n");
    for (int from = 0; from < HFI_HOLD_STATES; from++)
        for (int to = 0; to < HFI_HOLD_STATES; to++) {
            bool expected = EXPECTED[from] >> to & 1;
            uint64_t seen = coverage->moves[from][to];

            if (!expected && !seen)
                continue;
            fprintf(out, "  %-9s -> %-9s %12llu%s\n",
                    hfi_hold_state_name((enum hfi_hold_state)from),
                    hfi_hold_state_name((enum hfi_hold_state)to), (unsigned long long)seen,
                    !seen      ? "  NEVER SEEN"
                    : expected ? ""
                               : "  NOT EXPECTED");
            all &= expected && seen > 0;
        }
    return all;
}

static bool print_met(const struct sim_coverage *coverage, FILE *out)
{
    static const enum hfi_hold_state STATES[] = { HFI_HOLD_TRYING, HFI_HOLD_HELD, HFI_HOLD_AT_RISK,
                                                  HFI_HOLD_LOST, HFI_HOLD_RELEASING };
    bool all = true;

    fprintf(out, "faults, and in which states of holds they came\n  %-16s%8s", "", "times");
    for (size_t i = 0; i < sizeof STATES / sizeof STATES[0]; i++)
        fprintf(out, "%10s", hfi_hold_state_name(STATES[i]));
    for (int kind = 0; kind < SIM_FAULT_KINDS; kind++) {
        bool seen = true;

        fprintf(out, "\n  %-16s%8llu", FAULT_NAMES[kind],
                (unsigned long long)coverage->faults[kind]);
        for (size_t i = 0; i < sizeof STATES / sizeof STATES[0]; i++) {
            fprintf(out, "%10llu", (unsigned long long)coverage->met[kind][STATES[i]]);
            seen &= coverage->met[kind][STATES[i]] > 0;
        }
        if (!seen)
            fprintf(out, "  NEVER SEEN");
        all &= seen;
    }
    fprintf(out, "\n");
    return all;
}

bool sim_coverage_print(const struct sim_coverage *coverage, FILE *out)
{
    bool moves = print_moves(coverage, out), met = print_met(coverage, out);

    return moves && met;
}
