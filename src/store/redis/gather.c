/* SPDX-License-Identifier: Apache-2.0 */
/* From keys, registries and counts of listeners to a list for people. */
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "store/redis/people.h"

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) ((element)->hh.tbl = NULL)

void hfi_job_free(struct hfi_job *job)
{
    struct hfi_announcer *client, *next_client;
    struct hfi_announced *announced, *next;
    struct hfi_found *found, *next_found;

    HASH_CLEAR(hh, job->client_by_id);
    HASH_CLEAR(hh, job->found_by_name);
    LL_FOREACH_SAFE (job->free_, found, next_found) {
        free(found);
    }
    LL_FOREACH_SAFE (job->client, client, next_client) {
        free(client);
    }
    LL_FOREACH_SAFE (job->announced, announced, next) {
        free(announced);
    }
    for (size_t i = 0; i < job->key_count; i++)
        free(job->key[i]);
    free(job->key);
    free(job->found);
    free(job);
}

bool hfi_job_add_client(struct hfi_job *job, const char *id, size_t len)
{
    struct hfi_announcer *client;

    if (len == 0 || len > HFI_CLIENT_ID_MAX)
        return true;
    HASH_FIND(hh, job->client_by_id, id, len, client);
    if (client)
        return true;
    client = calloc(1, sizeof *client + len + 1);
    if (!client)
        return false;
    memcpy(client->id, id, len);
    hfi_holder_init(&client->who);
    LL_APPEND(job->client, client);
    HASH_ADD_KEYPTR(hh, job->client_by_id, client->id, len, client);
    return client->hh.tbl != NULL;
}

/* Room for one more in an array. */
static bool grow(void **array, size_t count, size_t *room, size_t size)
{
    size_t more = *room ? *room * 2 : 64;
    void *moved;

    if (count < *room)
        return true;
    moved = realloc(*array, more * size);
    if (!moved)
        return false;
    *array = moved;
    *room = more;
    return true;
}

bool hfi_job_add_key(struct hfi_job *job, const char *name, size_t len)
{
    struct hfi_text *text;
    void *array = job->key;

    if (!grow(&array, job->key_count, &job->key_room, sizeof *job->key))
        return false;
    job->key = array;
    text = malloc(sizeof *text + len);
    if (!text)
        return false;
    text->len = len;
    memcpy(text->bytes, name, len);
    job->key[job->key_count++] = text;
    return true;
}

bool hfi_job_add_found(struct hfi_job *job, const struct hfi_text *name, long long remaining_ms,
                       const char *owner, const char *count)
{
    struct hfi_found *found;
    void *array = job->found;

    if (!grow(&array, job->found_count, &job->found_room, sizeof *job->found))
        return false;
    job->found = array;
    found = &job->found[job->found_count++];
    memset(found, 0, sizeof *found);
    found->name = name;
    found->remaining_ms = remaining_ms;
    found->foreign = strcmp(owner, "mode") == 0;
    found->count = found->foreign ? -1 : strtoll(count, NULL, 10);
    if (found->foreign)
        return true;
    hfi_holder_text(found->owner, sizeof found->owner, owner, strlen(owner));
    return hfi_job_add_client(job, owner, strcspn(owner, ":"));
}

/* ------------------------------------------------------------------------------------------------
 * Registries
 */

/* "<a> <b> …": the next number of a value, and moves behind it. */
static long long next_number(const char **at)
{
    char *end;
    long long number = strtoll(*at, &end, 10);

    *at = *end == ' ' ? end + 1 : end;
    return number;
}

static bool add_announced(struct hfi_job *job, const char *name, size_t name_len,
                          const redisReply *value, bool hold)
{
    struct hfi_announced *entry = calloc(1, sizeof *entry + name_len + (size_t)value->len + 2);
    const char *at = value->str;

    if (!entry)
        return false;
    entry->client = job->client_at;
    entry->hold = hold;
    entry->number = (unsigned long long)next_number(&at);
    entry->token = hold ? (unsigned long long)next_number(&at) : 0;
    entry->since_ms = next_number(&at);
    entry->name_len = name_len;
    memcpy(entry->text, name, name_len);
    entry->label = entry->text + name_len + 1;
    if (hold)
        memcpy(entry->text + name_len + 1, at, strlen(at) + 1);
    LL_PREPEND(job->announced, entry);
    return true;
}

static void set_identity(struct hf_holder *who, const char *field, const redisReply *value)
{
    size_t len = (size_t)value->len;

    if (strcmp(field, "host") == 0)
        hfi_holder_text(who->host, sizeof who->host, value->str, len);
    else if (strcmp(field, "user") == 0)
        hfi_holder_text(who->user, sizeof who->user, value->str, len);
    else if (strcmp(field, "program") == 0)
        hfi_holder_text(who->program, sizeof who->program, value->str, len);
    else if (strcmp(field, "pid") == 0)
        who->pid = strtoll(value->str, NULL, 10);
}

/* "hold:<name>" or "wait:<name>", of locks of our layout: the length of what precedes the name; else 0. */
static size_t announced_head(const struct hfi_job *job, const redisReply *field, bool *ret_hold)
{
    const char *word = job->redis->uri.layout == HFI_LAYOUT_STRING ? HFI_STRING_FIELDS : "";
    size_t n = strlen(word);

    if (strncmp(field->str, word, n) != 0)
        return 0;
    *ret_hold = strncmp(field->str + n, "hold:", 5) == 0;
    if (!*ret_hold && strncmp(field->str + n, "wait:", 5) != 0)
        return 0;
    return (size_t)field->len > n + 5 ? n + 5 : 0;
}

bool hfi_job_add_registry(struct hfi_job *job, const redisReply *reply)
{
    job->client_at->asked = true;
    if (reply->type != REDIS_REPLY_ARRAY)
        return true;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *field = reply->element[i], *value = reply->element[i + 1];
        size_t head;
        bool hold;

        if (field->type != REDIS_REPLY_STRING || value->type != REDIS_REPLY_STRING)
            continue;
        head = announced_head(job, field, &hold);
        if (head == 0)
            set_identity(&job->client_at->who, field->str, value);
        else if (!add_announced(job, field->str + head, (size_t)field->len - head, value, hold))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * The list
 */

static long long age(const struct hfi_job *job, long long since_ms)
{
    return job->server_ms > since_ms ? job->server_ms - since_ms : 0;
}

/* "<client id>:<number>" */
static void owner_text(char *to, const struct hfi_announced *entry)
{
    size_t n = strlen(entry->client->id);

    if (n > HF_OWNER_MAX - 21)
        n = HF_OWNER_MAX - 21;
    memcpy(to, entry->client->id, n);
    to[n++] = ':';
    n += hfi_decimal(to + n, entry->number);
    to[n] = '\0';
}

/* The lock as far as its key tells. */
static bool list_found(struct hfi_job *job, struct hfi_found *found)
{
    size_t head = job->redis->prefix_len;
    struct hfi_list_lock *lock =
        hfi_list_add(job->query->list, found->name->bytes + head, found->name->len - head);
    const struct hfi_announcer *client;

    if (!lock)
        return false;
    lock->state = found->foreign ? HFI_LOCK_FOREIGN : HFI_LOCK_HELD;
    lock->waiters = found->listeners; /* less those of clients that say what they listen for */
    HASH_FIND(hh, job->client_by_id, found->owner, strcspn(found->owner, ":"), client);
    if (client)
        lock->holder = client->who;
    memcpy(lock->holder.owner, found->owner, sizeof lock->holder.owner);
    lock->holder.remaining_ms = found->remaining_ms;
    lock->holder.count = found->count;
    found->index = job->query->list->count - 1;
    HASH_ADD_KEYPTR(hh, job->found_by_name, found->name->bytes, found->name->len, found);
    return found->hh.tbl != NULL;
}

/* A name that nobody holds but somebody waits for. */
static struct hfi_found *list_free(struct hfi_job *job, const struct hfi_announced *entry)
{
    struct hfi_found *found;
    struct hfi_text *name;

    if (!hfi_job_add_key(job, entry->text, entry->name_len))
        return NULL;
    name = job->key[job->key_count - 1];
    found = calloc(1, sizeof *found);
    if (!found)
        return NULL;
    found->name = name;
    LL_PREPEND(job->free_, found);
    if (!list_found(job, found))
        return NULL;
    job->query->list->lock[found->index].state = HFI_LOCK_FREE;
    job->query->list->lock[found->index].holder.remaining_ms = -1;
    job->query->list->lock[found->index].holder.count = -1;
    return found;
}

static void tell_hold(struct hfi_job *job, const struct hfi_announced *entry,
                      const struct hfi_found *found)
{
    struct hf_holder *holder = &job->query->list->lock[found->index].holder;
    char owner[HF_OWNER_MAX + 1];

    owner_text(owner, entry);
    if (strcmp(owner, found->owner) != 0)
        return; /* an older hold of that client's */
    holder->token = entry->token;
    holder->age_ms = age(job, entry->since_ms);
    hfi_holder_text(holder->label, sizeof holder->label, entry->label, strlen(entry->label));
}

static bool tell_wait(struct hfi_job *job, const struct hfi_announced *entry,
                      const struct hfi_found *found)
{
    struct hfi_list_lock *lock = &job->query->list->lock[found->index];
    struct hf_holder *waiter;

    if (entry->number == 0) { /* it only listens */
        lock->waiters -= lock->waiters > 0;
        return true;
    }
    if (found->listeners == 0)
        lock->waiters++;
    waiter = hfi_list_add_waiter(lock);
    if (!waiter)
        return false;
    *waiter = entry->client->who;
    hfi_holder_text(waiter->owner, sizeof waiter->owner, entry->client->id,
                    strlen(entry->client->id));
    waiter->age_ms = age(job, entry->since_ms);
    waiter->count = (int64_t)entry->number;
    return true;
}

/* Does the query ask for the name of this entry? */
static bool is_wanted(const struct hfi_job *job, const struct hfi_announced *entry)
{
    const char *text = job->query->text;
    const char *name = hfi_redis_unmap(job->redis, entry->text, entry->name_len);

    if (!name)
        return false;
    if (job->query->request.op == HFI_OP_INSPECT)
        return strcmp(name, text) == 0;
    return !text || hfi_glob_match(text, name);
}

static bool tell(struct hfi_job *job, const struct hfi_announced *entry)
{
    struct hfi_found *found;

    HASH_FIND(hh, job->found_by_name, entry->text, entry->name_len, found);
    if (!found && !entry->hold && entry->number > 0 && is_wanted(job, entry)) {
        found = list_free(job, entry);
        if (!found)
            return false;
    }
    if (!found)
        return true;
    if (!entry->hold)
        return tell_wait(job, entry, found);
    tell_hold(job, entry, found);
    return true;
}

static int by_age(const void *a, const void *b)
{
    const struct hf_holder *x = a, *y = b;

    return x->age_ms == y->age_ms ? strcmp(x->owner, y->owner) : x->age_ms < y->age_ms ? 1 : -1;
}

/* A scan may have seen a key twice. */
static bool is_listed(const struct hfi_job *job, const struct hfi_text *name)
{
    const struct hfi_found *found;

    HASH_FIND(hh, job->found_by_name, name->bytes, name->len, found);
    return found != NULL;
}

int hfi_job_fill_list(struct hfi_job *job)
{
    struct hf_list *list = job->query->list;
    const struct hfi_announced *entry;

    for (size_t i = 0; i < job->found_count; i++)
        if (!is_listed(job, job->found[i].name) && !list_found(job, &job->found[i]))
            return HF_ERR_NO_MEMORY;
    LL_FOREACH (job->announced, entry) {
        if (!tell(job, entry))
            return HF_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->lock[i].waiter_count < 2)
            continue; /* without any there is no array */
        qsort(list->lock[i].waiter, list->lock[i].waiter_count, sizeof(struct hf_holder), by_age);
    }
    return list->count == 0 && job->query->request.op == HFI_OP_INSPECT ? HF_ERR_NOT_FOUND : HF_OK;
}
