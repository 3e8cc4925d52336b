/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: options, and times to wait. Included by holdfast.hpp.
 *
 *     client.acquire("order:1001", { .wait = 5s, .label = "settle" });      // C++20; C++17 fills a variable
 */
#ifndef HOLDFAST_OPTIONS_HPP
#define HOLDFAST_OPTIONS_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <holdfast/error.hpp>

namespace holdfast
{

/* What options are given in. Finer units do not convert by themselves, so nothing is rounded unseen. The C
 * library checks the ranges. */
using std::chrono::milliseconds;

/* As struct hf_client_options. 0 means the default. */
struct client_options {
    milliseconds op_timeout{};
    milliseconds connect_timeout{};
    milliseconds close_timeout{};
    milliseconds poll{};
    milliseconds pass{}; /* milliseconds(HF_OFF): never */
    std::int64_t pass_count = 0;
    std::string program{};
    /* It must not throw, and its type says so: void f(void *, hf_trace_level, const char *) noexcept */
    void (*trace)(void *trace_arg, hf_trace_level level, const char *text) noexcept = nullptr;
    void *trace_arg = nullptr;

    /* The same for C, as long as this is there. */
    hf_client_options raw() const noexcept
    {
        hf_client_options to{};

        to.size = sizeof to;
        to.op_timeout_ms = op_timeout.count();
        to.connect_timeout_ms = connect_timeout.count();
        to.close_timeout_ms = close_timeout.count();
        to.poll_ms = poll.count();
        to.pass_ms = pass.count();
        to.pass_count = pass_count;
        to.program = program.empty() ? nullptr : program.c_str();
        to.trace = trace;
        to.trace_arg = trace_arg;
        return to;
    }
};

/* As struct hf_acquire_options, but for the wait, where 0 is what it says. */
struct acquire_options {
    std::optional<milliseconds> wait{}; /* none: for ever; 0 or less: one try */
    milliseconds ttl{};                 /* 0, here and below: the default */
    milliseconds lease{};
    milliseconds max_hold{};
    std::uint64_t owner = 0;
    std::string label{};
    hf_mode mode = HF_EXCLUSIVE;
    hf_holder *busy = nullptr;
    std::int64_t permits = 0;
    bool reentry = true; /* false: an owner that holds the lock gets HF_ERR_REENTRY */
    bool prefer = false; /* HF_WRITE: while this waits, new readers wait too */

    hf_acquire_options raw() const noexcept
    {
        hf_acquire_options to{};

        to.size = sizeof to;
        to.wait_ms = HF_WAIT_FOREVER;
        if (wait)
            to.wait_ms = wait->count() > 0 ? wait->count() : HF_TRY_ONCE;
        to.ttl_ms = ttl.count();
        to.lease_ms = lease.count();
        to.max_hold_ms = max_hold.count();
        to.owner = owner;
        to.label = label.empty() ? nullptr : label.c_str();
        to.mode = mode;
        to.busy = busy;
        to.permits = permits;
        to.reentry = reentry ? 0 : HF_OFF;
        to.prefer = prefer ? 1 : 0;
        return to;
    }
};

namespace detail
{

/* A time to wait, rounded up, so that nothing ends early; at most HF_WAIT_MAX_MS. */
template <class Rep, class Period>
std::int64_t wait_ms(const std::chrono::duration<Rep, Period> &time)
{
    const std::chrono::duration<long double, std::milli> rough = time; /* no overflow in this one */

    if (!(rough.count() > 0))
        return HF_TRY_ONCE;
    if (!(rough.count() < static_cast<long double>(HF_WAIT_MAX_MS)))
        return HF_WAIT_MAX_MS;
    return std::chrono::ceil<milliseconds>(time).count();
}

/* Calls `attempt(wait_ms)` until it succeeds, fails otherwise than by time, or the time is there by its own
 * clock, which may have been set meanwhile. */
template <class Clock, class Duration, class Attempt>
bool until(const std::chrono::time_point<Clock, Duration> &time, const std::error_code &error,
           Attempt attempt)
{
    for (;;) {
        const auto now = Clock::now();

        if (attempt(now < time ? wait_ms(time - now) : HF_TRY_ONCE))
            return true;
        if ((error && error != HF_ERR_BUSY) || Clock::now() >= time)
            return false;
    }
}

} // namespace detail

} // namespace holdfast

#endif
