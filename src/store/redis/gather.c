/* SPDX-License-Identifier: Apache-2.0 */
/* What list and inspect gather: clients, what they have announced, and names that are to be looked at. */
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
    struct hfi_wanted *wanted, *next_wanted;

    HASH_CLEAR(hh, job->client_by_id);
    HASH_CLEAR(hh, job->found_by_name);
    HASH_ITER (hh, job->wanted, wanted, next_wanted) {
        HASH_DEL(job->wanted, wanted);
        free(wanted);
    }
    for (size_t i = 0; i < job->found_count; i++)
        free(job->found[i].person);
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

bool hfi_job_grow(void **array, size_t count, size_t *room, size_t size)
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

    if (!hfi_job_grow(&array, job->key_count, &job->key_room, sizeof *job->key))
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

/* ------------------------------------------------------------------------------------------------
 * Names that are to be looked at
 */

bool hfi_job_wants(const struct hfi_job *job, const char *name, size_t len)
{
    static const size_t HEAD = sizeof HFI_CLIENT_PREFIX - 1;
    const char *text = job->query->text, *unmapped = hfi_redis_unmap(job->redis, name, len);

    if (!unmapped || strlen(name) != len || strncmp(name, HFI_CLIENT_PREFIX, HEAD) == 0)
        return false;
    if (job->query->request.op == HFI_OP_INSPECT)
        return strcmp(unmapped, text) == 0;
    return !text || hfi_glob_match(text, unmapped);
}

bool hfi_job_add_wanted(struct hfi_job *job, const char *name, size_t len)
{
    char text[HFI_MAPPED_MAX + 1];
    struct hfi_wanted *wanted;

    if (job->query->request.op != HFI_OP_LIST || len > HFI_MAPPED_MAX)
        return true;
    memcpy(text, name, len);
    text[len] = '\0';
    HASH_FIND(hh, job->wanted, text, len, wanted);
    if (wanted || !hfi_job_wants(job, text, len))
        return true;
    wanted = malloc(sizeof *wanted + len);
    if (!wanted)
        return false;
    memcpy(wanted->name, name, len);
    HASH_ADD_KEYPTR(hh, job->wanted, wanted->name, len, wanted);
    if (wanted->hh.tbl == NULL) {
        free(wanted);
        return false;
    }
    return hfi_job_add_key(job, name, len);
}

/* What Redisson has put a name into: "{<name>}", or the name as it is if that has a brace; so both can be
 * meant. */
static bool add_tagged(struct hfi_job *job, const char *text, size_t len)
{
    if (!memchr(text, '{', len))
        return true;
    if (len > 2 && text[0] == '{' && text[len - 1] == '}' && !memchr(text + 1, '{', len - 1) &&
        !hfi_job_add_wanted(job, text + 1, len - 2))
        return false;
    return hfi_job_add_wanted(job, text, len);
}

/* Without ":<uuid>:<number>" at its end, which the channel of a turn has; the same length: it has not. */
static size_t without_owner(const char *text, size_t len)
{
    size_t n = len;

    while (n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9')
        n--;
    if (n == len || n < 38 || text[n - 1] != ':' || text[n - 38] != ':')
        return len;
    for (size_t i = n - 37; i < n - 1; i++)
        if (!strchr("0123456789abcdef-", text[i]) || !text[i])
            return len;
    return n - 38;
}

bool hfi_job_add_topic(struct hfi_job *job, const char *channel, size_t len)
{
    static const char PERMITS[] = "redisson_sc:", LATCH[] = "redisson_countdownlatch__channel__{",
                      LOCK[] = "redisson_lock__channel:";
    size_t head = sizeof LOCK - 1;

    if (len > sizeof PERMITS && memcmp(channel, PERMITS, sizeof PERMITS - 1) == 0)
        return add_tagged(job, channel + sizeof PERMITS - 1, len - sizeof PERMITS + 1);
    if (len > sizeof LATCH && memcmp(channel, LATCH, sizeof LATCH - 1) == 0)
        return hfi_job_add_wanted(job, channel + sizeof LATCH - 1, len - sizeof LATCH);
    if (len <= head || memcmp(channel, LOCK, head) != 0 || without_owner(channel, len) == len)
        return true;
    return add_tagged(job, channel + head, without_owner(channel, len) - head);
}

bool hfi_job_add_permits(struct hfi_job *job, const char *key, size_t len)
{
    static const char TAIL[] = ":timeout";
    size_t tail = sizeof TAIL - 1;

    if (len <= tail || memcmp(key + len - tail, TAIL, tail) != 0)
        return true;
    return add_tagged(job, key, len - tail);
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

/* What a field of a registry is about. */
struct about {
    const char *name;
    size_t name_len;
    enum hfi_kind kind;
    bool hold;
};

/* Keys of these kinds are not searched for by their type. */
static bool is_number(enum hfi_kind kind)
{
    return kind == HFI_KIND_PERMITS || kind == HFI_KIND_SEMAPHORE || kind == HFI_KIND_LATCH;
}

static bool add_announced(struct hfi_job *job, const struct about *about, const redisReply *value)
{
    size_t name_len = about->name_len;
    struct hfi_announced *entry = calloc(1, sizeof *entry + name_len + (size_t)value->len + 2);
    const char *at = value->str;
    bool hold = about->hold;

    if (!entry)
        return false;
    entry->client = job->client_at;
    entry->hold = hold;
    entry->kind = (uint8_t)about->kind;
    entry->number = (unsigned long long)next_number(&at);
    entry->token = hold ? (unsigned long long)next_number(&at) : 0;
    entry->since_ms = next_number(&at);
    entry->name_len = name_len;
    memcpy(entry->text, about->name, name_len);
    entry->label = entry->text + name_len + 1;
    if (hold)
        memcpy(entry->text + name_len + 1, at, strlen(at) + 1);
    LL_PREPEND(job->announced, entry);
    return !is_number(about->kind) || hfi_job_add_wanted(job, about->name, name_len);
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

/* "/<kind>" or "/<kind>/<number>", up to the colon; a mutex has none. False: no kind that we know. */
static bool read_kind(const char *at, size_t len, enum hfi_kind *ret_kind)
{
    *ret_kind = HFI_KIND_MUTEX;
    if (len == 0)
        return true;
    for (unsigned kind = HFI_KIND_MUTEX + 1; kind < HFI_KIND_COUNT; kind++) {
        const char *word = hfi_redis_kind_word((enum hfi_kind)kind);
        size_t n = strlen(word);

        if (len <= n || memcmp(at + 1, word, n) != 0 || (len > n + 1 && at[n + 1] != '/'))
            continue;
        *ret_kind = (enum hfi_kind)kind;
        return true;
    }
    return false;
}

/* "hold<kind>:<name>" or "wait<kind>:<name>", of locks of our layout. */
static bool is_announced(const struct hfi_job *job, const redisReply *field, struct about *about)
{
    const char *word = job->redis->uri.layout == HFI_LAYOUT_STRING ? HFI_STRING_FIELDS : "";
    const char *end = field->str + field->len, *at = field->str, *colon;

    if (strncmp(at, word, strlen(word)) != 0)
        return false;
    at += strlen(word);
    about->hold = strncmp(at, "hold", 4) == 0;
    if (!about->hold && strncmp(at, "wait", 4) != 0)
        return false;
    at += 4;
    colon = *at == ':' || *at == '/' ? memchr(at, ':', (size_t)(end - at)) : NULL;
    if (!colon || colon + 1 == end || !read_kind(at, (size_t)(colon - at), &about->kind))
        return false;
    about->name = colon + 1;
    about->name_len = (size_t)(end - about->name);
    return true;
}

bool hfi_job_add_registry(struct hfi_job *job, const redisReply *reply)
{
    job->client_at->asked = true;
    if (reply->type != REDIS_REPLY_ARRAY)
        return true;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *field = reply->element[i], *value = reply->element[i + 1];
        struct about about;

        if (field->type != REDIS_REPLY_STRING || value->type != REDIS_REPLY_STRING)
            continue;
        if (!is_announced(job, field, &about))
            set_identity(&job->client_at->who, field->str, value);
        else if (!add_announced(job, &about, value))
            return false;
    }
    return true;
}
