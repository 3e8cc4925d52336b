/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What list and inspect gather (people.c) before they can fill a list (listing.c): what clients have announced
 * (gather.c), and what lies on the server (found.c). All names in here are mapped ones, as they are on the
 * server and in registries, which clients with other prefixes share; in the list they are the user's, without
 * the prefix.
 */
#ifndef HFI_REDIS_PEOPLE_H
#define HFI_REDIS_PEOPLE_H

#include "base/list.h"
#include "store/redis/redis.h"

enum hfi_job_step {
    HFI_JOB_CHANNELS, /* which clients listen */
    HFI_JOB_CLIENT,   /* what one of them has announced */
    HFI_JOB_SCAN,     /* more keys */
    HFI_JOB_TOPICS,   /* what is listened for */
    HFI_JOB_INSPECT,  /* are they locks? */
    HFI_JOB_NUMSUB,   /* how many listen for them */
    HFI_JOB_BREAK,
    HFI_JOB_TELL
};

/* What the keys are searched for, one after the other. */
enum hfi_job_scan { HFI_SCAN_LOCKS, HFI_SCAN_PERMITS, HFI_SCAN_OVER };

/* Ids of clients are UUIDs; what is much longer is none, and would not fit into a command. */
#define HFI_CLIENT_ID_MAX 64

/* Of how many holders, and of how many waiters, a server tells at most. */
#define HFI_TOLD_OF_ONE  4096 /* INSPECT */
#define HFI_TOLD_OF_MANY 64   /* LIST: of each lock */

/* A client, and who it says it is: host, user, program, pid. */
struct hfi_announcer {
    UT_hash_handle hh;
    struct hfi_announcer *next;
    bool asked;
    struct hf_holder who;
    char id[]; /* the first part of its owner ids */
};

/* One thing that a client has announced: a hold, or that it waits or listens. */
struct hfi_announced {
    struct hfi_announced *next;
    const struct hfi_announcer *client;
    bool hold;
    uint8_t kind;              /* enum hfi_kind */
    unsigned long long number; /* hold: the owner's; else: threads that wait */
    unsigned long long token;
    long long since_ms; /* by the server's clock */
    const char *label;
    size_t name_len;
    char text[]; /* the name, then the label */
};

enum hfi_found_kind {
    HFI_FOUND_MUTEX,
    HFI_FOUND_FAIR, /* somebody has a place in its queue */
    HFI_FOUND_READ,
    HFI_FOUND_WRITE,
    HFI_FOUND_PERMITS, /* some are taken */
    HFI_FOUND_NUMBER /* a semaphore, a latch, permits of which none is taken; perhaps none of these */
};

/* Who holds something, or has a place in its queue. */
struct hfi_person {
    char owner[HF_OWNER_MAX + 1]; /* of a permit: in hexadecimal */
    char permit[HFI_PERMIT_ID];   /* of a permit: its id */
    long long remaining_ms, count;
};

/* A lock, or what may be one, that was found. */
struct hfi_found {
    UT_hash_handle hh; /* by name; only when the list is filled, and the array no longer moves */
    struct hfi_found *next;
    size_t index; /* in the list */
    const struct hfi_text *name;
    uint8_t kind;       /* enum hfi_found_kind */
    bool foreign;       /* in the way of a lock of our layout */
    uint32_t announced; /* kinds that clients say it is of, a bit each */
    long long available, holders, waiting;
    long long listeners, latch_listeners;
    struct hfi_person *person; /* holders, then waiters in the order of the queue */
    size_t holder_count, person_count;
};

/* A name that is to be looked at, once. */
struct hfi_wanted {
    UT_hash_handle hh;
    char name[];
};

struct hfi_job {
    struct hfi_request request; /* first member */
    const struct hfi_redis *redis;
    struct hfi_query *query;
    enum hfi_job_step step;
    enum hfi_job_scan scan;
    struct hfi_announcer *client; /* in order, by next */
    struct hfi_announcer *client_by_id;
    struct hfi_announcer *client_at; /* whose registry is asked for */
    struct hfi_announced *announced;
    struct hfi_wanted *wanted;
    struct hfi_text **key;
    size_t key_count, key_room, key_at;
    struct hfi_found *found;
    size_t found_count, found_room, found_at;
    struct hfi_found *free_; /* names that are only waited for */
    struct hfi_found *found_by_name;
    long long server_ms; /* the server's clock */
    char cursor[24];
    bool topics_asked;
};

/* gather.c. Those that return a truth value: false when there is no memory. What cannot be an id is no client. */
void hfi_job_free(struct hfi_job *job);
bool hfi_job_add_client(struct hfi_job *job, const char *id, size_t len);
bool hfi_job_add_key(struct hfi_job *job, const char *name, size_t len);
/* The registry of the client whose turn it is. */
bool hfi_job_add_registry(struct hfi_job *job, const redisReply *reply);
/* Does the query ask for this name? Our registries are no names. */
bool hfi_job_wants(const struct hfi_job *job, const char *name, size_t len);
/* LIST: a name that is to be looked at, if it is wanted and was not added here before. */
bool hfi_job_add_wanted(struct hfi_job *job, const char *name, size_t len);
/* The names that a channel tells of; those whose permits are a key. */
bool hfi_job_add_topic(struct hfi_job *job, const char *channel, size_t len);
bool hfi_job_add_permits(struct hfi_job *job, const char *key, size_t len);
/* Room for one more in an array. */
bool hfi_job_grow(void **array, size_t count, size_t *room, size_t size);

/* found.c: what inspect.lua says of a name; what makes no sense is passed over. False: no memory. */
bool hfi_job_add_found(struct hfi_job *job, const struct hfi_text *name, const redisReply *row);
/* The channels whose listeners wait for it; there is room for two. */
size_t hfi_found_topics(const struct hfi_found *found, enum hfi_topic topics[2]);

/* listing.c: HF_OK; HF_ERR_NO_MEMORY; HF_ERR_NOT_FOUND when INSPECT has found nothing. */
int hfi_job_fill_list(struct hfi_job *job);

#endif
