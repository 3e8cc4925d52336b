/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast permits`: the number of permits that `run --permits` shares out. */
#include <stdio.h>

#include "cli/json.h"
#include "cli/message.h"
#include "cli/verbs.h"

static const char usage[] =
    "Usage: holdfast permits set [--store URI] NAME COUNT\n"
    "       holdfast permits resize [--store URI] NAME COUNT\n"
    "       holdfast permits show [--store URI] [--json] NAME\n"
    "       holdfast permits delete [--store URI] NAME\n"
    "The number of permits that 'holdfast run --permits N/M NAME' shares out.\n"
    "\n"
    "  set     gives NAME so many permits, 0 to 1000000000, if it has no number yet\n"
    "  resize  gives it so many, whatever it had. Who holds some keeps them: there can be less "
    "than none\n"
    "          available for a while\n"
    "  show    prints how many are available, how many there are in all, and how many are taken\n"
    "  delete  removes the number; whoever holds some loses them\n"
    "\n"
    "  --store URI  the store; else HOLDFAST_STORE; else the embedded store\n"
    "  --json       as JSON: docs/command.md, holdfast(1)\n"
    "  -h, --help   this text\n"
    "\n"
    "Exit: 0; 1 when there is none (delete); 75 when there is one already (set); 69 store; 64 "
    "usage.\n"
    "'holdfast show NAME' tells who holds them.\n";

static int set(struct cli_call *call)
{
    int result = hf_permits_set(call->store.client, call->name, call->number);

    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_call_failed(call, result);
}

static int resize(struct cli_call *call)
{
    int result = hf_permits_resize(call->store.client, call->name, call->number);

    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_call_failed(call, result);
}

static int show(struct cli_call *call)
{
    int64_t available = 0, taken = 0, total;
    int result = hf_permits_count(call->store.client, call->name, &available, &taken);

    if (result != HF_OK)
        return hfi_cli_call_failed(call, result);
    total = available + taken;
    if (call->json)
        return hfi_cli_json_print(json_pack("{s:o, s:o, s:I, s:I, s:I}", "store",
                                            hfi_cli_json_text(hf_client_store(call->store.client)),
                                            "name", hfi_cli_json_text(call->name), "available",
                                            (json_int_t)available, "total", (json_int_t)total,
                                            "taken", (json_int_t)taken));
    printf("%-10s %lld\n%-10s %lld\n%-10s %lld\n", "available", (long long)available, "total",
           (long long)total, "taken", (long long)taken);
    return hfi_cli_flush();
}

static int remove_it(struct cli_call *call)
{
    int result = hf_permits_delete(call->store.client, call->name);

    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_call_failed(call, result);
}

static const struct cli_verb verb[] = {
    { "set", CLI_NUMBER_MUST, 0, HF_COUNT_MAX, false, false, set },
    { "resize", CLI_NUMBER_MUST, 0, HF_COUNT_MAX, false, false, resize },
    { "show", CLI_NUMBER_NONE, 0, 0, false, true, show },
    { "delete", CLI_NUMBER_NONE, 0, 0, false, false, remove_it },
};

static int permits_main(int argc, char **argv)
{
    static const struct cli_verbs verbs = { &hfi_cli_permits, "number of permits", verb,
                                            sizeof verb / sizeof verb[0] };

    return hfi_cli_verbs_main(&verbs, argc, argv);
}

const struct cli_command hfi_cli_permits = {
    .name = "permits",
    .summary = "see and change the number of permits of run --permits",
    .usage = usage,
    .main = permits_main,
};
