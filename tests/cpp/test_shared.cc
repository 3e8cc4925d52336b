/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that several share, under the standard's guards. */
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using holdfast::client;
using holdfast::shared_mutex;

/* What another thread gets by one try. */
bool others_read(shared_mutex &mutex)
{
    bool got = false;

    std::thread([&] {
        const std::shared_lock lock(mutex, std::try_to_lock);

        got = lock.owns_lock();
    }).join();
    return got;
}

bool others_write(shared_mutex &mutex)
{
    bool got = false;

    std::thread([&] {
        const std::unique_lock lock(mutex, std::try_to_lock);

        got = lock.owns_lock();
    }).join();
    return got;
}

void guards()
{
    const client a(store_uri()), b(store_uri());
    shared_mutex mine(a, "shared"), theirs(b, "shared");

    {
        const std::shared_lock lock(mine);

        CHECK(mine.held() && mine.token() == 0 && mine.verify());
        CHECK(others_read(mine) && others_read(theirs));
        CHECK(!others_write(mine) && !others_write(theirs));
        const std::shared_lock second(mine, 10s); /* reading may be entered again */
        CHECK(second);
    }
    {
        const std::unique_lock lock(mine);

        CHECK(mine.held() && mine.token() > 0);
        CHECK(!others_read(mine) && !others_read(theirs));
        CHECK(!others_write(mine) && !others_write(theirs));
        CHECK(!theirs.try_lock_shared_for(250ms));
        CHECK(!theirs.try_lock_shared_until(std::chrono::steady_clock::now() + 250ms));
    }
    AWAIT(others_write(mine)); /* whoever gave up may keep its place for a moment */
    CHECK(others_write(theirs));
    CHECK(mine.unlock_shared() == std::errc::operation_not_permitted);
    mine.lock_shared();
    CHECK(mine.unlock() == std::errc::operation_not_permitted);
    CHECK(!mine.unlock_shared());
}

/* From writing to reading, and never the other way. */
void both()
{
    const client a(store_uri()), b(store_uri());
    shared_mutex mine(a, "both"), theirs(b, "both");

    mine.lock();
    THROWS(mine.lock(), HF_ERR_REENTRY);
    mine.lock_shared();
    CHECK(!others_read(theirs));
    CHECK(!mine.unlock());
    CHECK(mine.held() && others_read(theirs) && !others_write(theirs));
    THROWS(mine.lock(), HF_ERR_UPGRADE);
    CHECK(!mine.unlock_shared());
    CHECK(others_write(theirs));
}

/* Readers that come one after another do not keep a writer out that is preferred. */
void preferring()
{
    const client a(store_uri()), b(store_uri());
    holdfast::acquire_options options;
    options.prefer = true;
    shared_mutex mine(a, "prefer", options), theirs(b, "prefer");
    std::atomic<bool> written(false);

    mine.lock_shared();
    std::thread writer([&] {
        const std::unique_lock lock(mine);

        written = true;
    });
    AWAIT(!others_read(theirs)); /* it waits, and is known to */
    CHECK(!written);
    CHECK(!mine.unlock_shared());
    writer.join();
    AWAIT(others_read(theirs));
}

void losing()
{
    const client a(store_uri()), b(store_uri());
    std::error_code told;
    shared_mutex mutex(a, "lost", {}, [&](std::error_code error) { told = error; });

    {
        const std::shared_lock lock(mutex);

        break_lock(b, "lost");
        AWAIT(!mutex.held());
    }
    CHECK(told == HF_CLASS_LOST);
}

/* Readers never see what a writer has half done. */
void crowd()
{
    const client a(store_uri()), b(store_uri());
    shared_mutex mutexes[] = { shared_mutex(a, "crowd"), shared_mutex(b, "crowd") };
    std::atomic<int> left(0), right(0), readers(0), together(0);
    std::vector<std::thread> threads;

    for (auto &mutex : mutexes) {
        threads.emplace_back([&] {
            for (int n = 0; n < 20; n++) {
                const std::unique_lock lock(mutex);

                CHECK(readers == 0);
                left++;
                std::this_thread::yield();
                right++;
            }
        });
        for (int i = 0; i < 2; i++)
            threads.emplace_back([&] {
                for (int n = 0; n < 40; n++) {
                    const std::shared_lock lock(mutex);

                    if (++readers > 1)
                        together = 1;
                    CHECK(left == right);
                    std::this_thread::sleep_for(100us);
                    readers--;
                }
            });
    }
    for (auto &thread : threads)
        thread.join();
    CHECK(left == 40 && together == 1);
}

constexpr test TESTS[] = {
    { "guards", guards }, { "both", both },   { "preferring", preferring },
    { "losing", losing }, { "crowd", crowd },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
