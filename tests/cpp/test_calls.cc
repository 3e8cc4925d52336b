/* SPDX-License-Identifier: Apache-2.0 */
/* What event loops start on semaphores, permits, latches, buckets, maps and stamps. */
#include <functional>
#include <optional>
#include <vector>

#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using namespace std::string_literals;
using holdfast::client;
using holdfast::events;

/* Functions that note what they are told, and the loop until they are. */
class told
{
  public:
    explicit told(events &from) : events_(from)
    {
    }

    std::function<void(std::error_code)> end()
    {
        return [this](std::error_code error) { note(error); };
    }

    std::function<void(std::error_code, std::int64_t)> number()
    {
        return [this](std::error_code error, std::int64_t n) {
            number_ = n;
            note(error);
        };
    }

    std::function<void(std::error_code, std::optional<std::string>)> value()
    {
        return [this](std::error_code error, std::optional<std::string> got) {
            value_ = std::move(got);
            note(error);
        };
    }

    void note(std::error_code error)
    {
        CHECK(!there_);
        there_ = true;
        error_ = error;
    }

    /* What came of the one thing that is under way. */
    int error(events::ticket ticket)
    {
        CHECK(ticket);
        loop(events_, [&] { return there_; });
        there_ = false;
        return error_.value();
    }

    std::int64_t number(events::ticket ticket)
    {
        CHECK(error(ticket) == HF_OK);
        return number_;
    }

    std::optional<std::string> value(events::ticket ticket)
    {
        CHECK(error(ticket) == HF_OK);
        return std::move(value_);
    }

    std::optional<std::string> last_value() const
    {
        return value_;
    }

  private:
    events &events_;
    bool there_ = false;
    std::error_code error_;
    std::int64_t number_ = 0;
    std::optional<std::string> value_;
};

void semaphores()
{
    const client a(store_uri());
    const holdfast::semaphore jobs(a, "jobs");
    events events(a);
    told t(events);

    CHECK(t.error(events.release_if_exists(jobs, 1, t.end())) == HF_ERR_NOT_FOUND);
    CHECK(t.error(events.set(jobs, 2, {}, t.end())) == HF_OK);
    CHECK(t.error(events.set(jobs, 2, {}, t.end())) == HF_ERR_EXISTS);
    CHECK(t.error(events.release(jobs, 3, t.end())) == HF_OK);
    CHECK(t.error(events.add(jobs, -1, t.end())) == HF_OK);
    CHECK(t.number(events.available(jobs, t.number())) == 4);
    CHECK(t.number(events.drain(jobs, t.number())) == 4);
    CHECK(t.error(events.acquire_semaphore("jobs", 1, 0ms, t.end())) == HF_ERR_BUSY);
    CHECK(t.error(events.release_if_exists(jobs, 1, t.end())) == HF_OK);
    CHECK(t.error(events.remove(jobs, t.end())) == HF_OK);
    CHECK(t.error(events.remove(jobs, t.end())) == HF_ERR_NOT_FOUND);
}

void permits()
{
    const client a(store_uri());
    const holdfast::permits slots(a, "slots");
    events events(a);
    told t(events);
    std::int64_t available = -1, taken = -1;
    const auto count = [&] {
        return t.error(
            events.count(slots, [&](std::error_code error, std::int64_t left, std::int64_t used) {
                available = left;
                taken = used;
                t.note(error);
            }));
    };

    CHECK(t.error(events.set(slots, 3, t.end())) == HF_OK);
    CHECK(t.error(events.set(slots, 3, t.end())) == HF_ERR_EXISTS);
    CHECK(t.error(events.resize(slots, 5, t.end())) == HF_OK);
    CHECK(t.error(events.add(slots, 1, t.end())) == HF_OK);
    {
        const holdfast::hold two = holdfast::permits(a, "slots").acquire(2);

        CHECK(count() == HF_OK && available == 4 && taken == 2);
    }
    CHECK(t.error(events.remove(slots, t.end())) == HF_OK);
    CHECK(t.error(events.remove(slots, t.end())) == HF_ERR_NOT_FOUND);
}

void latches()
{
    const client a(store_uri());
    const holdfast::latch gate(a, "gate");
    events events(a);
    told t(events);

    CHECK(t.error(events.set(gate, 2, t.end())) == HF_OK);
    CHECK(t.error(events.set(gate, 2, t.end())) == HF_ERR_EXISTS);
    CHECK(t.number(events.count_down(gate, t.number())) == 1);
    CHECK(t.number(events.count(gate, t.number())) == 1);
    CHECK(t.error(events.remove(gate, t.end())) == HF_OK);
    CHECK(t.error(events.remove(gate, t.end())) == HF_ERR_NOT_FOUND);
}

void stamps()
{
    const client a(store_uri());
    const holdfast::stamp backup(a, "backup");
    events events(a);
    told t(events);
    holdfast::stamp::times times{};
    const auto get = [&] {
        return t.error(events.get(backup, [&](std::error_code error, holdfast::stamp::times got) {
            times = got;
            t.note(error);
        }));
    };

    CHECK(get() == HF_ERR_NOT_FOUND);
    CHECK(t.error(events.set(backup, 60s, t.end())) == HF_OK);
    CHECK(get() == HF_OK && times.age >= 0ms && times.remaining > 20s && times.remaining <= 60s);
    CHECK(t.error(events.remove(backup, t.end())) == HF_OK);
}

bool has_values(const client &client)
{
    std::error_code error;

    holdfast::bucket(client, "is it there").get(error);
    return error != HF_ERR_UNSUPPORTED;
}

void buckets()
{
    const client a(store_uri());
    const holdfast::bucket state(a, "state");
    events events(a);
    told t(events);
    std::chrono::milliseconds ttl{};
    holdfast::value_options options;

    if (!has_values(a)) {
        THROWS(events.get(state, t.value()), HF_ERR_UNSUPPORTED);
        return;
    }
    CHECK(t.error(events.get(state, t.value())) == HF_ERR_NOT_FOUND && !t.last_value());
    CHECK(t.error(events.set(state, "a\0b"s, {}, t.end())) == HF_OK);
    CHECK(t.value(events.get(state, t.value())) == "a\0b"s);
    CHECK(t.error(events.set_if_absent(state, "x", {}, t.end())) == HF_ERR_EXISTS);
    CHECK(t.error(events.compare_and_set(state, "y", "x", {}, t.end())) == HF_ERR_CHANGED);
    CHECK(t.error(events.compare_and_set(state, {}, "x", {}, t.end())) == HF_ERR_CHANGED);
    CHECK(t.error(events.compare_and_set(state, "a\0b"s, "", {}, t.end())) == HF_OK);
    options.ttl = 60s;
    CHECK(t.value(events.get_and_set(state, "z", options, t.value())) == "");
    CHECK(t.error(events.ttl(state, [&](std::error_code error, std::chrono::milliseconds left) {
        ttl = left;
        t.note(error);
    })) == HF_OK);
    CHECK(ttl > 20s && ttl <= 60s);
    CHECK(t.error(events.remove(state, {}, t.end())) == HF_OK);
    CHECK(!t.value(events.get_and_set(state, "z", {}, t.value())));
    CHECK(t.error(events.remove(state, {}, t.end())) == HF_OK);
}

void maps()
{
    const client a(store_uri());
    const holdfast::map hosts(a, "hosts");
    events events(a);
    told t(events);

    if (!has_values(a))
        return;
    CHECK(!t.value(events.put(hosts, "k", "1", {}, t.value())));
    CHECK(t.value(events.put(hosts, "k", "2", {}, t.value())) == "1");
    CHECK(t.error(events.put_if_absent(hosts, "k", "3", {}, t.end())) == HF_ERR_EXISTS);
    CHECK(t.value(events.get(hosts, "k", t.value())) == "2");
    CHECK(t.number(events.size(hosts, t.number())) == 1);
    CHECK(t.value(events.remove(hosts, "k", {}, t.value())) == "2");
    CHECK(t.error(events.remove(hosts, "k", {}, t.value())) == HF_ERR_NOT_FOUND);
}

/* Errors at once; functions that are none; objects that are gone; another client's. */
void odd_ones()
{
    const client a(store_uri()), b(store_uri());
    events events(a);
    told t(events);
    std::error_code error;

    THROWS(events.release(holdfast::semaphore(a, "s"), 0, t.end()), HF_ERR_INVALID);
    CHECK(!events.release(holdfast::semaphore(a, ""), 1, t.end(), error));
    CHECK(error == HF_ERR_NAME);
    THROWS(events.release(holdfast::semaphore(b, "s"), 1, t.end()), HF_ERR_INVALID);
    CHECK(events.release(holdfast::semaphore(a, "s"), 1, nullptr));
    CHECK(t.error(events.release(holdfast::semaphore(a, "s"), 1, t.end())) == HF_OK);
    CHECK(holdfast::semaphore(a, "s").available() == 2);
    CHECK(holdfast::semaphore(a, "s").remove());
    CHECK(events.dispatch() == 0);
}

/* A value whose function throws, and one that nobody waits for any more. */
void values_that_are_not_taken()
{
    const client a(store_uri());
    holdfast::bucket bucket(a, "bucket");

    if (!has_values(a))
        return;
    bucket.set("value");
    {
        events events(a);
        bool caught = false;

        events.get(bucket, [](std::error_code, const std::optional<std::string> &) { throw 7; });
        try {
            loop(events, [] { return false; });
        } catch (int thrown) {
            caught = thrown == 7;
        }
        CHECK(caught);
        events.get(bucket,
                   [](std::error_code, const std::optional<std::string> &) { CHECK(false); });
    }
    events events(a);
    std::size_t count = 0;
    AWAIT((count += events.dispatch()) == 1);
    CHECK(bucket.remove());
}

constexpr test TESTS[] = {
    { "semaphores", semaphores }, { "permits", permits },
    { "latches", latches },       { "stamps", stamps },
    { "buckets", buckets },       { "maps", maps },
    { "odd_ones", odd_ones },     { "values_that_are_not_taken", values_that_are_not_taken },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
