/* SPDX-License-Identifier: Apache-2.0 */
/* Results: a line of JSON each, and a table for people. docs/benchmarking.md says what the members
 * are. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define NOTE_MAX  400
#define VALUE_MAX 40

static const char *const SENSES[] = { "record", "at most", "at least" };

static bool is_reached(const struct bench_result *result)
{
    return result->sense == BENCH_AT_MOST ? result->value <= result->target
                                          : result->value >= result->target;
}

static double load(void)
{
    double average[1];

    return getloadavg(average, 1) == 1 ? average[0] : -1;
}

static void write_line(int fd, const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6));
    size_t len = text ? strlen(text) : 0;

    if (!text)
        bench_die("out of memory");
    text[len++] = '\n'; /* instead of the final NUL */
    for (size_t at = 0; at < len;) {
        ssize_t written = write(fd, text + at, len - at);

        if (written < 0)
            bench_die("a result cannot be written: %s", strerror(errno));
        at += (size_t)written;
    }
    free(text);
}

void bench_report(const struct bench *bench, const struct bench_result *result, json_t *details)
{
    json_t *object =
        json_pack("{ss ss ss sf ss}", "row", result->row, "what", result->what, "unit",
                  result->unit, "value", result->value, "sense", SENSES[result->sense]);

    if (!object)
        bench_die("out of memory");
    if (result->low != 0 || result->high != 0) {
        json_object_set_new(object, "low", json_real(result->low));
        json_object_set_new(object, "high", json_real(result->high));
    }
    if (result->sense != BENCH_FOR_THE_RECORD) {
        json_object_set_new(object, "target", json_real(result->target));
        json_object_set_new(object, "reached", json_boolean(is_reached(result)));
    }
    if (result->note)
        json_object_set_new(object, "note", json_string(result->note));
    if (details)
        json_object_set_new(object, "details", details);
    json_object_set_new(object, "quick", json_boolean(bench->quick));
    json_object_set_new(object, "load", json_real(load()));
    write_line(bench->out, object);
    json_decref(object);
}

/* ------------------------------------------------------------------------------------------------
 * Rounds
 */

void bench_rounds_add(struct bench_rounds *rounds, double subject, double baseline)
{
    if (rounds->count == BENCH_ROUNDS_MAX)
        bench_die("too many rounds");
    rounds->subject[rounds->count] = subject;
    rounds->baseline[rounds->count++] = baseline;
}

/* Three digits that count, and no more after the point than needed. */
static void format_value(char *to, double value, const char *unit)
{
    int digits = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;

    if (strcmp(unit, "x") == 0)
        snprintf(to, VALUE_MAX, "%.2f x", value);
    else
        snprintf(to, VALUE_MAX, "%.*f %s", digits, value, unit);
}

static json_t *pairs_of(const struct bench_rounds *rounds)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rounds->count; i++)
        json_array_append_new(list, json_pack("[ff]", rounds->subject[i], rounds->baseline[i]));
    return list;
}

static void report_rounds(const struct bench *bench, const struct bench_result *head,
                          const struct bench_rounds *rounds, double *values, const char *unit,
                          const char *baseline, json_t *details)
{
    struct bench_result result = *head;
    double subject = bench_median_of(rounds->subject, rounds->count);
    double base = bench_median_of(rounds->baseline, rounds->count);
    char note[NOTE_MAX], left[VALUE_MAX], right[VALUE_MAX];

    result.value = bench_median(values, rounds->count); /* which sorts */
    result.low = values[0];
    result.high = values[rounds->count - 1];
    format_value(left, subject, unit);
    format_value(right, base, unit);
    snprintf(note, sizeof note, "%s against %s: %s%s%s", left, right, baseline,
             head->note ? "; " : "", head->note ? head->note : "");
    result.note = note;
    if (!details)
        details = json_object();
    json_object_set_new(details, "subject", json_real(subject));
    json_object_set_new(details, "baseline", json_real(base));
    json_object_set_new(details, "of", json_string(unit));
    json_object_set_new(details, "rounds", pairs_of(rounds));
    bench_report(bench, &result, details);
}

void bench_report_ratio(const struct bench *bench, const struct bench_result *head,
                        const struct bench_rounds *rounds, const char *unit, const char *baseline,
                        json_t *details)
{
    struct bench_result result = *head;
    double values[BENCH_ROUNDS_MAX];

    for (size_t i = 0; i < rounds->count; i++)
        values[i] = rounds->subject[i] / rounds->baseline[i];
    result.unit = "x";
    report_rounds(bench, &result, rounds, values, unit, baseline, details);
}

void bench_report_difference(const struct bench *bench, const struct bench_result *head,
                             const struct bench_rounds *rounds, const char *unit,
                             const char *baseline, json_t *details)
{
    struct bench_result result = *head;
    double values[BENCH_ROUNDS_MAX];

    for (size_t i = 0; i < rounds->count; i++)
        values[i] = rounds->subject[i] - rounds->baseline[i];
    result.unit = unit;
    report_rounds(bench, &result, rounds, values, unit, baseline, details);
}

/* ------------------------------------------------------------------------------------------------
 * For people
 */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void target_of(const json_t *result, char *to)
{
    char value[VALUE_MAX];

    to[0] = '\0';
    if (!json_object_get(result, "target"))
        return;
    format_value(value, number_of(result, "target"), text_of(result, "unit"));
    snprintf(to, 2 * VALUE_MAX, "%s %s", text_of(result, "sense"), value);
}

static const char *verdict_of(const json_t *result)
{
    const json_t *reached = json_object_get(result, "reached");

    return !reached ? "" : json_is_true(reached) ? "reached" : "MISSED";
}

static void print_row(const json_t *result)
{
    char value[VALUE_MAX], target[2 * VALUE_MAX], low[VALUE_MAX], high[VALUE_MAX];
    const char *unit = text_of(result, "unit");

    format_value(value, number_of(result, "value"), unit);
    target_of(result, target);
    printf("%-9s %-58s %12s  %-19s %s\n", text_of(result, "row"), text_of(result, "what"), value,
           target, verdict_of(result));
    if (json_object_get(result, "low")) {
        format_value(low, number_of(result, "low"), unit);
        format_value(high, number_of(result, "high"), unit);
        printf("%-9s   rounds: %s to %s\n", "", low, high);
    }
    if (json_object_get(result, "note"))
        printf("%-9s   %s\n", "", text_of(result, "note"));
}

void bench_print_line(const json_t *result)
{
    char value[VALUE_MAX];

    format_value(value, number_of(result, "value"), text_of(result, "unit"));
    fprintf(stderr, "bench: %s: %s: %s %s\n", text_of(result, "row"), text_of(result, "what"),
            value, verdict_of(result));
}

void bench_print_table(const json_t *results)
{
    const json_t *result;
    size_t i;

    printf("%-9s %-58s %12s  %-19s %s\n", "row", "what", "measured", "target", "");
    json_array_foreach(results, i, result)
    {
        print_row(result);
    }
    fflush(stdout);
}
