/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast ls`: the locks of a store, and its semaphores and latches. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/store.h"
#include "cli/table.h"
#include "cli/text.h"

enum { STORE = 1, JSON, NAMES, HELP };

static const struct cli_option table_of_options[] = {
    { STORE, 0, true, "store" },  { JSON, 0, false, "json" }, { NAMES, 0, false, "names" },
    { HELP, 'h', false, "help" }, { 0, 0, false, NULL },
};

static const char usage[] =
    "Usage: holdfast ls [--store URI] [--json | --names] [PATTERN]\n"
    "Lists the locks that somebody holds or waits for, semaphores and latches: all, or those "
    "whose\n"
    "names match PATTERN (* and ? as in file names; quote it).\n"
    "\n"
    "  --store URI  the store; else HOLDFAST_STORE; else the embedded store\n"
    "  --json       as JSON: docs/command.md, holdfast(1)\n"
    "  --names      the names only, one a line\n"
    "  -h, --help   this text\n";

static int print_names(const hf_list *list)
{
    struct hf_lock lock = { .size = sizeof lock };
    char clean[HF_NAME_MAX + 1];

    for (size_t i = 0; hf_list_get(list, i, &lock) == HF_OK; i++) {
        hfi_cli_clean(clean, sizeof clean, lock.name);
        puts(clean);
    }
    return hfi_cli_flush();
}

static int print_json(hf_client *client, const hf_list *list)
{
    json_t *locks = json_array();

    for (size_t i = 0; i < hf_list_count(list); i++)
        json_array_append_new(locks, hfi_cli_json_lock(list, i));
    return hfi_cli_json_print(json_pack(
        "{s:o, s:o}", "store", hfi_cli_json_text(hf_client_store(client)), "locks", locks));
}

static void add_number(struct cli_table *table, int64_t number, int64_t least)
{
    char text[24] = "";

    if (number >= least)
        snprintf(text, sizeof text, "%lld", (long long)number);
    hfi_cli_table_add(table, text);
}

static int print_table(const hf_list *list)
{
    static const char *const heads[] = { "NAME",      "KIND",  "STATE", "HOLDERS", "AGE",
                                         "REMAINING", "TOKEN", "LABEL", "WAITERS" };
    struct hf_lock lock = { .size = sizeof lock };
    struct cli_table table;
    char holders[CLI_WHO_ROOM], age[CLI_AGE_ROOM];

    hfi_cli_table_init(&table, heads, 9, 1u << 0 | 1u << 3 | 1u << 7);
    for (size_t i = 0; hf_list_get(list, i, &lock) == HF_OK; i++) {
        hfi_cli_table_add(&table, lock.name);
        hfi_cli_table_add(&table, lock.kind);
        hfi_cli_table_add(&table, lock.state);
        hfi_cli_table_add(&table, hfi_cli_holders(holders, &lock));
        hfi_cli_table_add(&table, hfi_cli_age(age, lock.holder.age_ms));
        hfi_cli_table_add(&table, hfi_cli_age(age, lock.holder.remaining_ms));
        add_number(&table, (int64_t)lock.holder.token, 1);
        hfi_cli_table_add(&table, lock.holder.label);
        add_number(&table, lock.waiters, 0);
    }
    return hfi_cli_table_print(&table, 0);
}

static int list_locks(struct cli_store *store, const char *pattern, int form)
{
    hf_list *list = NULL;
    int result = hf_list_locks(store->client, pattern, &list);

    if (result != HF_OK)
        return hfi_cli_store_failed(result);
    result = form == JSON    ? print_json(store->client, list)
             : form == NAMES ? print_names(list)
                             : print_table(list);
    hf_list_free(list);
    return result;
}

static int ls_main(int argc, char **argv)
{
    struct cli_options parser;
    struct cli_store store;
    char *uri = NULL;
    int id, form = 0, code;

    hfi_cli_options_init(&parser, "ls", table_of_options, argc, argv);
    while ((id = hfi_cli_options_next(&parser)) > 0) {
        if (id == HELP)
            return hfi_cli_print_usage(&hfi_cli_ls);
        if (id == STORE)
            uri = parser.value;
        else if (form != 0 && form != id)
            return hfi_cli_usage_error("ls", "--json and --names exclude each other", NULL);
        else
            form = id;
    }
    if (id == CLI_OPTIONS_WRONG)
        return CLI_EXIT_USAGE;
    if (argc - parser.next > 1)
        return hfi_cli_usage_error("ls", "too many arguments, the second pattern is",
                                   argv[parser.next + 1]);
    code = hfi_cli_store_open(&store, uri, NULL);
    if (code != CLI_EXIT_OK)
        return code;
    code = list_locks(&store, argv[parser.next], form);
    hfi_cli_store_close(&store);
    return code;
}

const struct cli_command hfi_cli_ls = {
    .name = "ls",
    .summary = "list locks: who holds them, since when, who waits",
    .usage = usage,
    .main = ls_main,
};
