/* SPDX-License-Identifier: Apache-2.0 */
/* Lease arithmetic: what an answered request says about how long we may believe in it. */
#ifndef HFI_CORE_LEASE_H
#define HFI_CORE_LEASE_H

#include "base/random.h"
#include "core/limits.h"

static inline hfi_time hfi_lease_drift(hfi_time ttl_ns)
{
    return ttl_ns / HFI_DRIFT_DIVISOR + HFI_DRIFT_FIXED;
}

/* `sent_ns`: the clock just before the first byte of the request that was answered. */
static inline hfi_time hfi_lease_deadline(hfi_time sent_ns, hfi_time ttl_ns)
{
    return sent_ns + ttl_ns - hfi_lease_drift(ttl_ns);
}

/* When to renew what was confirmed by a request sent then. */
static inline hfi_time hfi_lease_renewal(hfi_time sent_ns, hfi_time ttl_ns,
                                         struct hfi_random *random)
{
    hfi_time spread = hfi_random_below(random, ttl_ns / HFI_RENEW_SPREAD_DIVISOR);
    hfi_time at = sent_ns + ttl_ns / HFI_RENEW_DIVISOR - spread;

    return ttl_ns >= HFI_RENEW_GRID_MIN_TTL ? at & ~(HFI_RENEW_GRID - 1) : at;
}

static inline hfi_time hfi_lease_risk(hfi_time sent_ns, hfi_time ttl_ns)
{
    return sent_ns + ttl_ns / HFI_RISK_DIVISOR * HFI_RISK_NUMERATOR;
}

#endif
