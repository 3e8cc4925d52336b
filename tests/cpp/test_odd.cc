/* SPDX-License-Identifier: Apache-2.0 */
/* What is hard on C++: threads that are cancelled, forks, parts of a program that hide their names. */
#include <mutex>
#include <optional>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpp/check.hpp"
#include "cpp/hidden.hpp"

namespace
{

using holdfast::client;

struct waiting {
    holdfast::mutex *mutex;
    bool ended = false;
};

void *wait_for_it(void *arg)
{
    auto *waiting = static_cast<struct waiting *>(arg);
    struct ending {
        struct waiting *of;
        ~ending()
        {
            of->ended = true;
        }
    } const ending{ waiting };
    const std::lock_guard guard(*waiting->mutex);

    return nullptr;
}

/* The stack is unwound, and nothing is held or waited for any more. */
void cancelling()
{
    if (!store_can_cancel())
        return;

    const client a(store_uri()), b(store_uri());
    holdfast::mutex mine(a, "cancel"), theirs(b, "cancel");
    waiting waiting{ &mine };
    pthread_t thread;
    void *result = nullptr;

    theirs.lock();
    CHECK(pthread_create(&thread, nullptr, wait_for_it, &waiting) == 0);
    AWAIT(a.inspect("cancel").waiter(0, 0));
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED && waiting.ended);
    CHECK(!theirs.unlock());
    CHECK(mine.try_lock());
    CHECK(!mine.unlock());
}

/* In a child the parent's objects may end, and do nothing. */
void forking()
{
    if (!store_can_cancel())
        return;

    const client b(store_uri());
    std::optional<client> a(store_uri());
    std::optional<holdfast::hold> hold(a->acquire("fork"));
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const bool inert =
            hold->state() == HF_LOST && !hold->held() && hold->release() == HF_ERR_FORKED;

        hold.reset();
        a.reset();
        std::_Exit(inert ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(hold->verify() && !b.try_acquire("fork"));
}

void hiding()
{
    std::error_code error;

    CHECK(hidden_error() == HF_ERR_BUSY);
    CHECK(hidden_error() == HF_CLASS_BUSY);
    CHECK(&hidden_error().category() == &holdfast::category());
    hidden_open("thing", error);
    CHECK(error == HF_ERR_URI);
    THROWS(hidden_open("thing", holdfast::throws()), HF_ERR_URI);
}

constexpr test TESTS[] = {
    { "cancelling", cancelling },
    { "forking", forking },
    { "hiding", hiding },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
