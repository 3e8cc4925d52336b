/* SPDX-License-Identifier: Apache-2.0 */
/* Event loops. */
#include <functional>
#include <optional>
#include <vector>

#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using holdfast::client;
using holdfast::events;
using holdfast::hold;

void acquiring()
{
    const client a(store_uri()), b(store_uri());
    events events(a);
    hold mine;
    bool released = false;

    CHECK(events.dispatch() == 0);
    events.acquire("lock", {}, [&](std::error_code error, hold got) {
        CHECK(!error);
        mine = std::move(got);
    });
    loop(events, [&] { return static_cast<bool>(mine); });
    CHECK(mine.held() && !b.try_acquire("lock"));
    events.release(std::move(mine), [&](std::error_code error) {
        CHECK(!error);
        released = true;
    });
    loop(events, [&] { return released; });
    CHECK(!mine && b.try_acquire("lock")); /* NOLINT(bugprone-use-after-move) */
}

/* Functions start further things, as state machines do. */
void in_turn()
{
    const client a(store_uri());
    events events(a);
    int turns = 0;
    std::function<void()> again = [&] {
        events.acquire("turns", {}, [&](std::error_code error, hold got) {
            CHECK(!error && got.held());
            events.release(std::move(got), [&](std::error_code failed) {
                CHECK(!failed);
                if (++turns < 20)
                    again();
            });
        });
    };

    again();
    loop(events, [&] { return turns == 20; });
}

void failing()
{
    const client a(store_uri()), b(store_uri());
    const hold rival = b.acquire("lock");
    holdfast::acquire_options options;
    std::vector<std::error_code> told;
    std::error_code error;
    events events(a);
    const auto note = [&](std::error_code failed, const hold &got) {
        CHECK(!got);
        told.push_back(failed);
    };

    options.wait = 250ms;
    events.acquire("lock", options, note);
    loop(events, [&] { return told.size() == 1; });
    CHECK(told[0] == HF_ERR_BUSY);
    const auto ticket = events.acquire("lock", {}, note);
    CHECK(events.cancel(ticket));
    loop(events, [&] { return told.size() == 2; });
    CHECK(told[1] == std::errc::operation_canceled);
    CHECK(!events.cancel(ticket) && !events.cancel(ticket, error));
    CHECK(error == HF_ERR_NOT_FOUND);
    options.ttl = 1ms;
    THROWS(events.acquire("lock", options, note), HF_ERR_TTL);
    CHECK(!events.acquire("", {}, note, error) && error == HF_ERR_NAME);
    CHECK(events.dispatch() == 0);
}

/* The one event comes from either client. */
void together()
{
    const client a(store_uri()), b(store_uri()), c(store_uri());
    events of_a(a), of_b(b);
    std::vector<std::error_code> told;
    hold all;
    const auto both = [&] {
        of_a.dispatch();
        of_b.dispatch();
        return all || !told.empty();
    };
    const auto take = [&](std::error_code error, hold got) {
        if (error)
            told.push_back(error);
        all = std::move(got);
    };

    for (const auto &members : { std::vector<holdfast::member>{ { a, "x" }, { b, "y" } },
                                 std::vector<holdfast::member>{ { b, "x" }, { a, "y" } } }) {
        of_a.acquire_all(members, {}, take);
        AWAIT(both());
        CHECK(all.held() && all.member(1).name() == "y" && !c.try_acquire("x"));
        CHECK(!all.release());
    }

    const hold rival = c.acquire("y");
    const auto ticket = of_a.acquire_all({ { a, "x" }, { b, "y" } }, {}, take);
    AWAIT(of_a.cancel(ticket) || of_b.cancel(ticket));
    AWAIT(both());
    CHECK(told.size() == 1 && told[0] == HF_ERR_CANCELLED && !all);
    AWAIT(c.try_acquire("x"));
    THROWS(of_a.acquire_all({ { a, "x" }, { a, "x" } }, {}, take), HF_ERR_INVALID);
}

/* Holds of blocking calls come here, too. */
void losing()
{
    const client a(store_uri()), b(store_uri());
    hold mine = a.acquire("lock");
    std::optional<hf_state> told;
    events events(a);

    events.on_change([&](holdfast::hold_view lost, hf_state state) {
        CHECK(lost.get() == mine.get());
        told = state;
    });
    break_lock(b, "lock");
    loop(events, [&] { return told == HF_LOST; });
    CHECK(mine.release() == HF_ERR_LOST);
}

/* Of a function that throws: it comes out, and nothing is left behind. */
void throwing()
{
    const client a(store_uri()), b(store_uri());
    events events(a);
    bool caught = false;

    events.acquire("lock", {}, [](std::error_code, const hold &) { throw 7; });
    try {
        loop(events, [] { return false; });
    } catch (int thrown) {
        caught = thrown == 7;
    }
    CHECK(caught && b.try_acquire("lock"));
}

constexpr test TESTS[] = {
    { "acquiring", acquiring }, { "in_turn", in_turn }, { "failing", failing },
    { "together", together },   { "losing", losing },   { "throwing", throwing },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
