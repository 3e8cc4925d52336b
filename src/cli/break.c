/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `holdfast break`: takes a lock away from the holder that it has shown, and from no other. When somebody
 * else has got the lock in between, nothing is changed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/store.h"
#include "cli/text.h"

enum { STORE = 1, OWNER, HELP };

static const struct cli_option table[] = {
    { STORE, 0, true, "store" },
    { OWNER, 0, true, "owner" },
    { HELP, 'h', false, "help" },
    { 0, 0, false, NULL },
};

static const char usage[] =
    "Usage: holdfast break [--store URI] [--owner OWNER] NAME\n"
    "Shows who holds the lock NAME, and takes it away from that holder. Somebody else can have it "
    "at\n"
    "once, before the holder knows: stop the holder first where you can. Where there are several, "
    "such\n"
    "as readers or holders of permits, --owner says which.\n"
    "\n"
    "  --store URI    the store; else HOLDFAST_STORE; else the embedded store\n"
    "  --owner OWNER  only if this owner, as 'holdfast show' prints it, still holds the lock\n"
    "  -h, --help     this text\n"
    "\n"
    "Exit: 0; 1 when nobody holds it; 75 when somebody else holds it, and nothing was removed; 69 "
    "store;\n"
    "64 usage, or several hold it and --owner does not say which.\n";

static int nobody(const char *name)
{
    hfi_cli_say("nobody holds '%s'", name);
    return CLI_EXIT_NONE;
}

static int changed(const char *name)
{
    hfi_cli_say("the holder of '%s' has changed in between; nothing was removed", name);
    return CLI_EXIT_BUSY;
}

/* Given by --owner, and no holder: whether it ever was one is not known. */
static int another(const struct hf_lock *lock, const char *owner)
{
    char who[CLI_WHO_ROOM];

    hfi_cli_who(who, lock);
    hfi_cli_say("owner %s does not hold '%s', which %s %s; nothing was removed", owner, lock->name,
                hfi_cli_is_or_has(who), who);
    return CLI_EXIT_BUSY;
}

static int which(const struct hf_lock *lock)
{
    hfi_cli_say("'%s' has %lld holders: say which by --owner, as 'holdfast show %s' prints them",
                lock->name, (long long)lock->holders, lock->name);
    return CLI_EXIT_USAGE;
}

/* Prints the holder before it is touched, so that what was removed is on record even if we fail then. */
static int break_holder(struct cli_store *store, const char *name, const struct hf_holder *holder)
{
    char text[CLI_SINCE_ROOM], clean[HF_NAME_MAX + 1], owner[HF_OWNER_MAX + 1];
    int result;

    hfi_cli_clean(clean, sizeof clean, name);
    hfi_cli_clean(owner, sizeof owner, holder->owner);
    printf("'%s' is held by %s, owner %s\n", clean, hfi_cli_holder_since(text, holder), owner);
    result = hfi_cli_flush();
    if (result != CLI_EXIT_OK)
        return result;
    result = hf_break(store->client, name, holder->owner);
    if (result == HF_ERR_CHANGED)
        return changed(name);
    if (result == HF_ERR_NOT_FOUND)
        return nobody(name);
    if (result != HF_OK)
        return hfi_cli_store_failed(result);
    printf("taken away\n");
    return hfi_cli_flush();
}

static bool find(const hf_list *list, const char *owner, struct hf_holder *ret_holder)
{
    for (size_t i = 0; hf_list_holder(list, 0, i, ret_holder) == HF_OK; i++)
        if (strcmp(ret_holder->owner, owner) == 0)
            return true;
    return false;
}

static int break_one(struct cli_store *store, const hf_list *list, const char *owner)
{
    struct hf_lock lock = { .size = sizeof lock };
    struct hf_holder holder = { .size = sizeof holder };
    int result = hf_list_get(list, 0, &lock);

    if (result != HF_OK)
        return hfi_cli_store_failed(result);
    if (!lock.holder.owner[0])
        return nobody(lock.name);
    if (owner && !find(list, owner, &holder))
        return another(&lock, owner);
    if (!owner && lock.holders > 1)
        return which(&lock);
    return break_holder(store, lock.name, owner ? &holder : &lock.holder);
}

static int break_lock(struct cli_store *store, const char *name, const char *owner)
{
    hf_list *list = NULL;
    int result = hfi_cli_store_inspect(store, name, &list), code;

    if (result == HF_ERR_WRONG_TYPE)
        return hfi_cli_store_exit(result);
    if (result == HF_ERR_NOT_FOUND)
        return nobody(name);
    if (result != HF_OK)
        return hfi_cli_store_failed(result);
    code = break_one(store, list, owner);
    hf_list_free(list);
    return code;
}

static int break_main(int argc, char **argv)
{
    struct cli_options parser;
    struct cli_store store;
    const char *owner = NULL;
    char *uri = NULL;
    int id, code;

    hfi_cli_options_init(&parser, "break", table, argc, argv);
    while ((id = hfi_cli_options_next(&parser)) > 0) {
        if (id == HELP)
            return hfi_cli_print_usage(&hfi_cli_break);
        if (id == STORE)
            uri = parser.value;
        else
            owner = parser.value;
    }
    if (id == CLI_OPTIONS_WRONG)
        return CLI_EXIT_USAGE;
    if (argc - parser.next != 1)
        return hfi_cli_usage_error("break", "exactly one name is needed", NULL);
    code = hfi_cli_store_open(&store, uri, NULL);
    if (code != CLI_EXIT_OK)
        return code;
    code = break_lock(&store, argv[parser.next], owner);
    hfi_cli_store_close(&store);
    return code;
}

const struct cli_command hfi_cli_break = {
    .name = "break",
    .summary = "take a lock away from the holder shown",
    .usage = usage,
    .main = break_main,
};
