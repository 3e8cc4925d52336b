/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As many threads as one likes, each of which blocks until its command is answered, over one bare
 * connection: the least that a library can do whose calls block. One thread reads for all; the
 * others sleep. It says what putting threads to sleep and waking them costs on a machine, which no
 * library of that kind can avoid.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define OUT_SIZE (256 * 1024)
#define IN_SIZE  (64 * 1024)

enum { ASLEEP, ANSWERED, CALLED }; /* CALLED: to read for the others */

struct op {
    struct op *next;
    atomic_int word;
};

struct bench_relay {
    pthread_mutex_t lock;
    redisContext *redis;
    struct op *unanswered, **last;
    bool reading, writing;
    char *commands[2][BENCH_RELAY_MAX];
    size_t lengths[2][BENCH_RELAY_MAX];
    char out[2][OUT_SIZE], in[IN_SIZE];
    unsigned filling; /* which of the two is filled, while the other is sent */
    size_t filled;
};

static void sleep_on(atomic_int *word)
{
    while (atomic_load(word) == ASLEEP)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, ASLEEP, NULL, NULL, 0);
}

/* Its memory may be another's by now: then that one wakes in vain. */
static void wake(atomic_int *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void send_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);

        if (sent < 0)
            bench_die("send: %s", strerror(errno));
        bytes += sent;
        count -= (size_t)sent;
    }
}

/* With the lock, which it lets go of while it sends. */
static void flush(struct bench_relay *relay)
{
    while (relay->filled > 0 && !relay->writing) {
        const char *bytes = relay->out[relay->filling];
        size_t count = relay->filled;

        relay->filling = 1 - relay->filling;
        relay->filled = 0;
        relay->writing = true;
        pthread_mutex_unlock(&relay->lock);
        send_all(relay->redis->fd, bytes, count);
        pthread_mutex_lock(&relay->lock);
        relay->writing = false;
    }
}

/* Takes what has come. Returns the words of those to wake; `self` is among the answered if its own
 * is. */
static size_t take_replies(struct bench_relay *relay, const struct op *self, atomic_int **words)
{
    redisReply *reply = NULL;
    size_t count = 0;

    while (redisReaderGetReply(relay->redis->reader, (void **)&reply) == REDIS_OK && reply) {
        struct op *op = relay->unanswered;

        if (!op || reply->type == REDIS_REPLY_ERROR)
            bench_die("the baseline got an answer that it did not expect");
        freeReplyObject(reply);
        relay->unanswered = op->next;
        if (!relay->unanswered)
            relay->last = &relay->unanswered;
        if (op != self)
            words[count++] = &op->word;
        atomic_store(&op->word, ANSWERED);
    }
    return count;
}

/* Reads once, for everybody; with the lock, which it lets go of. */
static void read_for_all(struct bench_relay *relay, struct op *self)
{
    struct pollfd polled = { .fd = relay->redis->fd, .events = POLLIN };
    atomic_int *words[BENCH_RELAY_MAX + 1];
    size_t count;
    ssize_t got;

    relay->reading = true;
    pthread_mutex_unlock(&relay->lock);
    poll(&polled, 1, -1);
    got = recv(relay->redis->fd, relay->in, IN_SIZE, 0);
    if (got <= 0)
        bench_die("recv: %s", got < 0 ? strerror(errno) : "the server has gone");
    redisReaderFeed(relay->redis->reader, relay->in, (size_t)got);
    pthread_mutex_lock(&relay->lock);
    count = take_replies(relay, self, words);
    relay->reading = false;
    if (atomic_load(&self->word) == ANSWERED && relay->unanswered) {
        words[count++] = &relay->unanswered->word;
        atomic_store(&relay->unanswered->word, CALLED);
    }
    pthread_mutex_unlock(&relay->lock);
    for (size_t i = 0; i < count; i++)
        wake(words[i]);
}

static void call(struct bench_relay *relay, const char *command, size_t length)
{
    struct op op = { .word = ASLEEP };

    pthread_mutex_lock(&relay->lock);
    *relay->last = &op;
    relay->last = &op.next;
    memcpy(relay->out[relay->filling] + relay->filled, command, length);
    relay->filled += length;
    flush(relay);
    while (atomic_load(&op.word) != ANSWERED) {
        if (!relay->reading) {
            read_for_all(relay, &op);
        } else {
            atomic_store(&op.word, ASLEEP);
            pthread_mutex_unlock(&relay->lock);
            sleep_on(&op.word);
        }
        if (atomic_load(&op.word) == ANSWERED)
            return;
        pthread_mutex_lock(&relay->lock);
    }
    pthread_mutex_unlock(&relay->lock);
}

void bench_relay_pair(void *arg, size_t number)
{
    struct bench_relay *relay = arg;

    for (unsigned i = 0; i < 2; i++)
        call(relay, relay->commands[i][number], relay->lengths[i][number]);
}

static size_t format(char **to, int argc, const char *const *argv, const size_t *len)
{
    long long length = redisFormatCommandArgv(to, argc, (const char **)(uintptr_t)argv, len);

    if (length <= 0)
        bench_die("out of memory");
    return (size_t)length;
}

struct bench_relay *bench_relay_new(redisContext *redis, const struct bench_commands *commands,
                                    size_t count)
{
    struct bench_relay *relay = calloc(1, sizeof *relay);

    if (!relay || count > BENCH_RELAY_MAX)
        bench_die("out of memory");
    pthread_mutex_init(&relay->lock, NULL);
    relay->redis = redis;
    relay->last = &relay->unanswered;
    for (size_t i = 0; i < count; i++) {
        const struct bench_commands *c = &commands[i];

        relay->lengths[0][i] = format(&relay->commands[0][i], 8, c->acquire, c->acquire_len);
        relay->lengths[1][i] = format(&relay->commands[1][i], 7, c->release, c->release_len);
    }
    return relay;
}

void bench_relay_free(struct bench_relay *relay)
{
    for (unsigned i = 0; i < 2; i++)
        for (size_t k = 0; k < BENCH_RELAY_MAX; k++)
            free(relay->commands[i][k]);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
}
