/* SPDX-License-Identifier: Apache-2.0 */
/* The core's constants, in one place. Those that a program can change are in struct hfi_engine_config. */
#ifndef HFI_CORE_LIMITS_H
#define HFI_CORE_LIMITS_H

#include "base/time.h"

/* A claim ends so much before the store's lease: clocks may run differently by one in a hundred. */
#define HFI_DRIFT_DIVISOR 100
#define HFI_DRIFT_FIXED   (2 * HFI_MSEC)

/* Renewal comes every third of the ttl, earlier by up to a 24th of it, so that holds taken together are
 * not renewed together for ever; and on a grid, so that many go in one request. */
#define HFI_RENEW_DIVISOR        3
#define HFI_RENEW_SPREAD_DIVISOR 24
#define HFI_RENEW_GRID           (UINT64_C(1) << 26) /* 67 ms */
#define HFI_RENEW_GRID_MIN_TTL   (5 * HFI_SEC)       /* shorter ttls go by themselves */
/* With this part of the ttl gone without an answered renewal a hold is at risk. */
#define HFI_RISK_NUMERATOR   2
#define HFI_RISK_DIVISOR     3
#define HFI_RENEW_RETRY_MIN  (5 * HFI_MSEC)
#define HFI_RENEW_RETRY_PART 30 /* a failed renewal is repeated after up to this part of the ttl */

/* No request waits for longer than this part of its lock's ttl. */
#define HFI_OP_TTL_DIVISOR 4

/* A ttl shorter than so many round trips is warned about. */
#define HFI_TTL_ROUND_TRIPS 20

/* A waiter in this process that is later than this is served before any newcomer. */
#define HFI_LATE_NS HFI_MSEC
/* A process that takes a lock again and again lets others go first so long after it got it from them, where no
 * passing says when: it would always be faster, since it needs not be told of its own release. */
#define HFI_TURN_NS (10 * HFI_MSEC)
/* After the last pass, or at the end of a turn, how long others are let go first when there are some. */
#define HFI_YIELD_NS (2 * HFI_MSEC)
/* A name is watched for so long after the last waiter has gone: the next one needs no new watch. */
#define HFI_LINGER_NS HFI_SEC
/* Waiters of the spin kind, as Redisson's: full jitter between these. */
#define HFI_SPIN_MIN_NS HFI_MSEC
#define HFI_SPIN_MAX_NS (128 * HFI_MSEC)
/* A message may mean that a latch was set, or that it was deleted. When it is found to be gone after such a one,
 * the message that it reached zero is waited for so long. */
#define HFI_LATCH_DOUBT_NS (100 * HFI_MSEC)
/* Waiting for a store that cannot be used: full jitter between the first and the poll cap. */
#define HFI_PAUSE_MIN_NS (20 * HFI_MSEC)
/* A release that could not be done is repeated within this: others wait for it, however long a poll may be. */
#define HFI_RELEASE_AGAIN_NS HFI_SEC
/* A try that was given up may be on its way for so long yet, to a server that stands still or cannot be reached: its
 * release is not given up before. */
#define HFI_DELAYED_NS (60 * HFI_SEC)

/* What people may see lags by this much; what lasts shorter is never announced. */
#define HFI_ANNOUNCE_DELAY  (200 * HFI_MSEC)
#define HFI_ANNOUNCE_PERIOD HFI_SEC
#define HFI_HEARTBEAT       (10 * HFI_SEC)
#define HFI_ANNOUNCE_TTL    (35 * HFI_SEC)

#endif
