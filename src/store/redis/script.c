/* SPDX-License-Identifier: Apache-2.0 */
#include "store/redis/script.h"

#include "store/redis/redis.h"

#define HFI_SCRIPT_TEXTS
#include "redis_scripts.inc"
#undef HFI_SCRIPT_TEXTS

static const struct {
    const char *sha, *text;
    size_t length;
} SCRIPTS[HFI_SCRIPT_COUNT] = {
#define HFI_SCRIPT(name, sha, text, length) [HFI_SCRIPT_##name] = { sha, text, length },
#include "redis_scripts.inc"
#undef HFI_SCRIPT
};

void hfi_redis_call(struct hfi_resp *resp, const struct hfi_request *request,
                    enum hfi_script script, size_t keys, size_t arguments)
{
    hfi_resp_command(resp, 3 + arguments);
    if (request->stage == HFI_STAGE_TEXT) {
        hfi_resp_text(resp, "EVAL");
        hfi_resp_bytes(resp, SCRIPTS[script].text, SCRIPTS[script].length);
    } else {
        hfi_resp_text(resp, "EVALSHA");
        hfi_resp_text(resp, SCRIPTS[script].sha);
    }
    hfi_resp_number(resp, keys);
}
