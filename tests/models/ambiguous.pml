/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquire whose answer does not come, and a packet that arrives late: one client, which gives up connections
 * with requests in them, a rival, and a server that reads what is left in a connection at any time later.
 *
 * Code    src/core/answer.c           unsure(), retire(): the owner id is never tried again, and is released
 *         src/core/hold.c             hfi_hold_end(), hfi_hold_release_answered(): a release is repeated
 *         src/store/redis/store.c     hfi_redis_forsake(): what was sent becomes unknown
 *         src/store/redis/greet.c     hfi_redis_greet_again(): CLIENT KILL comes before any command
 *         src/store/redis/scripts     acquire.lua, release.lua
 *
 * No lease runs out here: what is left behind stays, and so is seen. DENIED: the server permits no CLIENT KILL.
 *
 * run: killed           a claim is what the server has; when all is done nothing is left at the server
 * run: denied -DDENIED  a claim is what the server has; when all is done at most the hold of a retired owner id is left
 *
 * mutant: killed NO_KILL        the old connection is not ended
 * mutant: killed KILL_LAST      it is ended after the release was sent
 * mutant: killed NO_REPEAT      a release that was not answered is not repeated
 * mutant: killed NO_RELEASE     a retired owner id is not released
 * mutant: killed TRUST          a try that was not answered counts as granted
 * mutant: killed DEL            release.lua removes the lock, whoever has it
 * mutant: denied SAME_OWNER     the next try is made with the same owner id
 */
#ifndef CONNECTIONS
#define CONNECTIONS 4 /* the last one is not lost */
#endif
#define OWNERS      5
#define RIVAL       9
#define LAST        (CONNECTIONS - 1)

mtype = { TRY, RELEASE, KILL, GRANTED, ALREADY, BUSY, DONE };

chan to[CONNECTIONS] = [6] of { mtype, byte };   /* what is not executed yet */
chan from[CONNECTIONS] = [6] of { mtype, byte }; /* replies, in order */
bool killed[CONNECTIONS];                        /* the server has ended it */
bool gone[CONNECTIONS];                          /* the client has */

byte holder; /* an owner id; 0: nobody */
byte claim;  /* the owner id by which the client holds the lock, as it believes; 0: none */
bool retired[OWNERS + 1];
bool client_done, rival_done;

/* ---- The server ---- */

inline reply(what)
{
    if
    :: !gone[i] -> from[i]!what(owner)
    :: else
    fi
}

/* acquire.lua */
inline execute_try()
{
    if
    :: holder == 0 -> holder = owner; reply(GRANTED)
    :: holder == owner -> reply(ALREADY)
    :: else -> reply(BUSY)
    fi
}

/* release.lua */
inline execute_release()
{
#ifdef DEL
    holder = 0;
#else
    holder = (holder == owner -> 0 : holder);
#endif
    reply(DONE)
}

/* Here `owner` is the number of a connection. */
inline execute_kill()
{
#ifndef DENIED
    killed[owner] = true;
    do
    :: nempty(to[owner]) -> to[owner]?_, _
    :: empty(to[owner]) -> break
    od;
#endif
    owner = 0;
    reply(DONE)
}

inline serve(number)
{
    i = number;
    if
    :: to[i]?TRY, owner -> execute_try()
    :: to[i]?RELEASE, owner -> execute_release()
    :: to[i]?KILL, owner -> execute_kill()
    fi;
    assert(claim == 0 || holder == claim);
    owner = 0;
    i = 0
}

/* It reads a connection in its order, and connections in any. */
active proctype Server()
{
    byte i, owner;

end:
    do
    :: atomic { nempty(to[0]) -> serve(0) }
    :: atomic { nempty(to[1]) -> serve(1) }
    :: atomic { nempty(to[2]) -> serve(2) }
#if CONNECTIONS > 3
    :: atomic { nempty(to[3]) -> serve(3) }
#endif
    od
}

active proctype Rival()
{
    do
    :: atomic { holder == 0 -> holder = RIVAL };
       atomic { assert(holder == RIVAL); holder = 0 } /* nobody took it away */
    :: break
    od;
    rival_done = true
}

/* ---- The client ---- */

inline release(id)
{
    owed[id] = true;
    to[cur]!RELEASE(id);
    waiting++
}

inline try()
{
    to[cur]!TRY(owner);
    trying = true;
    waiting++
}

/* retire(): for a try of which nothing is known. */
inline retire()
{
    trying = false;
    retired[owner] = true;
#ifndef NO_RELEASE
    owed[owner] = true;
#endif
#ifndef SAME_OWNER
    owner++
#endif
}

/* hfi_redis_lost(), hfi_redis_forsake(): of all that waits for an answer nothing is known. */
inline lose()
{
    gone[cur] = true;
    do
    :: nempty(from[cur]) -> from[cur]?_, _
    :: empty(from[cur]) -> break
    od;
    if
    :: waiting > 0 -> old = cur + 1
    :: else /* only its greeting was under way: the one before is still to be ended */
    fi;
    waiting = 0;
    cur++;
#ifdef NO_REPEAT
    id = 1;
    do
    :: id <= OWNERS -> owed[id] = false; id++
    :: else -> break
    od;
#endif
    if
    :: trying ->
#ifdef TRUST
        trying = false;
        over = true;
        claim = owner;
        assert(holder == claim);
        claim = 0;
        owed[owner] = true
#else
        retire()
#endif
    :: else
    fi;
    id = 0
}

/* What is still owed to the server goes first. */
inline begin()
{
    id = 1;
    do
    :: id <= OWNERS ->
        if
        :: owed[id] -> release(id)
        :: else
        fi;
        id++
    :: else -> break
    od;
    id = 0;
    if
    :: !over -> try()
    :: else
    fi
}

active proctype Client()
{
    byte cur, old, owner = 1, id, waiting;
    bool trying, over, owed[OWNERS + 1];

    atomic { begin() };
    do
    :: atomic { from[cur]?GRANTED, id -> waiting--; trying = false; over = true; claim = id; assert(holder == claim) };
       atomic { claim = 0; release(id); id = 0 } /* the program lets go */
    :: atomic { from[cur]?BUSY, id -> waiting--; trying = false; id = 0 };
       if
       :: atomic { try() } /* by the same owner id: this one was answered */
       :: over = true
       fi
    :: atomic { from[cur]?ALREADY, id -> waiting--; retire(); id = 0; begin() }
    :: atomic { from[cur]?DONE, id -> waiting--; owed[id] = false; id = 0 }
    :: atomic { waiting == 0 && over -> break }
    :: atomic { cur < LAST && waiting > 0 -> lose() };
greet:
#if defined(NO_KILL) || defined(KILL_LAST)
       atomic {
           begin();
#ifdef KILL_LAST
           to[cur]!KILL(old - 1);
           waiting++;
#endif
       }
#else
       atomic { to[cur]!KILL(old - 1) };
       if
       :: atomic { from[cur]?DONE, _ -> old = 0; begin() }
       :: atomic { cur < LAST -> lose() };
          goto greet
       fi
#endif
    od;
    client_done = true
}

/* When everybody is done, and all that was under way has arrived. */
active proctype Monitor()
{
    atomic {
        client_done && rival_done && empty(to[0]) && empty(to[1]) && empty(to[2]) && empty(to[LAST]);
#ifdef DENIED
        assert(holder == 0 || retired[holder])
#else
        assert(holder == 0)
#endif
    }
}
