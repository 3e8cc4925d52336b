/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the rules, writes down what they find, and counts what there was. */
#include "history/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHOW      3
#define LINES_MAX 40 /* of one finding */
#define BUDGET    5000000

static const char *const RULE[CHECK_RULE_COUNT] = {
#define CHECK_X(name, word) word,
    CHECK_RULES(CHECK_X)
#undef CHECK_X
};

const char *check_rule_word(enum check_rule rule)
{
    return RULE[rule];
}

double check_ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

void check_found(struct check *check, enum check_rule rule, const struct hist_op *const *lines,
                 size_t line_count, const char *format, ...)
{
    size_t show = check->options->show ? check->options->show : SHOW;
    FILE *out = check->options->out;
    va_list list;

    if (++check->counts->found[rule] > show || !out)
        return;
    fprintf(out, "%s: ", RULE[rule]);
    va_start(list, format);
    vfprintf(out, format, list);
    va_end(list);
    fputc('\n', out);
    for (size_t i = 0; i < line_count && i < LINES_MAX; i++) {
        fputs("    ", out);
        hist_write_line(check->history, lines[i], out);
    }
    if (line_count > LINES_MAX)
        fprintf(out, "    and %zu more\n", line_count - LINES_MAX);
}

/* ------------------------------------------------------------------------------------------------
 * Counting
 */

/* It ended by time: the holder learned that it was lost, or died with it on a store that does not know. */
static bool is_expired(const struct check *check, const struct check_hold *hold)
{
    if (hold->told != HIST_NEVER)
        return true;
    return hold->released == HIST_NEVER && !check->settings->death_frees &&
           check_killed(check, hold->process) != HIST_NEVER && hold->until <= check->last;
}

static void count_holds(struct check *check)
{
    struct check_counts *counts = check->counts;

    counts->holds = check->hold_count;
    for (size_t i = 0; i < check->hold_count; i++) {
        const struct check_hold *hold = &check->holds[i], *before = i ? hold - 1 : NULL;

        counts->expired += is_expired(check, hold);
        counts->lost += hold->told != HIST_NEVER;
        /* it asked while another process had it, which got it before and has let go since */
        if (before && before->lock == hold->lock && before->process != hold->process)
            counts->handoffs += hold->asked < before->end;
    }
}

static void count_ops(struct check *check)
{
    struct check_counts *counts = check->counts;

    counts->lines = check->history->count;
    for (size_t i = 0; i < check->history->count; i++) {
        const struct hist_op *op = &check->history->ops[i];

        if (!hist_is_operation(op))
            continue;
        counts->operations += op->kind != HIST_LOOK && op->kind != HIST_LOST;
        counts->acquired += hist_is_granted(op);
        counts->unknown += op->outcome == HIST_UNKNOWN;
        counts->refused += op->kind == HIST_WRITE && op->outcome == HIST_FAIL;
    }
}

void check_print_counts(const struct check_counts *counts, FILE *file)
{
    fprintf(file,
            "%zu operations in %zu lines: %zu acquired, %zu holds, %zu hand-offs between "
            "processes, %zu expired (%zu told), %zu unknown, %zu writes refused, %zu woken, "
            "%zu of %zu times late, once by %.0f ms, %zu configurations",
            counts->operations, counts->lines, counts->acquired, counts->holds, counts->handoffs,
            counts->expired, counts->lost, counts->unknown, counts->refused, counts->woken,
            counts->freed_long, counts->freed, check_ms(counts->wake_ns), counts->configurations);
    if (counts->overlaps)
        fprintf(file, ", %zu overlaps outside the contract", counts->overlaps);
    fputc('\n', file);
    for (int i = 0; i < CHECK_RULE_COUNT; i++)
        if (counts->found[i])
            fprintf(file, "%s: %zu found\n", RULE[i], counts->found[i]);
}

/* ------------------------------------------------------------------------------------------------
 * Running
 */

bool check_history(const struct history *history, const struct check_options *options,
                   struct check_counts *ret_counts)
{
    struct check_options with = *options;
    struct check check = {
        .history = history, .settings = &history->settings, .options = &with, .counts = ret_counts
    };
    size_t found = 0;

    memset(ret_counts, 0, sizeof *ret_counts);
    if (!with.budget)
        with.budget = BUDGET;
    check_make_holds(&check);
    count_ops(&check);
    count_holds(&check);
    check_overlap(&check);
    check_tokens(&check);
    check_register(&check);
    check_results(&check);
    check_told(&check);
    check_busy(&check);
    check_late(&check);
    check_wake(&check);
    if (with.model)
        check_linear(&check);
    check_free_holds(&check);
    for (int i = 0; i < CHECK_RULE_COUNT; i++)
        found += ret_counts->found[i];
    return found == 0;
}
