/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lease and a pause: two clients want one lock; each may stand still at any point for any time. (What a pause
 * does to writes that are on their way is the next model, fence.pml.)
 *
 * Code    src/core/lease.h            hfi_lease_deadline(): from when the answered request left
 *         src/core/answer.c           granted()
 *         src/core/watchdog.c         item_answered(), kept()
 *         src/core/hold.c             hfi_hold_valid(), hfi_hold_end()
 *         src/store/redis/scripts     acquire.lua, renew.lua, release.lua
 *
 * Time is in ticks of the server's clock, and is kept as what remains or has passed, so that it can go on for
 * ever. A client's clock may stay behind by one tick in any TTL ticks, which is what DRIFT allows for. A request
 * is read by the server at any time after it left, and its answer arrives at any time after that; meanwhile, and
 * between any two steps, time passes. What is between two requests of a client is one owner id: that its late
 * requests cannot meet its later ones is the other model, ambiguous.pml.
 *
 * run: claims  valid claims never overlap; a claim that was over is never valid again; success is told before its deadline
 *
 * mutant: claims NO_DRIFT    a claim lasts as long as the lease at the server
 * mutant: claims FROM_REPLY  the deadline is counted from when the answer came
 * mutant: claims UNANSWERED  a renewal moves the deadline before it is answered
 * mutant: claims REVIVED     an answer that comes after the deadline moves it
 * mutant: claims LATE_GRANT  a grant that comes after its deadline is a success
 * mutant: claims DEL         release.lua removes the lock, whoever has it
 */
#define TTL 5

#ifdef NO_DRIFT
#define DRIFT 0
#else
#define DRIFT 1
#endif

/* The server: whose lock it is (0: nobody's), and for how long. */
byte holder, remains;

/* The clients, by their own clocks. */
byte slip[2]; /* ticks since it stayed behind, at most TTL */
byte age[2];  /* since the request left, at most TTL */
bool held[2], over[2];
byte left[2]; /* until the deadline */

#define OWNER(me) ((me) + 1)
#define VALID(me) (held[me] && left[me] > 0)
/* The deadline, from when the request left. */
#define FROM(age) ((age) + DRIFT < TTL -> TTL - DRIFT - (age) : 0)

inline check(me)
{
    over[me] = held[me] && (over[me] || left[me] == 0);
    assert(!(VALID(0) && VALID(1)));
    assert(!(over[me] && VALID(me)))
}

inline tick(me)
{
    if
    :: slip[me] >= TTL -> slip[me] = 0 /* it stays behind */
    :: slip[me] = (slip[me] < TTL -> slip[me] + 1 : TTL);
       age[me] = (age[me] < TTL -> age[me] + 1 : TTL);
       left[me] = (left[me] > 0 -> left[me] - 1 : 0)
    fi
}

active proctype Clock()
{
end:
    do
    :: atomic {
           remains = (remains > 0 -> remains - 1 : 0);
           holder = (remains > 0 -> holder : 0);
           tick(0);
           tick(1);
           check(0);
           check(1)
       }
    od
}


/* acquire.lua */
inline execute_try()
{
    yes = holder == 0;
    if
    :: yes ->
        holder = OWNER(me);
        remains = TTL
    :: else
    fi
}

/* renew.lua */
inline execute_renewal()
{
    yes = holder == OWNER(me);
    remains = (yes -> TTL : remains)
}

/* release.lua */
inline execute_release()
{
#ifndef DEL
    if
    :: holder == OWNER(me) ->
#endif
        holder = 0;
        remains = 0
#ifndef DEL
    :: else
    fi
#endif
}

/* granted(): the claim begins, unless its time is over already. */
inline take_grant()
{
#ifdef FROM_REPLY
    age[me] = 0;
#endif
    left[me] = FROM(age[me]);
#ifdef LATE_GRANT
    held[me] = true;
#else
    held[me] = left[me] > 0;
#endif
    assert(!held[me] || left[me] > 0);
    check(me)
}

/* item_answered() */
inline take_renewal()
{
    if
#ifdef REVIVED
    :: !yes -> held[me] = false
#else
    :: !yes || left[me] == 0 -> held[me] = false
#endif
    :: else ->
#ifdef FROM_REPLY
        age[me] = 0;
#endif
        left[me] = FROM(age[me])
    fi;
    check(me)
}

/* It is not held, and no request is under way: what remains in the variables means nothing. */
inline forget()
{
    held[me] = false;
    over[me] = false;
    left[me] = 0;
    age[me] = 0;
    yes = false
}

active [2] proctype Client()
{
    byte me = _pid - 1; /* behind Clock */
    bool yes;

end:
    do
    :: true ->
        age[me] = 0;
        atomic { execute_try() };
        if
        :: atomic { yes -> take_grant() }
        :: atomic { !yes -> forget() };
           goto end
        fi;
        do
        :: atomic {
               VALID(me) -> age[me] = 0; /* a renewal leaves */
#ifdef UNANSWERED
               left[me] = FROM(0)
#endif
           };
           atomic { execute_renewal() };
           atomic { take_renewal() }
        :: break /* the program lets go; or it was lost, and it is told */
        od;
        held[me] = false;
        atomic { execute_release(); forget() }
    od
}

