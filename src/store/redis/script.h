/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts that the server runs (scripts/), by name, and the head of a command that calls one. */
#ifndef HFI_REDIS_SCRIPT_H
#define HFI_REDIS_SCRIPT_H

#include "core/request.h"
#include "store/redis/resp.h"

enum hfi_script {
#define HFI_SCRIPT(name, sha, text, length) HFI_SCRIPT_##name,
#include "redis_scripts.inc"
#undef HFI_SCRIPT
    HFI_SCRIPT_COUNT
};

/* By its hash at first, by its text when the server did not know it. `arguments` are those that follow, keys
 * included. */
void hfi_redis_call(struct hfi_resp *resp, const struct hfi_request *request,
                    enum hfi_script script, size_t keys, size_t arguments);

#endif
