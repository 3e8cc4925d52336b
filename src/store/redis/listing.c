/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what lies on the server, what clients have announced and how many listen to a list for people.
 *
 * A number alone may be a semaphore, a latch, or the number that permits share; nothing in it says which, and it
 * may be none of these. Asked for by name it is told as what clients say it is, or as what they listen for, and
 * else as a semaphore; in a list of many it is only there when somebody says or listens for something.
 */
#include <stdlib.h>
#include <string.h>

#include "store/redis/people.h"

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) ((element)->hh.tbl = NULL)

#define KIND(kind) (UINT32_C(1) << (kind))
#define NUMBERS    (KIND(HFI_KIND_SEMAPHORE) | KIND(HFI_KIND_LATCH) | KIND(HFI_KIND_PERMITS))

static long long age(const struct hfi_job *job, long long since_ms)
{
    return job->server_ms > since_ms ? job->server_ms - since_ms : 0;
}

/* "<client id>:<number>" */
static void owner_text(char *to, const char *client, uint64_t number)
{
    size_t n = strlen(client);

    if (n > HF_OWNER_MAX - 21)
        n = HF_OWNER_MAX - 21;
    memcpy(to, client, n);
    to[n++] = ':';
    n += hfi_decimal(to + n, number);
    to[n] = '\0';
}

/* ------------------------------------------------------------------------------------------------
 * What is found
 */

static bool is_latch(const struct hfi_found *found)
{
    if (found->announced & NUMBERS)
        return (found->announced & NUMBERS) == KIND(HFI_KIND_LATCH);
    return found->latch_listeners > 0 && found->listeners == 0;
}

/* As in struct hf_lock. */
static const char *kind_text(const struct hfi_found *found)
{
    static const char *const TEXTS[] = {
        [HFI_FOUND_MUTEX] = "mutex",     [HFI_FOUND_FAIR] = "fair",
        [HFI_FOUND_READ] = "read",       [HFI_FOUND_WRITE] = "write",
        [HFI_FOUND_PERMITS] = "permits", [HFI_FOUND_NUMBER] = "semaphore",
    };

    if (found->kind == HFI_FOUND_NUMBER && found->announced & KIND(HFI_KIND_PERMITS))
        return TEXTS[HFI_FOUND_PERMITS];
    return found->kind == HFI_FOUND_NUMBER && is_latch(found) ? "latch" : TEXTS[found->kind];
}

/* The queue of "L" is that of "{L}", too; both are asked for when it was found by its channel. */
static bool is_twin(const struct hfi_found *found)
{
    const struct hfi_text *name = found->name;

    return found->kind == HFI_FOUND_FAIR && found->holder_count == 0 && name->len > 2 &&
           name->bytes[0] == '{' && name->bytes[name->len - 1] == '}';
}

static bool is_evident(const struct hfi_job *job, const struct hfi_found *found)
{
    if (job->query->request.op == HFI_OP_LIST && is_twin(found))
        return false;
    return found->kind != HFI_FOUND_NUMBER || job->query->request.op == HFI_OP_INSPECT ||
           found->announced & NUMBERS || found->listeners > 0 || found->latch_listeners > 0;
}

/* One of ours whose client can be told from a permit's id; NULL: none that is known. */
static const struct hfi_announcer *permit_client(const struct hfi_job *job, const char *permit,
                                                 uint64_t *ret_owner)
{
    char id[HFI_PERMIT_ID_CLIENT + 1];
    const struct hfi_announcer *client;
    unsigned which;

    hfi_permit_id_parse(permit, id, ret_owner, &which);
    if (which >= HF_PERMITS_MAX)
        return NULL;
    LL_FOREACH (job->client, client) {
        if (strncmp(client->id, id, HFI_PERMIT_ID_CLIENT) == 0)
            return client;
    }
    return NULL;
}

static void set_person(const struct hfi_job *job, struct hf_holder *holder,
                       const struct hfi_person *person)
{
    const struct hfi_announcer *client;

    HASH_FIND(hh, job->client_by_id, person->owner, strcspn(person->owner, ":"), client);
    if (client)
        *holder = client->who;
    memcpy(holder->owner, person->owner, sizeof holder->owner);
    holder->remaining_ms = person->remaining_ms;
    holder->count = person->count;
}

/* The next holder of a lock that has so many by now; NULL: no memory. */
static struct hf_holder *next_holder(struct hfi_list_lock *lock, size_t count)
{
    return count == 0 ? &lock->holder : hfi_list_add_holder(lock);
}

/* Permits of one owner are one hold; they stand side by side. */
static bool list_permits(const struct hfi_job *job, const struct hfi_found *found,
                         struct hfi_list_lock *lock)
{
    struct hf_holder *holder = NULL;
    size_t count = 0;

    for (size_t i = 0; i < found->holder_count; i++) {
        const struct hfi_person *person = &found->person[i];
        uint64_t owner = 0;
        const struct hfi_announcer *client = permit_client(job, person->permit, &owner);

        if (client && i > 0 && holder &&
            memcmp(person->permit, person[-1].permit, HFI_PERMIT_ID_OWNER) == 0) {
            holder->count++;
            lock->holders--;
            continue;
        }
        holder = next_holder(lock, count++);
        if (!holder)
            return false;
        set_person(job, holder, person);
        if (!client)
            continue;
        *holder = client->who;
        owner_text(holder->owner, client->id, owner);
        holder->remaining_ms = person->remaining_ms;
        holder->count = 1;
    }
    return true;
}

static bool list_persons(const struct hfi_job *job, const struct hfi_found *found,
                         struct hfi_list_lock *lock)
{
    struct hf_holder *holder;

    for (size_t i = 0; i < found->person_count; i++) {
        bool holds = i < found->holder_count;

        if (holds && found->kind == HFI_FOUND_PERMITS)
            continue;
        holder = holds ? next_holder(lock, i) : hfi_list_add_waiter(lock);
        if (!holder)
            return false;
        set_person(job, holder, &found->person[i]);
    }
    return found->kind != HFI_FOUND_PERMITS || list_permits(job, found, lock);
}

static bool add_to_map(struct hfi_job *job, struct hfi_found *found)
{
    HASH_ADD_KEYPTR(hh, job->found_by_name, found->name->bytes, found->name->len, found);
    return found->hh.tbl != NULL;
}

/* The lock as far as its keys tell. */
static bool list_found(struct hfi_job *job, struct hfi_found *found)
{
    size_t head = job->redis->prefix_len;
    struct hfi_list_lock *lock =
        hfi_list_add(job->query->list, found->name->bytes + head, found->name->len - head);

    if (!lock)
        return false;
    found->index = job->query->list->count - 1;
    lock->state = found->foreign            ? HFI_LOCK_FOREIGN
                  : found->holder_count > 0 ? HFI_LOCK_HELD
                                            : HFI_LOCK_FREE;
    lock->kind = kind_text(found);
    lock->holders = found->holders;
    lock->available = is_latch(found) && found->available < 0 ? 0 : found->available;
    /* Less those of clients that say what they listen for. */
    lock->waiters = found->waiting + (is_latch(found) ? found->latch_listeners : found->listeners);
    return list_persons(job, found, lock);
}

/* ------------------------------------------------------------------------------------------------
 * What is announced
 */

/* A name that nobody holds but somebody waits for. */
static struct hfi_found *list_free(struct hfi_job *job, const struct hfi_announced *entry)
{
    static const uint8_t KINDS[HFI_KIND_COUNT] = {
        [HFI_KIND_WRITE] = HFI_FOUND_WRITE,    [HFI_KIND_READ] = HFI_FOUND_READ,
        [HFI_KIND_PERMITS] = HFI_FOUND_NUMBER, [HFI_KIND_SEMAPHORE] = HFI_FOUND_NUMBER,
        [HFI_KIND_LATCH] = HFI_FOUND_NUMBER,
    };
    struct hfi_found *found;

    if (!hfi_job_add_key(job, entry->text, entry->name_len))
        return NULL;
    found = calloc(1, sizeof *found);
    if (!found)
        return NULL;
    found->name = job->key[job->key_count - 1];
    found->kind = KINDS[entry->kind];
    found->announced = KIND(entry->kind);
    found->available = found->kind == HFI_FOUND_NUMBER ? 0 : -1;
    LL_PREPEND(job->free_, found);
    return add_to_map(job, found) && list_found(job, found) ? found : NULL;
}

static void tell_hold(struct hfi_job *job, const struct hfi_announced *entry,
                      const struct hfi_found *found)
{
    struct hfi_list_lock *lock = &job->query->list->lock[found->index];
    char owner[HF_OWNER_MAX + 1];

    owner_text(owner, entry->client->id, entry->number);
    for (size_t i = 0; i <= lock->other_count; i++) {
        struct hf_holder *holder = i == 0 ? &lock->holder : &lock->other[i - 1];

        if (strcmp(owner, holder->owner) != 0)
            continue; /* or an older hold of that client's */
        holder->token = entry->token;
        holder->age_ms = age(job, entry->since_ms);
        hfi_holder_text(holder->label, sizeof holder->label, entry->label, strlen(entry->label));
        if (entry->kind == HFI_KIND_FAIR && found->kind == HFI_FOUND_MUTEX)
            lock->kind = "fair";
        return;
    }
}

/* Since when it waits, if there is only one of that client in the queue; which one it is, is not said. */
static void tell_queued(struct hfi_job *job, const struct hfi_announced *entry,
                        const struct hfi_found *found)
{
    struct hfi_list_lock *lock = &job->query->list->lock[found->index];
    size_t queued = found->person_count - found->holder_count, len = strlen(entry->client->id);
    struct hf_holder *only = NULL;

    for (size_t i = 0; i < queued; i++) {
        struct hf_holder *waiter = &lock->waiter[i];

        if (strncmp(waiter->owner, entry->client->id, len) != 0 || waiter->owner[len] != ':')
            continue;
        if (only)
            return;
        only = waiter;
    }
    if (only)
        only->age_ms = age(job, entry->since_ms);
}

static bool tell_wait(struct hfi_job *job, const struct hfi_announced *entry,
                      const struct hfi_found *found)
{
    struct hfi_list_lock *lock = &job->query->list->lock[found->index];
    struct hf_holder *waiter;

    if (entry->kind == HFI_KIND_FAIR) {
        tell_queued(job, entry, found);
        return true;
    }

    if (entry->number == 0) { /* it only listens */
        lock->waiters -= lock->waiters > 0;
        return true;
    }
    if ((found->listeners == 0 && found->latch_listeners == 0) || entry->kind == HFI_KIND_SPIN)
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

static struct hfi_found *find(const struct hfi_job *job, const char *name, size_t len)
{
    struct hfi_found *found;

    HASH_FIND(hh, job->found_by_name, name, len, found);
    return found;
}

static bool tell(struct hfi_job *job, const struct hfi_announced *entry)
{
    struct hfi_found *found = find(job, entry->text, entry->name_len);

    if (!found && !entry->hold && entry->number > 0 && entry->kind != HFI_KIND_FAIR &&
        hfi_job_wants(job, entry->text, entry->name_len)) {
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

/* ------------------------------------------------------------------------------------------------
 * The list
 */

static int by_age(const void *a, const void *b)
{
    const struct hf_holder *x = a, *y = b;

    return x->age_ms == y->age_ms ? strcmp(x->owner, y->owner) : x->age_ms < y->age_ms ? 1 : -1;
}

/* Those with a place in the queue are in order, and before the others. */
static void sort_waiters(struct hfi_job *job)
{
    struct hfi_found *found, *tmp;

    HASH_ITER (hh, job->found_by_name, found, tmp) {
        struct hfi_list_lock *lock = &job->query->list->lock[found->index];
        size_t queued = found->person_count - found->holder_count;

        if (lock->waiter_count > queued + 1)
            qsort(lock->waiter + queued, lock->waiter_count - queued, sizeof *lock->waiter, by_age);
    }
}

/* What was found, each name once, though a scan may have seen it twice; and what is said about it. */
static bool map_found(struct hfi_job *job)
{
    const struct hfi_announced *entry;
    struct hfi_found *found;

    for (size_t i = 0; i < job->found_count; i++) {
        found = &job->found[i];
        if (!find(job, found->name->bytes, found->name->len) && !add_to_map(job, found))
            return false;
    }
    LL_FOREACH (job->announced, entry) {
        found = find(job, entry->text, entry->name_len);
        if (found)
            found->announced |= KIND(entry->kind);
    }
    return true;
}

static bool list_all(struct hfi_job *job)
{
    struct hfi_found *found, *tmp;

    HASH_ITER (hh, job->found_by_name, found, tmp) {
        if (!is_evident(job, found))
            HASH_DEL(job->found_by_name, found);
        else if (!list_found(job, found))
            return false;
    }
    return true;
}

int hfi_job_fill_list(struct hfi_job *job)
{
    const struct hf_list *list = job->query->list;
    const struct hfi_announced *entry;

    if (!map_found(job) || !list_all(job))
        return HF_ERR_NO_MEMORY;
    LL_FOREACH (job->announced, entry) {
        if (!tell(job, entry))
            return HF_ERR_NO_MEMORY;
    }
    sort_waiters(job);
    return list->count == 0 && job->query->request.op == HFI_OP_INSPECT ? HF_ERR_NOT_FOUND : HF_OK;
}
