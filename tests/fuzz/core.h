/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client, engine and Redis store as they are, under a clock that is moved by hand, with a server and a
 * network that do whatever the input says.
 *
 *   target_core.c   what the input's bytes mean, and the end   core_users.c   who wants locks, and is told
 *   core_host.c     between engine, store and the server       core_server.c  the server's connections
 *   core_model.c    what a true server has                     core_check.c   what must always hold
 *   core_replies.c  its answers, true or not                   core_answers.c requests, answers, and results
 *
 * The server's lies are told apart from its truths: as long as there was none, claims are compared with what
 * it has. All else must hold whatever it says.
 */
#ifndef HFT_FUZZ_CORE_H
#define HFT_FUZZ_CORE_H

#include "fuzz/command.h"
#include "fuzz/fuzz.h"

#include "core/engine.h"
#include "store/redis/redis.h"

enum {
    NAMES = 3,
    OWNERS = 1024, /* owner ids of the client; an input is over when half of them are used up */
    CALLS_MAX = 24,
    HELD_MAX = 48,
    CHECKS_MAX = 8,
    THREADS = 3
};

enum { KIND_THREAD = 1, KIND_NAMED, KIND_FRESH };

#define CORE_START (1000 * HFI_SEC)

#define CLIENT_ID "0f8fad5b-d9cb-469f-a165-70867728950e"

/* What is known of an owner id from its bytes on the wire, and from what users were told. */
struct owner {
    hfi_time try_ns;      /* when its last TRY left */
    hfi_time answered_ns; /* of those TRYs and RENEWs that were answered, when the last one left */
    hfi_time kept_ns;     /* when that request left of which the client knows that it has it */
    bool retired;         /* a TRY of it was not answered, and its connection is gone */
    bool released;        /* the server has seen its release */
    bool told_lost;
    bool gone;                        /* the server has said that it does not have it */
    uint64_t caller;                  /* number of the call for which it was first tried */
    uint64_t first_token, last_token; /* what it was granted */
    uint32_t claims;                  /* how often it was claimed: passed on after the first */
};

/* One acquire. */
struct call {
    struct call *prev, *next;
    struct hfi_waiter waiter;
    struct held *held;
    int name;
    uint64_t number, begun; /* begun: core->count then */
    hfi_time start_ns;
    bool called, cancelled;
};

/* One handle. */
struct held {
    struct held *prev, *next;
    struct hfi_handle handle; /* its releaser ends it */
    int name;
    bool over; /* it was not valid at some time: it never is again */
    bool told_lost;
    bool releasing;
};

/* hf_hold_verify() */
struct check {
    struct check *prev, *next;
    struct hfi_renewal renewal;
    struct hfi_renewal_item item;
};

/* A command that the server has. */
enum order_kind {
    ORDER_TRY,
    ORDER_RELEASE,
    ORDER_RENEW,
    ORDER_ANNOUNCE,
    ORDER_FAREWELL,
    ORDER_ID,
    ORDER_KILL,
    ORDER_SERVER,
    ORDER_ROLE,
    ORDER_MEMORY,
    ORDER_SUBSCRIBE,
    ORDER_UNSUBSCRIBE,
    ORDER_OTHER /* whose answer is +OK */
};

struct order_item {
    int name;
    uint64_t owner;
    uint32_t ttl_ms;
};

struct order {
    struct order *prev, *next;
    enum order_kind kind;
    hfi_time left_ns; /* when its first byte left the client */
    bool by_hash;     /* a script, by its hash */
    bool executed;
    bool refused; /* answered by an error: nothing was done */
    size_t end;   /* executed: where its reply ends in the connection's bytes; 0: there is none */
    int name;     /* lock; or, SUBSCRIBE: -1 is the control channel */
    int kind_of;  /* SUBSCRIBE: whose channel */
    uint64_t number; /* KILL: whom */
    uint32_t tokens;
    size_t count;
    struct order_item item[HFI_RENEWAL_MAX]; /* TRY and RELEASE: one */
};

struct conn {
    struct conn *next; /* those whose client has gone */
    uint64_t id;
    bool up;
    bool blocked;  /* takes nothing from the client */
    bool mute;     /* answers nothing any more */
    bool forsaken; /* the client gave up on an answer: nothing more is to come from it */
    bool wild;     /* has said what makes no sense: what it says next may be taken for anything */
    bool listens[NAMES][HFI_TOPIC_COUNT], listens_control;
    struct stream stream;
    hfi_time begun_ns; /* when the first byte of the command that is not yet whole left */
    struct order *orders;
    char *out; /* replies that are on their way */
    size_t out_len, out_room;
};

enum { NOBODY, OURS, STRANGER };

struct lock {
    int holder;
    uint64_t owner;
    hfi_time expires_ns;
    bool read_write;   /* the stranger's */
    bool tampered;     /* somebody took it away by hand */
    bool late;         /* our TRY was executed when its connection was gone */
    uint64_t promised; /* the largest token that an acquire returned */
    /* core->count when that last was: TRY left, a wake-up came, WATCH was done, the server confirmed */
    uint64_t tried, woken, watched, confirmed[HFI_TOPIC_COUNT];
};

struct core {
    struct input input;
    bool honest; /* the server never lies */
    bool kills;  /* CLIENT KILL is permitted */
    bool lied;   /* it has lied */
    bool
        unkillable; /* the greeting had an error: a connection's number may be unknown to the client */
    bool calm;
    bool closed;
    uint64_t count, ticked, heard; /* of what happens, in order; the last TICK; the last answer */
    hfi_time now, ticked_ns;
    hfi_time calm_ns; /* since when there is a connection to a good server */
    struct hfi_engine engine;
    struct hfi_store *store;
    const struct hfi_wire_class *wire;
    struct hfi_redis *redis;
    struct conn conn[HFI_REDIS_LINKS];
    struct conn *ghosts;
    uint64_t next_id;
    struct lock lock[NAMES];
    uint64_t token; /* the server's counter, one for all */
    bool registered;
    struct call *calls;
    struct held *helds;
    struct check *checks;
    unsigned call_count, held_count, check_count;
    uint64_t call_number, fresh;
    struct owner owner[OWNERS];
};

extern const char *const CORE_NAMES[NAMES];
int core_name(const char *name); /* -1: none of ours */
uint32_t choose(struct core *core, uint32_t limit);
struct owner *core_owner(struct core *core, uint64_t number);

/* With FUZZ_TRACE in the environment: what happens, on standard error, with the time in seconds. */
__attribute__((format(printf, 2, 3))) void core_trace(const struct core *core, const char *format,
                                                      ...);

/* core_users.c */
void users_acquire(struct core *core);
void users_release(struct core *core, struct held *held);
void users_cancel(struct core *core, struct call *call);
void users_take(struct core *core, struct call *call);
void users_verify(struct core *core, struct held *held);
struct held *users_some_held(struct core *core);
struct call *users_some_call(struct core *core, bool called);
/* What the engine has to say to them. */
void users_hear(struct core *core);
void users_checked(struct core *core, struct hfi_request *request);
void users_free(struct core *core);

/* core_host.c */
void host_open(struct core *core);
void host_input(struct core *core, const struct hfi_input *input);
void host_pump(struct core *core);
void host_pass(struct core *core, hfi_time duration, bool lazy);
hfi_time host_deadline(struct core *core);
void host_connect(struct core *core, unsigned link, bool works);
void host_lose(struct core *core, unsigned link);
void host_send(struct core *core, unsigned link, size_t most);
/* As hf_close() at the end of its time: nothing more is sent. */
void host_cut_off(struct core *core);

/* core_server.c */
void server_accept(struct core *core, unsigned link);
void server_receive(struct core *core, unsigned link, const char *bytes, size_t count);
void server_hang_up(struct core *core, unsigned link);
void server_late(struct core *core); /* a command of a connection that is gone */
void server_free(struct core *core);
/* The client has the answer to it, or may have it. */
void server_answered(struct core *core, const struct order *order);

/* core_replies.c */
/* The next command, as the input says. False: there is none. */
bool server_execute(struct core *core, struct conn *conn);
void server_answer(struct core *core, unsigned link, size_t most);
void server_babble(struct core *core, unsigned link);
__attribute__((format(printf, 2, 3))) void server_say(struct conn *conn, const char *format, ...);

/* core_model.c */
void model_expire(struct core *core);
void model_execute(struct core *core, struct conn *conn, const struct order *order);
void model_stranger(struct core *core);
void model_kill(struct core *core, uint64_t id);

/* core_check.c */
bool is_held(const struct hfi_hold *hold);
void check_core(struct core *core);
/* Nobody has or wants anything any more, and there was time to give all back; and for the longest ttl, too. */
void check_given_back(const struct core *core);
void check_rest(struct core *core);

/* core_answers.c */
void check_submitted(struct core *core, const struct hfi_request *request);
void check_finished(struct core *core, const struct hfi_request *request);
void check_result(struct core *core, const struct call *call);

#endif
