/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Others who have to do with the locks: clients of another make (as Redisson's lock, spin lock, read and write
 * lock and semaphore do), whose commands reach the server at once; and people who list, inspect and break.
 */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "checks.h"
#include "library.h"
#include "store/redis/names.h"
#include "workload.h"

/* No process of ours has such an id. */
#define FOREIGN_CLIENT "6b1d8f0e-aaaa-4bbb-8ccc-ffff00000000"
#define FOREIGN_THREAD 77
#define FOREIGN        FOREIGN_CLIENT ":77"
#define FOREIGNERS     2

#define TAKE "redis.call('HINCRBY',KEYS[1],ARGV[1],1)redis.call('PEXPIRE',KEYS[1],ARGV[2])"
#define TAKE_WRITE                                                                                 \
    "redis.call('HSET',KEYS[1],'mode','write',ARGV[1],'1')redis.call('PEXPIRE',KEYS[1],ARGV[2])"

#define TAKE_READ                                                                                  \
    "redis.call('HSET',KEYS[1],'mode','read',ARGV[1],'1')redis.call('SET',KEYS[2],'1','PX',"       \
    "ARGV[2])redis.call('PEXPIRE',KEYS[1],ARGV[2])"

#define GIVE_READ                                                                                  \
    "redis.call('HDEL',KEYS[1],ARGV[1])redis.call('DEL',KEYS[2])if(redis.call('HLEN',KEYS[1])=="   \
    "1)then\tredis.call('DEL',KEYS[1])end"

enum foreign_kind { FOREIGN_LOCK, FOREIGN_SPIN, FOREIGN_WRITE, FOREIGN_READ, FOREIGN_KINDS };

struct foreigner {
    struct sim *sim;
    struct hfi_random random;
    struct sim_timer timer;
    struct sim_lock *lock; /* NULL: has none */
    enum foreign_kind kind;
    bool done;
};

struct person {
    struct sim *sim;
    struct hfi_random random;
    struct sim_timer timer;
    struct sim_ask ask;
    struct hfi_query query;
    char owner[HF_OWNER_MAX + 1];
    bool done;
};

struct sim_others {
    struct foreigner foreigner[FOREIGNERS];
    struct person person;
};

/* ------------------------------------------------------------------------------------------------
 * Clients of another make
 */

static struct sim_redis *server_of(const struct foreigner *who, const struct sim_lock *lock)
{
    struct sim_server *server = sim_service_server(who->sim, lock->service);

    sim_server_wall_us(server);
    return &server->redis;
}

static bool can_be_reached(const struct foreigner *who, const struct sim_lock *lock)
{
    const struct sim_server *server = sim_service_server(who->sim, lock->service);

    return !sim_server_is_stopped(server) && !server->redis.failing && !server->redis.out_of_memory;
}

/* Where its hold for reading lives. */
static void reader_key(const struct sim_lock *lock, char key[HFI_KEY_MAX + 1])
{
    key[hfi_reader_key(key, lock->name, lock->len, FOREIGN_CLIENT, FOREIGN_THREAD)] = '\0';
}

static void take_lock(struct foreigner *who, struct sim_lock *lock)
{
    struct sim_redis *redis = server_of(who, lock);
    char reader[HFI_KEY_MAX + 1];

    reader_key(lock, reader);
    if (who->kind == FOREIGN_WRITE)
        sim_redis_do(redis, NULL, "EVAL %s 1 %s %s:write %u", TAKE_WRITE, lock->name, FOREIGN,
                     lock->ttl_ms);
    else if (who->kind == FOREIGN_READ)
        sim_redis_do(redis, NULL, "EVAL %s 2 %s %s %s %u", TAKE_READ, lock->name, reader, FOREIGN,
                     lock->ttl_ms);
    else
        sim_redis_do(redis, NULL, "EVAL %s 1 %s %s %u", TAKE, lock->name, FOREIGN, lock->ttl_ms);
}

/* One permit of a semaphore; false: there is none. */
static bool take_permit(struct foreigner *who, struct sim_lock *lock)
{
    struct sim_redis *redis = server_of(who, lock);
    const struct sim_key *key = sim_redis_find(redis, redis->hand_db, lock->name, lock->len);

    if (!key || key->type != SIM_REDIS_STRING || strtoll(key->value, NULL, 10) < 1)
        return false;
    sim_redis_do(redis, NULL, "DECRBY %s 1", lock->name);
    lock->there--;
    return true;
}

static void take(struct foreigner *who, struct sim_lock *lock)
{
    struct sim_redis *redis = server_of(who, lock);

    who->kind = (enum foreign_kind)sim_below(&who->random,
                                             who->sim->plan.kinds ? FOREIGN_KINDS : FOREIGN_READ);
    if (lock->theme == SIM_SEMAPHORE
            ? !take_permit(who, lock)
            : lock->theme != SIM_LOCKS ||
                  sim_redis_find(redis, redis->hand_db, lock->name, lock->len))
        return;
    if (lock->theme == SIM_LOCKS)
        take_lock(who, lock);
    sim_say(&who->sim->world, "another client takes %s", lock->name);
    who->lock = lock;
}

static bool still_has(const struct foreigner *who)
{
    struct sim_redis *redis = server_of(who, who->lock);
    const struct sim_key *key =
        sim_redis_find(redis, redis->hand_db, who->lock->name, who->lock->len);
    const char *field = who->kind == FOREIGN_WRITE ? FOREIGN ":write" : FOREIGN;

    return key && key->type == SIM_REDIS_HASH && sim_key_field(key, field, strlen(field));
}

static void publish(struct foreigner *who)
{
    char channel[HFI_CHANNEL_MAX + 1];
    bool read_write = who->kind == FOREIGN_WRITE || who->kind == FOREIGN_READ;
    enum hfi_topic topic = read_write ? HFI_TOPIC_READ_WRITE : HFI_TOPIC_LOCK;

    if (who->lock->theme == SIM_SEMAPHORE)
        topic = HFI_TOPIC_PERMITS;
    channel[hfi_channel_name(channel, who->lock->name, who->lock->len, topic)] = '\0';
    sim_redis_do(server_of(who, who->lock), NULL, "PUBLISH %s %d", channel,
                 who->kind == FOREIGN_WRITE || topic == HFI_TOPIC_PERMITS);
}

/* A lock; of a reader only its own part. */
static void give_lock(struct foreigner *who)
{
    struct sim_redis *redis = server_of(who, who->lock);
    char reader[HFI_KEY_MAX + 1];

    reader_key(who->lock, reader);
    if (who->kind == FOREIGN_READ)
        sim_redis_do(redis, NULL, "EVAL %s 2 %s %s %s", GIVE_READ, who->lock->name, reader,
                     FOREIGN);
    else
        sim_redis_do(redis, NULL, "DEL %s", who->lock->name);
}

static void give_permit(struct foreigner *who)
{
    sim_redis_do(server_of(who, who->lock), NULL, "INCRBY %s 1", who->lock->name);
    who->lock->there++;
}

static void give_back(struct foreigner *who)
{
    struct sim_server *server = sim_service_server(who->sim, who->lock->service);
    bool lock = who->lock->theme == SIM_LOCKS;

    if ((!lock || still_has(who)) && sim_below(&who->random, 16)) { /* or it dies instead */
        if (lock)
            give_lock(who);
        else
            give_permit(who);
        if (lock && still_has(who))
            sim_violated(&who->sim->world, "foreign", "another client cannot give %s back",
                         who->lock->name);
        if (who->kind != FOREIGN_SPIN)
            publish(who);
        sim_server_flush(server);
    }
    who->lock = NULL;
}

static void foreigner_runs(void *arg)
{
    struct foreigner *who = arg;
    struct sim *sim = who->sim;
    struct sim_lock *lock = &sim->lock[sim_below(&who->random, sim->plan.locks)];

    sim->arranging = true;
    if (who->lock && can_be_reached(who, who->lock))
        give_back(who);
    else if (!who->lock && !sim->threads->draining && can_be_reached(who, lock))
        take(who, lock);
    sim->arranging = false;
    who->done = sim->threads->draining && !who->lock;
    if (!who->done)
        sim_after(&sim->world, &who->timer,
                  sim_below(&who->random,
                            who->lock ? sim->plan.hold_ns + HFI_MSEC : sim->plan.window_ns / 4));
}

/* ------------------------------------------------------------------------------------------------
 * What is counted
 */

void sim_others_count(struct sim_lock *lock, int64_t count)
{
    struct sim *sim = lock->sim;
    struct sim_server *server = sim_service_server(sim, lock->service);
    char channel[HFI_CHANNEL_MAX + 1];

    if (lock->theme == SIM_LOCKS)
        return;
    lock->there = lock->theme == SIM_SEMAPHORE ? lock->there + count : 0;
    if (sim->plan.library) {
        sim_library_count(lock, count);
        return;
    }
    channel[hfi_channel_name(channel, lock->name, lock->len,
                             lock->theme == SIM_LATCH ? HFI_TOPIC_LATCH : HFI_TOPIC_PERMITS)] =
        '\0';
    sim->arranging = true;
    sim_server_wall_us(server);
    if (lock->theme == SIM_LATCH)
        sim_redis_do(&server->redis, NULL, "DEL %s", lock->name);
    else
        sim_redis_do(&server->redis, NULL, "INCRBY %s %lld", lock->name, (long long)count);
    sim_redis_do(&server->redis, NULL, "PUBLISH %s %lld", channel,
                 (long long)(lock->theme == SIM_LATCH ? 0 : count));
    sim->arranging = false;
    if (server->up)
        sim_server_flush(server);
}

/* Nobody gives back, or counts down, any more: there is enough for all who still wait. */
void sim_others_help(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.locks; i++) {
        struct sim_lock *lock = &sim->lock[i];

        if (lock->theme == SIM_LATCH)
            sim_others_count(lock, 0);
        else if (lock->theme == SIM_SEMAPHORE)
            sim_others_count(lock, lock->total);
    }
}

/* ------------------------------------------------------------------------------------------------
 * People
 */

static void person_rests(struct person *person)
{
    person->done = person->sim->threads->draining;
    if (!person->done)
        sim_after(&person->sim->world, &person->timer,
                  sim_below(&person->random, person->sim->plan.window_ns));
}

static void answered(struct sim_ask *ask)
{
    struct person *person = ask->arg;

    hf_list_free(person->query.list);
    person->query.list = NULL;
    person_rests(person);
}

/* Whom the store shows as the holder. */
static bool see_holder(struct person *person, const struct sim_lock *lock)
{
    struct sim_server *server = sim_service_server(person->sim, lock->service);
    const struct sim_key *key;

    sim_server_wall_us(server);
    key = sim_redis_find(&server->redis, server->redis.hand_db, lock->name, lock->len);
    if (!key || key->type != SIM_REDIS_HASH || key->fields == 0)
        return false;
    snprintf(person->owner, sizeof person->owner, "%s", key->field[0].name);
    return true;
}

static enum hfi_op choose_query(struct person *person, const struct sim_lock *lock)
{
    struct hfi_query *query = &person->query;
    uint64_t dice = sim_below(&person->random, 3);

    memset(query, 0, sizeof *query);
    query->text = lock->name;
    if (dice == 0 && person->sim->plan.profile == SIM_HOSTILE && see_holder(person, lock)) {
        query->owner = person->owner;
        return HFI_OP_BREAK;
    }
    query->list = hfi_list_new();
    if (dice == 1)
        return HFI_OP_INSPECT;
    query->text = sim_below(&person->random, 2) ? NULL : "*";
    return HFI_OP_LIST;
}

static void person_runs(void *arg)
{
    struct person *person = arg;
    struct sim *sim = person->sim;
    struct sim_process *process = person->ask.process;
    unsigned mine = sim->plan.locks / sim->plan.services;
    const struct sim_lock *lock =
        &sim->lock[process->service + sim->plan.services * sim_below(&person->random, mine)];
    hfi_time now;
    enum hfi_op op;

    if (process->life != SIM_LIFE_RUNNING) {
        person_rests(person);
        return;
    }
    if (!sim_process_enter(process, &person->timer, &now))
        return;
    op = choose_query(person, lock);
    if (op != HFI_OP_BREAK && !person->query.list)
        person_rests(person); /* no memory */
    else
        sim_query(&person->ask, now, op, &person->query);
    sim_process_leave(process);
}

void sim_others_crashed(struct sim_process *process)
{
    struct person *person = &process->sim->threads->others->person;

    if (person->ask.process != process || !person->ask.in_progress)
        return;
    sim_never(&process->sim->world, &person->ask.timer);
    person->ask.in_progress = false;
    answered(&person->ask);
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

void sim_others_init(struct sim *sim)
{
    struct sim_others *others = sim_alloc(sizeof *others);
    struct person *person = &others->person;

    sim->threads->others = others;
    for (unsigned i = 0; i < FOREIGNERS; i++) {
        struct foreigner *who = &others->foreigner[i];

        who->sim = sim;
        sim_random_init(&who->random, sim->plan.seed, 'o', i);
        sim_timer_init(&who->timer, foreigner_runs, who);
        who->done = !sim->plan.foreigners || sim->plan.library;
        if (!who->done)
            sim_after(&sim->world, &who->timer, sim_below(&who->random, sim->plan.window_ns));
    }
    person->sim = sim;
    sim_random_init(&person->random, sim->plan.seed, 'q', 0);
    sim_timer_init(&person->timer, person_runs, person);
    sim_ask_init(&sim->process[sim_below(&person->random, sim->plan.processes)], &person->ask,
                 answered, person);
    person->done = !sim->plan.people || sim->plan.library;
    if (!person->done)
        sim_after(&sim->world, &person->timer, sim_below(&person->random, sim->plan.window_ns));
}

void sim_others_fini(struct sim *sim)
{
    free(sim->threads->others);
}

/* They look at `draining` when they next have time: soon. */
void sim_others_stop(struct sim *sim)
{
    struct sim_others *others = sim->threads->others;

    for (unsigned i = 0; i < FOREIGNERS; i++)
        if (!others->foreigner[i].done)
            sim_after(&sim->world, &others->foreigner[i].timer, HFI_MSEC);
    if (!others->person.done && !others->person.ask.in_progress)
        person_rests(&others->person);
}

bool sim_others_are_done(const struct sim *sim)
{
    const struct sim_others *others = sim->threads->others;

    for (unsigned i = 0; i < FOREIGNERS; i++)
        if (!others->foreigner[i].done)
            return false;
    return others->person.done;
}
