/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fencing: threads of two processes take a lock in turns, pause, and write. Nothing is said of time: the lease at
 * the server may end at any moment, and a write may arrive at any time after its claim began, also long after it
 * ended. So what holds here holds in every run, however wrong clocks are.
 *
 * Code    src/store/redis/scripts     acquire.lua: how a block of tokens is drawn
 *         src/core/pass.c             hfi_pass_claim(): a further claim has the next token of the block
 * and a resource as it should be: it refuses a token that is smaller than one it has seen.
 *
 * run: fenced  writes are accepted in the order of grants and passes
 *
 * mutant: fenced UNFENCED  the resource accepts every token
 * mutant: fenced BY_CLOCK  a token is the server's time alone, which can stand still or step back
 * mutant: fenced AHEAD     a block of tokens goes beyond the counter, and so meets the tokens of the next acquire
 * mutant: fenced REUSED    a hold that is passed on keeps its token
 */
#define ROUNDS (me == 2 -> 1 : 2) /* claims of each thread */
#define BLOCK  2 /* tokens of an acquire: so many claims, one behind the other */

#define PROCESS(thread) (1 + (thread) / 3) /* threads 1 and 2 are of one process, 3 is of another */

byte holder;         /* which process has the lock at the server; 0: none */
byte counter = 3;    /* the last token */
byte grants;
byte parked, parked_block, parked_order; /* the first process: a hold that waits to be taken: its next token */
byte seen, accepted; /* the resource: the largest token, and whose write was the last */

active proctype Expiry()
{
end:
    do
    :: holder != 0 -> holder = 0
    od
}

/* acquire.lua: the block lies behind the server's time, which may be anything, or is one token behind the counter. */
inline draw_tokens()
{
    if
    :: wall = counter - 1 /* it stands, or was set back */
    :: wall = counter + BLOCK
    fi;
#ifdef BY_CLOCK
    counter = wall;
    block = 1;
    token = wall;
#else
    if
    :: counter >= wall -> block = 1; counter++
    :: else -> block = (wall - counter < BLOCK -> wall - counter : BLOCK); counter = wall
    fi;
    token = counter - block + 1;
#endif
#ifdef AHEAD
    block = BLOCK;
    token = counter;
#endif
    wall = 0;
    grants++;
    order = grants * BLOCK
}

inline write()
{
    if
#ifdef UNFENCED
    :: true ->
#else
    :: token >= seen ->
#endif
        assert(order >= accepted);
        seen = token;
        accepted = order
    :: else
    fi
}

active [3] proctype Thread()
{
    byte me = _pid; /* behind Expiry, which is 0 */
    byte round, wall, token, block, order;

end:
    do
    :: round < ROUNDS ->
        if
        :: atomic {
               holder == 0 && (parked == 0 || PROCESS(me) == 2) ->
                   holder = PROCESS(me);
                   draw_tokens()
           }
        :: atomic { /* hfi_pass_claim() */
               PROCESS(me) == 1 && parked != 0 ->
                   token = parked;
                   block = parked_block;
                   order = parked_order;
                   parked = 0;
                   parked_block = 0;
                   parked_order = 0
           }
        fi;
        round++;
        if
        :: atomic { write() }
        :: true
        fi;
        atomic { /* hfi_pass_on(), or release.lua */
            if
            :: PROCESS(me) == 1 && block > 1 && parked == 0 ->
#ifdef REUSED
                parked = token;
#else
                parked = token + 1;
#endif
                parked_block = block - 1;
                parked_order = order + 1
            :: holder = (holder == PROCESS(me) -> 0 : holder)
            fi;
            block = 0
        };
        if
        :: atomic { write() } /* it was on its way */
        :: true
        fi;
        atomic { token = 0; order = 0 }
    :: else -> break
    od
}
