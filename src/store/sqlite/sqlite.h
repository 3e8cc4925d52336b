/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded store, inside: one struct, and what each of its files does with it.
 *
 *   store.c    the class: opens, dispatches requests, finishes them
 *   file.c     the file and those beside it: making it, noticing that it was taken away
 *   open.c     makes a connection to it: checks, settings
 *   schema.c   its tables, in a new file and in one of an older version
 *   db.c       statements and transactions; what an error of SQLite means
 *   epoch.c    the boot's id, the durable epoch of tokens
 *   client.c   our row; burying the dead
 *   life.c     our locked file; whether others live
 *   hold.c     TRY, RELEASE, RENEW
 *   room.c     what others have of a name, and what is left of it
 *   line.c     tickets: who is next, LEAVE
 *   tally.c    numbers, and notes of what was done to them
 *   count.c    TRY and RELEASE of what is a number: semaphores, latches
 *   object.c   OBJECT: what else is done to numbers; stamps
 *   watch.c    WATCH, UNWATCH: who is before us in the line; guard.c: watching them
 *   wake.c     inotify: listening, collecting
 *   people.c   LIST, INSPECT; crowd.c: who is there; break.c: BREAK, CHECK
 *   announce.c ANNOUNCE, FAREWELL
 *   fork.c, fs.c, path.c   what stands in their own headers
 *
 * Functions return HF_OK or one of the HF_ERR_, with a line in store.detail. Those that look for a row
 * return 1 when there is one, 0 when there is none, or an error. They run inside (fork.h), and those that
 * speak SQL in the transaction that store.c has begun.
 */
#ifndef HFI_STORE_SQLITE_SQLITE_H
#define HFI_STORE_SQLITE_SQLITE_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/random.h"
#include "store/sqlite/fork.h"
#include "store/sqlite/fs.h"
#include "store/sqlite/kind.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/wake.h"
#include "store/store.h"

#define HFI_SQLITE_UUID 36 /* characters of a UUID */

/* How long the one whose turn it is may take to come, before the next one is called. */
#define HFI_SQLITE_GRACE (HFI_SEC)
/* Changes of a client's that are remembered, in the order of their serials, besides HFI_SERIAL_MS. */
#define HFI_SQLITE_NOTES_MAX 16384
/* How long it is known that a latch was deleted. */
#define HFI_SQLITE_DELETED_MS (60 * 1000)
/* How long after a reader from the line has been let in others of its process may follow it. */
#define HFI_SQLITE_FOLLOW (10 * HFI_MSEC)
/* Tokens that one TRY may draw. */
#define HFI_SQLITE_TOKENS_MAX (1u << 20)
/* Tokens of an epoch; epochs. Together they stay below 2^53. */
#define HFI_SQLITE_EPOCH_BITS 32
#define HFI_SQLITE_EPOCH_MAX  ((INT64_C(1) << 21) - 1)
/* When a request or its client sets no time limit. */
#define HFI_SQLITE_TIMEOUT (2 * HFI_SEC)
/* Between two looks at a file that someone else has locked. */
#define HFI_SQLITE_NAP_MIN (100 * HFI_USEC)
#define HFI_SQLITE_NAP_MAX (2 * HFI_MSEC)
/* Frames of the log (a page and 24 bytes each) after which it is written back into the file; after how many
 * more that is tried again, when others wrote on meanwhile so that the log could not begin anew; and when
 * they are kept waiting for it. */
#define HFI_SQLITE_CHECKPOINT       1000
#define HFI_SQLITE_CHECKPOINT_AGAIN 250
#define HFI_SQLITE_CHECKPOINT_WAIT  4000
#define HFI_SQLITE_PAGE_SIZE        1024
/* Every so many new clients one looks for what dead ones left. */
#define HFI_SQLITE_SWEEP_EVERY 64

/* What a body answers, besides errors, when the transaction must be run again after something else. */
#define HFI_SQLITE_NEW_EPOCH 1

/* What to do once the transaction is committed: wake the client `uuid`, or remove the file of a dead one. */
struct hfi_sqlite_errand {
    char uuid[HFI_SQLITE_UUID + 1];
    bool bury;
};

#define HFI_SQLITE_ERRANDS 8 /* without an allocation */

struct hfi_sqlite_identity {
    dev_t dev;
    ino_t ino;
};

struct hfi_sqlite {
    struct hfi_store store; /* first member */
    const struct hfi_identity *identity;
    struct hfi_random random;
    hfi_time op_timeout_ns;
    unsigned generation; /* of the process that opened it (fork.h) */
    bool private_;       /* a file made by us is for its owner alone */
    char boot[HFI_SQLITE_UUID + 1];
    char path[HFI_SQLITE_PATH_ROOM];
    char folder[HFI_SQLITE_PATH_ROOM]; /* of the liveness files: <path>.d */
    char uri[HFI_SQLITE_PATH_ROOM];

    /* db.c, open.c */
    sqlite3 *db;
    sqlite3_stmt *statement[HFI_SQL_COUNT];
    struct hfi_sqlite_identity main_file, log_file,
        shared_file; /* as they were when we opened them */
    mode_t mode;     /* of the file, and so of what is made beside it */
    uid_t uid;
    gid_t gid;
    hfi_time give_up_ns; /* a locked file is waited for until then */
    int failure;         /* why hfi_sqlite_query() gave NULL */
    int frames;          /* in the log after the last commit; 0: it wrote nothing */
    int checkpoint_at;   /* so many frames are written back next */
    bool in_transaction, writing;
    bool unknown;   /* the transaction failed at its commit: it may yet be there */
    bool drop;      /* the connection is not to be used again */
    bool moved;     /* the file is no longer the one that we opened */
    bool overwrite; /* the next transaction must write, whatever it does (db.c) */

    /* client.c */
    int64_t client;      /* our row; 0: none */
    bool client_is_new;  /* and it is not committed yet */
    bool stranger;       /* this connection has not looked for it yet */
    atomic_int liveness; /* descriptor of our locked file, or -1 */
    struct hfi_sqlite_identity liveness_file;
    uint64_t granted, ended; /* of our holds: granted - ended is how many there may be */

    int64_t answer, answer2; /* object.c: of the transaction in progress */

    struct hfi_sqlite_errand *errand, errand_room[HFI_SQLITE_ERRANDS];
    size_t errands, errand_limit;

    struct hfi_sqlite_wake wake; /* wake.c */
};

static inline struct hfi_sqlite *hfi_sqlite_of(struct hfi_store *store)
{
    return (struct hfi_sqlite *)store;
}

/* ------------------------------------------------------------------------------------------------ db.c */

hfi_time hfi_sqlite_now(void);
/* Writes the line of an error into store.detail, and returns the error. */
__attribute__((format(printf, 3, 4))) int hfi_sqlite_complain(struct hfi_sqlite *s, int error,
                                                              const char *format, ...);
/* What an error of SQLite means. */
int hfi_sqlite_failed(struct hfi_sqlite *s, int code);
/* Called by SQLite when someone else has the file locked: sleeps; false when it is time to give up. */
bool hfi_sqlite_wait(struct hfi_sqlite *s, int tries);
int hfi_sqlite_exec(struct hfi_sqlite *s, const char *sql);
/* Outside a transaction: whether commits wait for the disk. */
int hfi_sqlite_sync(struct hfi_sqlite *s, bool full);

/* A statement with its parameters: 't' const char * and size_t (NULL text: SQL NULL), 'i' int64_t.
 * NULL: failed, which the next two notice. Texts stay valid until it is done. */
sqlite3_stmt *hfi_sqlite_query(struct hfi_sqlite *s, enum hfi_sqlite_sql id, const char *types,
                               ...);
/* The next row: 1, 0 or an error. */
int hfi_sqlite_row(struct hfi_sqlite *s, sqlite3_stmt *statement);
/* Runs a statement without rows: the number of rows changed, or an error. */
int hfi_sqlite_run(struct hfi_sqlite *s, sqlite3_stmt *statement);
/* A column's text, "" for NULL, without a final NUL; valid until the statement moves on. */
const char *hfi_sqlite_text(sqlite3_stmt *statement, int column, size_t *ret_len);

/* So that beginning and ending a transaction needs no memory of ours. */
int hfi_sqlite_prepare_ends(struct hfi_sqlite *s);
int hfi_sqlite_begin(struct hfi_sqlite *s, bool write);
/* On an error nothing was committed, unless s->unknown. Ends the transaction either way. */
int hfi_sqlite_commit(struct hfi_sqlite *s);
void hfi_sqlite_rollback(struct hfi_sqlite *s);
void hfi_sqlite_finalize(struct hfi_sqlite *s);
/* After a commit: writes the log back into the file when it is long. */
void hfi_sqlite_shorten_log(struct hfi_sqlite *s);

/* ---------------------------------------------------------------------------------------------- file.c */

int hfi_sqlite_check_folder(struct hfi_sqlite *s);
/* Makes an empty file, if there is none. */
int hfi_sqlite_make_file(struct hfi_sqlite *s);
/* Which files we are about to open, and have open. They may be taken away at any moment. */
int hfi_sqlite_note_file(struct hfi_sqlite *s);
int hfi_sqlite_note_beside(struct hfi_sqlite *s);
/* Some of them are no longer at their paths. What is left of them there is removed. */
bool hfi_sqlite_files_moved(const struct hfi_sqlite *s);
/* An error that the folder explains is explained so. */
int hfi_sqlite_blame_folder(struct hfi_sqlite *s, int error);

/* ---------------------------------------------------------------------------------------------- open.c */

/* Opens the file, making it if it is not there. */
int hfi_sqlite_connect(struct hfi_sqlite *s);
/* The one number that a PRAGMA answers. */
int hfi_sqlite_number(struct hfi_sqlite *s, const char *sql, int64_t *ret_number);
void hfi_sqlite_disconnect(struct hfi_sqlite *s);
/* A connection to the file that is at our path now, and no registration that others take for dead. */
int hfi_sqlite_ready(struct hfi_sqlite *s);

/* -------------------------------------------------------------------------------------------- schema.c */

/* The version of the file; NEWER_STORE if it is none that we know. */
int hfi_sqlite_version(struct hfi_sqlite *s, int64_t *ret_version);
/* Makes the tables of an empty file (version 0), or makes those of an older version ours. */
int hfi_sqlite_make_schema(struct hfi_sqlite *s);

/* --------------------------------------------------------------------------------------------- epoch.c */

/* The id of this boot. Tests name another file. */
extern const char *hfi_sqlite_boot_file;
int hfi_sqlite_read_boot(struct hfi_sqlite *s);
/* Outside a transaction: a new epoch, durably; in a new boot, removes what older boots left. */
int hfi_sqlite_new_epoch(struct hfi_sqlite *s);
/* There was a new epoch, and the next transaction found another boot in the file. */
int hfi_sqlite_two_boots(struct hfi_sqlite *s);
/* In a TRY: the first of the next tokens, and what meta.tokens is once they are drawn.
 * HFI_SQLITE_NEW_EPOCH: there must be a new epoch first. Also finds out whether our row is still there. */
int hfi_sqlite_tokens(struct hfi_sqlite *s, uint32_t wanted, uint64_t *ret_first,
                      int64_t *ret_used);
/* The same without drawing any. */
int hfi_sqlite_check_boot(struct hfi_sqlite *s);

/* -------------------------------------------------------------------------------------------- client.c */

/* Another client's row, as far as its life is concerned. */
struct hfi_sqlite_peer {
    int64_t client;
    char uuid[HFI_SQLITE_UUID + 1];
    bool here; /* its row is there, and of this boot */
};

/* From the columns uuid and boot of a joined row. */
void hfi_sqlite_peer_read(const struct hfi_sqlite *s, sqlite3_stmt *statement, int column,
                          int64_t client, struct hfi_sqlite_peer *ret_peer);
/* In a write transaction: makes our file and row if they are not there. */
int hfi_sqlite_join(struct hfi_sqlite *s);
/* Forgets our row: the next TRY makes a new one. */
void hfi_sqlite_forget(struct hfi_sqlite *s);
/* In a write transaction: removes all rows of a dead client, and later its file. */
int hfi_sqlite_bury(struct hfi_sqlite *s, const struct hfi_sqlite_peer *peer);
/* In a write transaction: removes the rows of all the dead. */
int hfi_sqlite_bury_all(struct hfi_sqlite *s);

/* To be done after the commit; forgotten after a rollback. Never fails: waiters also poll. */
void hfi_sqlite_errand(struct hfi_sqlite *s, const char *uuid, bool bury);
void hfi_sqlite_run_errands(struct hfi_sqlite *s);

/* ---------------------------------------------------------------------------------------------- life.c */

bool hfi_sqlite_uuid_ok(const char *text, size_t len);
/* The path of a client's file, into HFI_SQLITE_PATH_ROOM. */
void hfi_sqlite_life_path(const struct hfi_sqlite *s, const char *uuid, char *path);
/* Alive also when that cannot be found out. */
bool hfi_sqlite_alive(const struct hfi_sqlite *s, const struct hfi_sqlite_peer *peer);
/* Makes our file and locks it, if that is not done. */
int hfi_sqlite_make_life(struct hfi_sqlite *s);
/* Our file is gone from its place: others take us for dead. */
bool hfi_sqlite_exposed(const struct hfi_sqlite *s);
/* Removes our file and its lock. */
void hfi_sqlite_leave_life(struct hfi_sqlite *s);
/* Removes a file, or all in the folder, that nobody has locked. */
void hfi_sqlite_remove_unlocked(const char *path);
void hfi_sqlite_sweep(const struct hfi_sqlite *s);

/* ---------------------------------------------------------------------------------------------- room.c */

/* A family of things of one name: what is waited for in one line. */
struct hfi_sqlite_line {
    const char *name;
    size_t len;
    enum hfi_sqlite_family family;
};

static inline struct hfi_sqlite_line hfi_sqlite_line_of(const char *name, size_t len, uint8_t kind)
{
    struct hfi_sqlite_line line = { .name = name,
                                    .len = len,
                                    .family = hfi_sqlite_family_of(kind) };

    return line;
}

struct hfi_sqlite_holder {
    struct hfi_sqlite_peer peer;
    int64_t owner, token;
    hfi_time until_ns;
    uint8_t class_, kind;
};

struct hfi_sqlite_room {
    int64_t left;      /* units that nobody has; below 0 after a number was made smaller */
    int64_t most;      /* that there can be, if that is known; whoever wants more is passed over */
    hfi_time until_ns; /* not left: when something of it may come back by itself */
    int64_t token;     /* ours: of that hold */
    bool ours;         /* the lease's owner has it already */
    bool within;       /* the lease's owner writes, and wants to read */
    bool changed;      /* something had ended, and was removed: others may fit now */
};

/* The holds of a line; then hfi_sqlite_holder_next() for each: 1, 0 or an error. */
sqlite3_stmt *hfi_sqlite_holders(struct hfi_sqlite *s, const struct hfi_sqlite_line *line);
int hfi_sqlite_holder_next(struct hfi_sqlite *s, sqlite3_stmt *statement,
                           struct hfi_sqlite_holder *ret_holder);
/* Does it keep others out? */
bool hfi_sqlite_holds(const struct hfi_sqlite *s, hfi_time now,
                      const struct hfi_sqlite_holder *holder);
/* In a write transaction: what is left, seen by this lease, or (NULL) by nobody in particular. */
int hfi_sqlite_room(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                    const struct hfi_lease *lease, struct hfi_sqlite_room *ret_room);

/* Removes a hold that has ended: its own row, or, when its client is dead, all of that client's. */
int hfi_sqlite_remove_ended(struct hfi_sqlite *s, const struct hfi_sqlite_line *line,
                            const struct hfi_sqlite_holder *holder);
/* Does the lease's owner have a hold of its class? It is not the only one of the name. 1, 0 or an error. */
int hfi_sqlite_has_hold(struct hfi_sqlite *s, hfi_time now, const struct hfi_lease *lease);

/* --------------------------------------------------------------------------------------------- tally.c */

struct hfi_sqlite_tally {
    int64_t number;
    int64_t made_ns; /* below 0: before the boot */
    hfi_time until_ns;
};

/* The number of a line, unless its time is over: 1, 0 or an error. */
int hfi_sqlite_tally(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                     struct hfi_sqlite_tally *ret_tally);
/* Makes it, in the place of any; ttl_ms 0: for ever. */
int hfi_sqlite_tally_put(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                         int64_t number, int64_t ttl_ms);
/* Changes the number that is there, and nothing else of it. */
int hfi_sqlite_tally_set(struct hfi_sqlite *s, const struct hfi_sqlite_line *line, int64_t number);
int hfi_sqlite_tally_drop(struct hfi_sqlite *s, const struct hfi_sqlite_line *line);
/* In the first transaction of a boot: times are told by this boot's clock from now on. */
int hfi_sqlite_tallies_move(struct hfi_sqlite *s);

/* What was noted of a change: 1, 0 or an error. */
int hfi_sqlite_noted(struct hfi_sqlite *s, uint64_t serial, int64_t *ret_number);
/* Notes it. Our row must be there. */
int hfi_sqlite_note(struct hfi_sqlite *s, hfi_time now, uint64_t serial, int64_t number);
int hfi_sqlite_note_drop(struct hfi_sqlite *s, uint64_t serial);

/* --------------------------------------------------------------------------------------------- count.c */

/* As hfi_sqlite_room(), of permits and semaphores. */
int hfi_sqlite_count_room(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                          const struct hfi_lease *lease, struct hfi_sqlite_room *room);
/* How many permits are left, after a look at everybody who has some. */
int hfi_sqlite_permits_seen(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                            struct hfi_sqlite_room *ret_room);
/* The lease's owner gets what it wants of a semaphore, which has so much. */
int hfi_sqlite_take(struct hfi_sqlite *s, hfi_time now, const struct hfi_lease *lease);
/* RELEASE of a semaphore's try. */
int hfi_sqlite_take_back(struct hfi_sqlite *s, struct hfi_lease *lease);
int hfi_sqlite_try_latch(struct hfi_sqlite *s, struct hfi_lease *lease);
/* Those who wait for a latch all go. */
int hfi_sqlite_latch_open(struct hfi_sqlite *s, const struct hfi_sqlite_line *line);

/* -------------------------------------------------------------------------------------------- object.c */

int hfi_sqlite_object(struct hfi_sqlite *s, struct hfi_request *request);
/* It is committed: the answer. */
void hfi_sqlite_object_done(const struct hfi_sqlite *s, struct hfi_object *object);
/* The verbs that there are, a bit each. */
uint64_t hfi_sqlite_verbs(void);
/* Must it outlive a crash of the machine? */
bool hfi_sqlite_is_durable(const struct hfi_request *request);

/* ---------------------------------------------------------------------------------------------- hold.c */

/* A TRY that is not granted: the answer, and a ticket if one is wanted. */
int hfi_sqlite_busy(struct hfi_sqlite *s, hfi_time now, hfi_time until, struct hfi_lease *lease);
int hfi_sqlite_try(struct hfi_sqlite *s, struct hfi_request *request);
int hfi_sqlite_release(struct hfi_sqlite *s, struct hfi_request *request);
int hfi_sqlite_renew(struct hfi_sqlite *s, struct hfi_request *request);

/* ---------------------------------------------------------------------------------------------- line.c */

struct hfi_sqlite_ticket {
    struct hfi_sqlite_peer peer;
    int64_t ticket, units, place;
    hfi_time called_ns; /* 0: not called */
    uint8_t kind;
};

/* What a lease finds in the line. */
struct hfi_sqlite_turn {
    bool come;         /* it may have what is left of the room */
    int64_t ticket;    /* then: its own, or 0 */
    hfi_time until_ns; /* else: when one before it will have lost its place */
};

int hfi_sqlite_line_turn(struct hfi_sqlite *s, hfi_time now, const struct hfi_lease *lease,
                         const struct hfi_sqlite_room *room, struct hfi_sqlite_turn *ret_turn);
/* Calls whoever is at the head of the line and fits into what is left, unless it has been. `tell`: the first
 * that does not fit is told too, since others hold the name now. */
int hfi_sqlite_line_call(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                         bool tell);
/* The ticket before or after another one (HFI_SQL_TICKET_BEFORE, _AFTER). */
int hfi_sqlite_line_beside(struct hfi_sqlite *s, enum hfi_sqlite_sql which,
                           const struct hfi_sqlite_line *line, int64_t ticket,
                           struct hfi_sqlite_ticket *ret_ticket);
/* Leaves a ticket, if there is none. */
int hfi_sqlite_line_join(struct hfi_sqlite *s, hfi_time now, const struct hfi_lease *lease);
/* Our ticket: 1, 0 or an error. Of several, one that is called, or the first. */
int hfi_sqlite_line_mine(struct hfi_sqlite *s, const char *name, size_t len, uint8_t kind,
                         uint64_t owner, int64_t *ret_ticket, bool *ret_called);
/* Takes a ticket out of the line, and tells whoever is next what it has to know. */
int hfi_sqlite_line_remove(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                           int64_t ticket);
/* Our ticket, if there is one. */
int hfi_sqlite_line_leave(struct hfi_sqlite *s, const char *name, size_t len, uint8_t kind,
                          uint64_t owner);
int hfi_sqlite_leave_line(struct hfi_sqlite *s, struct hfi_request *request);

/* ---------------------------------------------------------------------------------- people.c, break.c */

int hfi_sqlite_list(struct hfi_sqlite *s, struct hfi_request *request);
int hfi_sqlite_inspect(struct hfi_sqlite *s, struct hfi_request *request);
int hfi_sqlite_break(struct hfi_sqlite *s, struct hfi_request *request);
int hfi_sqlite_check(struct hfi_sqlite *s, struct hfi_request *request);

/* ----------------------------------------------------------------------------------------- announce.c */

int hfi_sqlite_announce(struct hfi_sqlite *s, struct hfi_request *request);
int hfi_sqlite_farewell(struct hfi_sqlite *s, struct hfi_request *request);

#endif
