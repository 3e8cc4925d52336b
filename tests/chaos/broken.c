/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that are broken on purpose, so that it is known that the checker finds it. */
#include <hiredis/hiredis.h>

#include "chaos/chaos.h"

bool is_broken(struct actor *actor, enum chaos_broken how, uint32_t once_in)
{
    return actor->worker->shared->broken == how && actor_pick(actor, once_in) == 0;
}

void remove_by_hand(const struct actor *actor, int lock)
{
    redisContext *raw = redisConnect("127.0.0.1", actor->worker->shared->server_port);
    redisReply *reply = NULL;

    if (raw && !raw->err)
        reply = redisCommand(raw, "DEL chaos:%d", lock);
    if (reply)
        freeReplyObject(reply);
    if (raw)
        redisFree(raw);
}
