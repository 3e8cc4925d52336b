/* SPDX-License-Identifier: Apache-2.0 */
#include "api/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/name.h"

#define TIMEOUT_DEFAULT_MS 2000
#define TIMEOUT_MAX_MS     (3600 * 1000)
#define POLL_DEFAULT_MS    1000
#define PASS_DEFAULT_MS    10
#define PASS_DEFAULT_COUNT 1000
#define PASS_MAX_COUNT     1000000

int hfi_check_name(const char *name, const char *what, size_t *ret_len)
{
    size_t len = name ? strnlen(name, HF_NAME_MAX + 1) : 0;

    if (hfi_name_check(name, len) != HF_OK)
        return hfi_fail(HF_ERR_NAME, "%s is 1 to %d bytes of UTF-8 without control characters",
                        what, HF_NAME_MAX);
    *ret_len = len;
    return HF_OK;
}

int hfi_no_memory(void)
{
    return hfi_fail(HF_ERR_NO_MEMORY, "%s", hf_strerror(HF_ERR_NO_MEMORY));
}

int hfi_options_copy(void *to, size_t to_size, const void *from, const char *what)
{
    size_t size;

    memset(to, 0, to_size);
    if (!from)
        return HF_OK;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > 65536)
        return hfi_fail(HF_ERR_INVALID,
                        "%s: set the size member to the size of the struct (the macros do)", what);
    memcpy(to, from, size < to_size ? size : to_size);
    return HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Clients
 */

static bool set_time(int64_t ms, int64_t fallback, hfi_time *ret_ns)
{
    if (ms == 0)
        ms = fallback;
    if (ms < 1 || ms > TIMEOUT_MAX_MS)
        return false;
    *ret_ns = (hfi_time)ms * HFI_MSEC;
    return true;
}

static bool set_passing(const struct hf_client_options *options, struct hfi_client_config *config)
{
    int64_t count = options->pass_count ? options->pass_count : PASS_DEFAULT_COUNT;

    if (options->pass_ms == HF_OFF || count == HF_OFF)
        return true; /* both stay 0 */
    if (count < 1 || count > PASS_MAX_COUNT ||
        !set_time(options->pass_ms, PASS_DEFAULT_MS, &config->pass_ns))
        return false;
    config->pass_count = (uint32_t)count;
    return true;
}

int hfi_client_options(const struct hf_client_options *given, struct hfi_client_config *config)
{
    struct hf_client_options options;
    int error = hfi_options_copy(&options, sizeof options, given, "hf_client_options");

    memset(config, 0, sizeof *config);
    if (error)
        return error;
    config->trace.hook = options.trace;
    config->trace.arg = options.trace_arg;
    config->program = options.program;
    if (set_time(options.op_timeout_ms, TIMEOUT_DEFAULT_MS, &config->op_timeout_ns) &&
        set_time(options.connect_timeout_ms, TIMEOUT_DEFAULT_MS, &config->connect_timeout_ns) &&
        set_time(options.close_timeout_ms, TIMEOUT_DEFAULT_MS, &config->close_timeout_ns) &&
        set_time(options.poll_ms, POLL_DEFAULT_MS, &config->poll_ns) &&
        set_passing(&options, config))
        return HF_OK;
    return hfi_fail(
        HF_ERR_INVALID,
        "a time in hf_client_options is out of range: 1 ms to 1 hour, 0 for the default");
}

/* ------------------------------------------------------------------------------------------------
 * Acquires
 */

static int set_name(const char *name, struct hfi_waiter *waiter)
{
    waiter->name = name;
    return hfi_check_name(name, "a lock's name", &waiter->name_len);
}

static bool is_ttl(int64_t ms)
{
    return ms >= HF_TTL_MIN_MS && ms <= HF_TTL_MAX_MS;
}

static int set_ttl(const struct hf_acquire_options *options, struct hfi_waiter *waiter)
{
    int64_t ms = options->lease_ms ? options->lease_ms : options->ttl_ms;
    bool max_hold_ok = options->max_hold_ms == 0 || options->max_hold_ms == HF_OFF ||
                       options->max_hold_ms >= HF_TTL_MIN_MS;

    if (options->lease_ms && options->ttl_ms)
        return hfi_fail(HF_ERR_INVALID, "give either ttl_ms (renewed) or lease_ms (fixed)");
    if (ms == 0)
        ms = HF_TTL_DEFAULT_MS;
    if (!is_ttl(ms) || !max_hold_ok)
        return hfi_fail(HF_ERR_TTL, "a ttl or lease is %d ms to %d ms, max_hold_ms at least %d ms",
                        HF_TTL_MIN_MS, HF_TTL_MAX_MS, HF_TTL_MIN_MS);
    waiter->ttl_ms = (uint32_t)ms;
    waiter->fixed = options->lease_ms != 0;
    if (options->max_hold_ms > HF_WAIT_MAX_MS)
        waiter->max_hold_ns = HF_TIME_NEVER; /* it would not fit into nanoseconds */
    else if (options->max_hold_ms > 0)
        waiter->max_hold_ns = (hfi_time)options->max_hold_ms * HFI_MSEC;
    return HF_OK;
}

static int set_wait(const struct hf_acquire_options *options, struct hfi_waiter *waiter)
{
    int64_t ms = options->wait_ms;

    if (ms != HF_WAIT_FOREVER && ms != HF_TRY_ONCE && (ms < 1 || ms > HF_WAIT_MAX_MS))
        return hfi_fail(HF_ERR_INVALID,
                        "wait_ms is HF_TRY_ONCE, HF_WAIT_FOREVER, or 1 ms to 365 days");
    waiter->once = ms == HF_TRY_ONCE;
    waiter->wait_ns = ms > 0 ? (hfi_time)ms * HFI_MSEC : HF_TIME_NEVER;
    return HF_OK;
}

static int set_label(const struct hf_acquire_options *options, struct hfi_waiter *waiter)
{
    size_t len = options->label ? strnlen(options->label, HF_LABEL_MAX + 1) : 0;

    if (len == 0)
        return HF_OK;
    if (hfi_label_check(options->label, len) != HF_OK)
        return hfi_fail(HF_ERR_LABEL,
                        "a label is up to %d bytes of UTF-8 without control characters",
                        HF_LABEL_MAX);
    waiter->label = strdup(options->label);
    return waiter->label ? HF_OK : hfi_no_memory();
}

static int set_kind(const struct hf_acquire_options *options, struct hfi_waiter *waiter)
{
    static const uint8_t KINDS[] = {
        [HF_EXCLUSIVE] = HFI_KIND_MUTEX, [HF_SHARED] = HFI_KIND_READ,   [HF_WRITE] = HFI_KIND_WRITE,
        [HF_FAIR] = HFI_KIND_FAIR,       [HF_FENCED] = HFI_KIND_FENCED, [HF_SPIN] = HFI_KIND_SPIN,
        [HF_PERMITS] = HFI_KIND_PERMITS
    };
    int64_t permits = options->permits ? options->permits : options->mode == HF_PERMITS;

    if ((unsigned)options->mode >= sizeof KINDS)
        return hfi_fail(HF_ERR_UNSUPPORTED, "this version knows no such mode");
    if (options->mode != HF_PERMITS && permits != 0)
        return hfi_fail(HF_ERR_INVALID, "permits are for the mode HF_PERMITS");
    if (permits < 0 || permits > HF_PERMITS_MAX)
        return hfi_fail(HF_ERR_INVALID, "a hold has 1 to %d permits", HF_PERMITS_MAX);
    if (options->reentry != 0 && options->reentry != HF_OFF)
        return hfi_fail(HF_ERR_INVALID, "reentry is 0 or HF_OFF");
    if (options->prefer != 0 && (options->prefer != 1 || options->mode != HF_WRITE))
        return hfi_fail(HF_ERR_INVALID, "prefer is 0, or 1 in the mode HF_WRITE");
    waiter->kind = KINDS[options->mode];
    waiter->permits = (uint32_t)permits;
    waiter->no_reentry = options->reentry == HF_OFF;
    waiter->prefer = options->prefer == 1;
    return HF_OK;
}

int hfi_wait_options(const char *name, const struct hf_wait_options *given,
                     struct hfi_waiter *waiter)
{
    struct hf_wait_options options;
    int error = hfi_options_copy(&options, sizeof options, given, "hf_wait_options");

    if (!error)
        error = set_name(name, waiter);
    if (!error)
        error = set_wait(&(struct hf_acquire_options){ .wait_ms = options.wait_ms }, waiter);
    return error;
}

int hfi_acquire_options(const char *name, const struct hf_acquire_options *options,
                        struct hfi_waiter *waiter)
{
    int error = set_name(name, waiter);

    if (!error)
        error = set_kind(options, waiter);
    if (!error)
        error = set_ttl(options, waiter);
    if (!error)
        error = set_wait(options, waiter);
    if (!error)
        error = set_label(options, waiter); /* last: it allocates */
    waiter->named = options->owner != 0;
    waiter->owner = options->owner;
    return error;
}
