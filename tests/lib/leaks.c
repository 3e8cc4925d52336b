/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/leaks.h"

#include <string.h>

#include "lib/folder.h"
#include "lib/raw.h"

int count_descriptors(void)
{
    return folder_count("/proc/self/fd") - 1; /* without the one that looks */
}

int count_threads(void)
{
    return folder_count("/proc/self/task");
}

void leaks_note(struct leaks *leaks)
{
    leaks->descriptors = count_descriptors();
}

void leaks_check(const struct leaks *leaks)
{
    AWAIT(count_descriptors() <= leaks->descriptors);
    assert_int_equal(count_descriptors(), leaks->descriptors);
}

/* Counters of tokens stay, and marks that are remembered for a while go by themselves. */
static bool may_stay(struct server *server, const char *key)
{
    if (strncmp(key, "holdfast:token:", 15) == 0 || strstr(key, "redisson_lock_token:"))
        return true;
    return strncmp(key, "holdfast_", 9) == 0 && raw_integer(server, "PTTL %s", key) > 0;
}

int server_count_keys(struct server *server)
{
    redisReply *reply = raw_reply(server, "KEYS *");
    int count = 0;

    for (size_t i = 0; i < reply->elements; i++)
        count += !may_stay(server, reply->element[i]->str);
    freeReplyObject(reply);
    return count;
}

void server_check_clean(struct server *server)
{
    AWAIT_MS(server_count_keys(server) == 0, 5000);
    AWAIT_MS(raw_integer(server, "PUBSUB CHANNELS") == 0, 5000);
    raw_close(server);
}
