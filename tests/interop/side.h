/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's view of a side: a player of either make, which does what it is told, on named threads, and
 * says what came of it. It dies with the driver.
 */
#ifndef INTEROP_SIDE_H
#define INTEROP_SIDE_H

#include "lib/process.h"
#include "lib/server.h"

enum make { MAKE_C, MAKE_JAVA };

#define SIDE_LINE    4096
#define SIDE_ANSWERS 8 /* that were said and not yet asked for */

struct side {
    enum make make;
    struct child child; /* pid 0: it does not run */
    char client[64];    /* its client id */
    char version[16];   /* of Redisson or of the library */
    char answer[SIDE_ANSWERS][SIDE_LINE];
    size_t answers;
    char part[SIDE_LINE]; /* of a line that is not whole yet */
    size_t len;
};

/* Where Java's classes are; NULL: Java does not play. */
extern const char *side_classpath;

const char *side_name(enum make make); /* "c", "java" */

/* Starts one, whose watchdog's ttl is as said, and waits until it is there. Its names have the prefix, if it is
 * not NULL. */
void side_start(struct side *side, enum make make, const struct server *server, int ttl_ms,
                const char *prefix);
void side_kill(struct side *side); /* by SIGKILL, if it runs */

/* Tells a thread what to do: "mutex lock NAME". */
void side_tell(struct side *side, const char *thread, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Has it answered? The answer stays. */
bool side_has(struct side *side, const char *thread);
/* Its answer, "ok ..." or "error ...", waited for; in a static buffer until the next call of this or of
 * what is built on it. side_hear_well(): "error" fails the test. */
const char *side_hear(struct side *side, const char *thread);
const char *side_hear_well(struct side *side, const char *thread);
/* Both. */
const char *side_ask(struct side *side, const char *thread, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *side_do(struct side *side, const char *thread, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "KEY=VALUE" of an answer; fails the test when there is none. The text is in a static buffer. */
long long answer_number(const char *answer, const char *key);
const char *answer_text(const char *answer, const char *key);

#endif
