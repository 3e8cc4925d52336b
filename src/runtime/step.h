/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps with objects: requests of HFI_OP_OBJECT, each from its first try to its end. Whether a thread waits for it
 * or an event tells of it makes a difference before the first try and after the last, and in between none.
 *
 * A step that is waited for is on the stack of the thread that waits. One that was started is one piece of memory
 * with all that it was given, which is in `steps` of the client from its first try on, then in `steps_done`, and
 * freed when its event is taken, or with the client.
 */
#ifndef HFI_RUNTIME_STEP_H
#define HFI_RUNTIME_STEP_H

#include "core/tries.h"
#include "runtime/client.h"

struct hfi_step {
    struct hfi_object object; /* first member */
    struct hfi_tries tries;
    int result;            /* before the first try: what is wrong with the arguments */
    uint8_t numbers;       /* how many of the object's numbers are its answer */
    struct hfi_call *call; /* who waits for it; NULL: an event follows */
    void *cookie;
    struct hfi_step *prev, *next; /* started ones: all in progress; then events */
};

/* All of these with the lock. */

/* Has it done, and returns its result. The object's data may be there after an error, too. */
int hfi_step_run(hf_client *client, struct hfi_step *step);
/* An event follows. */
void hfi_step_start(hf_client *client, struct hfi_step *step);
/* A try is finished. */
void hfi_step_answered(hf_client *client, hfi_time now, struct hfi_step *step);
/* Ends the tries of those that were started with this cookie. True: there are some. */
bool hfi_steps_cancel(hf_client *client, const void *cookie);
/* The next event; false: there is none. */
bool hfi_step_take(hf_client *client, struct hf_event *event);
/* When nobody touches them any more. */
void hfi_steps_free(hf_client *client);

#endif
