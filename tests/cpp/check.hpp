/* SPDX-License-Identifier: Apache-2.0 */
/* Tests in C++: each is a function, a failed check ends the program. */
#ifndef TESTS_CPP_CHECK_HPP
#define TESTS_CPP_CHECK_HPP

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <system_error>
#include <thread>

#include <poll.h>

#include <holdfast/holdfast.hpp>

#include "cpp/store.h"

/* How long a test waits for what will certainly come. */
constexpr std::chrono::seconds patience(30);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_failed(__FILE__, __LINE__, #condition);                                          \
    } while (0)

/* Looks at a condition again and again. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        const auto until_ = std::chrono::steady_clock::now() + patience;                           \
        while (!(condition)) {                                                                     \
            CHECK(std::chrono::steady_clock::now() < until_);                                      \
            std::this_thread::sleep_for(std::chrono::milliseconds(1));                             \
        }                                                                                          \
    } while (0)

/* The statement throws this error. */
#define THROWS(statement, expected)                                                                \
    do {                                                                                           \
        std::error_code thrown_;                                                                   \
        try {                                                                                      \
            statement;                                                                             \
        } catch (const std::system_error &e) {                                                     \
            thrown_ = e.code();                                                                    \
        }                                                                                          \
        if (thrown_ != (expected))                                                                 \
            std::fprintf(stderr, "thrown: %s\n", thrown_.message().c_str());                       \
        CHECK(thrown_ == (expected));                                                              \
    } while (0)

[[noreturn]] inline void check_failed(const char *file, int line, const char *what)
{
    std::fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
    store_stop();
    std::_Exit(1);
}

struct test {
    const char *name;
    void (*run)();
};

/* The store's URI. */
inline std::string &store_uri()
{
    static std::string uri;

    return uri;
}

/* Runs them all, or the one that is named. */
template <std::size_t count> void run_all(const test (&tests)[count], const char *only)
{
    for (const test &t : tests) {
        if (only && std::strcmp(only, t.name) != 0)
            continue;
        std::printf("%s\n", t.name);
        std::fflush(stdout);
        try {
            t.run();
        } catch (const std::exception &e) {
            check_failed(t.name, 0, e.what());
        }
    }
}

/* The same on the store that the first argument names. */
template <std::size_t count> int run_on_store(int argc, char **argv, const test (&tests)[count])
{
    const char *uri = argc > 1 ? store_start(argv[1]) : nullptr;

    if (argc < 2) {
        std::fprintf(stderr, "usage: %s sqlite|redis [TEST]\n", argv[0]);
        return 2;
    }
    if (!uri) {
        std::printf("skipped: there is no store of the kind %s\n", argv[1]);
        return 77;
    }
    store_uri() = uri;
    run_all(tests, argc > 2 ? argv[2] : nullptr);
    store_stop();
    return 0;
}

/* A loop, until something has come true. */
inline void loop(holdfast::events &events, const std::function<bool()> &is_done)
{
    const auto until = std::chrono::steady_clock::now() + patience;
    pollfd p{};

    p.fd = events.fd();
    p.events = POLLIN;
    while (!is_done()) {
        CHECK(std::chrono::steady_clock::now() < until);
        poll(&p, 1, 100);
        events.dispatch();
    }
}

/* Somebody takes the lock away from its only holder. */
inline void break_lock(const holdfast::client &client, const std::string &name)
{
    const holdfast::lock_list list = client.inspect(name);

    CHECK(list.size() == 1);
    client.break_hold(name, list[0].holder.owner);
}

#endif
