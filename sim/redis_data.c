/* SPDX-License-Identifier: Apache-2.0 */
/* Keys. Each change is written down before it is made, so that a server can lose the last of them. */
#include "redis.h"

#include <stdlib.h>
#include <string.h>

#define UNDO_ROOM (sizeof((struct sim_redis *)0)->undo / sizeof(struct sim_touch))

/* ------------------------------------------------------------------------------------------------
 * One key
 */

static struct sim_key *new_key(const char *name, size_t len, enum sim_redis_type type)
{
    struct sim_key *key = sim_alloc(sizeof *key + len + 1);

    key->type = type;
    key->expires_ms = -1;
    key->len = len;
    memcpy(key->name, name, len);
    return key;
}

void sim_key_free(struct sim_key *key)
{
    if (!key)
        return;
    for (size_t i = 0; i < key->fields; i++) {
        free(key->field[i].name);
        free(key->field[i].value);
    }
    free(key->field);
    free(key->value);
    free(key);
}

void sim_key_set(struct sim_key *key, const char *bytes, size_t len)
{
    char *value = sim_copy(bytes, len);

    free(key->value);
    key->value = value;
    key->value_len = len;
}

struct sim_field *sim_key_field(const struct sim_key *key, const char *name, size_t len)
{
    for (size_t i = 0; i < key->fields; i++)
        if (key->field[i].name_len == len && memcmp(key->field[i].name, name, len) == 0)
            return &key->field[i];
    return NULL;
}

void sim_key_insert(struct sim_key *key, size_t at, const char *name, size_t name_len,
                    const char *value, size_t value_len)
{
    if (key->fields == key->room) {
        key->room = key->room ? key->room * 2 : 4;
        key->field = sim_grow(key->field, key->room * sizeof *key->field);
    }
    memmove(&key->field[at + 1], &key->field[at], (key->fields - at) * sizeof *key->field);
    key->field[at] = (struct sim_field){ .name = sim_copy(name, name_len),
                                         .name_len = name_len,
                                         .value = sim_copy(value, value_len),
                                         .value_len = value_len };
    key->fields++;
}

bool sim_key_put(struct sim_key *key, const char *name, size_t name_len, const char *value,
                 size_t value_len)
{
    struct sim_field *field = sim_key_field(key, name, name_len);

    if (!field) {
        sim_key_insert(key, key->fields, name, name_len, value, value_len);
        return true;
    }
    free(field->value);
    field->value = sim_copy(value, value_len);
    field->value_len = value_len;
    return false;
}

void sim_key_drop(struct sim_key *key, struct sim_field *field)
{
    size_t after = key->fields - (size_t)(field + 1 - key->field);

    free(field->name);
    free(field->value);
    memmove(field, field + 1, after * sizeof *field);
    key->fields--;
}

struct sim_key *sim_key_copy(const struct sim_key *key)
{
    struct sim_key *copy;

    if (!key)
        return NULL;
    copy = new_key(key->name, key->len, key->type);
    copy->expires_ms = key->expires_ms;
    if (key->type == SIM_REDIS_STRING)
        sim_key_set(copy, key->value, key->value_len);
    for (size_t i = 0; i < key->fields; i++)
        sim_key_insert(copy, i, key->field[i].name, key->field[i].name_len, key->field[i].value,
                       key->field[i].value_len);
    return copy;
}

/* ------------------------------------------------------------------------------------------------
 * The map
 */

static struct sim_key *look(struct sim_redis *redis, unsigned db, const char *name, size_t len)
{
    struct sim_key *key;

    HASH_FIND(hh, redis->keys[db], name, len, key);
    return key;
}

static void add(struct sim_redis *redis, unsigned db, struct sim_key *key)
{
    HASH_ADD_KEYPTR(hh, redis->keys[db], key->name, key->len, key);
}

static void take_out(struct sim_redis *redis, unsigned db, struct sim_key *key)
{
    HASH_DELETE(hh, redis->keys[db], key);
    sim_key_free(key);
}

struct sim_key *sim_redis_find(struct sim_redis *redis, unsigned db, const char *name, size_t len)
{
    struct sim_key *key = look(redis, db, name, len);

    if (!key || key->expires_ms < 0 || redis->wall_us / 1000 <= key->expires_ms)
        return key;
    if (!redis->is_replica)
        take_out(redis, db, key);
    return NULL;
}

struct sim_key *sim_redis_make(struct sim_redis *redis, unsigned db, const char *name, size_t len,
                               enum sim_redis_type type)
{
    struct sim_key *key = new_key(name, len, type);

    add(redis, db, key);
    return key;
}

void sim_redis_remove(struct sim_redis *redis, unsigned db, struct sim_key *key)
{
    take_out(redis, db, key);
}

void sim_redis_replace(struct sim_redis *redis, unsigned db, const char *name, size_t len,
                       const struct sim_key *key)
{
    struct sim_key *old = look(redis, db, name, len);

    if (old)
        take_out(redis, db, old);
    if (key)
        add(redis, db, sim_key_copy(key));
}

/* ------------------------------------------------------------------------------------------------
 * What can be undone
 */

static struct sim_touch *touch_at(struct sim_redis *redis, size_t i)
{
    return &redis->undo[(redis->undo_first + i) % UNDO_ROOM];
}

static void free_touch(struct sim_touch *touch)
{
    free(touch->name);
    sim_key_free(touch->before);
    *touch = (struct sim_touch){ 0 };
}

static void forget_oldest(struct sim_redis *redis)
{
    free_touch(touch_at(redis, 0));
    redis->undo_first = (redis->undo_first + 1) % UNDO_ROOM;
    redis->undo_count--;
}

void sim_redis_touch(struct sim_redis *redis, unsigned db, const char *name, size_t len)
{
    struct sim_touch *touch;

    redis->wrote = true;
    for (size_t i = redis->undo_count - redis->touched; i < redis->undo_count; i++) {
        touch = touch_at(redis, i);
        if (touch->db == db && touch->len == len && memcmp(touch->name, name, len) == 0)
            return;
    }
    if (redis->undo_count == UNDO_ROOM)
        forget_oldest(redis);
    touch = touch_at(redis, redis->undo_count++);
    redis->touched++;
    *touch = (struct sim_touch){ .command = redis->command,
                                 .db = db,
                                 .name = sim_copy(name, len),
                                 .len = len,
                                 .before = sim_key_copy(sim_redis_find(redis, db, name, len)) };
}

void sim_redis_commit(struct sim_redis *redis, struct sim_conn *conn)
{
    size_t touched = redis->touched;

    redis->touched = 0;
    if (!redis->hooks.changed)
        return;
    for (size_t i = redis->undo_count - touched; i < redis->undo_count; i++) {
        const struct sim_touch *touch = touch_at(redis, i);

        redis->hooks.changed(redis->hooks.arg, conn, touch->db, touch->before,
                             look(redis, touch->db, touch->name, touch->len));
    }
}

void sim_redis_undo(struct sim_redis *redis, size_t commands)
{
    while (commands > 0 && redis->undo_count > 0) {
        struct sim_touch *touch = touch_at(redis, redis->undo_count - 1);
        uint64_t command = touch->command;

        sim_redis_replace(redis, touch->db, touch->name, touch->len, touch->before);
        free_touch(touch);
        redis->undo_count--;
        if (redis->undo_count == 0 || touch_at(redis, redis->undo_count - 1)->command != command)
            commands--;
    }
}

void sim_redis_clear(struct sim_redis *redis)
{
    for (unsigned db = 0; db < SIM_REDIS_DBS; db++) {
        struct sim_key *key, *next;

        HASH_ITER (hh, redis->keys[db], key, next) {
            take_out(redis, db, key);
        }
    }
    while (redis->undo_count > 0)
        forget_oldest(redis);
    redis->touched = 0;
}
