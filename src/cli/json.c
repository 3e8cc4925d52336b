/* SPDX-License-Identifier: Apache-2.0 */
/* Locks as JSON: every member is always there, null when it is not known. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/text.h"

json_t *hfi_cli_json_text(const char *text)
{
    char clean[3 * HF_NAME_MAX + 1]; /* a bad byte becomes three */

    hfi_cli_utf8(clean, sizeof clean, text);
    return json_string(clean);
}

static json_t *text_or_null(const char *text)
{
    return *text ? hfi_cli_json_text(text) : json_null();
}

static json_t *number_or_null(int64_t number, int64_t least)
{
    return number >= least ? json_integer((json_int_t)number) : json_null();
}

json_t *hfi_cli_json_holder(const struct hf_holder *holder)
{
    if (!hfi_cli_is_somebody(holder))
        return json_null();
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "owner", text_or_null(holder->owner),
        "host", text_or_null(holder->host), "user", text_or_null(holder->user), "program",
        text_or_null(holder->program), "pid", number_or_null(holder->pid, 1), "label",
        text_or_null(holder->label), "age_ms", number_or_null(holder->age_ms, 0), "remaining_ms",
        number_or_null(holder->remaining_ms, 0), "token", number_or_null((int64_t)holder->token, 1),
        "count", number_or_null(holder->count, 0));
}

json_t *hfi_cli_json_holders(const hf_list *list, size_t i)
{
    struct hf_holder holder = { .size = sizeof holder };
    json_t *holders = json_array();

    for (size_t j = 0; hf_list_holder(list, i, j, &holder) == HF_OK; j++)
        if (hfi_cli_is_somebody(&holder))
            json_array_append_new(holders, hfi_cli_json_holder(&holder));
    return holders;
}

json_t *hfi_cli_json_lock(const hf_list *list, size_t i)
{
    struct hf_lock lock = { .size = sizeof lock };

    if (hf_list_get(list, i, &lock) != HF_OK)
        return NULL;
    return json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "name", hfi_cli_json_text(lock.name), "kind",
        text_or_null(lock.kind), "state", lock.state, "holder", hfi_cli_json_holder(&lock.holder),
        "holders", hfi_cli_json_holders(list, i), "holder_count", number_or_null(lock.holders, 0),
        "available",
        hfi_cli_has_number(&lock) ? json_integer((json_int_t)lock.available) : json_null(),
        "waiter_count", number_or_null(lock.waiters, 0));
}

int hfi_cli_json_print(json_t *json)
{
    if (!json) {
        hfi_cli_say("out of memory");
        return CLI_EXIT_SYSTEM;
    }
    json_dumpf(json, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(json);
    return hfi_cli_flush();
}
