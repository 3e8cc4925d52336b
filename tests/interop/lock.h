/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and scenarios that kinds share. In each scenario a holds; b waits, looks, or takes it away. Threads: "t"
 * does what is done at once, "w" waits.
 */
#ifndef INTEROP_LOCK_H
#define INTEROP_LOCK_H

#include "interop/stage.h"

/* Thread "t" locks what the words say: "mutex", "job". Its owner, when that is not NULL, is of this client. */
void lock(struct side *side, const char *kind, const char *what, char *owner);
void unlock(struct side *side, const char *kind, const char *what);
/* Thread "t" tries, and gives back what it got. */
bool can_take(struct side *side, const char *kind, const char *what);
void expect_held(struct side *side, const char *kind, const char *what, bool is);
/* The answer is "error ...". */
void expect_refused(struct side *side, const char *thread, const char *what);

/* Tells b's thread "w" to lock, and waits until it has asked, listens, and has looked again. */
void begin_wait(struct stage *stage, const char *kind, enum topic topic, const char *what,
                const char *key);
/* Thread "w" has it, and gives it back. */
void end_wait(struct side *side, const char *kind, const char *what, char *owner);

/* Many hand-offs from a to b, both as the words say; prints the figures. */
void measure_handoffs(struct stage *stage, const char *kind_a, const char *kind_b);

/* How long each of many took, in µs: prints the figures. */
#define HANDOFFS 200
#define WARM     20 /* the first ones do not count */
void print_figures(struct stage *stage, const char *what, long long *took_us);
/* "from" and "at" of two answers: how long, in µs. Fails the test when it was a lost wake-up. */
long long took_us(long long from_ns, long long at_ns);

/* Scenarios of the kind that is played. */
void play_handoff(struct stage *stage);
void play_storm(struct stage *stage);
void play_killed(struct stage *stage);
void play_renewed(struct stage *stage);
void play_seen(struct stage *stage);
/* By force (force.c): those of one kind, and those that a kind alone has. */
void play_forced(struct stage *stage);
void play_forced_readers(struct stage *stage);
void play_forced_mode(struct stage *stage);
void play_forced_member(struct stage *stage);
void play_forced_permit(struct stage *stage);

/* Parts of these, for kinds whose words differ. */
void kill_holder(struct stage *stage, const char *kind_a, const char *kind_b, const char *key);
void watch_renewal(struct stage *stage, const char *kind_a, const char *kind_b, const char *key);
/* b sees that a has it, as it says: whose it is, and of which kind, ours tells. */
void look_at_holder(struct stage *stage, const char *kind_a, const char *is_called);
/* What both storms did; "counter" has the sum. */
void check_storm(struct stage *stage, const char *counter);

#endif
