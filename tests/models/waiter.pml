/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A waiter: try, busy, subscribe, try again, sleep, woken, try. Two connections carry tries and wake-ups, so the
 * server's answers and its messages overtake each other. The wake-up connection is lost and made again.
 *
 * Code    src/core/front.c            start_try(), hfi_gate_wait_more(), hfi_gate_watch_answered(), hfi_gate_woken(),
 *                                     hfi_gate_timer()
 *         src/store/redis/watch.c     hfi_redis_watch(), confirmed(), hfi_redis_unsubscribed()
 *         src/store/redis/scripts     acquire.lua; release.lua: it removes and publishes in one
 *
 * Others hold the lock, let go, and take it again, before they leave it for good. WAKE: there is no poll, and no
 * message is lost but with its connection: wake-ups alone must do. POLL: the timer runs, and any message may be
 * lost: a lost one costs no more than that.
 *
 * run: woken -DWAKE           the waiter gets the lock by wake-ups alone: it never sleeps while the lock is free and nothing is on its way
 * run: polled -DPOLL ltl:got  the waiter gets the lock, whatever messages are lost
 *
 * mutant: woken NO_RECHECK     after the subscription is confirmed it sleeps without trying again
 * mutant: woken FORGET_WAKE    a wake-up that comes while a try is under way is forgotten
 * mutant: woken UNCONFIRMED    the second try leaves before the subscription is confirmed
 * mutant: woken SILENT         after a new subscription it is not woken
 * mutant: woken NOT_AGAIN      a new connection does not subscribe again
 * mutant: polled NO_TIMER      it sleeps without a timer
 */
#define OTHERS 3 /* so often somebody else takes the lock */
#define DROPS  2 /* so often the wake-up connection is lost */

#ifdef NO_TIMER
#define TIMER false
#else
#ifdef POLL
#define TIMER true
#else
#define TIMER false
#endif
#endif

mtype = { TRY, GRANTED, BUSY, SUBSCRIBE, CONFIRMED, RELEASED };
mtype = { TRYING, WATCHING, SLEEPING };

byte holder = 1;  /* 0: nobody; 1: others; 2: the waiter */
bool subscribed;  /* the server has our subscription, on the connection that there is */
bool served;

chan tries = [1] of { mtype };
chan answers = [1] of { mtype };
chan subscribes = [1] of { mtype }; /* the wake-up connection, to the server */
chan wakes = [8] of { mtype };      /* and from it */

/* The gate, and its watch in the store */
mtype phase = TRYING;
bool watched, in_flight, wake_pending;

/* release.lua */
inline publish()
{
    if
    :: subscribed -> wakes!RELEASED
#ifdef POLL
    :: subscribed /* lost */
#endif
    :: !subscribed
    fi
}

active proctype Others()
{
    byte rounds;

    do
    :: atomic { holder == 1 -> holder = 0; publish() }
    :: atomic { holder == 0 && rounds < OTHERS -> holder = 1; rounds++ }
    :: holder != 1 -> break
    od
}

active proctype Server()
{
end:
    do
    :: atomic {
           tries?TRY;
           if
           :: holder == 0 -> holder = 2; answers!GRANTED
           :: else -> answers!BUSY
           fi
       }
    :: atomic { subscribes?SUBSCRIBE -> subscribed = true; wakes!CONFIRMED }
    od
}

/* The wake-up connection ends, with what is on its way; the store subscribes on the next one. */
active proctype Network()
{
    byte drops;

end:
    do
    :: atomic {
           drops < DROPS && watched ->
               drops++;
               subscribed = false;
               do
               :: nempty(wakes) -> wakes?_
               :: empty(wakes) -> break
               od;
               if
               :: nempty(subscribes) -> subscribes?_
               :: empty(subscribes)
               fi;
#ifndef NOT_AGAIN
               subscribes!SUBSCRIBE
#endif
       }
    od
}

inline start_try()
{
    wake_pending = false;
    phase = TRYING;
    tries!TRY
}

inline wait_more()
{
    if
    :: in_flight -> phase = WATCHING
    :: !in_flight && !watched ->
        watched = true;
        subscribes!SUBSCRIBE;
#ifdef UNCONFIRMED
        start_try()
#else
        in_flight = true;
        phase = WATCHING
#endif
    :: !in_flight && watched && wake_pending -> start_try()
    :: else -> phase = SLEEPING
    fi
}

/* hfi_gate_woken() */
inline woken()
{
    if
#ifdef FORGET_WAKE
    :: phase == TRYING
#else
    :: phase == TRYING -> wake_pending = true
#endif
    :: phase == SLEEPING -> start_try()
    :: phase == WATCHING /* the answer to WATCH leads to a try */
    fi
}

/* confirmed(): the answer to WATCH, if it waits for one; else news, since messages may have been missed. */
inline confirmed()
{
    if
    :: in_flight ->
        in_flight = false;
        if
        :: phase == TRYING -> wake_pending = true
#ifdef NO_RECHECK
        :: else -> phase = SLEEPING
#else
        :: else -> start_try()
#endif
        fi
    :: else ->
#if defined(SILENT) || defined(UNCONFIRMED)
        skip
#else
        woken()
#endif
    fi
}

active proctype Waiter()
{
    atomic { start_try() };
    do
    :: atomic { answers?GRANTED -> break }
    :: atomic { answers?BUSY -> wait_more() }
    :: atomic { wakes?CONFIRMED -> confirmed() }
    :: atomic { wakes?RELEASED -> woken() }
    :: atomic { TIMER && phase != TRYING -> start_try() }
    od;
    served = true;
    holder = 0
}

/* When nothing moves any more he has had it: an end of all that is not this is found as an invalid end state. */
#ifdef POLL
ltl got { <> served }
#endif
