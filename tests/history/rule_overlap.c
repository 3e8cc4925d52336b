/* SPDX-License-Identifier: Apache-2.0 */
/* Valid leases of one lock never overlap, while the store keeps its data. */
#include "history/check.h"

static void found(struct check *check, const struct check_hold *a, const struct check_hold *b)
{
    const struct hist_op *lines[6];
    size_t n = check_lines_of(a, lines);
    uint64_t end = a->end < b->end ? a->end : b->end;

    n += check_lines_of(b, lines + n);
    check_found(check, CHECK_OVERLAP, lines, n,
                "%s was held twice for %.3f ms, from %llu to %llu: with token %llu by p%u and with "
                "token %llu by p%u",
                hist_text(check->history, a->lock), check_ms(end - b->start),
                (unsigned long long)b->start, (unsigned long long)end, (unsigned long long)a->token,
                (unsigned)a->process, (unsigned long long)b->token, (unsigned)b->process);
}

void check_overlap(struct check *check)
{
    const struct check_hold *longest = NULL; /* of those before, the one that ends last */

    for (size_t i = 0; i < check->hold_count; i++) {
        const struct check_hold *hold = &check->holds[i];

        if (hold->end <= hold->start)
            continue; /* it was over before it was had */
        if (!longest || longest->lock != hold->lock) {
            longest = hold;
            continue;
        }
        if (hold->start < longest->end && check->settings->contract_broken)
            check->counts->overlaps++;
        else if (hold->start < longest->end)
            found(check, longest, hold);
        if (hold->end > longest->end)
            longest = hold;
    }
}
