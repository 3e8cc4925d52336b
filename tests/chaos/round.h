/* SPDX-License-Identifier: Apache-2.0 */
/* A round while it runs, for round.c, stage.c and judge.c. */
#ifndef TEST_CHAOS_ROUND_H
#define TEST_CHAOS_ROUND_H

#include "chaos/noise.h"
#include "chaos/storm.h"
#include "history/check.h"

#define CHAOS_OP_MS       400
#define CHAOS_CONNECT_MS  400
#define CHAOS_LONGEST_TTL 3000

struct round {
    const struct round_options *options;
    const struct scenario *scenario;
    char folder[64];
    struct server server;
    bool has_server, has_proxies;
    bool in_memory; /* the folder */
    struct crew crew;
    struct storm storm;
    struct noise noise;
    bool is_stuck; /* workers did not end */
};

bool round_start(struct round *round); /* false: errno says why */
/* Ends all; in order: waits until the workers have, and notes whether they did. */
void round_finish(struct round *round, bool in_order);
/* Whatever is still there goes. */
void round_clear_away(struct round *round);
/* The least of something in a round of the options' seconds. */
size_t round_least(const struct round *round, size_t in_scenario);
/* Kinds of fault that have not been; a short round need not have them all. */
size_t round_unseen(const struct round *round);
/* Writes the history, checks it, and says what came of it. Nothing runs any more. */
bool round_judge(struct round *round, struct check_counts *ret_counts);

#endif
