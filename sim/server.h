/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine with a Redis server: its clock, its connections, and what can befall it. A service is what clients
 * know by name; one of its servers is the primary, another may be its replica.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "clock.h"
#include "link.h"
#include "redis.h"
#include "world.h"

struct sim;

enum sim_loss { SIM_LOSS_NONE, SIM_LOSS_SOME, SIM_LOSS_ALL };

/* A change on its way to the replica. */
struct sim_change {
    struct sim_change *next;
    hfi_time at;
    unsigned db;
    size_t len;
    struct sim_key *key; /* NULL: removed */
    char name[];
};

struct sim_server {
    struct sim *sim;
    unsigned index, service;
    struct sim_redis redis;
    struct sim_clock clock; /* its wall clock, in nanoseconds since 1970 */
    bool host_up, up;       /* the machine, and the program on it */
    hfi_time stopped_until; /* true time */
    struct sim_timer resume, replicate;
    struct hfi_random random;
    size_t output_limit;           /* bytes that a subscriber may be behind */
    struct sim_change *log, *last; /* to its replica */
    hfi_time lag_ns;               /* how far that one is behind */
    struct sim_server *replica;    /* NULL: none */
    uint64_t starts;               /* connection ids begin again at each */
    bool lost_data, stepped_back;  /* in this run */
    bool garbles;                  /* some replies make no sense */
    bool breaking;                 /* the script that runs is `break` */
    bool replaying;                /* a script is run again, to see that it changes nothing */
    const char *mutation;          /* what is wrong with its scripts (mutant.h) */
};

struct sim_service {
    struct sim_server *primary;
};

void sim_server_init(struct sim *sim, unsigned index);
void sim_server_fini(struct sim_server *server);
/* The end of a connection that is dialed now. */
struct sim_end sim_server_end(struct sim_server *server);
/* Its wall clock, in microseconds; and sets the model's. */
int64_t sim_server_wall_us(struct sim_server *server);
/* When, in true time, a key that expires then is gone. */
hfi_time sim_server_when(const struct sim_server *server, int64_t expires_ms);

bool sim_server_is_stopped(const struct sim_server *server);
void sim_server_stop(struct sim_server *server, hfi_time duration);
/* Not any longer. */
void sim_server_hurry(struct sim_server *server);
void sim_server_kill(struct sim_server *server, bool with_host);
void sim_server_start(struct sim_server *server, enum sim_loss loss, size_t commands);
void sim_server_step_clock(struct sim_server *server, int64_t by_ns);
/* Ends connections as CLIENT KILL does: all, or those that subscribe. */
void sim_server_cut(struct sim_server *server, bool subscribers_only);
/* The replica becomes the primary; the old one, if it is up, follows it. */
void sim_server_fail_over(struct sim_server *server);
/* Sends what commands by hand have published. */
void sim_server_flush(struct sim_server *server);

#endif
