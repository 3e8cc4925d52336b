/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every statement, in one place: X(NAME, text). They are prepared when first used and kept.
 *
 *   meta    one row: the boot that the rows belong to, the durable epoch, the tokens drawn in it
 *   client  one row a store instance that has held or waited; alive as long as its file is locked (client.c)
 *   hold    one row a hold; class says whether it leaves room for others (kind.h), permits how many it has,
 *           called whether it was waited for in the line; threads counts those of the same client that wait for it, who need no ticket, since threads_ns
 *   waiter  one row a place in the line of a name, in the order of `ticket`: a client has one in each kind,
 *           or several (kind.h); owner is the one that tried last, units how much of the name it wants
 *           (room.c), called_ns when it was first seen to be its turn
 *   tally   one row a number that is kept under a name: of permits, of a semaphore, of a latch (0: deleted a
 *           moment ago); or a stamp. until_ns NULL: for ever
 *   done    one row a change of a number that was made, by the serial that its client gave it, for as long as
 *           it may have to be answered again, or taken back
 *
 * Times are CLOCK_BOOTTIME in nanoseconds, and mean something only in the boot of the row's client, or, in a
 * tally, of meta; tally.made_ms is the wall clock, by which made_ns is set again in the next boot.
 */
#ifndef HFI_STORE_SQLITE_SQL_H
#define HFI_STORE_SQLITE_SQL_H

#define HFI_SQLITE_APPLICATION    0x48464c4b /* "HFLK" */
#define HFI_SQLITE_SCHEMA_VERSION 2
#define HFI_SQLITE_TEXT_OF(x)     #x
#define HFI_SQLITE_TEXT(x)        HFI_SQLITE_TEXT_OF(x)

/* What version 1 did not have as it is now. Columns have other names where programs of that version, which
 * may have the file open, would not do the right thing: they fail. */
#define HFI_SQLITE_SCHEMA_2                                                                        \
    "CREATE TABLE hold (name TEXT NOT NULL, class INTEGER NOT NULL, client INTEGER NOT NULL,"      \
    " owner INTEGER NOT NULL, kind INTEGER NOT NULL, permits INTEGER NOT NULL,"                    \
    " token INTEGER NOT NULL, until_ns INTEGER NOT NULL, since_ns INTEGER NOT NULL,"               \
    " ttl_ms INTEGER NOT NULL, label TEXT, called INTEGER NOT NULL,"                               \
    " threads INTEGER NOT NULL DEFAULT 0, threads_ns INTEGER NOT NULL DEFAULT 0,"                  \
    " PRIMARY KEY (name, class, client, owner)) WITHOUT ROWID;"                                    \
    "CREATE TABLE waiter (ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"           \
    " family INTEGER NOT NULL, client INTEGER NOT NULL, kind INTEGER NOT NULL,"                    \
    " place INTEGER NOT NULL, owner INTEGER NOT NULL, units INTEGER NOT NULL,"                     \
    " from_ns INTEGER NOT NULL, called_ns INTEGER NOT NULL DEFAULT 0,"                             \
    " threads INTEGER NOT NULL DEFAULT 1, UNIQUE (client, name, kind, place));"                    \
    "CREATE INDEX waiter_line ON waiter (name, family, ticket, client, kind);"                     \
    "CREATE TABLE tally (name TEXT NOT NULL, family INTEGER NOT NULL, number INTEGER NOT NULL,"    \
    " until_ns INTEGER, made_ns INTEGER NOT NULL, made_ms INTEGER NOT NULL,"                       \
    " PRIMARY KEY (name, family)) WITHOUT ROWID;"                                                  \
    "CREATE INDEX tally_end ON tally (until_ns) WHERE until_ns IS NOT NULL;"                       \
    "CREATE TABLE done (client INTEGER NOT NULL, serial INTEGER NOT NULL,"                         \
    " number INTEGER NOT NULL, until_ns INTEGER NOT NULL,"                                         \
    " PRIMARY KEY (client, serial)) WITHOUT ROWID;"                                                \
    "PRAGMA user_version = " HFI_SQLITE_TEXT(HFI_SQLITE_SCHEMA_VERSION) ";"

/* Small pages: a grant writes two of them to the log. */
#define HFI_SQLITE_SCHEMA                                                                          \
    "CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), boot TEXT NOT NULL,"                \
    " epoch INTEGER NOT NULL, tokens INTEGER NOT NULL);"                                           \
    "INSERT INTO meta VALUES (1, '', 0, 0);"                                                       \
    "CREATE TABLE client (id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,"        \
    " boot TEXT NOT NULL, host TEXT NOT NULL, user TEXT NOT NULL, program TEXT NOT NULL,"          \
    " pid INTEGER NOT NULL, broken INTEGER NOT NULL DEFAULT 0, started TEXT NOT NULL);"            \
    "PRAGMA application_id = " HFI_SQLITE_TEXT(HFI_SQLITE_APPLICATION) ";" HFI_SQLITE_SCHEMA_2

/* From version 1, which had mutexes alone: all its holds are of class 0 and kind 0, and all its waiters want
 * everything. */
#define HFI_SQLITE_SCHEMA_FROM_1                                                                   \
    "DROP INDEX waiter_line;"                                                                      \
    "ALTER TABLE hold RENAME TO hold_1;"                                                           \
    "ALTER TABLE waiter RENAME TO waiter_1;" HFI_SQLITE_SCHEMA_2                                   \
    "INSERT INTO hold (name, class, client, owner, kind, permits, token, until_ns, since_ns,"      \
    " ttl_ms, label, called, threads, threads_ns) SELECT name, 0, client, owner, 0, 0, token,"     \
    " expires_ns, since_ns, ttl_ms, label, 0, threads, threads_ns FROM hold_1;"                    \
    "INSERT INTO waiter (ticket, name, family, client, kind, place, owner, units, from_ns,"        \
    " called_ns, threads) SELECT ticket, name, 0, client, 0, 0, 0, 1 << 40, since_ns,"             \
    " called_ns, threads FROM waiter_1;"                                                           \
    "DROP TABLE hold_1;"                                                                           \
    "DROP TABLE waiter_1;"

#define HFI_SQLITE_TICKET                                                                          \
    "SELECT w.ticket, w.client, w.kind, w.place, w.units, w.called_ns, c.uuid, c.boot"             \
    " FROM waiter w LEFT JOIN client c ON c.id = w.client WHERE w.name = ?1 AND w.family = ?2 "

#define HFI_SQLITE_MINE "client = ?1 AND name = ?2 AND kind = ?3"

#define HFI_SQLITE_HOLD_KEY "name = ?1 AND class = ?2 AND client = ?3 AND owner = ?4"

/* First come those who need not ask the store: it is theirs already. */
#define HFI_SQLITE_WAITERS(of_waiter, of_hold)                                                     \
    "SELECT name, family, client, from_ns, threads, kind, ticket AS place FROM waiter" of_waiter   \
    " UNION ALL SELECT name, class = 2, client, threads_ns, threads, kind, 0 FROM hold"            \
    " WHERE threads > 0" of_hold " AND NOT EXISTS (SELECT 1 FROM waiter w"                         \
    " WHERE w.client = hold.client AND w.name = hold.name AND w.kind = hold.kind)"

#define HFI_SQLITE_HOLDS                                                                           \
    "SELECT name, class = 2, client, owner, kind, permits, token, until_ns, since_ns, label"       \
    " FROM hold"

/* Stamps are not shown, nor what is left of a latch that was deleted. */
#define HFI_SQLITE_TALLIES                                                                         \
    "SELECT name, family, number, until_ns FROM tally"                                             \
    " WHERE family < 4 AND NOT (family = 3 AND number = 0)"

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
    X(DONE_ORPHAN, "DELETE FROM done WHERE client NOT IN (SELECT id FROM client)")                 \
    X(HOLDS, "SELECT h.client, h.owner, h.token, h.until_ns, h.class, h.kind, c.uuid, c.boot"      \
             " FROM hold h LEFT JOIN client c ON c.id = h.client"                                  \
             " WHERE h.name = ?1 AND h.class >= ?2 AND h.class <= ?3 ORDER BY h.class")            \
    X(HOLD_PUT, "INSERT OR REPLACE INTO hold (name, class, client, owner, kind, permits, token,"   \
                " until_ns, since_ns, ttl_ms, label, called)"                                      \
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")                     \
    X(HOLD_DROP, "DELETE FROM hold WHERE " HFI_SQLITE_HOLD_KEY)                                    \
    X(HOLD_RENEW, "UPDATE hold SET until_ns = ?6, ttl_ms = ?7 WHERE " HFI_SQLITE_HOLD_KEY          \
                  " AND until_ns > ?5 AND EXISTS (SELECT 1 FROM client WHERE id = ?3)")            \
    X(HOLD_LOOK, "SELECT 1 FROM hold WHERE " HFI_SQLITE_HOLD_KEY                                   \
                 " AND until_ns > ?5 AND EXISTS (SELECT 1 FROM client WHERE id = ?3)")             \
    X(HOLD_FOLLOW, "SELECT 1 FROM hold WHERE name = ?1 AND class = 1 AND client = ?2"              \
                   " AND called AND since_ns > ?3 AND until_ns > ?4 LIMIT 1")                      \
    X(HOLD_ANNOUNCE, "UPDATE hold SET token = ?6, since_ns = ?7, label = ?8, threads = ?10,"       \
                     " threads_ns = ?11 WHERE " HFI_SQLITE_HOLD_KEY " AND until_ns > ?5"           \
                     " AND (token <> ?6 OR label IS NOT ?8 OR abs(since_ns - ?7) > ?9"             \
                     " OR threads <> ?10)")                                                        \
    X(HOLDS_OF, "SELECT name FROM hold WHERE client = ?1 AND name > ?2 ORDER BY name LIMIT 1")     \
    X(HOLDS_GIVE, "DELETE FROM hold WHERE name = ?1 AND client = ?2")                              \
    X(HOLDS_FORGET, "DELETE FROM hold WHERE client = ?1")                                          \
    X(PARTS_TAKEN, "SELECT coalesce(sum(permits), 0), min(until_ns) FROM hold"                     \
                   " WHERE name = ?1 AND class = 2 AND until_ns > ?2")                             \
    X(PARTS_DROP, "DELETE FROM hold WHERE name = ?1 AND class = 2")                                \
    X(PARTS_OWNERS, "SELECT DISTINCT h.client, c.uuid, c.boot FROM hold h"                         \
                    " LEFT JOIN client c ON c.id = h.client WHERE h.name = ?1 AND h.class = 2")    \
    X(PARTS_BREAK, "UPDATE client SET broken = broken + 1 WHERE id IN"                             \
                   " (SELECT client FROM hold WHERE name = ?1 AND class = 2)")                     \
    X(TALLY, "SELECT number, until_ns, made_ns FROM tally WHERE name = ?1 AND family = ?2"         \
             " AND (until_ns IS NULL OR until_ns > ?3)")                                           \
    X(TALLY_PUT, "INSERT OR REPLACE INTO tally (name, family, number, made_ns, made_ms, until_ns)" \
                 " VALUES (?1, ?2, ?3, ?4, ?5, nullif(?6, 0))")                                    \
    X(TALLY_SET, "UPDATE tally SET number = ?3 WHERE name = ?1 AND family = ?2")                   \
    X(TALLY_DROP, "DELETE FROM tally WHERE name = ?1 AND family = ?2")                             \
    X(TALLIES_OVER, "DELETE FROM tally WHERE until_ns <= ?1")                                      \
    X(TALLIES_MOVE, "UPDATE tally SET made_ns = ?1 - max(0, ?2 - made_ms) * 1000000, until_ns ="   \
                    " until_ns - made_ns + ?1 - max(0, ?2 - made_ms) * 1000000")                   \
    X(DONE, "SELECT number FROM done WHERE client = ?1 AND serial = ?2")                           \
    X(DONE_NOTE, "INSERT OR REPLACE INTO done VALUES (?1, ?2, ?3, ?4)")                            \
    X(DONE_DROP, "DELETE FROM done WHERE client = ?1 AND serial = ?2")                             \
    X(DONE_TRIM, "DELETE FROM done WHERE client = ?1 AND serial IN (SELECT serial FROM done"       \
                 " WHERE client = ?1 ORDER BY serial LIMIT 2) AND (until_ns < ?2 OR serial < ?3)") \
    X(DONE_FORGET, "DELETE FROM done WHERE client = ?1")                                           \
    X(TICKET_BEFORE, HFI_SQLITE_TICKET "AND w.ticket < ?3 ORDER BY w.ticket DESC LIMIT 1")         \
    X(TICKET_AFTER, HFI_SQLITE_TICKET "AND w.ticket > ?3 ORDER BY w.ticket LIMIT 1")               \
    X(TICKET_MINE,                                                                                 \
      "SELECT ticket, called_ns FROM waiter WHERE " HFI_SQLITE_MINE " AND place = ?4")             \
    X(TICKET_ANY, "SELECT ticket, called_ns FROM waiter WHERE " HFI_SQLITE_MINE                    \
                  " ORDER BY called_ns > 0 DESC, ticket LIMIT 1")                                  \
    X(TICKET_LAST,                                                                                 \
      "SELECT ticket FROM waiter WHERE " HFI_SQLITE_MINE " AND (?4 = 0 OR owner = ?4) LIMIT 1")    \
    X(TICKET_ADD, "INSERT OR IGNORE INTO waiter (client, name, kind, place, owner, family,"        \
                  " units, from_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                      \
    X(TICKET_AGAIN, "UPDATE waiter SET owner = ?5, called_ns = 0 WHERE " HFI_SQLITE_MINE           \
                    " AND place = ?4 AND (owner <> ?5 OR called_ns <> 0)")                         \
    X(TICKET_CALL, "UPDATE waiter SET called_ns = ?2 WHERE ticket = ?1")                           \
    X(TICKET_DROP, "DELETE FROM waiter WHERE ticket = ?1")                                         \
    X(TICKET_ANNOUNCE,                                                                             \
      "UPDATE waiter SET threads = ?5 WHERE " HFI_SQLITE_MINE " AND place = ?4 AND threads <> ?5") \
    X(TICKETS_OF, "SELECT name, family, ticket FROM waiter WHERE client = ?1"                      \
                  " ORDER BY name LIMIT 1")                                                        \
    X(TICKETS_FORGET, "DELETE FROM waiter WHERE client = ?1")                                      \
    X(TICKETS_LINE, "SELECT c.uuid, c.boot FROM waiter w JOIN client c ON c.id = w.client"         \
                    " WHERE w.name = ?1 AND w.family = ?2")                                        \
    X(TICKETS_END, "DELETE FROM waiter WHERE name = ?1 AND family = ?2")                           \
    X(TICKETS_OTHERS, "SELECT count(*) FROM waiter WHERE name = ?1 AND family = ?2"                \
                      " AND NOT (client = ?3 AND kind = ?4)")                                      \
    X(LIST_HOLDS, HFI_SQLITE_HOLDS " ORDER BY name, class, since_ns")                              \
    X(LIST_TALLIES, HFI_SQLITE_TALLIES " ORDER BY name, family")                                   \
    X(LIST_WAITERS, HFI_SQLITE_WAITERS("", "") " ORDER BY name, family, place")                    \
    X(SHOW_HOLDS, HFI_SQLITE_HOLDS " WHERE name = ?1 ORDER BY class, since_ns")                    \
    X(SHOW_TALLIES, HFI_SQLITE_TALLIES " AND name = ?1 ORDER BY family")                           \
    X(SHOW_WAITERS,                                                                                \
      HFI_SQLITE_WAITERS(" WHERE name = ?1", " AND name = ?1") " ORDER BY family, place")

enum hfi_sqlite_sql {
#define HFI_X(name, text) HFI_SQL_##name,
    HFI_SQLITE_STATEMENTS(HFI_X)
#undef HFI_X
        HFI_SQL_COUNT
};

#endif
