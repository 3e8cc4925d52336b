/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker process: two clients, and threads that use them. It works until the runner says stop, or SIGTERM
 * does, and then ends in order: all that it has begun comes to an end, and the last line says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "chaos/chaos.h"

enum { BLOCKING = 4, ACTORS = BLOCKING + 3, CLOSE_TIMEOUT_MS = 500 };

static atomic_int asked_to_end;

static void on_term(int number)
{
    (void)number;
    atomic_store(&asked_to_end, 1);
}

bool worker_is_to_stop(const struct worker *worker)
{
    return atomic_load(&asked_to_end) || atomic_load(&worker->shared->stop);
}

void foul(struct worker *worker, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "chaos: p%u at %" PRIu64 ": %s\n", (unsigned)worker->process, hist_now(), text);
    atomic_fetch_add(&worker->shared->fouls, 1);
}

/* ------------------------------------------------------------------------------------------------
 * Clients
 */

/* One line, in one write. */
static void trace(void *arg, enum hf_trace_level level, const char *text)
{
    int fd = (int)(intptr_t)arg;
    char line[1024];
    int n = snprintf(line, sizeof line, "%" PRIu64 " %d %s\n", hist_now(), (int)level, text);

    if (n > (int)sizeof line - 1)
        n = (int)sizeof line - 1;
    while (write(fd, line, (size_t)n) < 0 && errno == EINTR)
        ;
}

static int open_trace(const struct worker *worker, int number)
{
    char path[128];

    snprintf(path, sizeof path, "%s/trace.p%u.%d", worker->shared->traces,
             (unsigned)worker->process, number);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static bool open_client(struct worker *worker, int number)
{
    struct chaos_shared *shared = worker->shared;
    bool passes = (shared->deeds & CHAOS_PASS) && (worker->process + (unsigned)number) % 4 != 0;
    struct hf_client_options options = { .size = sizeof options,
                                         .op_timeout_ms = shared->op_timeout_ms,
                                         .connect_timeout_ms = shared->connect_timeout_ms,
                                         .close_timeout_ms = CLOSE_TIMEOUT_MS,
                                         .poll_ms = shared->poll_ms,
                                         .pass_ms = passes ? 0 : HF_OFF,
                                         .program = "chaos" };

    if (shared->traces[0]) {
        options.trace = trace;
        options.trace_arg = (void *)(intptr_t)open_trace(worker, number);
    }
    /* the embedded store can be unavailable for a while: somebody was stopped in the middle of a change */
    for (int tries = 0; tries < 100; tries++) {
        int error = hf_open(shared->uri[worker->slot], &options, &worker->client[number]);

        if (!error)
            return true;
        if (error != HF_ERR_UNAVAILABLE || worker_is_to_stop(worker)) {
            foul(worker, "open: %s", hf_last_error());
            return false;
        }
        nap_ms(100);
    }
    foul(worker, "open: %s, for a long time", hf_last_error());
    return false;
}

/* Takes something that nobody will release, as an owner of its own: the thread is the same for all. */
static void leave_one(struct actor *actor)
{
    struct wish wish;

    wish_for(actor, &wish);
    wish.options.wait_ms = HF_TRY_ONCE;
    wish.options.owner = 100 + actor->history.thread;
    snprintf(wish.who, sizeof wish.who, "%u/%c%u", (unsigned)actor->worker->process, actor->letter,
             (unsigned)wish.options.owner);
    if (!acquire(actor, &wish, &actor->left))
        actor->left.hold = NULL;
}

/* What is left to it is given back by hf_close(); how that went nobody says. All others have ended: nobody here
 * waits for that. */
static void close_all(struct worker *worker, struct actor *actors)
{
    struct hist_record *record[ACTORS] = { NULL };

    for (int i = 0; i < ACTORS; i++) {
        if (actor_may(&actors[i], CHAOS_LEAVE) && actor_pick(&actors[i], 6) == 0)
            leave_one(&actors[i]);
        if (actors[i].left.hold)
            record[i] = release_begin(&actors[i], &actors[i].left);
    }
    for (int i = 0; i < 2; i++)
        hf_close(worker->client[i]);
    for (int i = 0; i < ACTORS; i++) {
        int error = record[i] ? hf_release(actors[i].left.hold) : HF_ERR_CLOSED;

        if (error != HF_ERR_CLOSED)
            foul(worker, "release after close: %s", hf_strerror(error));
        if (record[i])
            release_end(&actors[i], record[i], error);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Threads
 */

static void actor_init(struct actor *actor, struct worker *worker, int client)
{
    uint32_t number = atomic_fetch_add(&worker->threads, 1);

    memset(actor, 0, sizeof *actor);
    actor->worker = worker;
    actor->client = worker->client[client];
    actor->letter = (char)('a' + client);
    actor->random = (uint32_t)worker->shared->seed * 2654435761u + worker->process * 40503u +
                    number * 69069u + 1;
    for (int i = 0; i < 8; i++)
        random_next(&actor->random);
    hist_thread_init(&actor->history, worker->log, worker->process, number);
}

static void work(struct worker *worker)
{
    static struct actor actor[ACTORS];
    pthread_t thread[ACTORS];
    int count = 0;

    for (int i = 0; i < ACTORS; i++) {
        static void *(*const OTHERS[])(void *) = { event_run, odd_run, pair_run };
        void *(*run)(void *) = i < BLOCKING ? block_run : OTHERS[i - BLOCKING];
        /* in every other process the events are of a client that others call, too */
        int client = i < BLOCKING ? i % 2 : i == BLOCKING ? (int)(worker->process % 2) : 0;

        actor_init(&actor[i], worker, client);
        if (pthread_create(&thread[i], NULL, run, &actor[i]) != 0) {
            foul(worker, "no thread to be had");
            break;
        }
        count++;
    }
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    close_all(worker, actor);
}

static void say_end(struct worker *worker)
{
    struct hist_thread history;

    hist_thread_init(&history, worker->log, worker->process, 0);
    hist_end(hist_begin(&history, HIST_END, "", ""), HIST_OK, 0);
}

int worker_main(const char *log_path, int slot)
{
    static struct worker worker;
    struct sigaction on = { .sa_handler = on_term };

    sigaction(SIGTERM, &on, NULL);
    worker.log = hist_log_open(log_path);
    if (!worker.log || slot < 0 || slot >= CHAOS_SLOTS)
        return 2;
    worker.shared = hist_log_data(worker.log);
    worker.slot = slot;
    worker.process = hist_log_process(worker.log);
    atomic_store(&worker.threads, 1);
    atomic_store(&worker.shared->process[slot], worker.process);
    if (open_client(&worker, 0) && open_client(&worker, 1))
        work(&worker);
    say_end(&worker);
    return 0;
}
