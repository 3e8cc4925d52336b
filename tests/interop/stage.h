/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage: a server, and two sides on it. A kind of lock has scenarios; each is played by the pairs that it
 * names. A further kind is a file with its table of scenarios, a row in main.c, and its players (player_KIND.c,
 * redisson/).
 */
#ifndef INTEROP_STAGE_H
#define INTEROP_STAGE_H

#include "interop/side.h"
#include "lib/raw.h"

#define TTL_MS      30000 /* the default of both */
#define TTL_SOON_MS 3000  /* where a test waits for its end, or for a renewal */
/* Who is not woken sleeps until the holder's lease ends, TTL_MS or the rest of it after a renewal: at least
 * 20 s. Who is woken is far from that, on a loaded machine too. */
#define WOKEN_MS 5000

enum pairs { PAIRS_BOTH = 1, PAIRS_ALL = 2, PAIRS_ONE = 3 };

struct stage {
    struct server server;
    struct side a, b; /* what each does, the scenario says */
    enum make make_a, make_b;
    redisContext *ear; /* hears all that is published; NULL: not needed */
    int storm_ms;
};

struct scenario {
    const char *name;
    enum pairs
        pairs; /* both: one holds, the other waits, and the reverse; all: also among themselves, for
                         the figures; one: once */
    void (*play)(struct stage *stage);
};

struct kind {
    const char *name;
    const struct scenario *scenario;
    size_t count;
};

extern const struct kind kind_mutex;

void stage_sides(struct stage *stage, int ttl_a_ms, int ttl_b_ms);

/* ------------------------------------------------------------------------------------------------
 * What is stored and published (look.c)
 */

/* A hash with one field, whose ttl is within the limits. */
void expect_hash(struct stage *stage, const char *name, const char *field, const char *value,
                 long long least_ttl_ms, long long most_ttl_ms);
void expect_none(struct stage *stage, const char *name);
/* Every key is the lock, or of Holdfast's or Redisson's own, which are listed there. */
void expect_no_other_keys(struct stage *stage, const char *name);

void listen_all(struct stage *stage);
/* The next message on a channel of Redisson's has this name and payload. */
void expect_message(struct stage *stage, const char *channel, const char *payload);
void expect_no_message(struct stage *stage);

long long count_subscribers(struct stage *stage, const char *channel);
/* Scripts that were run so far. */
long long count_scripts(struct server *server);

#endif
