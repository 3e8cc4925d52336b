/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast show`: one lock, its holders and its waiters in order. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/store.h"
#include "cli/table.h"
#include "cli/text.h"

enum { STORE = 1, JSON, HELP };

static const struct cli_option table_of_options[] = {
    { STORE, 0, true, "store" },
    { JSON, 0, false, "json" },
    { HELP, 'h', false, "help" },
    { 0, 0, false, NULL },
};

static const char usage[] =
    "Usage: holdfast show [--store URI] [--json] NAME\n"
    "Shows who holds the lock NAME, and who waits for it, in order; of a semaphore, how many "
    "permits\n"
    "are available; of a latch, its count.\n"
    "\n"
    "  --store URI  the store; else HOLDFAST_STORE; else the embedded store\n"
    "  --json       as JSON: docs/command.md, holdfast(1)\n"
    "  -h, --help   this text\n"
    "\n"
    "Exit: 0; 1 when nobody holds it or waits for it; 69 store; 64 usage.\n";

static json_t *waiters_json(const hf_list *list)
{
    struct hf_holder waiter = { .size = sizeof waiter };
    json_t *waiters = json_array();

    for (size_t i = 0; list && hf_list_waiter(list, 0, i, &waiter) == HF_OK; i++)
        json_array_append_new(waiters, hfi_cli_json_holder(&waiter));
    return waiters;
}

static json_t *nothing_json(const char *name)
{
    return json_pack("{s:o, s:n, s:s, s:n, s:[], s:i, s:n, s:i}", "name", hfi_cli_json_text(name),
                     "kind", "state", "free", "holder", "holders", "holder_count", 0, "available",
                     "waiter_count", 0);
}

/* `list` is NULL when there is nothing of that name. */
static int print_json(hf_client *client, const char *name, const hf_list *list)
{
    json_t *json =
        list && hf_list_count(list) > 0 ? hfi_cli_json_lock(list, 0) : nothing_json(name);

    if (json) {
        json_object_set_new(json, "store", hfi_cli_json_text(hf_client_store(client)));
        json_object_set_new(json, "waiters", waiters_json(list));
    }
    return hfi_cli_json_print(json);
}

static void line(const char *key, const char *text)
{
    char clean[HF_NAME_MAX + 1];

    hfi_cli_clean(clean, sizeof clean, text);
    if (clean[0])
        printf("%-10s %s\n", key, clean);
}

static void number(const char *key, int64_t value, int64_t least)
{
    if (value >= least)
        printf("%-10s %lld\n", key, (long long)value);
}

static void print_holder(const struct hf_holder *holder)
{
    char text[CLI_HOLDER_ROOM], age[CLI_AGE_ROOM];

    line("holder", hfi_cli_holder(text, holder));
    line("owner", holder->owner);
    if (holder->age_ms >= 0)
        line("age", hfi_cli_age(age, holder->age_ms));
    if (holder->remaining_ms >= 0)
        line("remaining", hfi_cli_age(age, holder->remaining_ms));
    number("token", (int64_t)holder->token, 1);
    line("label", holder->label);
    number("count", holder->count, 2);
}

static void add_number(struct cli_table *table, int64_t value, int64_t least)
{
    char digits[24] = "";

    if (value >= least)
        snprintf(digits, sizeof digits, "%lld", (long long)value);
    hfi_cli_table_add(table, digits);
}

/* Owners are not cut: they are there to be copied. */
static int print_holders(const hf_list *list)
{
    static const char *const heads[] = { "HOLDER", "AGE", "REMAINING", "OWNER", "COUNT", "LABEL" };
    struct hf_holder holder = { .size = sizeof holder };
    struct cli_table table;
    char text[CLI_HOLDER_ROOM], age[CLI_AGE_ROOM];

    hfi_cli_table_init(&table, heads, 6, 1u << 0 | 1u << 5);
    for (size_t i = 0; hf_list_holder(list, 0, i, &holder) == HF_OK; i++) {
        hfi_cli_table_add(&table, hfi_cli_holder(text, &holder));
        hfi_cli_table_add(&table, hfi_cli_age(age, holder.age_ms));
        hfi_cli_table_add(&table, hfi_cli_age(age, holder.remaining_ms));
        hfi_cli_table_add(&table, holder.owner);
        add_number(&table, holder.count, 0);
        hfi_cli_table_add(&table, holder.label);
    }
    return hfi_cli_table_print(&table, 0);
}

static int print_waiters(const hf_list *list)
{
    static const char *const heads[] = { "PLACE", "WAITER", "AGE", "THREADS" };
    struct hf_holder waiter = { .size = sizeof waiter };
    struct cli_table table;
    char text[CLI_HOLDER_ROOM], age[CLI_AGE_ROOM];

    hfi_cli_table_init(&table, heads, 4, 1u << 1);
    for (size_t i = 0; hf_list_waiter(list, 0, i, &waiter) == HF_OK; i++) {
        add_number(&table, (int64_t)i + 1, 1);
        hfi_cli_table_add(&table, hfi_cli_holder(text, &waiter));
        hfi_cli_table_add(&table, hfi_cli_age(age, waiter.age_ms));
        add_number(&table, waiter.count, 1);
    }
    return hfi_cli_table_print(&table, 0);
}

/* One holder is told in full, several are a table. */
static void print_lock(const struct hf_lock *lock)
{
    line("name", lock->name);
    line("kind", lock->kind);
    line("state", lock->state);
    if (hfi_cli_has_number(lock))
        number(strcmp(lock->kind, "latch") == 0 ? "count" : "available", lock->available,
               INT64_MIN);
    number("holders", lock->holders, 2);
    if (lock->holders < 2 && hfi_cli_is_somebody(&lock->holder))
        print_holder(&lock->holder);
    number("waiters", lock->waiters, 0);
}

static int print_text(const hf_list *list)
{
    struct hf_lock lock = { .size = sizeof lock };
    struct hf_holder first = { .size = sizeof first };
    int code = hf_list_get(list, 0, &lock);

    if (code != HF_OK)
        return hfi_cli_store_failed(code);
    print_lock(&lock);
    code = CLI_EXIT_OK;
    if (lock.holders > 1) {
        putchar('\n');
        code = print_holders(list);
    }
    if (code == CLI_EXIT_OK && hf_list_waiter(list, 0, 0, &first) == HF_OK) {
        putchar('\n');
        code = print_waiters(list);
    }
    return code == CLI_EXIT_OK ? hfi_cli_flush() : code;
}

static int show_lock(struct cli_store *store, const char *name, int json)
{
    hf_list *list = NULL;
    int result = hfi_cli_store_inspect(store, name, &list), code;

    if (result == HF_ERR_WRONG_TYPE)
        return hfi_cli_store_exit(result);
    if (result != HF_OK && result != HF_ERR_NOT_FOUND)
        return hfi_cli_store_failed(result);
    if (json)
        code = print_json(store->client, name, list);
    else if (result == HF_OK)
        code = print_text(list);
    else {
        hfi_cli_say("nobody holds '%s' or waits for it", name);
        code = CLI_EXIT_OK;
    }
    hf_list_free(list);
    return code == CLI_EXIT_OK && result == HF_ERR_NOT_FOUND ? CLI_EXIT_NONE : code;
}

static int show_main(int argc, char **argv)
{
    struct cli_options parser;
    struct cli_store store;
    char *uri = NULL;
    int id, json = 0, code;

    hfi_cli_options_init(&parser, "show", table_of_options, argc, argv);
    while ((id = hfi_cli_options_next(&parser)) > 0) {
        if (id == HELP)
            return hfi_cli_print_usage(&hfi_cli_show);
        if (id == STORE)
            uri = parser.value;
        else
            json = 1;
    }
    if (id == CLI_OPTIONS_WRONG)
        return CLI_EXIT_USAGE;
    if (argc - parser.next != 1)
        return hfi_cli_usage_error("show", "exactly one name is needed", NULL);
    code = hfi_cli_store_open(&store, uri, NULL);
    if (code != CLI_EXIT_OK)
        return code;
    code = show_lock(&store, argv[parser.next], json);
    hfi_cli_store_close(&store);
    return code;
}

const struct cli_command hfi_cli_show = {
    .name = "show",
    .summary = "show one lock: its holders, and its waiters in order",
    .usage = usage,
    .main = show_main,
};
