/* SPDX-License-Identifier: Apache-2.0 */
/* The truth: who holds what at the store. */
#include "world.h"

/* Tells all who listen; how many there are. */
static uint32_t publish(struct world *world, int name)
{
    uint32_t count = 0;

    for (int i = 0; i < world->nature.processes; i++) {
        struct process *process = &world->process[i];

        if (!process->open || !process->active[name])
            continue;
        process->woken[name] = true;
        count++;
    }
    return count;
}

void store_free(struct world *world, int name)
{
    world->truth[name].holder = NOBODY;
    world->truth[name].held_ns = world->truth[name].free_ns = world->now;
}

void store_expire(struct world *world)
{
    for (int name = 0; name < NAMES; name++) {
        struct truth *truth = &world->truth[name];

        if (truth->holder != NOBODY)
            truth->held_ns = hfi_time_min(world->now, truth->expires_ns);
        if (truth->holder != NOBODY && world->now >= truth->expires_ns) {
            tell(world, "%s expires", WORLD_NAMES[name]);
            truth->holder = NOBODY;
            truth->free_ns = truth->expires_ns;
        }
    }
}

static int place_of(const struct truth *truth, int process)
{
    for (int i = 0; i < truth->line_length; i++)
        if (truth->line[i] == process)
            return i;
    return -1;
}

static void leave_line(struct world *world, int name, int process)
{
    struct truth *truth = &world->truth[name];
    int place = place_of(truth, process);

    if (place < 0)
        return;
    truth->line_length--;
    for (int i = place; i < truth->line_length; i++)
        truth->line[i] = truth->line[i + 1];
    if (truth->holder == NOBODY)
        publish(world, name); /* the next one may go */
}

/* Who is first in line and does not come in time loses its place. */
static bool is_free_for(struct world *world, int name, int process)
{
    struct truth *truth = &world->truth[name];

    if (truth->holder != NOBODY)
        return false;
    while (truth->line_length > 0 && truth->line[0] != process &&
           world->now - truth->free_ns > 2 * HFI_SEC)
        leave_line(world, name, truth->line[0]);
    return truth->line_length == 0 || truth->line[0] == process;
}

static void be_busy(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    struct truth *truth = &world->truth[deed->name];

    verdict->said = HFI_BUSY;
    verdict->topic = chance(world, 20) ? HFI_TOPIC_READ_WRITE : HFI_TOPIC_LOCK;
    verdict->hint_ns =
        truth->holder == NOBODY ? HFI_SEC : hfi_time_until(world->now, truth->expires_ns);
    truth->held_ns = world->now;
    if (world->nature.lines && deed->queue && place_of(truth, deed->process) < 0)
        truth->line[truth->line_length++] = deed->process;
    verdict->ticket = place_of(truth, deed->process) >= 0;
}

static void execute_try(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    struct truth *truth = &world->truth[deed->name];

    if (truth->holder == deed->process && truth->owner == deed->owner) {
        verdict->said = HFI_ALREADY;
        return;
    }
    if (!is_free_for(world, deed->name, deed->process)) {
        be_busy(world, deed, verdict);
        return;
    }
    leave_line(world, deed->name, deed->process);
    truth->holder = deed->process;
    truth->owner = deed->owner;
    truth->expires_ns = world->now + deed->ttl_ms * HFI_MSEC;
    truth->held_ns = world->now;
    verdict->said = HFI_GRANTED;
    verdict->token = truth->token + 1 + draw(world, 3);
    verdict->tokens = 1 + (uint32_t)draw(world, deed->tokens);
    truth->token = verdict->token + verdict->tokens - 1;
}

static void execute_release(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    struct truth *truth = &world->truth[deed->name];

    verdict->said = HFI_GONE;
    if (truth->holder != deed->process || truth->owner != deed->owner)
        return;
    store_free(world, deed->name);
    verdict->said = HFI_RELEASED;
    verdict->others = publish(world, deed->name);
}

static void execute_renewal(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    for (size_t i = 0; i < deed->count; i++) {
        struct truth *truth = &world->truth[deed->item[i].name];

        verdict->kept[i] = truth->holder == deed->process && truth->owner == deed->item[i].owner;
        if (verdict->kept[i] && deed->item[i].ttl_ms)
            truth->expires_ns = world->now + deed->item[i].ttl_ms * HFI_MSEC;
    }
}

static void execute_announcement(struct world *world, const struct deed *deed,
                                 struct verdict *verdict)
{
    struct process *process = &world->process[deed->process];

    verdict->forgotten = !process->known;
    process->known = true;
    for (size_t i = 0; i < deed->count; i++) {
        struct registered *seen = &process->registry[deed->item[i].name];

        seen->held = deed->item[i].held;
        seen->owner = deed->item[i].owner;
        seen->token = deed->item[i].token;
        seen->waiters = deed->item[i].waiters;
        seen->field = deed->item[i].held || deed->item[i].waiters || deed->item[i].watching;
    }
}

void store_execute(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    store_expire(world);
    switch ((enum hfi_op)deed->op) {
    case HFI_OP_TRY:
        execute_try(world, deed, verdict);
        break;
    case HFI_OP_RELEASE:
        execute_release(world, deed, verdict);
        break;
    case HFI_OP_RENEW:
        execute_renewal(world, deed, verdict);
        break;
    case HFI_OP_LEAVE:
        leave_line(world, deed->name, deed->process);
        break;
    case HFI_OP_ANNOUNCE:
        execute_announcement(world, deed, verdict);
        break;
    case HFI_OP_FAREWELL:
        world->process[deed->process].known = false;
        memset(world->process[deed->process].registry, 0,
               sizeof world->process[deed->process].registry);
        break;
    default:
        break; /* watches: world_net.c */
    }
}
