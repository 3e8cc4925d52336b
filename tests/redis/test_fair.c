/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fair locks on a real server, step by step: the list, the scores and the messages of Redisson's RFairLock, and what
 * ours add to it: waiters that die cost seconds, those that live are never thrown out.
 */
#include "redis/direct.h"
#include "redis/java.h"

#define QUEUE "redisson_lock_queue:{L}"
#define TILL  "redisson_lock_timeout:{L}"
#define TRIED "holdfast_fair:{L}"
#define PLAIN "redisson_lock__channel:{L}"

static struct direct a, b;

static int begin(void **state)
{
    test_begin(state);
    direct_open(&a, 'a', "", "");
    direct_open(&b, 'b', "", "");
    return 0;
}

static int end(void **state)
{
    direct_close(&a);
    direct_close(&b);
    return test_end(state);
}

static struct hfi_lease fair(uint64_t owner, uint32_t wait_ms)
{
    struct hfi_lease lease = direct_lease(HFI_KIND_FAIR, "L", owner);

    lease.wait_ms = wait_ms;
    return lease;
}

/* "a:1 b:2 j:3": the owners in the list. */
static const char *queue(void)
{
    return raw_text(&server, "EVAL %s 1 " QUEUE,
                    "local all = redis.call('LRANGE', KEYS[1], 0, -1) for i = 1, #all do "
                    "all[i] = string.gsub(string.gsub(all[i], "
                    "'^%x+%-%x+%-%x+%-%x+%-%x+(%x):', '%1:'), '^d:', 'j:') end "
                    "return table.concat(all, ' ')");
}

static long long server_ms(void)
{
    return raw_integer(&server, "EVAL %s 0",
                       "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)");
}

/* ms until an owner's place runs out */
static long long place_ms(const char *owner)
{
    return atoll(raw_text(&server, "ZSCORE " TILL " %s", owner)) - server_ms();
}

/* List and scores have the same members, and so have the scores of ours that are in it. */
static void in_step(void)
{
    assert_int_equal(
        raw_integer(&server, "EVAL %s 3 " QUEUE " " TILL " " TRIED,
                    "local all, seen = redis.call('LRANGE', KEYS[1], 0, -1), {} "
                    "for _, o in ipairs(all) do if seen[o] or not redis.call('ZSCORE', KEYS[2], o) "
                    "then return 0 end seen[o] = true end "
                    "for _, o in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do "
                    "if not seen[o] then return 0 end end "
                    "return redis.call('ZCARD', KEYS[2]) == #all and 1 or 0"),
        1);
}

/* As if it had not tried for so long. */
static void be_silent(const struct direct *direct, uint64_t owner, int ms)
{
    raw_do(&server, "ZINCRBY " TRIED " %d %s", -ms, direct_owner(direct, owner));
}

static void queued(struct direct *direct, struct hfi_lease *lease)
{
    assert_int_equal(direct_try(direct, lease), HFI_BUSY);
    assert_int_equal(lease->topic, HFI_TOPIC_TURN);
    assert_true(lease->ticket);
    assert_in_range(lease->hint_ns, 1, 1500 * HFI_MSEC);
    in_step();
}

static void granted(struct direct *direct, struct hfi_lease *lease)
{
    assert_int_equal(direct_try(direct, lease), HFI_GRANTED);
    assert_true(lease->token > UINT64_C(1700000000000000));
    assert_int_equal(raw_integer(&server, "HLEN L"), 1);
    assert_string_equal(raw_text(&server, "HGET L %s", direct_owner(direct, lease->owner)), "1");
    assert_in_range(raw_integer(&server, "PTTL L"), 29000, 30000);
    in_step();
}

static void released(struct direct *direct, struct hfi_lease *lease)
{
    assert_int_equal(direct_release(direct, lease), HFI_RELEASED);
    assert_int_equal(raw_integer(&server, "EXISTS L"), 0);
    in_step();
}

static redisContext *listen_to_all(void)
{
    redisContext *raw = raw_open(&server);

    raw_send(raw, "PSUBSCRIBE redisson_*");
    freeReplyObject(raw_next(raw, PATIENCE_MS));
    return raw;
}

/* The next message is this owner's (NULL: for plain waiters). */
static void told(redisContext *raw, const char *owner)
{
    redisReply *reply = raw_next(raw, PATIENCE_MS);
    char channel[160];

    snprintf(channel, sizeof channel, owner ? PLAIN ":%s" : PLAIN "%s", owner ? owner : "");
    assert_non_null(reply);
    assert_string_equal(reply->element[2]->str, channel);
    assert_string_equal(reply->element[3]->str, "0");
    freeReplyObject(reply);
}

static void told_no_more(redisContext *raw)
{
    assert_null(raw_next(raw, 20));
    redisFree(raw);
}

/* ------------------------------------------------------------------------------------------------
 * Among ourselves
 */

static void alone(void **state)
{
    struct hfi_lease lease = fair(1, 0);
    redisContext *raw = listen_to_all();
    uint64_t first;

    (void)state;
    granted(&a, &lease);
    first = lease.token;
    assert_int_equal(server_count_keys(&server), 1);
    assert_int_equal(direct_try(&a, &lease), HFI_ALREADY);
    assert_true(direct_renew(&a, &lease, 30000));
    assert_false(direct_renew(&b, &lease, 30000));
    released(&a, &lease);
    told(raw, NULL); /* plain waiters, if there are any */
    assert_int_equal(direct_release(&a, &lease), HFI_GONE);
    lease.owner = 2;
    granted(&a, &lease);
    assert_true(lease.token > first);
    released(&a, &lease);
    told(raw, NULL);
    told_no_more(raw);
}

/* By Redisson's formula: the ttl of the lock, or what the last one has left, and the own wait. */
static void scores(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(1, 10000), two = fair(2, 0),
                     three = fair(3, 5000);

    (void)state;
    granted(&a, &holder);
    queued(&b, &one);
    assert_in_range(place_ms(direct_owner(&b, 1)), 39000, 40000);
    queued(&b, &two);
    assert_in_range(place_ms(direct_owner(&b, 2)), 339000, 340000);
    queued(&b, &three);
    assert_in_range(place_ms(direct_owner(&b, 3)), 344000, 345000);
    assert_string_equal(queue(), "b:1 b:2 b:3");
    queued(&b, &two); /* again: it keeps its place */
    assert_string_equal(queue(), "b:1 b:2 b:3");
    assert_in_range(place_ms(direct_owner(&b, 2)), 338000, 340000);
    assert_int_equal(raw_integer(&server, "ZCARD " TRIED), 3);
    assert_in_range(raw_integer(&server, "PTTL " TRIED), 373000, 376000); /* it outlives them all */
    released(&a, &holder);
    granted(&b, &one);
    assert_string_equal(queue(), "b:2 b:3");
    assert_in_range(place_ms(direct_owner(&b, 2)), 328000, 330000); /* less the wait of the first */
    assert_in_range(place_ms(direct_owner(&b, 3)), 333000, 335000);
    released(&b, &one);
    granted(&b, &two);
    assert_in_range(place_ms(direct_owner(&b, 3)), 33000, 35000);
    released(&b, &two);
    granted(&b, &three);
    released(&b, &three);
    assert_int_equal(server_count_keys(&server), 0);
}

static void in_order(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 0), two = fair(3, 0), once = fair(4, 0);
    redisContext *raw = listen_to_all();

    (void)state;
    once.queue = false;
    granted(&a, &holder);
    queued(&b, &one);
    queued(&a, &two);
    released(&a, &holder);
    told(raw, direct_owner(&b, 2));
    queued(&a, &two); /* not before its turn */
    assert_int_equal(direct_try(&a, &once), HFI_BUSY);
    assert_false(once.ticket);
    assert_int_equal(once.topic, HFI_TOPIC_TURN);
    assert_in_range(once.hint_ns, 1, 5000 * HFI_MSEC);
    assert_string_equal(queue(), "b:2 a:3");
    granted(&b, &one);
    assert_int_equal(direct_try(&a, &once), HFI_BUSY);
    assert_in_range(once.hint_ns, 29000 * HFI_MSEC, 30000 * HFI_MSEC);
    released(&b, &one);
    told(raw, direct_owner(&a, 3));
    granted(&a, &two);
    released(&a, &two);
    told(raw, NULL);
    granted(&a, &once); /* nobody has it, nobody waits */
    released(&a, &once);
    told(raw, NULL);
    told_no_more(raw);
}

static void names(void **state)
{
    static const struct {
        const char *name, *queue, *till, *tried;
    } NAMES[] = {
        { "a b", "redisson_lock_queue:{a b}", "redisson_lock_timeout:{a b}",
          "holdfast_fair:{a b}" },
        { "f{t}", "redisson_lock_queue:f{t}", "redisson_lock_timeout:f{t}", "holdfast_fair:f{t}" },
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hfi_lease holder = fair(1, 0), waiter = fair(2, 0);

        holder.name = waiter.name = NAMES[i].name;
        holder.name_len = waiter.name_len = (uint16_t)strlen(NAMES[i].name);
        assert_int_equal(direct_try(&a, &holder), HFI_GRANTED);
        assert_int_equal(direct_try(&a, &waiter), HFI_BUSY);
        assert_string_equal(raw_text(&server, "LINDEX %s 0", NAMES[i].queue), direct_owner(&a, 2));
        assert_int_equal(raw_integer(&server, "ZCARD %s", NAMES[i].till), 1);
        assert_int_equal(raw_integer(&server, "ZCARD %s", NAMES[i].tried), 1);
        direct_leave(&a, &waiter);
        assert_int_equal(direct_release(&a, &holder), HFI_RELEASED);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Leaving
 */

static void leaving(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 20000), two = fair(3, 30000),
                     three = fair(4, 0);
    redisContext *raw = listen_to_all();

    (void)state;
    granted(&a, &holder);
    queued(&b, &one);
    queued(&b, &two);
    queued(&b, &three);
    assert_in_range(place_ms(direct_owner(&b, 4)), 379000, 380000);
    direct_leave(&b, &two);
    assert_string_equal(queue(), "b:2 b:4");
    assert_in_range(place_ms(direct_owner(&b, 2)), 48000, 50000);
    assert_in_range(place_ms(direct_owner(&b, 4)), 348000, 350000);
    direct_leave(&b, &two); /* again */
    assert_string_equal(queue(), "b:2 b:4");
    in_step();
    released(&a, &holder);
    told(raw, direct_owner(&b, 2));
    direct_leave(&b, &one); /* whose turn it was: the next one is told */
    told(raw, direct_owner(&b, 4));
    granted(&b, &three);
    direct_leave(&b, &one); /* of no place, while somebody has the lock */
    released(&b, &three);
    told(raw, NULL);
    told_no_more(raw);
}

/* One whose time was spent by others leaves what they count on: they are not thrown out for it. */
static void leaving_late(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 20000), two = fair(3, 15000);

    (void)state;
    granted(&a, &holder);
    queued(&b, &one);
    queued(&b, &two);
    raw_do(&server, "ZINCRBY " TILL " -45000 %s", direct_owner(&b, 2)); /* 45 s later */
    raw_do(&server, "ZINCRBY " TILL " -45000 %s", direct_owner(&b, 3));
    direct_leave(&b, &one);
    assert_in_range(place_ms(direct_owner(&b, 3)), 14000, 15000);
    direct_leave(&b, &two);
    released(&a, &holder);
}

/* A try that nobody knows the outcome of is taken back: it may have left a place, or taken the lock. */
static void taken_back(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 0), two = fair(3, 0);
    redisContext *raw = listen_to_all();

    (void)state;
    granted(&a, &holder);
    queued(&b, &one);
    queued(&b, &two);
    assert_int_equal(direct_release(&b, &one), HFI_GONE);
    assert_string_equal(queue(), "b:3");
    in_step();
    queued(&b, &one);
    released(&a, &holder);
    told(raw, direct_owner(&b, 3));
    assert_int_equal(direct_release(&b, &two), HFI_GONE); /* the first one, and the lock is free */
    told(raw, direct_owner(&b, 2));
    granted(&b, &one);
    released(&b, &one);
    told(raw, NULL);
    told_no_more(raw);
}

/* ------------------------------------------------------------------------------------------------
 * The dead and the living
 */

static void the_dead_are_passed_over(void **state)
{
    struct hfi_lease holder = fair(1, 0), dead = fair(2, 0), too = fair(3, 0),
                     alive = fair(4, 7000);

    (void)state;
    granted(&a, &holder);
    queued(&b, &dead);
    queued(&b, &too);
    queued(&a, &alive);
    released(&a, &holder);
    be_silent(&b, 2, 4000);
    queued(&a, &alive); /* not yet */
    be_silent(&b, 2, 1001);
    queued(&a, &alive);
    assert_string_equal(queue(), "b:3 a:4");
    be_silent(&b, 3, 5001);
    granted(&a, &alive);
    queued(&b, &dead); /* it was only slow: it comes last */
    assert_int_equal(server_count_keys(&server), 3);
    assert_int_equal(raw_integer(&server, "ZCARD " TRIED), 1);
    direct_leave(&b, &dead);
    released(&a, &alive);
}

/* Those behind a dead one get back what they counted on from now on. */
static void scores_behind_the_dead(void **state)
{
    struct hfi_lease holder = fair(1, 0), dead = fair(2, 0), alive = fair(3, 60000);

    (void)state;
    granted(&a, &holder);
    queued(&b, &dead);
    assert_int_equal(java_fair_try("L", 5, 60000, 30000) > 300000, true);
    be_silent(&b, 2, 5001);
    queued(&a, &alive);
    assert_string_equal(queue(), "j:5 a:3");
    assert_in_range(place_ms(java_owner(5)), 59000, 60000);
    assert_in_range(place_ms(direct_owner(&a, 3)), 119000, 120000);
    java_fair_give_up("L", 5, 60000);
    direct_leave(&a, &alive);
    released(&a, &holder);
}

/* Whoever makes another one the first while the lock is free tells it. */
static void the_next_one_is_told(void **state)
{
    struct hfi_lease holder = fair(1, 0), dead = fair(2, 0), next = fair(3, 0), later = fair(4, 0);
    redisContext *raw = listen_to_all();

    (void)state;
    granted(&a, &holder);
    queued(&b, &dead);
    queued(&b, &next);
    released(&a, &holder);
    told(raw, direct_owner(&b, 2));
    be_silent(&b, 2, 5001);
    queued(&a, &later);
    told(raw, direct_owner(&b, 3));
    granted(&b, &next);
    be_silent(&a, 4, 5001);
    released(&b, &next); /* and nobody lives */
    told(raw, NULL);
    told_no_more(raw);
}

/* Its time is over, but it tries: it stays, and its time is made longer before others see that it is over. */
static void the_living_stay(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 20000);
    long long before;

    (void)state;
    granted(&a, &holder);
    queued(&b, &one);
    java_fair_try("L", 5, 10000, 30000);
    assert_in_range(place_ms(java_owner(5)), 59000, 60000);
    raw_do(&server, "ZINCRBY " TILL " -41000 %s", direct_owner(&b, 2)); /* 41 s later */
    raw_do(&server, "ZINCRBY " TILL " -41000 %s", java_owner(5));
    before = place_ms(java_owner(5));
    queued(&b, &one);
    assert_in_range(place_ms(direct_owner(&b, 2)), 37000, 39000);
    assert_in_range(place_ms(java_owner(5)) - before, 29000,
                    30000); /* it counts on the one before */
    queued(&b, &one);
    assert_in_range(place_ms(direct_owner(&b, 2)), 37000, 39000);
    raw_do(&server, "ZINCRBY " TILL " -400000 %s", direct_owner(&b, 2)); /* long over */
    queued(&b, &one);
    assert_in_range(place_ms(direct_owner(&b, 2)), 29000, 30000);
    raw_do(&server, "ZINCRBY " TILL " -50000 %s",
           direct_owner(&b, 2)); /* over, between two tries */
    released(&a, &holder);
    assert_string_equal(queue(), "b:2 j:5");
    granted(&b, &one);
    released(&b, &one);
    java_fair_give_up("L", 5, 10000);
}

/* Theirs are thrown out when their time is over, and only then; one without a score at once. */
static void foreign_waiters(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 0);
    redisContext *raw = listen_to_all();

    (void)state;
    granted(&a, &holder);
    java_fair_try("L", 5, 20000, 30000);
    java_fair_try("L", 6, 20000, 30000);
    queued(&b, &one);
    released(&a, &holder);
    told(raw, java_owner(5));
    queued(&b, &one);
    assert_string_equal(queue(), "j:5 j:6 b:2");
    raw_do(&server, "ZINCRBY " TILL " -60000 %s", java_owner(5));
    assert_int_equal(direct_try(&b, &one), HFI_BUSY);
    assert_string_equal(queue(), "j:6 b:2");
    told(raw, java_owner(6));
    raw_do(&server, "ZREM " TILL " %s", java_owner(6));
    granted(&b, &one);
    released(&b, &one);
    told(raw, NULL);
    told_no_more(raw);
}

/* A server whose clock was set back does not think that the dead live for as long. */
static void a_clock_set_back(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 0), two = fair(3, 0);

    (void)state;
    granted(&a, &holder);
    queued(&b, &one);
    be_silent(&b, 2, -3600000);
    queued(&a, &two);
    released(&a, &holder);
    queued(&a, &two);
    be_silent(&b, 2, 5001);
    granted(&a, &two);
    released(&a, &two);
}

/* A place of which one half is missing. */
static void a_broken_queue(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 0), two = fair(3, 0);

    (void)state;
    granted(&a, &holder);
    queued(&b, &one);
    raw_do(&server, "ZREM " TILL " %s", direct_owner(&b, 2));
    queued(&b, &one);
    assert_in_range(place_ms(direct_owner(&b, 2)), 329000, 330000);
    raw_do(&server, "LREM " QUEUE " 0 %s", direct_owner(&b, 2));
    queued(&b, &one);
    raw_do(&server, "RPUSH " QUEUE " %s", direct_owner(&b, 2)); /* twice */
    direct_leave(&b, &one);
    in_step();
    assert_string_equal(queue(), "");
    queued(&b, &one);
    raw_do(&server, "DEL " TRIED);
    queued(&b, &one);
    assert_true(raw_integer(&server, "PTTL " TRIED) > 0);
    raw_do(&server, "DEL L " QUEUE " " TILL); /* as Redisson's delete() */
    assert_int_equal(direct_release(&a, &holder), HFI_GONE);
    assert_int_equal(direct_try(&b, &two), HFI_GRANTED);
    queued(&b, &one); /* at the end of the new queue */
    direct_leave(&b, &one);
    released(&b, &two);
}

/* ------------------------------------------------------------------------------------------------
 * Beside others
 */

static void turns_with_foreign_owners(void **state)
{
    struct hfi_lease one = fair(1, 0), two = fair(2, 0);
    struct hfi_watch watch = direct_watch_of(&one, HFI_TOPIC_TURN);
    redisContext *raw = listen_to_all();

    (void)state;
    assert_int_equal(java_fair_try("L", 5, 300000, 30000), JAVA_TAKEN);
    queued(&a, &one);
    direct_watch(&a, &watch);
    java_fair_try("L", 6, 300000, 30000);
    queued(&b, &two);
    assert_string_equal(queue(), "a:1 j:6 b:2");
    assert_false(direct_woken(&a, &watch, 10));
    assert_true(java_fair_unlock("L", 5));
    assert_true(direct_woken(&a, &watch, PATIENCE_MS));
    told(raw, direct_owner(&a, 1));
    assert_int_equal(java_fair_try("L", 6, 300000, 30000), 0);
    granted(&a, &one);
    assert_in_range(java_fair_try("L", 6, 300000, 30000), 29000, 30000);
    released(&a, &one);
    told(raw, java_owner(6));
    queued(&b, &two);
    assert_int_equal(java_fair_try("L", 6, 300000, 30000), JAVA_TAKEN);
    in_step();
    assert_true(java_fair_unlock("L", 6));
    told(raw, direct_owner(&b, 2));
    granted(&b, &two);
    released(&b, &two);
    told(raw, NULL);
    told_no_more(raw);
    direct_unwatch(&a, &watch);
}

/* The watch's owner may change: it listens for another one's turn from then on. */
static void another_turn(void **state)
{
    struct hfi_lease one = fair(1, 0);
    struct hfi_watch watch = direct_watch_of(&one, HFI_TOPIC_TURN);

    (void)state;
    direct_watch(&a, &watch);
    watch.owner = 2;
    direct_watch(&a, &watch);
    raw_do(&server, "PUBLISH " PLAIN ":%s 0", direct_owner(&a, 1));
    raw_do(&server, "PUBLISH " PLAIN ":%s 0", direct_owner(&b, 2));
    raw_do(&server, "PUBLISH " PLAIN " 0");
    assert_false(direct_woken(&a, &watch, 50));
    raw_do(&server, "PUBLISH " PLAIN ":%s 0", direct_owner(&a, 2));
    assert_true(direct_woken(&a, &watch, PATIENCE_MS));
    direct_unwatch(&a, &watch);
}

/* A read-write lock in the way tells on its own channel; a plain one is a lock like ours. */
static void other_kinds_in_the_way(void **state)
{
    struct hfi_lease reader = direct_lease(HFI_KIND_READ, "L", 1),
                     plain = direct_lease(HFI_KIND_MUTEX, "L", 1), one = fair(2, 0);

    (void)state;
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    assert_int_equal(direct_try(&b, &one), HFI_BUSY);
    assert_int_equal(one.topic, HFI_TOPIC_READ_WRITE);
    assert_true(one.ticket);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    granted(&b, &one);
    assert_int_equal(direct_try(&a, &plain), HFI_BUSY);
    released(&b, &one);
    assert_int_equal(direct_try(&a, &plain), HFI_GRANTED);
    queued(&b, &one);
    assert_int_equal(direct_release(&a, &plain), HFI_RELEASED);
    granted(&b, &one);
    released(&b, &one);
}

static void wrong_types(void **state)
{
    struct hfi_lease one = fair(1, 0);

    (void)state;
    raw_do(&server, "SET L text");
    assert_int_equal(direct_ask(&a, &one.request, HFI_OP_TRY), HF_ERR_WRONG_TYPE);
    assert_int_equal(direct_ask(&a, &one.request, HFI_OP_RELEASE), HF_ERR_WRONG_TYPE);
    raw_do(&server, "DEL L");
    raw_do(&server, "SET " QUEUE " text");
    assert_int_equal(direct_ask(&a, &one.request, HFI_OP_TRY), HF_ERR_WRONG_TYPE);
    raw_do(&server, "DEL " QUEUE);
    granted(&a, &one);
    released(&a, &one);
}

/* A server without memory takes nobody new in, and keeps and serves those it has. */
static void without_memory(void **state)
{
    struct hfi_lease holder = fair(1, 0), one = fair(2, 20000), two = fair(3, 0), late = fair(4, 0);

    (void)state;
    granted(&a, &holder);
    queued(&b, &one);
    queued(&b, &two);
    be_silent(&b, 2, 4000);
    raw_do(&server, "ZINCRBY " TILL " -41000 %s", direct_owner(&b, 2));
    raw_do(&server, "CONFIG SET maxmemory 1");
    assert_int_equal(direct_ask(&a, &late.request, HFI_OP_TRY), HF_ERR_STORE_FULL);
    assert_int_equal(raw_integer(&server, "LLEN " QUEUE), 2);
    assert_int_equal(direct_try(&b, &one), HFI_BUSY);
    assert_true(one.ticket);
    assert_true(direct_renew(&a, &holder, 30000));
    assert_int_equal(direct_release(&a, &holder), HFI_RELEASED);
    assert_int_equal(direct_try(&b, &one), HFI_GRANTED);
    direct_leave(&b, &two);
    assert_int_equal(direct_release(&b, &one), HFI_RELEASED);
    assert_int_equal(direct_ask(&a, &late.request, HFI_OP_TRY), HF_ERR_STORE_FULL);
    raw_do(&server, "CONFIG SET maxmemory 0");
    assert_int_equal(server_count_keys(&server), 0);
}

/* ---- Many owners of both makes, at random, against a queue of the test's own ---- */

#define OWNERS 8       /* 0 to 4: ours; 5 to 7: of another make */
#define WAIT   3600000 /* long enough for the test */

static int line[OWNERS], line_len, holder_now;
static bool dead[OWNERS];

static int place_of(int owner)
{
    for (int i = 0; i < line_len; i++)
        if (line[i] == owner)
            return i;
    return -1;
}

static void take_out(int at)
{
    memmove(&line[at], &line[at + 1], (size_t)(line_len - at - 1) * sizeof *line);
    line_len--;
}

static void bury(void)
{
    while (line_len > 0 && dead[line[0]]) {
        dead[line[0]] = false;
        take_out(0);
    }
}

static bool may_take(int owner)
{
    return holder_now < 0 && (line_len == 0 || line[0] == owner);
}

static struct direct *direct_of(int owner)
{
    return owner % 2 ? &a : &b;
}

static void try_one(int owner)
{
    struct hfi_lease lease = fair((uint64_t)owner, WAIT);
    bool may, got;

    if (owner < 5 &&
        !(holder_now < 0 && line_len > 0 && line[0] == owner)) /* whose turn it is lives */
        bury();
    dead[owner] = false;
    may = may_take(owner);
    got = owner < 5 ? direct_try(direct_of(owner), &lease) == HFI_GRANTED
                    : java_fair_try("L", owner, WAIT, 30000) == JAVA_TAKEN;
    assert_int_equal(got, may);
    if (may) {
        if (line_len > 0)
            take_out(0);
        holder_now = owner;
    } else if (place_of(owner) < 0) {
        line[line_len++] = owner;
    }
}

static void give_up(int owner)
{
    struct hfi_lease lease = fair((uint64_t)owner, WAIT);
    int at = place_of(owner);

    dead[owner] = false;
    if (at >= 0)
        take_out(at);
    if (owner < 5 && holder_now < 0)
        bury();
    if (owner < 5)
        direct_leave(direct_of(owner), &lease);
    else
        java_fair_give_up("L", owner, WAIT);
}

static void let_go(redisContext *raw)
{
    int owner = holder_now;
    struct hfi_lease lease = fair((uint64_t)owner, WAIT);

    holder_now = -1;
    if (owner < 5) {
        bury();
        assert_int_equal(direct_release(direct_of(owner), &lease), HFI_RELEASED);
    } else {
        assert_true(java_fair_unlock("L", owner));
    }
    if (line_len > 0)
        told(raw, line[0] < 5 ? direct_owner(direct_of(line[0]), (uint64_t)line[0])
                              : java_owner(line[0]));
    else if (owner < 5)
        told(raw, NULL);
}

static void check(void)
{
    char expected[128] = "";
    size_t n = 0;

    for (int i = 0; i < line_len; i++)
        n += (size_t)snprintf(expected + n, sizeof expected - n, "%s%c:%d", n ? " " : "",
                              line[i] > 4   ? 'j'
                              : line[i] % 2 ? 'a'
                                            : 'b',
                              line[i]);
    assert_string_equal(queue(), expected);
    in_step();
    /* nobody is about to be thrown out by those who go by the scores */
    assert_int_equal(raw_integer(&server, "ZCOUNT " TILL " -inf %lld", server_ms() + 10000), 0);
}

/* What was told that the model does not follow: a new first one, after another was buried or left. */
static void forget_messages(redisContext *raw)
{
    redisReply *reply;

    raw_send(raw, "PING x");
    while ((reply = raw_next(raw, PATIENCE_MS)) && reply->elements == 4)
        freeReplyObject(reply);
    freeReplyObject(reply);
}

static void one_step(redisContext *raw, uint32_t *random)
{
    int owner = (int)(random_next(random) % OWNERS);

    forget_messages(raw);
    switch (random_next(random) % 8) {
    case 0:
        if (owner != holder_now)
            give_up(owner);
        break;
    case 1:
    case 2:
        if (holder_now >= 0)
            let_go(raw);
        break;
    case 3:
        if (owner < 5 && place_of(owner) >= 0 && !dead[owner]) {
            dead[owner] = true;
            be_silent(direct_of(owner), (uint64_t)owner, 5001);
        }
        break;
    default:
        if (owner != holder_now)
            try_one(owner);
    }
    check();
}

static void at_random(void **state)
{
    redisContext *raw = listen_to_all();

    (void)state;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        uint32_t random = seed;

        line_len = 0;
        holder_now = -1;
        memset(dead, 0, sizeof dead);
        for (int i = 0; i < 80; i++)
            one_step(raw, &random);
        forget_messages(raw);
        if (holder_now >= 0)
            let_go(raw);
        while (line_len > 0)
            give_up(line[0]);
        assert_int_equal(server_count_keys(&server), 0);
    }
    redisFree(raw);
}

#define STEP(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest TESTS[] = {
    STEP(alone),
    STEP(scores),
    STEP(in_order),
    STEP(names),
    STEP(leaving),
    STEP(leaving_late),
    STEP(taken_back),
    STEP(the_dead_are_passed_over),
    STEP(scores_behind_the_dead),
    STEP(the_next_one_is_told),
    STEP(the_living_stay),
    STEP(foreign_waiters),
    STEP(a_clock_set_back),
    STEP(a_broken_queue),
    STEP(turns_with_foreign_owners),
    STEP(another_turn),
    STEP(other_kinds_in_the_way),
    STEP(wrong_types),
    STEP(without_memory),
    STEP(at_random),
};

TESTS_MAIN("fair locks", TESTS)
