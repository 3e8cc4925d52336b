/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of objects.h that are one step each. What a call asks for is described in one place, as a step whose
 * `result` says what is wrong with the arguments; the blocking form has it done, the other one starts it.
 */
#ifndef HFI_API_OBJECT_H
#define HFI_API_OBJECT_H

#include "api/options.h"
#include "runtime/step.h"

/* Tokens are below this. */
#define HFI_TOKEN_END (UINT64_C(1) << 53)

/* Where the blocking form puts what it returns; NULL: it is not wanted. */
struct hfi_answer {
    int64_t *number, *number2;
    struct hf_value *value;
};

/* Has it done, by the rules of the public calls. */
int hfi_object_run(hf_client *client, const char *name, struct hfi_step step,
                   struct hfi_answer answer);
/* For a call that makes no sense without an answer. */
int hfi_object_read(hf_client *client, const char *name, struct hfi_step step, int64_t *ret_number);
/* Starts it: name and bytes are copied. */
int hfi_object_start(hf_client *client, const char *name, struct hfi_step step, void *cookie);

#endif
