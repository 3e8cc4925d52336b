/* SPDX-License-Identifier: Apache-2.0 */
/* Locks under the standard's guards. */
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using holdfast::client;

/* What another thread gets by one try. */
template <class Mutex> bool others_get(Mutex &mutex)
{
    bool got = false;

    std::thread([&] {
        const std::unique_lock<Mutex> lock(mutex, std::try_to_lock);

        got = lock.owns_lock();
    }).join();
    return got;
}

template <class Mutex> void guards_of()
{
    static int number;
    const client a(store_uri()), b(store_uri());
    const std::string name = "guards " + std::to_string(++number);
    Mutex mine(a, name), theirs(b, name);

    CHECK(mine.state() == HF_RELEASED && mine.token() == 0 && mine.owner().empty());
    {
        const std::lock_guard<Mutex> guard(mine);

        CHECK(mine.held() && mine.token() > 0 && mine.state() == HF_HELD);
        CHECK(mine.remaining() > 0ms && mine.owner().substr(0, 36) == a.id());
        CHECK(mine.verify());
        CHECK(!others_get(mine) && !others_get(theirs));
        CHECK(!theirs.held());                                              /* another object */
        std::thread([&] { CHECK(!mine.held() && !mine.verify()); }).join(); /* another thread */
    }
    CHECK(!mine.held());
    {
        std::unique_lock<Mutex> lock(theirs, 10s);

        CHECK(lock && theirs.held() && !others_get(mine));
        CHECK(!mine.try_lock_for(250ms));
        CHECK(!mine.try_lock_until(std::chrono::system_clock::now() + 250ms));
        lock.unlock();
        CHECK(others_get(mine));
        CHECK(lock.try_lock());
        lock.unlock();
        CHECK(lock.try_lock_until(std::chrono::steady_clock::now() + 10s));
    }
    CHECK(mine.try_lock());
    CHECK(!mine.unlock());
    CHECK(mine.unlock() == std::errc::operation_not_permitted);
}

void guards()
{
    guards_of<holdfast::mutex>();
    guards_of<holdfast::recursive_mutex>();
    guards_of<holdfast::fair_mutex>();
    guards_of<holdfast::recursive_fair_mutex>();
    guards_of<holdfast::fenced_mutex>();
    guards_of<holdfast::recursive_fenced_mutex>();
    guards_of<holdfast::spin_mutex>();
    guards_of<holdfast::recursive_spin_mutex>();
}

/* A number that only its lock protects. */
void counting()
{
    const client a(store_uri()), b(store_uri());
    holdfast::mutex mutexes[] = { holdfast::mutex(a, "count"), holdfast::mutex(b, "count") };
    std::vector<std::thread> threads;
    std::atomic<int> number(0);

    for (auto &mutex : mutexes)
        for (int i = 0; i < 3; i++)
            threads.emplace_back([&] {
                for (int n = 0; n < 50; n++) {
                    const std::lock_guard guard(mutex);
                    const int before = number.load(std::memory_order_relaxed);

                    std::this_thread::yield();
                    number.store(before + 1, std::memory_order_relaxed);
                }
            });
    for (auto &thread : threads)
        thread.join();
    CHECK(number == 300);
}

void again()
{
    const client a(store_uri());
    holdfast::mutex once(a, "again");
    holdfast::recursive_mutex often(a, "again");
    std::error_code error;

    once.lock();
    THROWS(once.lock(), std::errc::resource_deadlock_would_occur);
    THROWS(once.try_lock(), HF_ERR_REENTRY);
    once.lock(error);
    CHECK(error == HF_ERR_REENTRY);
    CHECK(once.held());
    once.unlock();

    often.lock();
    const auto token = often.token();
    const std::unique_lock second(often);
    CHECK(often.token() == token);
    CHECK(!often.unlock());
    CHECK(often.held() && !others_get(often));
}

/* Several objects in any order: std::lock gives way. */
void scoped()
{
    const client a(store_uri()), b(store_uri());
    holdfast::mutex x(a, "x"), y(a, "y"), x2(b, "x"), y2(b, "y");
    std::atomic<int> inside(0), number(0);
    const auto run = [&](holdfast::mutex &first, holdfast::mutex &second) {
        for (int n = 0; n < 25; n++) {
            const std::scoped_lock guard(first, second);

            CHECK(++inside == 1);
            CHECK(first.held() && second.held());
            number++;
            inside--;
        }
    };
    std::thread one([&] { run(x, y); }), two([&] { run(y2, x2); }), three([&] { run(y, x); });

    one.join();
    two.join();
    three.join();
    CHECK(number == 75);
}

/* lock() waits as the options say. */
void bounded()
{
    const client a(store_uri()), b(store_uri());
    holdfast::acquire_options options;
    options.wait = 250ms;
    options.ttl = 20s;
    holdfast::mutex mine(a, "bounded", options), theirs(b, "bounded", options);
    const std::lock_guard guard(mine);

    CHECK(mine.remaining() <= 20s);
    THROWS(theirs.lock(), HF_ERR_BUSY);
    options.ttl = 1ms;
    holdfast::mutex wrong(a, "other", options);
    THROWS(wrong.lock(), HF_ERR_TTL);
    CHECK(wrong.unlock() == std::errc::operation_not_permitted);
}

/* A guard's end is told to somebody, and nobody is terminated. */
void losing()
{
    const client a(store_uri()), b(store_uri());
    std::vector<std::error_code> told;
    holdfast::mutex mutex(a, "lost", {}, [&](std::error_code error) {
        told.push_back(error);
        throw 1; /* dropped */
    });

    {
        const std::lock_guard guard(mutex);

        break_lock(b, "lost");
        AWAIT(!mutex.held());
        CHECK(mutex.state() == HF_LOST && !mutex.verify());
        std::thread([&] { /* who gets it next has a hold of its own, by the same object */
                          const std::lock_guard next(mutex);

                          CHECK(mutex.held());
        })
            .join();
        CHECK(mutex.state() == HF_LOST);
    }
    CHECK(told.size() == 1 && told[0] == HF_ERR_LOST);
    mutex.lock();
    break_lock(b, "lost");
    CHECK(mutex.unlock() == HF_CLASS_LOST);
    CHECK(told.size() == 2);
    {
        const std::lock_guard guard(mutex);
    }
    CHECK(told.size() == 2);
}

/* A store that is not there is no rival. */
void unreachable()
{
    const client nobody("redis://127.0.0.1:1");
    holdfast::mutex mutex(nobody, "lock");
    std::error_code error;

    THROWS(mutex.try_lock(), HF_CLASS_RETRY);
    THROWS(mutex.try_lock_for(250ms), HF_CLASS_RETRY);
    CHECK(!mutex.try_lock_until(std::chrono::steady_clock::now(), error));
    CHECK(error == HF_ERR_UNREACHABLE);
}

constexpr test TESTS[] = {
    { "guards", guards },           { "counting", counting }, { "again", again },
    { "scoped", scoped },           { "bounded", bounded },   { "losing", losing },
    { "unreachable", unreachable },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
