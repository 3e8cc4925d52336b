/* SPDX-License-Identifier: Apache-2.0 */
/* The details of this thread's last failed call. */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/client.h"

static _Thread_local char last[HFI_DETAIL_MAX];

int hfi_fail(int error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(last, sizeof last, format, args);
    va_end(args);
    return error;
}

int hfi_fail_store(hf_client *client, int error)
{
    const char *detail = client->is_wire ? client->store->detail : client->detail;
    enum hf_class class_;
    bool from_store;

    if (error == HF_OK)
        return HF_OK;
    class_ = hf_classify(error);
    from_store = class_ == HF_CLASS_RETRY || class_ == HF_CLASS_FATAL ||
                 error == HF_ERR_UNSUPPORTED || error == HF_ERR_UNSURE;
    return hfi_fail(error, "%s", from_store && detail[0] ? detail : hf_strerror(error));
}

const char *hf_last_error(void)
{
    return last;
}
