/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes and conditions, options, times: what needs no store. */
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>

#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using holdfast::milliseconds;

constexpr struct {
    hf_error error;
    hf_class class_;
    const char *text;
} KNOWN[] = {
#define X(name, value, class_, text) { name, HF_CLASS_##class_, text },
    HF_ERRORS(X)
#undef X
};

void codes()
{
    for (const auto &known : KNOWN) {
        const std::error_code code = known.error;

        CHECK(code);
        CHECK(code.value() == known.error);
        CHECK(&code.category() == &holdfast::category());
        CHECK(code.message() == known.text);
        CHECK(code == known.error);
        for (int i = HF_CLASS_OK; i <= HF_CLASS_FATAL; i++)
            CHECK((code == static_cast<hf_class>(i)) == (i == known.class_));
    }
    CHECK(std::error_code(HF_OK) == HF_CLASS_OK);
    CHECK(!std::error_code(HF_OK));
    CHECK(std::error_code(EAGAIN, std::generic_category()) != HF_CLASS_RETRY);
    CHECK(std::string(holdfast::category().name()) == "holdfast");
    CHECK(std::string(holdfast::class_category().name()) == "holdfast class");
    CHECK(std::error_condition(HF_CLASS_LOST).message() == "stop the work that the lock protected");
    CHECK(std::error_condition(HF_CLASS_FATAL).message() != "unknown class");
    CHECK(holdfast::class_category().message(HF_CLASS_FATAL + 1) == "unknown class");
}

void conditions()
{
    CHECK(std::error_code(HF_ERR_BUSY) == std::errc::device_or_resource_busy);
    CHECK(std::error_code(HF_ERR_REENTRY) == std::errc::resource_deadlock_would_occur);
    CHECK(std::error_code(HF_ERR_UPGRADE) == std::errc::resource_deadlock_would_occur);
    CHECK(std::error_code(HF_ERR_NO_MEMORY) == std::errc::not_enough_memory);
    CHECK(std::error_code(HF_ERR_CANCELLED) == std::errc::operation_canceled);
    CHECK(std::error_code(HF_ERR_UNSUPPORTED) == std::errc::not_supported);
    CHECK(std::error_code(HF_ERR_PERMISSION) == std::errc::permission_denied);
    CHECK(std::error_code(HF_ERR_TTL) == std::errc::invalid_argument);
    CHECK(std::error_code(HF_ERR_LOST) != std::errc::invalid_argument);
}

void waits()
{
    using holdfast::detail::wait_ms;
    constexpr double inf = std::numeric_limits<double>::infinity();

    CHECK(wait_ms(0ms) == HF_TRY_ONCE);
    CHECK(wait_ms(-1h) == HF_TRY_ONCE);
    CHECK(wait_ms(1ms) == 1);
    CHECK(wait_ms(1ns) == 1); /* nothing ends early */
    CHECK(wait_ms(1000001ns) == 2);
    CHECK(wait_ms(5s) == 5000);
    CHECK(wait_ms(std::chrono::duration<double>(0.0025)) == 3);
    CHECK(wait_ms(std::chrono::duration<double>(inf)) == HF_WAIT_MAX_MS);
    CHECK(wait_ms(std::chrono::duration<double>(-inf)) == HF_TRY_ONCE);
    CHECK(wait_ms(std::chrono::duration<double>(std::nan(""))) == HF_TRY_ONCE);
    CHECK(wait_ms(std::chrono::hours::max()) == HF_WAIT_MAX_MS);
    CHECK(wait_ms(std::chrono::hours::min()) == HF_TRY_ONCE);
    CHECK(wait_ms(std::chrono::nanoseconds::max()) == HF_WAIT_MAX_MS);
    CHECK(wait_ms(std::chrono::duration<std::uint64_t, std::pico>(UINT64_MAX)) == 18446744074);
    CHECK(wait_ms(milliseconds(HF_WAIT_MAX_MS)) == HF_WAIT_MAX_MS);
    CHECK(wait_ms(milliseconds(HF_WAIT_MAX_MS - 1)) == HF_WAIT_MAX_MS - 1);
    CHECK(wait_ms(std::chrono::duration<signed char>(-1)) == HF_TRY_ONCE);
}

/* Nothing is left out on the way to C, and nothing is rounded. */
void options()
{
    holdfast::acquire_options acquire;
    hf_holder busy{};
    hf_acquire_options raw = acquire.raw();

    CHECK(raw.size == sizeof raw && raw.wait_ms == HF_WAIT_FOREVER && raw.ttl_ms == 0 &&
          !raw.label && raw.mode == HF_EXCLUSIVE && raw.reentry == 0 && raw.prefer == 0);
    acquire.wait = 0ms;
    CHECK(acquire.raw().wait_ms == HF_TRY_ONCE);
    acquire.wait = 5s;
    acquire.ttl = 10s;
    acquire.lease = 11s;
    acquire.max_hold = 1h;
    acquire.owner = 7;
    acquire.label = "why";
    acquire.mode = HF_PERMITS;
    acquire.busy = &busy;
    acquire.permits = 3;
    acquire.reentry = false;
    acquire.prefer = true;
    raw = acquire.raw();
    CHECK(raw.wait_ms == 5000 && raw.ttl_ms == 10000 && raw.lease_ms == 11000 &&
          raw.max_hold_ms == 3600000 && raw.owner == 7 && raw.label == std::string("why") &&
          raw.mode == HF_PERMITS && raw.busy == &busy && raw.permits == 3 &&
          raw.reentry == HF_OFF && raw.prefer == 1);
#if __cplusplus >= 202002L
    raw = holdfast::acquire_options{ .wait = 1min, .mode = HF_FAIR }.raw();
    CHECK(raw.wait_ms == 60000 && raw.mode == HF_FAIR && raw.ttl_ms == 0);
#endif
    static_assert(!std::is_convertible_v<std::chrono::microseconds, milliseconds>);
}

void client_options()
{
    holdfast::client_options options;
    int arg;

    options.op_timeout = 1ms;
    options.connect_timeout = 2ms;
    options.close_timeout = 3ms;
    options.poll = 4ms;
    options.pass = milliseconds(HF_OFF);
    options.pass_count = 6;
    options.program = "test";
    options.trace = [](void *, hf_trace_level, const char *) noexcept {};
    options.trace_arg = &arg;

    const hf_client_options raw = options.raw();
    CHECK(raw.size == sizeof raw && raw.op_timeout_ms == 1 && raw.connect_timeout_ms == 2 &&
          raw.close_timeout_ms == 3 && raw.poll_ms == 4 && raw.pass_ms == HF_OFF &&
          raw.pass_count == 6 && raw.program == std::string("test") && raw.trace &&
          raw.trace_arg == &arg);
}

/* Both ways of telling; what is told has the details. */
void telling()
{
    std::error_code error = HF_ERR_BUSY;

    THROWS(holdfast::client("nosuch:thing"), HF_ERR_UNSUPPORTED);
    THROWS(holdfast::client(std::string("redis://h\0x", 11)), HF_ERR_URI);
    CHECK(!holdfast::client("thing", {}, error));
    CHECK(error == HF_ERR_URI && error == std::errc::invalid_argument);
    try {
        holdfast::client refused("redis://h:99999");
        CHECK(false);
    } catch (const std::system_error &e) {
        CHECK(std::strstr(e.what(), "open: "));
        CHECK(std::strstr(e.what(), hf_strerror(e.code().value())));
    }

    const holdfast::client client("redis://me:s3cret@h", {}, error);
    CHECK(!error && client);
    CHECK(client.store() == "redis://me@h:6379/0");
    CHECK(client.id().size() == 36);
    CHECK(!client.acquire(std::string("a\0b", 3), {}, error));
    CHECK(error == HF_ERR_NAME);
    THROWS(holdfast::client().acquire("x"), HF_ERR_INVALID);
    holdfast::throws(); /* was never written */
    CHECK(!holdfast::throws());
}

constexpr test TESTS[] = {
    { "codes", codes },     { "conditions", conditions },         { "waits", waits },
    { "options", options }, { "client_options", client_options }, { "telling", telling },
};

} // namespace

int main(int argc, char **argv)
{
    run_all(TESTS, argc > 1 ? argv[1] : nullptr);
    return 0;
}
