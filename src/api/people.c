/* SPDX-License-Identifier: Apache-2.0 */
/* Looking, checking and breaking: requests that have nothing to do with the engine. */
#include <string.h>

#include "api/options.h"
#include "base/list.h"
#include "runtime/clock.h"

/* Has a request done. With the lock taken by hfi_enter_started(), which is given back. */
static int ask(hf_client *client, struct hfi_request *request, enum hfi_op op)
{
    struct hfi_call call;
    int error;

    hfi_call_init(&call, HFI_CALL_REQUEST);
    hfi_submit(client, hfi_now(), request, op, &call);
    hfi_call_wait(client, &call);
    error = hfi_fail_store(client, request->error);
    hfi_leave(client);
    return error;
}

int hf_check(hf_client *client)
{
    struct hfi_request request = { 0 };
    int error;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_check() needs a client");
    error = hfi_enter_started(client);
    return error ? error : ask(client, &request, HFI_OP_CHECK);
}

static int look(hf_client *client, const char *text, enum hfi_op op, hf_list **ret_list)
{
    struct hfi_query query = { .text = text };
    int error = hfi_enter_started(client);

    if (error)
        return error;
    query.list = hfi_list_new();
    if (!query.list) {
        hfi_leave(client);
        return hfi_no_memory();
    }
    error = ask(client, &query.request, op);
    if (error)
        hf_list_free(query.list);
    else
        *ret_list = query.list;
    return error;
}

static int check_name(const char *name)
{
    size_t len;

    return hfi_check_name(name, "a lock's name", &len);
}

int hf_list_locks(hf_client *client, const char *pattern, hf_list **ret_list)
{
    if (!client || !ret_list || (pattern && strnlen(pattern, HF_NAME_MAX + 1) > HF_NAME_MAX))
        return hfi_fail(HF_ERR_INVALID,
                        "hf_list_locks() needs a client, a pattern of at most %d "
                        "bytes or NULL, and somewhere to put the list",
                        HF_NAME_MAX);
    return look(client, pattern, HFI_OP_LIST, ret_list);
}

int hf_inspect(hf_client *client, const char *name, hf_list **ret_list)
{
    int error;

    if (!client || !ret_list)
        return hfi_fail(HF_ERR_INVALID,
                        "hf_inspect() needs a client and somewhere to put the list");
    error = check_name(name);
    return error ? error : look(client, name, HFI_OP_INSPECT, ret_list);
}

int hf_break(hf_client *client, const char *name, const char *owner)
{
    struct hfi_query query = { .text = name, .owner = owner };
    int error;

    if (!client || !owner || !*owner || strnlen(owner, HF_OWNER_MAX + 1) > HF_OWNER_MAX)
        return hfi_fail(HF_ERR_INVALID, "hf_break() needs a client, and the owner as hf_inspect() "
                                        "shows it");
    error = check_name(name);
    if (error)
        return error;
    error = hfi_enter_started(client);
    return error ? error : ask(client, &query.request, HFI_OP_BREAK);
}
