/* SPDX-License-Identifier: Apache-2.0 */
/* When faults begin and end. */
#include "chaos/storm.h"

#include <string.h>

#include "chaos/fault.h"

static bool can_happen(const struct storm *storm, int kind)
{
    if (FAULTS[kind].loses_data)
        return storm->forgets;
    return FAULTS[kind].where == ON_PROCESS || storm->server;
}

size_t storm_unseen(const struct storm *storm)
{
    size_t sum = 0;

    for (int i = 0; i < FAULT_COUNT; i++)
        sum += can_happen(storm, i) && storm->count[i] == 0;
    return sum;
}

/* One that has not been yet; -1: there is none. */
static int choose_new(struct storm *storm)
{
    size_t at = storm_unseen(storm);

    if (at == 0)
        return -1;
    at = storm_pick(storm, (uint32_t)at);
    for (int i = 0; i < FAULT_COUNT; i++)
        if (can_happen(storm, i) && storm->count[i] == 0 && at-- == 0)
            return i;
    return -1;
}

static int choose(struct storm *storm)
{
    unsigned sum = 0, at;
    int new = storm_pick(storm, 2) ? choose_new(storm) : -1;

    if (new >= 0)
        return new;

    for (int i = 0; i < FAULT_COUNT; i++)
        sum += can_happen(storm, i) ? FAULTS[i].weight : 0;
    at = storm_pick(storm, sum);
    for (int i = 0; i < FAULT_COUNT; i++) {
        unsigned weight = can_happen(storm, i) ? FAULTS[i].weight : 0;

        if (at < weight)
            return i;
        at -= weight;
    }
    return 0;
}

/* Mostly short: the longest are rare. */
static int how_long(struct storm *storm, const struct fault *kind)
{
    int range = kind->most_ms - kind->least_ms;

    if (range <= 0)
        return 0;
    if (storm_pick(storm, 3))
        range = range / 4 + 1;
    return kind->least_ms + (int)storm_pick(storm, (uint32_t)range);
}

static struct storm_fault *place_of(struct storm *storm, int kind, int slot)
{
    switch (FAULTS[kind].where) {
    case ON_PROCESS:
        return &storm->process[slot];
    case ON_NETWORK:
        return &storm->network[slot];
    default:
        return &storm->at_server;
    }
}

static void note(struct storm *storm, int kind, uint64_t since)
{
    /* what is done to a process is its own line (crew.c) */
    if (FAULTS[kind].where != ON_PROCESS)
        hist_note(&storm->crew->history, HIST_FAULT, 0, FAULTS[kind].name, since, hist_now());
}

static void begin(struct storm *storm, int kind, int slot)
{
    struct storm_fault *fault = place_of(storm, kind, slot);
    int ms = how_long(storm, &FAULTS[kind]);
    uint64_t since = hist_now();

    if (fault->kind >= 0)
        return; /* one at a time */
    storm->count[kind]++;
    FAULTS[kind].begin(storm, slot);
    if (!FAULTS[kind].end) {
        note(storm, kind, since);
        return;
    }
    *fault = (struct storm_fault){ .kind = kind, .until_ms = now_ms() + ms, .since_ns = since };
}

static void end(struct storm *storm, struct storm_fault *fault, int slot)
{
    int kind = fault->kind;

    if (kind < 0)
        return;
    FAULTS[kind].end(storm, slot);
    note(storm, kind, fault->since_ns);
    fault->kind = -1;
}

static void end_due(struct storm *storm, int64_t now)
{
    for (int slot = 0; slot < CHAOS_SLOTS; slot++) {
        if (storm->process[slot].until_ms <= now)
            end(storm, &storm->process[slot], slot);
        if (storm->network[slot].until_ms <= now)
            end(storm, &storm->network[slot], slot);
    }
    if (storm->at_server.until_ms <= now)
        end(storm, &storm->at_server, 0);
}

void storm_init(struct storm *storm, uint32_t seed)
{
    storm->random = seed | 1;
    for (int slot = 0; slot < CHAOS_SLOTS; slot++)
        storm->process[slot].kind = storm->network[slot].kind = -1;
    storm->at_server.kind = -1;
    storm->next_ms = now_ms() + 500;
}

void storm_step(struct storm *storm)
{
    int64_t now = now_ms();

    end_due(storm, now);
    if (now < storm->next_ms)
        return;
    begin(storm, choose(storm), (int)storm_pick(storm, CHAOS_SLOTS));
    storm->next_ms = now_ms() + 20 + (int64_t)storm_pick(storm, 350);
}

void storm_step_calm(struct storm *storm)
{
    if (now_ms() < storm->next_ms)
        return;
    begin(storm, FAULT_KILL, (int)storm_pick(storm, CHAOS_SLOTS));
    storm->next_ms = now_ms() + 300 + (int64_t)storm_pick(storm, 600);
}

void storm_end(struct storm *storm)
{
    end_due(storm, INT64_MAX);
}

size_t storm_total(const struct storm *storm)
{
    size_t sum = 0;

    for (int i = 0; i < FAULT_COUNT; i++)
        sum += storm->count[i];
    return sum;
}

void storm_print(const struct storm *storm, FILE *file)
{
    fputs("faults:", file);
    for (int i = 0; i < FAULT_COUNT; i++)
        if (can_happen(storm, i))
            fprintf(file, " %s %zu", FAULTS[i].name, storm->count[i]);
    fputc('\n', file);
}
