/* SPDX-License-Identifier: Apache-2.0 */
/* Without exceptions: error codes work, and what would throw says what is wrong and ends the program. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/holdfast.hpp>

#ifdef __cpp_exceptions
#error "this is to be compiled with -fno-exceptions"
#endif

static bool codes()
{
    std::error_code error;
    const holdfast::client client("redis://127.0.0.1:1", {}, error);
    holdfast::mutex mutex(client, "lock");

    if (error || mutex.try_lock(error) || error != HF_ERR_UNREACHABLE)
        return false;
    return !client.try_acquire("lock", {}, error) && error == HF_CLASS_RETRY &&
           mutex.unlock() == std::errc::operation_not_permitted;
}

/* What a child says that opens nonsense, and how it ends. */
static bool aborts()
{
    char said[512] = "";
    int pipes[2], status = 0;

    if (pipe(pipes) != 0)
        return false;
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        const holdfast::client client("thing");
        std::_Exit(0);
    }
    close(pipes[1]);
    const ssize_t length = read(pipes[0], said, sizeof said - 1);
    close(pipes[0]);
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT && length > 0 && std::strstr(said, "holdfast: open: ") &&
           std::strstr(said, "the store URI is not valid\n");
}

int main()
{
    if (codes() && aborts())
        return 0;
    std::fprintf(stderr, "not as it should be\n");
    return 1;
}
