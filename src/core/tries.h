/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step with an object (HFI_OP_OBJECT) whose outcome is not known is made again under the same serial number:
 * whether it is, and what came of all tries together.
 */
#ifndef HFI_CORE_TRIES_H
#define HFI_CORE_TRIES_H

#include <stdbool.h>

#include "holdfast/holdfast.h"

/* How often a step is made whose outcome stays unknown. */
#define HFI_TRIES_MAX 3

struct hfi_tries {
    unsigned made;
    bool unsure; /* the outcome of one that is over is not known */
    bool last;   /* it is not wanted any more: no further one */
};

/* A try ended with this error (HF_OK: it was done). Is the step to be made once more? */
static inline bool hfi_tries_again(struct hfi_tries *tries, int error)
{
    tries->made++;
    if (error == HF_ERR_UNSURE)
        tries->unsure = true;
    else if (error != HF_ERR_UNREACHABLE || !tries->unsure)
        return false;
    return !tries->last && tries->made < HFI_TRIES_MAX;
}

/* Did the store look for this very serial number before it said so? Then that was the answer to all tries. */
static inline bool hfi_tries_settled(int error)
{
    switch (hf_classify(error)) {
    case HF_CLASS_OK:
    case HF_CLASS_BUSY:
    case HF_CLASS_LOST:
    case HF_CLASS_USAGE:
        return true;
    default:
        return error == HF_ERR_WRONG_TYPE;
    }
}

/* What is to be said of a step whose last try ended with this error. */
static inline int hfi_tries_result(const struct hfi_tries *tries, int error)
{
    return tries->unsure && !hfi_tries_settled(error) ? HF_ERR_UNSURE : error;
}

#endif
