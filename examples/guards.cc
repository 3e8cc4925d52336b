/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast in C++, under the standard's guards.
 *
 *     guards [STORE]
 */
#include <chrono>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <system_error>

#include <holdfast/holdfast.hpp>

using namespace std::chrono_literals;

static void work(const holdfast::client &client)
{
    holdfast::acquire_options options;
    options.ttl = 10s;
    options.label = "settle";

    /* What a guard cannot tell, as its end must not throw, comes here: the lock was lost, or nobody knows. */
    holdfast::mutex order(client, "order:1001", options, [](std::error_code error) {
        std::cerr << "order:1001: " << error.message() << '\n';
    });
    {
        const std::unique_lock lock(order, 5s);

        if (!lock)
            std::cout << "somebody else is at it\n";
        else if (order.held()) /* ask again before each step that counts */
            std::cout << "mine, with token " << order.token() << '\n';
    }

    holdfast::shared_mutex report(client, "report");
    {
        const std::shared_lock lock(report);

        std::cout << "reading\n";
    }

    /* Two at once, in one order that all programs keep. */
    holdfast::multi_mutex both({ { client, "account:4711" }, { client, "account:815" } });
    const std::lock_guard lock(both);

    std::cout << "both are held for " << both.remaining().count() / 1000 << " s at least\n";
}

int main(int argc, char **argv)
{
    try {
        const holdfast::client client(argc > 1 ? argv[1] : "");

        work(client);
    } catch (const std::system_error &error) {
        std::cerr << error.what() << '\n';
        return error.code() == HF_CLASS_RETRY ? 75 : 1;
    }
    return 0;
}
