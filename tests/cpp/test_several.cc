/* SPDX-License-Identifier: Apache-2.0 */
/* Several locks as one. */
#include <atomic>
#include <mutex>
#include <vector>

#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using holdfast::client;
using holdfast::member;

bool is_free(const client &by, const char *name)
{
    return static_cast<bool>(by.try_acquire(name));
}

void holds()
{
    const client a(store_uri()), b(store_uri());
    const std::vector<member> both = { { a, "two" }, { b, "one" } };
    holdfast::acquire_options once;
    std::error_code error;

    once.wait = 0ms;
    {
        const holdfast::hold all = holdfast::acquire_all(both);

        CHECK(all.held() && all.token() == 0);
        CHECK(all.member(0).name() == "two" && all.member(0).token() > 0);
        CHECK(all.member(1).name() == "one" && all.member(1).owner().substr(0, 36) == b.id());
        CHECK(!all.member(2) && all.member(2).state() == HF_RELEASED);
        CHECK(!is_free(b, "two") && !is_free(a, "one"));
    }
    const holdfast::hold one = a.acquire("one");
    CHECK(!holdfast::acquire_all(both, once, error) && error == HF_ERR_BUSY);
    CHECK(is_free(b, "two")); /* all or none */
    THROWS(holdfast::acquire_all({ { a, "x" }, { a, "x" } }), HF_ERR_INVALID);
    THROWS(holdfast::acquire_all({}), HF_ERR_INVALID);
    THROWS(holdfast::acquire_all({ { client(), "x" } }), HF_ERR_INVALID);
}

void guards()
{
    const client a(store_uri()), b(store_uri());
    std::error_code told;
    holdfast::multi_mutex mine({ { a, "m1" }, { a, "m2" } }, {},
                               [&](std::error_code error) { told = error; });
    holdfast::multi_mutex theirs({ { b, "m2" }, { b, "m1" } });

    {
        const std::lock_guard guard(mine);

        CHECK(mine.held() && mine.verify() && !theirs.try_lock() && !theirs.try_lock_for(250ms));
        break_lock(b, "m2");
        AWAIT(!mine.held());
        CHECK(!is_free(b, "m1"));
    }
    CHECK(told == HF_ERR_LOST);
    CHECK(theirs.try_lock());
    CHECK(!theirs.unlock());
}

/* In any order that they are named in. */
void crowd()
{
    const client a(store_uri()), b(store_uri());
    const std::vector<std::vector<member>> sets = { { { a, "p" }, { a, "q" }, { a, "r" } },
                                                    { { b, "r" }, { b, "p" } },
                                                    { { a, "q" }, { b, "p" } } };
    std::atomic<int> inside(0), number(0);
    std::vector<std::thread> threads;

    threads.reserve(sets.size());
    for (const auto &set : sets)
        threads.emplace_back([&] {
            holdfast::multi_mutex mutex(set);

            for (int n = 0; n < 20; n++) {
                const std::lock_guard guard(mutex);

                CHECK(++inside == 1); /* all have p */
                number++;
                inside--;
            }
        });
    for (auto &thread : threads)
        thread.join();
    CHECK(number == 60);
}

constexpr test TESTS[] = {
    { "holds", holds },
    { "guards", guards },
    { "crowd", crowd },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
