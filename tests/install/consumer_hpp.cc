// SPDX-License-Identifier: Apache-2.0
// As consumer.cc, by holdfast.hpp alone.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <system_error>

#include <holdfast/holdfast.hpp>

static bool take_and_give_back(const holdfast::client &client)
{
    using namespace std::chrono_literals;
    holdfast::acquire_options options;

    options.wait = 5s;
    options.label = "a test";
    holdfast::hold hold = client.acquire("consumer", options);
    std::printf("held, token %llu\n", static_cast<unsigned long long>(hold.token()));
    return hold.held() && !hold.release();
}

static bool guard(const holdfast::client &client)
{
    holdfast::mutex mutex(client, "consumer");
    const std::lock_guard<holdfast::mutex> guard(mutex);

    return mutex.held() && mutex.token() > 0;
}

int main(int argc, char **argv)
{
    std::error_code error;
    const holdfast::client client(argc > 1 ? argv[1] : "", {}, error);

    if (error || argc != 2) {
        std::fprintf(stderr, "open: %s\n", hf_last_error());
        return 1;
    }
    return take_and_give_back(client) && guard(client) ? 0 : 1;
}
