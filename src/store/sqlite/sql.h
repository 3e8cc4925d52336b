/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every statement, in one place: X(NAME, text). They are prepared when first used and kept.
 *
 *   meta    one row: the boot that the rows belong to, the durable epoch, the tokens drawn in it
 *   client  one row a store instance that has held or waited; alive as long as its file is locked (client.c)
 *   hold    one row a lock that is held; threads counts those of the same client that wait for it, who need
 *           no ticket, since threads_ns
 *   waiter  one row a client that waits for a name, in the order of `ticket`; called_ns is when it was first
 *           seen to be its turn
 *
 * Times are CLOCK_BOOTTIME in nanoseconds, and mean something only in the boot of the row's client.
 */
#ifndef HFI_STORE_SQLITE_SQL_H
#define HFI_STORE_SQLITE_SQL_H

#define HFI_SQLITE_APPLICATION    0x48464c4b /* "HFLK" */
#define HFI_SQLITE_SCHEMA_VERSION 1
#define HFI_SQLITE_TEXT_OF(x)     #x
#define HFI_SQLITE_TEXT(x)        HFI_SQLITE_TEXT_OF(x)

/* Small pages: a grant writes two of them to the log. */
#define HFI_SQLITE_SCHEMA                                                                          \
    "CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), boot TEXT NOT NULL,"                \
    " epoch INTEGER NOT NULL, tokens INTEGER NOT NULL);"                                           \
    "INSERT INTO meta VALUES (1, '', 0, 0);"                                                       \
    "CREATE TABLE client (id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,"        \
    " boot TEXT NOT NULL, host TEXT NOT NULL, user TEXT NOT NULL, program TEXT NOT NULL,"          \
    " pid INTEGER NOT NULL, broken INTEGER NOT NULL DEFAULT 0, started TEXT NOT NULL);"            \
    "CREATE TABLE hold (name TEXT PRIMARY KEY, client INTEGER NOT NULL, owner INTEGER NOT NULL,"   \
    " token INTEGER NOT NULL, expires_ns INTEGER NOT NULL, since_ns INTEGER NOT NULL,"             \
    " ttl_ms INTEGER NOT NULL, label TEXT, threads INTEGER NOT NULL DEFAULT 0,"                    \
    " threads_ns INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"                                       \
    "CREATE TABLE waiter (ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"           \
    " client INTEGER NOT NULL, since_ns INTEGER NOT NULL, called_ns INTEGER NOT NULL DEFAULT 0,"   \
    " threads INTEGER NOT NULL DEFAULT 1, UNIQUE (client, name));"                                 \
    "CREATE INDEX waiter_line ON waiter (name, ticket, client);"                                   \
    "PRAGMA application_id = " HFI_SQLITE_TEXT(                                                    \
        HFI_SQLITE_APPLICATION) ";"                                                                \
                                "PRAGMA user_version = " HFI_SQLITE_TEXT(                          \
                                    HFI_SQLITE_SCHEMA_VERSION) ";"

#define HFI_SQLITE_TICKET                                                                          \
    "SELECT w.ticket, w.client, w.called_ns, c.uuid, c.boot FROM waiter w"                         \
    " LEFT JOIN client c ON c.id = w.client WHERE w.name = ?1 "

/* First come those who need not ask the store: it is theirs already. */
#define HFI_SQLITE_WAITERS(of_waiter, of_hold)                                                     \
    "SELECT name, client, since_ns, threads, ticket AS place FROM waiter" of_waiter                \
    " UNION ALL SELECT name, client, threads_ns, threads, 0 FROM hold"                             \
    " WHERE threads > 0" of_hold " AND NOT EXISTS (SELECT 1 FROM waiter w"                         \
    " WHERE w.client = hold.client AND w.name = hold.name)"

#define HFI_SQLITE_STATEMENTS(X)                                                                   \
    X(BEGIN_READ, "BEGIN")                                                                         \
    X(BEGIN_WRITE, "BEGIN IMMEDIATE")                                                              \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(META, "SELECT boot, epoch, tokens,"                                                          \
            " EXISTS (SELECT 1 FROM client WHERE id = ?1 AND uuid = ?2) FROM meta WHERE id = 1")   \
    X(TOKENS_SET, "UPDATE meta SET tokens = ?1 WHERE id = 1")                                      \
    X(TOKENS_SKIP, "UPDATE meta SET tokens = tokens + 1 WHERE id = 1")                             \
    X(EPOCH_SET, "UPDATE meta SET boot = ?1, epoch = ?2, tokens = 0 WHERE id = 1")                 \
    X(CLIENT_ADD, "INSERT INTO client (uuid, boot, host, user, program, pid, started)"             \
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))")       \
    X(CLIENT_BY_UUID, "SELECT id FROM client WHERE uuid = ?1")                                     \
    X(CLIENT_DROP, "DELETE FROM client WHERE id = ?1")                                             \
    X(CLIENT_BREAK, "UPDATE client SET broken = broken + 1 WHERE id = ?1")                         \
    X(CLIENT_BROKEN, "SELECT broken FROM client WHERE id = ?1 AND uuid = ?2")                      \
    X(CLIENTS, "SELECT id, uuid, boot, host, user, program, pid FROM client ORDER BY id")          \
    X(CLIENTS_OLD, "DELETE FROM client WHERE boot <> ?1")                                          \
    X(HOLDS_ORPHAN, "DELETE FROM hold WHERE client NOT IN (SELECT id FROM client)")                \
    X(WAITERS_ORPHAN, "DELETE FROM waiter WHERE client NOT IN (SELECT id FROM client)")            \
    X(HOLD, "SELECT h.client, h.owner, h.token, h.expires_ns, c.uuid, c.boot FROM hold h"          \
            " LEFT JOIN client c ON c.id = h.client WHERE h.name = ?1")                            \
    X(HOLD_PUT, "INSERT OR REPLACE INTO hold"                                                      \
                " (name, client, owner, token, expires_ns, since_ns, ttl_ms, label)"               \
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                                        \
    X(HOLD_DROP, "DELETE FROM hold WHERE name = ?1")                                               \
    X(HOLD_RELEASE, "DELETE FROM hold WHERE name = ?1 AND client = ?2 AND owner = ?3")             \
    X(HOLD_RENEW, "UPDATE hold SET expires_ns = ?5, ttl_ms = ?6"                                   \
                  " WHERE name = ?1 AND client = ?2 AND owner = ?3 AND expires_ns > ?4"            \
                  " AND EXISTS (SELECT 1 FROM client WHERE id = ?2)")                              \
    X(HOLD_LOOK, "SELECT 1 FROM hold"                                                              \
                 " WHERE name = ?1 AND client = ?2 AND owner = ?3 AND expires_ns > ?4"             \
                 " AND EXISTS (SELECT 1 FROM client WHERE id = ?2)")                               \
    X(HOLD_ANNOUNCE, "UPDATE hold SET token = ?5, since_ns = ?6, label = ?7, threads = ?9,"        \
                     " threads_ns = ?10"                                                           \
                     " WHERE name = ?1 AND client = ?2 AND owner = ?3 AND expires_ns > ?4"         \
                     " AND (token <> ?5 OR label IS NOT ?7 OR abs(since_ns - ?6) > ?8"             \
                     " OR threads <> ?9)")                                                         \
    X(HOLDS_OF, "SELECT name FROM hold WHERE client = ?1 AND name > ?2 ORDER BY name LIMIT 1")     \
    X(HOLDS_FORGET, "DELETE FROM hold WHERE client = ?1")                                          \
    X(TICKET_FIRST, HFI_SQLITE_TICKET "ORDER BY w.ticket LIMIT 1")                                 \
    X(TICKET_BEFORE, HFI_SQLITE_TICKET "AND w.ticket < ?2 ORDER BY w.ticket DESC LIMIT 1")         \
    X(TICKET_AFTER, HFI_SQLITE_TICKET "AND w.ticket > ?2 ORDER BY w.ticket LIMIT 1")               \
    X(TICKET_MINE, "SELECT ticket, called_ns FROM waiter WHERE client = ?1 AND name = ?2")         \
    X(TICKET_ADD, "INSERT OR IGNORE INTO waiter (name, client, since_ns) VALUES (?1, ?2, ?3)")     \
    X(TICKET_CALL, "UPDATE waiter SET called_ns = ?2 WHERE ticket = ?1")                           \
    X(TICKET_DROP, "DELETE FROM waiter WHERE ticket = ?1")                                         \
    X(TICKET_ANNOUNCE, "UPDATE waiter SET threads = ?3"                                            \
                       " WHERE client = ?1 AND name = ?2 AND threads <> ?3")                       \
    X(TICKETS_OF, "SELECT name, ticket FROM waiter WHERE client = ?1 AND name > ?2"                \
                  " ORDER BY name LIMIT 1")                                                        \
    X(TICKETS_FORGET, "DELETE FROM waiter WHERE client = ?1")                                      \
    X(TICKETS_OTHERS, "SELECT count(*) FROM waiter WHERE name = ?1 AND client <> ?2")              \
    X(LIST_HOLDS, "SELECT name, client, owner, token, expires_ns, since_ns, label FROM hold"       \
                  " ORDER BY name")                                                                \
    X(LIST_WAITERS, HFI_SQLITE_WAITERS("", "") " ORDER BY name, place")                            \
    X(SHOW_HOLDS, "SELECT name, client, owner, token, expires_ns, since_ns, label FROM hold"       \
                  " WHERE name = ?1")                                                              \
    X(SHOW_WAITERS, HFI_SQLITE_WAITERS(" WHERE name = ?1", " AND name = ?1") " ORDER BY place")

enum hfi_sqlite_sql {
#define HFI_X(name, text) HFI_SQL_##name,
    HFI_SQLITE_STATEMENTS(HFI_X)
#undef HFI_X
        HFI_SQL_COUNT
};

#endif
