/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By force. b takes it away from a: Redisson by forceUnlock(), or by a permit's id, ours by `holdfast break`. Who
 * waits is let in, a is told, and what a gives back then takes nothing away.
 */
#include <string.h>

#include "interop/lock.h"

struct broken {
    const struct stage *stage;
    const char *name, *owner; /* NULL: the one there is */
};

static int run_break(const struct parent *parent, void *arg)
{
    const struct broken *broken = arg;
    char uri[64];

    dup2(parent->out, STDOUT_FILENO);
    server_uri(&broken->stage->server, uri, sizeof uri);
    if (broken->owner)
        execl(HF_TEST_COMMAND, "holdfast", "break", "--store", uri, "--owner", broken->owner,
              broken->name, (char *)NULL);
    else
        execl(HF_TEST_COMMAND, "holdfast", "break", "--store", uri, broken->name, (char *)NULL);
    return 127;
}

/* `holdfast break`, for a side that is ours. Returns its exit code. */
static int take_away(struct stage *stage, const char *name, const char *owner)
{
    struct broken broken = { .stage = stage, .name = name, .owner = owner };
    struct child child;

    child_start(&child, run_break, &broken);
    return child_join(&child);
}

static void force(struct stage *stage, const char *kind, const char *name, const char *owner)
{
    if (stage->make_b == MAKE_C)
        assert_int_equal(take_away(stage, name, owner), 0);
    else
        assert_int_equal(answer_number(side_do(stage->b, "t", "%s force %s", kind, name), "done"),
                         1);
}

/* a sees that it has it no more, in time. */
static void expect_told(struct stage *stage, const char *kind, const char *what, int64_t from)
{
    AWAIT(answer_number(side_do(stage->a, "t", "%s held %s", kind, what), "held") == 0);
    assert_true(now_ms() - from < WOKEN_MS);
}

static void give_in_vain(struct stage *stage, const char *kind, const char *what)
{
    char line[OWNER_ROOM];

    snprintf(line, sizeof line, "%s unlock %s", kind, what);
    expect_refused(stage->a, "t", line);
}

void play_forced(struct stage *stage)
{
    const struct kind *kind = stage->kind;
    int64_t from;

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    lock(stage->a, kind->name, kind->lock, NULL);
    begin_wait(stage, kind->name, kind->topic, kind->lock, kind->key);
    from = now_ms();
    force(stage, kind->name, kind->key, NULL);
    side_hear_well(stage->b, "w");
    expect_told(stage, kind->name, kind->lock, from);
    give_in_vain(stage, kind->name, kind->lock);
    side_do(stage->b, "w", "%s unlock %s", kind->name, kind->lock);
}

/* Redisson's removes all readers, ours the one that is named. */
void play_forced_readers(struct stage *stage)
{
    char a[OWNER_ROOM], b[OWNER_ROOM];
    int64_t from;

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    lock(stage->a, "read", "job", a);
    snprintf(b, sizeof b, "%s", answer_text(side_do(stage->b, "r", "read lock job"), "owner"));
    begin_wait(stage, "write", TOPIC_READ_WRITE, "job", "job");
    from = now_ms();
    force(stage, "read", "job", a);
    if (stage->make_b == MAKE_C) {
        expect_hash(stage, "job", 1, TTL_MS, "mode", "read", b, "1", NULL);
        assert_false(side_has(stage->b, "w"));
        side_do(stage->b, "r", "read unlock job");
    }
    side_hear_well(stage->b, "w");
    if (stage->make_b ==
        MAKE_JAVA) /* while nobody has it, Redisson before 3.44 would say nothing */
        expect_refused(stage->b, "r", "read unlock job");
    expect_told(stage, "read", "job", from);
    give_in_vain(stage, "read", "job");
    assert_false(can_take(stage->a, "read", "job"));
    side_do(stage->b, "w", "write unlock job");
}

/* What is meant for readers leaves a writer alone, and the reverse. */
void play_forced_mode(struct stage *stage)
{
    static const char *const kinds[] = { "write", "read", "write" };
    char owner[OWNER_ROOM];

    stage_sides(stage, TTL_MS, TTL_MS);
    for (int i = 0; i < 2; i++) {
        const char *mine = kinds[i], *other = kinds[i + 1];

        lock(stage->a, mine, "job", owner);
        assert_int_equal(answer_number(side_do(stage->b, "t", "%s force job", other), "done"), 0);
        expect_held(stage->a, mine, "job", true);
        unlock(stage->a, mine, "job");
        expect_keys(stage, NULL);
    }
}

/* One part of a multi lock: the whole is lost. */
void play_forced_member(struct stage *stage)
{
    int64_t from;

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    lock(stage->a, "multi", stage->kind->lock, NULL);
    begin_wait(stage, "mutex", TOPIC_LOCK, "job:1", "job:1");
    from = now_ms();
    force(stage, "mutex", "job:1", NULL);
    side_hear_well(stage->b, "w");
    assert_false(can_take(stage->b, "mutex", "job:2")); /* the other part is not taken away */
    expect_told(stage, "multi", stage->kind->lock, from);
    give_in_vain(stage, "multi", stage->kind->lock);
    side_do(stage->b, "w", "mutex unlock job:1");
    if (stage->make_a == MAKE_C) /* what is left of it goes all the same */
        expect_keys(stage, NULL);
}

/* The id of the only permit, as Redisson shows it. */
static const char *permit_id(struct stage *stage)
{
    static char id[33];
    redisReply *reply = raw_reply(&stage->server, "ZRANGE {job}:timeout 0 0");

    assert_int_equal(reply->elements, 1);
    assert_int_equal(reply->element[0]->len, 16);
    for (int i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", (unsigned char)reply->element[0]->str[i]);
    freeReplyObject(reply);
    return id;
}

/* Redisson has no force for permits, but whoever knows an id can give it back. */
void play_forced_permit(struct stage *stage)
{
    char what[64];
    int64_t from;

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    assert_int_equal(answer_number(side_do(stage->a, "t", "permits set job 1"), "done"), 1);
    lock(stage->a, "permits", "job 1", NULL);
    begin_wait(stage, "permits", TOPIC_PERMITS, "job 1", "job");
    from = now_ms();
    snprintf(what, sizeof what, "job %s", permit_id(stage));
    force(stage, "permits", stage->make_b == MAKE_C ? "job" : what, NULL);
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    if (stage->make_a == MAKE_C)
        expect_told(stage, "permits", "job", from);
    give_in_vain(stage, "permits", "job");
    expect_text(stage, "job", "0");
    side_do(stage->b, "w", "permits unlock job");
    expect_text(stage, "job", "1");
}
