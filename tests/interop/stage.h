/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage: a server, and two sides on it. A kind of lock has scenarios; each is played by the pairs that it
 * names. A further kind is a file with its table of scenarios, a row in main.c, and its players (player_….c,
 * redisson/).
 */
#ifndef INTEROP_STAGE_H
#define INTEROP_STAGE_H

#include "interop/side.h"
#include "lib/raw.h"

#define TTL_MS      30000 /* the default of both */
#define TTL_SOON_MS 2000  /* where a test waits for its end, or for a renewal */
/* Who is not woken sleeps until the holder's lease ends, TTL_MS or the rest of it after a renewal: at least
 * 20 s. Who is woken is far from that, on a loaded machine too. */
#define WOKEN_MS   5000
#define OWNER_ROOM 256

enum pairs {
    PAIRS_BOTH, /* a is C and b is Java, and the reverse */
    PAIRS_ALL,  /* also both C and both Java, for the figures */
    PAIRS_ONE,  /* a is C and b is Java: it comes to the same */
    PAIRS_OURS, /* a is C: what only ours does */
    /* The same, of those that sleep most of the time: they are played while others are busy. */
    PAIRS_BOTH_ASLEEP,
    PAIRS_OURS_ASLEEP
};

/* Where a waiter is told. */
enum topic { TOPIC_LOCK, TOPIC_TURN, TOPIC_READ_WRITE, TOPIC_PERMITS, TOPIC_LATCH, TOPIC_NONE };

struct stage;

struct scenario {
    const char *name;
    enum pairs pairs;
    void (*play)(struct stage *stage);
};

struct kind {
    const char *name; /* the players' word for it */
    enum topic topic;
    const char *lock; /* what is locked, in their words: "job", "job 1", "job:1+job:2" */
    const char *key;  /* where its lease can be seen */
    const struct scenario *scenario;
    size_t count;
};

extern const struct kind kind_mutex, kind_fair, kind_write, kind_fenced, kind_spin, kind_multi;
extern const struct kind kind_semaphore, kind_permits, kind_latch;
extern const struct kind kind_once, kind_value, kind_mapped;

/* The server and the sides go on to the next scenario, unless one failed or killed them; the data do not. */
struct stage {
    struct server server;
    const struct kind *kind;
    struct side *a, *b; /* what each does, the scenario says */
    enum make make_a, make_b;
    redisContext *ear; /* hears all that is published; NULL: not needed */
    int storm_ms;
};

/* Both sides, with watchdogs of these ttls. */
void stage_sides(struct stage *stage, int ttl_a_ms, int ttl_b_ms);
/* Both with the default ttl, and this before their names: Redisson's by a name mapper, ours by ?prefix=. */
#define PREFIX "app:"
void stage_mapped_sides(struct stage *stage);
/* What Redisson before 4.0 does wrong, or has not yet: the scenario is left out, and this is printed. */
void skip_if_old(const struct side *side, const char *why);

/* ------------------------------------------------------------------------------------------------
 * What is stored and published (look.c)
 */

const char *channel_of(enum topic topic, const char *name);

/* A hash with these fields and values, which end with NULL, and no others; its ttl is within the limits. */
void expect_hash(struct stage *stage, const char *name, long long least_ttl_ms,
                 long long most_ttl_ms, const char *field, ...);
void expect_text(struct stage *stage, const char *name, const char *value);
/* Every key is one of these, which end with NULL and are all there, or of Holdfast's or Redisson's own that
 * nobody else looks at. */
void expect_keys(struct stage *stage, const char *name, ...);
void expect_ttl(struct stage *stage, const char *name, long long least_ms, long long most_ms);
/* Wall clock, as in scores. */
long long wall_ms(void);

void listen_all(struct stage *stage);
/* The next message on a channel of Redisson's has this name and payload. */
void expect_message(struct stage *stage, const char *channel, const char *payload);
void expect_no_message(struct stage *stage);

long long count_subscribers(struct stage *stage, enum topic topic, const char *name);
/* How often somebody has looked at something so far. */
long long count_looks(struct server *server);

#endif
