/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that does odd things: it cancels others in the middle of an acquire, and forks with a hold in hand. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/chaos.h"

/* ------------------------------------------------------------------------------------------------
 * pthread_cancel
 */

struct victim {
    struct actor actor;
    struct wish wish;
    struct hist_record *record;
};

/* It will never know. */
static void on_cancel(void *arg)
{
    struct victim *victim = arg;

    hist_end(victim->record, HIST_UNKNOWN, HF_ERR_CANCELLED);
}

static void *suffer(void *arg)
{
    struct victim *victim = arg;
    struct actor *actor = &victim->actor;
    struct prize prize;
    hf_hold *hold = NULL;
    char name[16];
    int error;

    lock_name(victim->wish.lock, name);
    victim->record = acquire_begin(actor, &victim->wish);
    pthread_cleanup_push(on_cancel, victim);
    error = hf_acquire(actor->client, name, &victim->wish.options, &hold);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_pop(0);
    acquire_end(actor, victim->record, hist_now(), &victim->wish, error, hold, &prize);
    if (error)
        return NULL;
    write_token(actor, &prize);
    look(actor, &prize);
    release(actor, &prize);
    return NULL;
}

/* The victim writes into this thread's part of the log, which has nothing to say meanwhile. */
static void cancel_one(struct actor *actor)
{
    struct victim victim = { .actor = *actor };
    pthread_t thread;

    victim.actor.history.thread = atomic_fetch_add(&actor->worker->threads, 1);
    wish_for(&victim.actor, &victim.wish);
    if (pthread_create(&thread, NULL, suffer, &victim) != 0) {
        foul(actor->worker, "no thread to be had");
        return;
    }
    nap_us((long)actor_pick(actor, actor_pick(actor, 2) ? 500 : 30000));
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    actor->history.next = victim.actor.history.next;
    actor->history.end = victim.actor.history.end;
    actor->random ^= victim.actor.random;
}

/* ------------------------------------------------------------------------------------------------
 * fork
 */

static void expect_forked(struct worker *worker, const char *what, int error)
{
    if (error != HF_ERR_FORKED)
        foul(worker, "%s in a child of fork(): %s", what, hf_strerror(error));
}

static pid_t forker, runner; /* whom a child may have as its parent */

static void on_orphaned(int number)
{
    (void)number;
    if (getppid() != runner)
        _exit(0);
}

/* A child goes on when its parent is killed, for the runner adopts it; it ends with the runner. */
static void follow(pid_t who)
{
    struct sigaction on = { .sa_handler = on_orphaned };

    runner = who;
    sigaction(SIGUSR1, &on, NULL);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    if (getppid() != forker && getppid() != runner)
        _exit(0);
}

/* What it has of its parent is inert. */
static void try_inherited(struct actor *actor, hf_hold *hold)
{
    struct worker *worker = actor->worker;
    hf_hold *other = NULL;

    expect_forked(worker, "state", hf_hold_state(hold));
    expect_forked(worker, "verify", hf_hold_verify(hold));
    expect_forked(worker, "acquire", hf_acquire(actor->client, "chaos:child", NULL, &other));
    expect_forked(worker, "release", hf_release(hold));
}

/* A client of its own, and a few turns with it. */
static void work_as_child(struct actor *actor, const struct hf_client_options *options,
                          const char *uri)
{
    if (hf_open(uri, options, &actor->client) != HF_OK) {
        foul(actor->worker, "open in a child: %s", hf_last_error());
        return;
    }
    for (int i = 0; i < 3; i++) {
        struct wish wish;
        struct prize prize;

        wish_for(actor, &wish);
        wish.options.wait_ms = actor_pick(actor, 2) ? 300 : HF_TRY_ONCE;
        if (!acquire(actor, &wish, &prize))
            continue;
        write_token(actor, &prize);
        look(actor, &prize);
        release(actor, &prize);
    }
    hf_close(actor->client);
}

static void be_child(const struct actor *parent, hf_hold *hold)
{
    struct worker worker = *parent->worker;
    struct actor actor = *parent;
    const struct hf_client_options *options =
        HF_CLIENT(.op_timeout_ms = worker.shared->op_timeout_ms,
                  .connect_timeout_ms = worker.shared->connect_timeout_ms, .program = "child");
    char uri[160];

    follow(worker.shared->runner);
    snprintf(uri, sizeof uri, "%s", worker.shared->uri[parent->worker->slot]);
    worker.process = hist_log_process(worker.log);
    hist_thread_init(&actor.history, worker.log, worker.process, 1);
    actor.worker = &worker;
    actor.letter = 'c';
    actor.random ^= worker.process * 2654435761u;
    try_inherited(&actor, hold);
    work_as_child(&actor, options, uri);
    hist_end(hist_begin(&actor.history, HIST_END, "", ""), HIST_OK, 0);
    _exit(0);
}

static void fork_once(struct actor *actor)
{
    struct wish wish;
    struct prize prize;
    pid_t pid;
    int status = 0;

    wish_for(actor, &wish);
    wish.keeps = false;
    if (!acquire(actor, &wish, &prize))
        return;
    forker = getpid();
    pid = fork();
    if (pid == 0)
        be_child(actor, prize.hold);
    look(actor, &prize);
    write_token(actor, &prize);
    release(actor, &prize);
    if (pid < 0) {
        foul(actor->worker, "fork: %s", strerror(errno));
        return;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        foul(actor->worker, "a child of fork() ended with status %#x", (unsigned)status);
}

void *odd_run(void *arg)
{
    struct actor *actor = arg;
    bool cancels = actor_may(actor, CHAOS_CANCEL) && TEST_CAN_CANCEL;
    bool forks = actor_may(actor, CHAOS_FORK) && TEST_CAN_FORK;

    while ((cancels || forks) && !worker_is_to_stop(actor->worker)) {
        if (forks && (!cancels || actor_pick(actor, 40) == 0))
            fork_once(actor);
        else
            cancel_one(actor);
        nap_us((long)actor_pick(actor, 30000));
    }
    return NULL;
}
