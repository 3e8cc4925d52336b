/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What list and inspect gather (people.c) before they can fill a list (gather.c). All names in here are
 * mapped ones, as they are on the server and in registries, which clients with other prefixes share; in the
 * list they are the user's, without the prefix.
 */
#ifndef HFI_REDIS_PEOPLE_H
#define HFI_REDIS_PEOPLE_H

#include "base/list.h"
#include "store/redis/redis.h"

enum hfi_job_step {
    HFI_JOB_CHANNELS, /* which clients listen */
    HFI_JOB_CLIENT,   /* what one of them has announced */
    HFI_JOB_SCAN,     /* more keys */
    HFI_JOB_INSPECT,  /* are they locks? */
    HFI_JOB_NUMSUB,   /* how many listen for them */
    HFI_JOB_BREAK,
    HFI_JOB_TELL
};

/* Ids of clients are UUIDs; what is much longer is none, and would not fit into a command. */
#define HFI_CLIENT_ID_MAX 64

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
    unsigned long long number; /* hold: the owner's; else: threads that wait */
    unsigned long long token;
    long long since_ms; /* by the server's clock */
    const char *label;
    size_t name_len;
    char text[]; /* the name, then the label */
};

/* A lock that was found. */
struct hfi_found {
    UT_hash_handle hh; /* by name; only when the list is filled, and the array no longer moves */
    struct hfi_found *next;
    size_t index; /* in the list */
    const struct hfi_text *name;
    long long remaining_ms, listeners, count;
    bool foreign; /* a read-write lock */
    char owner[HF_OWNER_MAX + 1];
};

struct hfi_job {
    struct hfi_request request; /* first member */
    const struct hfi_redis *redis;
    struct hfi_query *query;
    enum hfi_job_step step;
    struct hfi_announcer *client; /* in order, by next */
    struct hfi_announcer *client_by_id;
    struct hfi_announcer *client_at; /* whose registry is asked for */
    struct hfi_announced *announced;
    struct hfi_text **key;
    size_t key_count, key_room, key_at;
    struct hfi_found *found;
    size_t found_count, found_room, found_at;
    struct hfi_found *free_; /* names that are only waited for */
    struct hfi_found *found_by_name;
    long long server_ms; /* the server's clock */
    char cursor[24];
    bool scanned;
};

void hfi_job_free(struct hfi_job *job);
/* These: false when there is no memory. What cannot be an id is no client. */
bool hfi_job_add_client(struct hfi_job *job, const char *id, size_t len);
bool hfi_job_add_key(struct hfi_job *job, const char *name, size_t len);
bool hfi_job_add_found(struct hfi_job *job, const struct hfi_text *name, long long remaining_ms,
                       const char *owner, const char *count);
/* The registry of the client whose turn it is. */
bool hfi_job_add_registry(struct hfi_job *job, const redisReply *reply);
/* HF_OK; HF_ERR_NO_MEMORY; HF_ERR_NOT_FOUND when INSPECT has found nothing. */
int hfi_job_fill_list(struct hfi_job *job);

#endif
