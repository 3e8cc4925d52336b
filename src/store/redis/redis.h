/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Redis store, without I/O: requests in, bytes out, bytes in, answers out.
 *
 *   store.c    the class: submit, finished, tick; what becomes of requests
 *   link.c     the two connections: when they are wanted, their bytes, their end
 *   greet.c    what is said first on a new connection, and what servers are refused
 *   command.c  a request as a command        reply.c   a reply as an answer
 *   kinds.c    those of other kinds          script.c  calling a script
 *   objects.c  semaphores, latches, buckets, …  object_answers.c
 *   watch.c    subscriptions
 *   people.c   list, inspect, break: with gather.c, found.c and listing.c
 *   names.c    keys and channels             map.c     names under a prefix
 *   resp.c     writing commands              scripts/  what the server runs
 *   uri.c      redis://…                     uri_options.c   ?prefix=…
 *   string.c   locks that are strings        compare.c       and servers that compare by themselves
 *
 * Invariants
 *   1. a request is in exactly one of: pending, again (to be sent once more, with its script's text), the
 *      command link's `sent`, finished; a WATCH that waits for its confirmation is in its subscription;
 *   2. `sent` is in the order of the commands, and each reply answers its head (compare.c: several one request);
 *   3. a connection that left a request unanswered is never used again; the next one first ends the old
 *      one's server side (CLIENT KILL ID), where that is permitted, before anything else is sent;
 *   4. nothing is allocated for TRY, RELEASE and RENEW, but by hiredis for their replies.
 */
#ifndef HFI_REDIS_REDIS_H
#define HFI_REDIS_REDIS_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include <hiredis/hiredis.h>

#include "core/backoff.h"
#include "store/redis/names.h"
#include "store/redis/resp.h"
#include "store/store.h"

enum { HFI_REDIS_COMMANDS, HFI_REDIS_WAKEUPS, HFI_REDIS_LINKS };

#define HFI_REDIS_OUT_SIZE                                                                         \
    (256 * 1024) /* holds the largest command: two values, or 64 long names and as many keys */
#define HFI_REDIS_SENT_MAX     1024 /* unanswered commands of a connection */
#define HFI_REDIS_GREETING_MAX 12
#define HFI_REDIS_SETTLED      64 /* notes to be removed that are remembered */
#define HFI_REDIS_RETRY_FIRST  (20 * HFI_MSEC)
#define HFI_REDIS_RETRY_MOST   (2 * HFI_SEC)
#define HFI_REDIS_QUIET        (10 * HFI_SEC) /* silence on the wake-up connection before it is probed */
#define HFI_REDIS_URI_MAX      3072 /* holds all parts at their longest, each byte escaped */
#define HFI_SHOWN_MAX          400  /* bytes of a URI in a message */
#define HFI_REDIS_VERSION_MIN  602  /* 6.2 */
#define HFI_REDIS_DB_MAX       1000000
#define HFI_TOKEN_LIMIT        (INT64_C(1) << 53)

/* hfi_request.stage */
enum {
    HFI_STAGE_SHA,  /* a script by its hash */
    HFI_STAGE_TEXT, /* the server did not know it: by its text */
    HFI_STAGE_OWN,  /* by commands of the server's own (compare.c) */
    HFI_STAGE_OVER  /* a query's request, when its job is done */
};

enum hfi_link_state { HFI_LINK_DOWN, HFI_LINK_DIALING, HFI_LINK_GREETING, HFI_LINK_READY };

struct hfi_redis;
typedef int hfi_greeter(struct hfi_redis *redis, const redisReply *reply);

struct hfi_redis_link {
    enum hfi_link_state state;
    bool drop;   /* the host is to end it */
    bool served; /* this connection has answered more than the greeting */
    struct hfi_backoff backoff;
    hfi_time retry_ns; /* DOWN: not before */
    hfi_time ready_by; /* DIALING, GREETING: not after */
    redisReader *reader;
    char *out;
    size_t out_start, out_end;
    size_t greeted, greetings; /* replies to the greeting that have come, that will */
    hfi_greeter *greeting[HFI_REDIS_GREETING_MAX];
};

/* A channel that is listened to, for one watch or more: names that differ only in braces share one. */
enum hfi_subscription_stage {
    HFI_SUB_WANTED,
    HFI_SUB_SENT,
    HFI_SUB_ACTIVE,
    HFI_SUB_DENIED, /* the server refused it, on this connection */
    HFI_SUB_LEAVING
};

struct hfi_subscription {
    UT_hash_handle hh;
    struct hfi_subscription *prev,
        *next; /* those to be sent, or those sent and unconfirmed, in order */
    struct hfi_watch *watches;
    enum hfi_subscription_stage stage;
    bool to_send;
    bool control; /* our own channel: someone took one of our holds away */
    bool missed;  /* there was a time when it was not listened to */
    size_t channel_len;
    char channel[];
};

/* A request for an object that was answered, and will not be repeated (objects.c). */
struct hfi_settled {
    uint64_t name, serial; /* a hash of the name; 0: none */
};

struct hfi_text {
    size_t len;
    char bytes[];
};

enum hfi_layout {
    HFI_LAYOUT_HASH,  /* Redisson's */
    HFI_LAYOUT_STRING /* string.c */
};

#define HFI_STRING_FIELDS "string-" /* before hold: and wait: in a registry: they are such locks */

struct hfi_redis_uri {
    char host[256], port[6], path[108];
    char user[256], password[512];
    unsigned db;
    char prefix[HFI_PREFIX_MAX + 1]; /* of all names */
    enum hfi_layout layout;
    char shown[HFI_REDIS_URI_MAX]; /* without password */
};

/* Which command the server has to compare and delete. */
enum hfi_compare { HFI_COMPARE_NONE, HFI_COMPARE_DELIFEQ, HFI_COMPARE_DELEX };

/* What has come in reply to the head of `sent`, if it was several commands (compare.c). */
struct hfi_redis_head {
    size_t replies;
    bool refused, garbled;
};

struct hfi_redis {
    struct hfi_store store; /* first member */
    const struct hfi_identity *identity;
    struct hfi_redis_uri uri;
    struct hfi_address address;
    hfi_time op_timeout_ns, connect_timeout_ns;
    struct hfi_random random;
    struct hfi_tags tags;
    size_t prefix_len;
    char mapped[HFI_MAPPED_MAX]; /* map.c: the prefix, and the name that was mapped last */
    struct hfi_redis_link link[HFI_REDIS_LINKS];

    struct hfi_request *pending, *again, *sent, *finished;
    size_t sent_count;
    struct hfi_redis_head head;
    enum hfi_compare compare;
    hfi_time pending_by,
        answer_by;               /* lower bounds of the deadlines in pending and again, in sent */
    uint64_t server_id, kill_id; /* CLIENT ID of the command connection; of the one to be ended */
    char run_id[41], kill_run_id[41]; /* and which run of the server these are numbers of */
    int refusal;                      /* why the server was refused, for what is pending */
    char why_down[HFI_DETAIL_MAX];    /* the command connection: for people */
    bool restored;                    /* to be told */
    bool was_up;                      /* the command connection has been READY before */
    bool abandoned;                   /* nothing is sent any more */
    bool registered;                  /* our registry key was sent: it may be there */
    bool announced;                   /* and our control channel is in use */
    hfi_time opened_ns;               /* the first time we were told */

    struct hfi_settled settled[HFI_REDIS_SETTLED]; /* a ring */
    size_t settled_at;
    uint64_t doubted; /* the largest serial of an object's request that went unanswered */

    struct hfi_subscription *subscriptions; /* by channel */
    struct hfi_subscription *to_send;
    struct hfi_subscription *unconfirmed; /* whose SUBSCRIBE was sent, in order */
    struct hfi_watch *woken;
    hfi_time confirm_by; /* a lower bound of the deadlines of unconfirmed watches */
    hfi_time heard_ns;   /* wake-up connection: last sign of life, or when we asked for one */
    size_t watch_count;  /* in all subscriptions */
    bool denial_told;
    bool pinged;
    unsigned version; /* of the server: 602 is 6.2; 0: not said */
    bool is_master;   /* while greeting */
};

/* store.c */
void hfi_redis_finish(struct hfi_redis *redis, struct hfi_request *request,
                      enum hfi_outcome outcome, int error);
void hfi_redis_queue(struct hfi_redis *redis, struct hfi_request *request);
/* To be sent once more, before anything else. */
void hfi_redis_queue_again(struct hfi_redis *redis, struct hfi_request *request);
/* Everything unanswered on the command connection becomes unknown. */
void hfi_redis_forsake(struct hfi_redis *redis);
/* What waits to be sent is not done, for this reason. */
void hfi_redis_refuse_pending(struct hfi_redis *redis, int error);
/* The soonest deadline in a list; what is kept for pending and sent is only a lower bound of it. */
hfi_time hfi_redis_soonest(const struct hfi_request *list);
/* Notes what is wrong, for hf_last_error(). */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hfi_redis_say(struct hfi_redis *redis, const char *format, ...);
void hfi_redis_say_why_down(struct hfi_redis *redis);

/* link.c */
enum hfi_link_want hfi_redis_want(struct hfi_store *store, unsigned link, hfi_time now);
void hfi_redis_connected(struct hfi_store *store, unsigned link, hfi_time now);
void hfi_redis_lost(struct hfi_store *store, unsigned link, hfi_time now, const char *why);
bool hfi_redis_has_output(struct hfi_store *store, unsigned link);
size_t hfi_redis_produce(struct hfi_store *store, unsigned link, hfi_time now,
                         const char **ret_bytes);
void hfi_redis_produced(struct hfi_store *store, unsigned link, size_t count);
void hfi_redis_consume(struct hfi_store *store, unsigned link, hfi_time now, const char *bytes,
                       size_t count);
bool hfi_redis_expects(struct hfi_store *store, unsigned link);
void hfi_redis_drop(struct hfi_redis *redis, unsigned link);
hfi_time hfi_redis_link_deadline(struct hfi_redis *redis, unsigned link);
void hfi_redis_link_tick(struct hfi_redis *redis, unsigned link, hfi_time now);

/* greet.c */
void hfi_redis_greet(struct hfi_redis *redis, unsigned link, struct hfi_resp *resp);
/* What only follows from the replies: the end of a connection that left something unanswered. False: nothing. */
bool hfi_redis_greet_again(struct hfi_redis *redis, struct hfi_resp *resp);
/* HF_OK: go on; else the connection is of no use, for this reason. */
int hfi_redis_greeted(struct hfi_redis *redis, unsigned link, const redisReply *reply);
/* What an error reply means. */
int hfi_redis_error(const redisReply *reply);

/* command.c: writes the request; false when it does not fit. */
bool hfi_redis_encode(struct hfi_redis *redis, hfi_time now, struct hfi_request *request,
                      struct hfi_resp *resp);

void hfi_redis_encode_inspect(struct hfi_redis *redis, struct hfi_resp *resp,
                              const struct hfi_request *request, struct hfi_text *const *names,
                              size_t count);
void hfi_redis_encode_break(struct hfi_redis *redis, struct hfi_resp *resp,
                            const struct hfi_request *request, const struct hfi_query *query);

/* kinds.c: false: it is as a mutex's. */
bool hfi_redis_encode_kind(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_lease *lease);
bool hfi_redis_encode_kind_renewal(struct hfi_redis *redis, struct hfi_resp *resp,
                                   const struct hfi_renewal *renewal);
/* Do waiters of this kind leave something at the server? */
bool hfi_redis_has_tickets(enum hfi_kind kind);
void hfi_redis_encode_leave(struct hfi_redis *redis, struct hfi_resp *resp,
                            const struct hfi_watch *watch);

/* reply.c: takes the reply to the head of `sent`. */
void hfi_redis_answer(struct hfi_redis *redis, hfi_time now, struct hfi_request *request,
                      const redisReply *reply);
/* A reply that makes no sense: whatever was asked may or may not have been done. */
void hfi_redis_unintelligible(struct hfi_redis *redis, struct hfi_request *request);

/* map.c: a user's name as the server knows it; no NUL. Valid until the next one is mapped. */
struct hfi_mapped {
    const char *name;
    size_t len;
};

void hfi_redis_map_init(struct hfi_redis *redis);
struct hfi_mapped hfi_redis_map(struct hfi_redis *redis, const char *name, size_t len);
/* The rest of it behind the prefix; NULL: no name that a user of this prefix could have. */
const char *hfi_redis_unmap(const struct hfi_redis *redis, const char *mapped, size_t len);

/* watch.c */
void hfi_redis_watch(struct hfi_redis *redis, struct hfi_watch *watch);
void hfi_redis_unwatch(struct hfi_redis *redis, struct hfi_watch *watch);
struct hfi_watch *hfi_redis_woken(struct hfi_store *store);
/* Subscribes to the channel on which `break` tells us. */
void hfi_redis_watch_control(struct hfi_redis *redis);
void hfi_redis_encode_subscriptions(struct hfi_redis *redis, struct hfi_resp *resp);
void hfi_redis_hear(struct hfi_redis *redis, const redisReply *reply);
/* The wake-up connection went down: everything must be subscribed again. */
void hfi_redis_unsubscribed(struct hfi_redis *redis);
void hfi_redis_watch_tick(struct hfi_redis *redis, hfi_time now);
void hfi_redis_watch_free(struct hfi_redis *redis);

/* people.c */
void hfi_redis_ask(struct hfi_redis *redis, struct hfi_query *query);
void hfi_redis_encode_job(struct hfi_redis *redis, const struct hfi_request *request,
                          struct hfi_resp *resp);
void hfi_redis_job_answered(struct hfi_redis *redis, hfi_time now, struct hfi_request *request,
                            const redisReply *reply);
void hfi_redis_job_failed(struct hfi_redis *redis, struct hfi_request *request,
                          enum hfi_outcome outcome, int error);

/* uri.c: HF_OK, HF_ERR_URI, HF_ERR_UNSUPPORTED; on an error, detail says what is wrong. */
int hfi_redis_uri(const char *scheme, const char *rest, struct hfi_redis_uri *uri, char *detail);
/* Percent-decoding into a buffer; false: it does not fit, a bad escape, or a NUL or line break inside. */
bool hfi_redis_uri_decode(const char *from, size_t len, char *to, size_t room);
bool hfi_redis_uri_number(const char *text, size_t len, unsigned most, unsigned *ret);
/* uri_options.c: what follows the ?. */
int hfi_redis_uri_options(const char *rest, bool is_unix, struct hfi_redis_uri *uri, char *detail);

#endif
