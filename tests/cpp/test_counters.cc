/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores, permits, latches. */
#include <atomic>
#include <optional>
#include <vector>

#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using holdfast::client;

void semaphores()
{
    const client a(store_uri()), b(store_uri());
    holdfast::semaphore mine(a, "semaphore"), theirs(b, "semaphore");
    std::error_code error;

    CHECK(mine.name() == "semaphore" && mine.available() == 0);
    CHECK(!mine.release_if_exists());
    CHECK(!mine.remove());
    CHECK(mine.set(3));
    CHECK(!theirs.set(5));
    CHECK(!theirs.set(5, {}, error) && error == HF_ERR_EXISTS);
    mine.acquire();
    theirs.acquire(2);
    CHECK(!mine.try_acquire());
    CHECK(!mine.try_acquire(1, error) && error == HF_CLASS_BUSY);
    CHECK(!mine.try_acquire_for(250ms));
    CHECK(!mine.try_acquire_until(std::chrono::steady_clock::now() + 250ms, 1));
    std::atomic<bool> got(false);
    std::thread waiter([&] {
        mine.acquire(2);
        got = true;
    });
    theirs.release();
    std::this_thread::sleep_for(20ms);
    CHECK(!got); /* it wants two */
    CHECK(theirs.release_if_exists());
    waiter.join();
    mine.add(4);
    CHECK(mine.available() == 4 && theirs.drain() == 4 && mine.available() == 0);
    mine.add(-2);
    CHECK(mine.available() == -2);
    CHECK(mine.remove());
    CHECK(mine.set(1, 100ms));
    AWAIT(mine.available() == 0);
    THROWS(mine.acquire(0), HF_ERR_INVALID);
    THROWS(mine.release(-1), HF_ERR_INVALID);
}

void permits()
{
    const client a(store_uri()), b(store_uri());
    holdfast::permits mine(a, "permits"), theirs(b, "permits");
    std::error_code error;

    CHECK(!mine.try_acquire());
    CHECK(mine.set(3));
    CHECK(!theirs.set(4));
    {
        const holdfast::hold two = mine.acquire(2);

        CHECK(two.held() && two.token() == 0 && two.name() == "permits");
        CHECK(theirs.available() == 1 && theirs.taken() == 2);
        CHECK(!theirs.try_acquire(2, {}, error) && error == HF_ERR_BUSY);
        CHECK(theirs.try_acquire(1));
        theirs.resize(4);
        CHECK(theirs.try_acquire(2));
    }
    mine.add(1);
    CHECK(theirs.available() == 5 && theirs.taken() == 0);

    holdfast::hold lost = mine.acquire();
    CHECK(theirs.remove());
    CHECK(!theirs.remove());
    CHECK(!lost.verify() && lost.release() == HF_ERR_LOST);
}

void latches()
{
    const client a(store_uri()), b(store_uri());
    holdfast::latch mine(a, "latch"), theirs(b, "latch");
    std::error_code error;

    mine.wait(); /* no count: open */
    CHECK(mine.try_wait());
    CHECK(mine.set(2));
    CHECK(!theirs.set(3) && theirs.count() == 2);
    CHECK(!theirs.try_wait() && !theirs.try_wait_for(250ms));
    CHECK(!theirs.try_wait_until(std::chrono::steady_clock::now() + 250ms, error));
    CHECK(error == HF_ERR_BUSY);
    std::thread waiter([&] { theirs.wait(); });
    CHECK(mine.count_down() == 1);
    CHECK(mine.count_down() == 0);
    waiter.join();
    CHECK(mine.count_down() == 0 && theirs.count() == 0);
}

/* Who waits for one that is deleted is told. */
void deserted()
{
    const client a(store_uri()), b(store_uri());
    holdfast::latch mine(a, "deserted"), theirs(b, "deserted");

    CHECK(mine.set(1));
    std::thread waiter([&] { THROWS(theirs.wait(), HF_ERR_NOT_FOUND); });
    AWAIT(a.inspect("deserted").waiter(0, 0)); /* a server knows who waits within a second */
    CHECK(mine.remove());
    waiter.join();
    CHECK(!mine.remove());
}

/* In an event loop. */
void in_a_loop()
{
    const client a(store_uri()), b(store_uri());
    holdfast::semaphore semaphore(b, "semaphore");
    holdfast::latch latch(b, "latch");
    holdfast::events events(a);
    std::vector<std::error_code> told;
    const auto note = [&](std::error_code error) { told.push_back(error); };

    CHECK(semaphore.set(0) && latch.set(1));
    events.acquire_semaphore("semaphore", 2, 250ms, note);
    loop(events, [&] { return told.size() == 1; });
    CHECK(told[0] == HF_ERR_BUSY);
    events.acquire_semaphore("semaphore", 2, std::nullopt, note);
    semaphore.release(2);
    loop(events, [&] { return told.size() == 2; });
    CHECK(!told[1] && semaphore.available() == 0);
    events.await_latch("latch", 0ms, note);
    loop(events, [&] { return told.size() == 3; });
    CHECK(told[2] == HF_ERR_BUSY);
    events.await_latch("latch", std::nullopt, note);
    latch.count_down();
    loop(events, [&] { return told.size() == 4; });
    CHECK(!told[3]);
    semaphore.remove();
}

constexpr test TESTS[] = {
    { "semaphores", semaphores }, { "permits", permits },     { "latches", latches },
    { "deserted", deserted },     { "in_a_loop", in_a_loop },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
