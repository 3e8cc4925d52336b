/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presence: what people may see of this client's holds and waits, for stores that show it. Changes are
 * collected and sent at most once a second, so that short holds cost nothing; a heartbeat repeats that the
 * client lives.
 */
#ifndef HFI_CORE_PRESENCE_H
#define HFI_CORE_PRESENCE_H

#include "core/request.h"
#include "core/wheel.h"

struct hfi_engine;
struct hfi_gate;

struct hfi_presence {
    struct hfi_timer timer;
    struct hfi_gate *dirty; /* changed since they were last announced */
    size_t announced;       /* gates that people see */
    hfi_time next_ns;       /* not sooner: one a period */
    bool in_flight;
    bool farewell_sent, farewell_done;
    struct hfi_gate *sent[HFI_ANNOUNCEMENT_MAX]; /* those in the announcement in flight */
    struct hfi_announcement announcement;
    struct hfi_request farewell;
};

int hfi_presence_init(struct hfi_engine *engine);
void hfi_presence_fini(struct hfi_engine *engine);
/* Something about this gate has changed that people could see. */
void hfi_presence_mark(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate);
/* The gate is about to be freed: forget it, unless people must be told first; then false. */
bool hfi_presence_forget(struct hfi_engine *engine, struct hfi_gate *gate);
void hfi_presence_timer(struct hfi_engine *engine, hfi_time now);
void hfi_presence_answered(struct hfi_engine *engine, hfi_time now, struct hfi_request *request);
/* The client ends: remove what was announced, once nothing is held any more. */
void hfi_presence_close(struct hfi_engine *engine, hfi_time now);
bool hfi_presence_quiet(const struct hfi_engine *engine);

#endif
