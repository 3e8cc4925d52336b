/* SPDX-License-Identifier: Apache-2.0 */
/* Clients and holds: who owns them, and what becomes of them. */
#include <utility>

#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using holdfast::acquire_options;
using holdfast::client;
using holdfast::hold;

client open()
{
    return client(store_uri());
}

acquire_options labelled(const char *label)
{
    acquire_options options;

    options.label = label;
    return options;
}

bool is_free(const client &by, const char *name)
{
    return static_cast<bool>(by.try_acquire(name));
}

void life()
{
    const client a = open(), b = open();

    {
        const hold mine = a.acquire("lock", labelled("why"));

        CHECK(mine && mine.state() == HF_HELD && mine.held() && mine.token() > 0);
        CHECK(mine.name() == "lock" && mine.owner().substr(0, 36) == a.id());
        CHECK(mine.remaining() > 0ms && mine.remaining() <= 30s);
        CHECK(!is_free(b, "lock"));
    }
    CHECK(is_free(b, "lock"));

    hold mine = a.acquire("lock");
    CHECK(mine.verify());
    CHECK(!mine.release());
    CHECK(!mine && mine.state() == HF_RELEASED && mine.token() == 0 && mine.name().empty() &&
          mine.remaining() == 0ms && !mine.held() && mine.owner().empty());
    CHECK(!mine.release()); /* nothing */
    CHECK(is_free(b, "lock"));
}

void moving()
{
    const client a = open(), b = open();
    hold first = a.acquire("one"), second = a.acquire("two");
    const hf_hold *raw = first.get();

    hold third = std::move(first);
    CHECK(!first && third.get() == raw); /* NOLINT(bugprone-use-after-move) */
    second = std::move(third);
    CHECK(second.get() == raw && is_free(b, "two") && !is_free(b, "one"));
    auto &same = second;
    second = std::move(same);
    CHECK(second.held());
    std::thread([given = std::move(second)]() mutable { CHECK(!given.release()); }).join();
    CHECK(is_free(b, "one"));

    hf_hold *detached = a.acquire("one").detach();
    CHECK(!is_free(b, "one"));
    CHECK(hf_release(detached) == HF_OK);
}

void being_busy()
{
    const client a = open(), b = open();
    const hold mine = a.acquire("lock", labelled("at work"));
    hf_holder busy{};
    acquire_options options;
    std::error_code error;

    busy.size = sizeof busy;
    options.wait = 0ms;
    options.busy = &busy;
    THROWS(b.acquire("lock", options), HF_CLASS_BUSY);
    CHECK(mine.owner() == busy.owner);
    CHECK(!b.acquire("lock", options, error) && error == HF_ERR_BUSY);
    CHECK(!b.try_acquire("lock", options));
    CHECK(!b.try_acquire("lock", {}, error) && error == HF_ERR_BUSY);
    options.wait = 250ms;
    CHECK(!b.try_acquire("lock", options));
    options.ttl = 1ms;
    THROWS(b.try_acquire("lock", options), HF_ERR_TTL);
    CHECK(b.try_acquire("other", {}, error) && !error);
}

void losing()
{
    const client a = open(), b = open();
    hold mine = a.acquire("lock"), late;
    std::error_code error;

    break_lock(b, "lock");
    CHECK(!mine.verify());
    CHECK(mine.state() == HF_LOST && !mine.held());
    CHECK(!mine.verify(error) && error == HF_ERR_LOST);
    CHECK(mine.release() == HF_CLASS_LOST);
    late = a.acquire("lock");
    break_lock(b, "lock");
    AWAIT(!late.held());
    late = hold(); /* quietly */
}

void closing()
{
    client a = open();
    const client b = open();
    hold mine = a.acquire("lock");

    a.close();
    CHECK(!a && a.store().empty());
    a.close();
    CHECK(is_free(b, "lock"));
    CHECK(mine.state() == HF_RELEASED);
    CHECK(mine.release() == HF_ERR_CLOSED);
    a = open();
    client c = std::move(a);
    CHECK(!a && c); /* NOLINT(bugprone-use-after-move) */
    c.check();
    mine = c.acquire("lock");
    c = open(); /* closes the one before */
    CHECK(is_free(b, "lock"));
}

void looking()
{
    const client a = open(), b = open();
    std::error_code error;

    CHECK(a.inspect("lock").size() == 0);
    CHECK(a.inspect("lock", error).size() == 0 && error == HF_ERR_NOT_FOUND);
    const hold one = a.acquire("look:1", labelled("first")), two = a.acquire("look:2");
    std::thread waiter([&] { b.acquire("look:1"); });
    AWAIT(a.inspect("look:1").waiter(0, 0)); /* a server knows who waits within a second */
    const holdfast::lock_list found = a.inspect("look:1");
    CHECK(found.size() == 1 && found[0].name == std::string("look:1"));
    CHECK(found.holder(0, 0) && one.owner() == found.holder(0, 0)->owner);
    CHECK(!found.holder(0, 1) && !found.holder(1, 0));
    CHECK(found.waiter(0, 0) && !found.waiter(0, 1));
    AWAIT(a.list("look:*").size() == 2);
    CHECK(a.list("nothing*").size() == 0);
    a.break_hold("look:1", one.owner());
    waiter.join();
    THROWS(a.break_hold("look:2", one.owner()), HF_ERR_CHANGED);
    CHECK(two.held());
}

constexpr test TESTS[] = {
    { "life", life },     { "moving", moving },   { "being_busy", being_busy },
    { "losing", losing }, { "closing", closing }, { "looking", looking },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
