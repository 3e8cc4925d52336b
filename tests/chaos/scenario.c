/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is run in CI, and what must have happened then, so that a run that exercised nothing cannot pass: a
 * quarter or less of what two quiet processors come to.
 */
#include <string.h>

#include "chaos/chaos.h"
#include "history/lin.h"

const struct scenario SCENARIOS[] = {
    { .name = "redis",
      .server = "redis-server",
      .deeds = CHAOS_ALL,
      .model = &LIN_FENCED,
      .poll_ms = 1000,
      .wake_ms = 1000,
      .seconds = 60,
      .operations = 10000,
      .losses = 90,
      .faults = 40,
      .handoffs = 200,
      .woken = 8,
      .expired = 100 },
    { .name = "valkey",
      .server = "valkey-server",
      .deeds = CHAOS_ALL,
      .model = &LIN_FENCED,
      .poll_ms = 1000,
      .wake_ms = 1000,
      .seconds = 30,
      .operations = 5000,
      .losses = 40,
      .faults = 20,
      .handoffs = 100,
      .expired = 40 },
    { .name = "forget",
      .server = "redis-server",
      .forgets = true,
      .deeds = CHAOS_ALL,
      .model = &LIN_FENCED,
      .poll_ms = 1000,
      .wake_ms = 1000,
      .seconds = 25,
      .operations = 4000,
      .losses = 40,
      .faults = 15,
      .handoffs = 80,
      .expired = 40 },
    { .name = "sqlite",
      .deeds = CHAOS_ALL,
      .model = &LIN_FENCED,
      .poll_ms = 1000,
      .wake_ms = 1000,
      .seconds = 40,
      .operations = 6000,
      .losses = 60,
      .faults = 20,
      .handoffs = 150,
      .woken = 8,
      .expired = 60 },
    /* Nobody looks by himself: a wake-up that is lost shows at once. */
    { .name = "wake-redis",
      .server = "redis-server",
      .is_calm = true,
      .deeds = CHAOS_PASS | CHAOS_NAMED | CHAOS_LONG | CHAOS_AGAIN | CHAOS_PAIR,
      .model = &LIN_REENTRANT,
      .poll_ms = 60000,
      .wake_ms = 200,
      .seconds = 10,
      .operations = 4000,
      .handoffs = 200,
      .woken = 300 },
    { .name = "wake-sqlite",
      .is_calm = true,
      .deeds = CHAOS_PASS | CHAOS_NAMED | CHAOS_LONG | CHAOS_AGAIN | CHAOS_PAIR,
      .model = &LIN_REENTRANT,
      .poll_ms = 60000,
      .wake_ms = 200,
      .seconds = 10,
      .operations = 4000,
      .faults = 4,
      .handoffs = 200,
      .woken = 300 },
    /* "Busy" is only said while somebody has it; nobody enters again. */
    { .name = "busy-redis",
      .server = "redis-server",
      .is_calm = true,
      .busy_strict = true,
      .model = &LIN_MUTEX,
      .poll_ms = 1000,
      .wake_ms = 1000,
      .seconds = 10,
      .operations = 10000,
      .handoffs = 400,
      .woken = 300 },
};

const size_t SCENARIO_COUNT = sizeof SCENARIOS / sizeof SCENARIOS[0];

const struct scenario *scenario_of(const char *name)
{
    for (size_t i = 0; i < SCENARIO_COUNT; i++)
        if (strcmp(SCENARIOS[i].name, name) == 0)
            return &SCENARIOS[i];
    return NULL;
}
