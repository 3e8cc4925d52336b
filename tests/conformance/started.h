/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that were started, and their one event. */
#ifndef CONFORMANCE_STARTED_H
#define CONFORMANCE_STARTED_H

#include "conformance/store.h"
#include "holdfast/objects.h"

#define BYTES(text) ((struct hf_value){ text, sizeof(text) - 1 })
#define NOTHING     ((struct hf_value){ 0 })

/* What every event of such a call has. */
static inline struct hf_event event_of(hf_client *client, const void *cookie)
{
    struct hf_event event = next_event(client);

    assert_true(event.type == HF_EVENT_DONE || event.type == HF_EVENT_FAILED);
    assert_int_equal(event.type == HF_EVENT_FAILED, event.error != HF_OK);
    assert_ptr_equal(event.cookie, cookie);
    assert_null(event.hold);
    if (event.error) {
        assert_int_equal(event.number[0], 0);
        assert_int_equal(event.number[1], 0);
        assert_null(event.value.bytes);
    }
    return event;
}

/* The end of the one call that is under way, whose cookie is the client. */
static inline void ends(hf_client *client, int started, int error, int64_t number, int64_t number2)
{
    struct hf_event event;

    assert_int_equal(started, HF_OK);
    event = event_of(client, client);
    assert_int_equal(event.error, error);
    assert_int_equal(event.number[0], number);
    assert_int_equal(event.number[1], number2);
    assert_null(event.value.bytes);
    assert_int_equal(event.value.len, 0);
    no_event(client);
}

#define DONE(client, started)         ends(client, started, HF_OK, 0, 0)
#define NUMBER(client, started, n)    ends(client, started, HF_OK, n, 0)
#define FAILS(client, started, error) ends(client, started, error, 0, 0)

/* The same, with a value. */
static inline void gives(hf_client *client, int started, const void *bytes, size_t len)
{
    struct hf_event event;

    assert_int_equal(started, HF_OK);
    event = event_of(client, client);
    assert_int_equal(event.type, HF_EVENT_DONE);
    assert_int_equal(event.value.len, len);
    assert_memory_equal(event.value.bytes, bytes, len);
    assert_int_equal(((const char *)event.value.bytes)[len], '\0');
    hf_value_free(&event.value);
    assert_null(event.value.bytes);
    no_event(client);
}

#define GIVES(client, started, text) gives(client, started, text, sizeof(text) - 1)

#endif
