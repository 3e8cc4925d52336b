/* SPDX-License-Identifier: Apache-2.0 */
/* Subcommands with verbs. See verbs.h. */
#include <stdio.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/number.h"
#include "cli/options.h"
#include "cli/verbs.h"

enum { STORE = 1, WAIT, TRY, BUSY_CODE, VERBOSE, JSON, HELP };

static const struct cli_option plain_table[] = {
    { STORE, 0, true, "store" },
    { HELP, 'h', false, "help" },
    { 0, 0, false, NULL },
};

static const struct cli_option waiting_table[] = {
    { STORE, 0, true, "store" },
    { WAIT, 0, true, "wait" },
    { TRY, 'n', false, "try" },
    { BUSY_CODE, 'E', true, "busy-code" },
    { VERBOSE, 'v', false, "verbose" },
    { HELP, 'h', false, "help" },
    { 0, 0, false, NULL },
};

static const struct cli_option showing_table[] = {
    { STORE, 0, true, "store" },
    { JSON, 0, false, "json" },
    { HELP, 'h', false, "help" },
    { 0, 0, false, NULL },
};

/* ------------------------------------------------------------------------------------------------
 * For the verbs
 */

int hfi_cli_call_failed(const struct cli_call *call, int error)
{
    if (error == HF_ERR_NOT_FOUND) {
        hfi_cli_say("there is no %s '%s'", call->noun, call->name);
        return CLI_EXIT_NONE;
    }
    if (error == HF_ERR_EXISTS) {
        hfi_cli_say("there is a %s '%s' already; it was left as it is", call->noun, call->name);
        return CLI_EXIT_BUSY;
    }
    return hfi_cli_store_failed_at(call->name, error);
}

int hfi_cli_call_wait(struct cli_call *call, const char *done,
                      int (*start)(struct cli_wait *wait, int64_t wait_ms),
                      int (*look)(struct cli_wait *wait))
{
    struct cli_wait *wait = &call->wait;
    int code = hfi_cli_wait_open(wait, &call->store);

    if (code != CLI_EXIT_OK)
        return code;
    wait->wait_ms = call->wait_ms;
    wait->verbose = call->verbose;
    wait->name = call->name;
    wait->done = done;
    wait->unknown = "nothing to give";
    wait->start = start;
    wait->look = look;
    wait->arg = call;
    switch (hfi_cli_wait(wait)) {
    case CLI_WAITED_DONE:
        return CLI_EXIT_OK;
    case CLI_WAITED_SIGNAL:
        return CLI_EXIT_SIGNAL + wait->ended_by;
    case CLI_WAITED_FAILED:
        break;
    }
    if (wait->error == HF_ERR_NOT_FOUND) {
        hfi_cli_say("the %s '%s' was deleted", call->noun, call->name);
        return CLI_EXIT_NONE;
    }
    return hfi_cli_wait_failed(wait, call->busy_code);
}

int hfi_cli_call_print(const struct cli_call *call, const char *member, int64_t number)
{
    if (call->json)
        return hfi_cli_json_print(json_pack(
            "{s:o, s:o, s:I}", "store", hfi_cli_json_text(hf_client_store(call->store.client)),
            "name", hfi_cli_json_text(call->name), member, (json_int_t)number));
    printf("%lld\n", (long long)number);
    return hfi_cli_flush();
}

/* ------------------------------------------------------------------------------------------------
 * Arguments
 */

static bool set(struct cli_call *call, int id, const struct cli_options *parser, char **ret_uri)
{
    switch (id) {
    case STORE:
        *ret_uri = parser->value;
        return true;
    case WAIT:
        if (!hfi_cli_option_duration(parser, &call->wait_ms))
            return false;
        if (call->wait_ms == 0)
            call->wait_ms = HF_TRY_ONCE;
        return true;
    case TRY:
        call->wait_ms = HF_TRY_ONCE;
        return true;
    case BUSY_CODE:
        return hfi_cli_option_code(parser, &call->busy_code);
    case VERBOSE:
        call->verbose = true;
        return true;
    default: /* JSON */
        call->json = true;
        return true;
    }
}

/* NAME, and a number where there may or must be one. */
static bool set_operands(struct cli_call *call, const struct cli_verb *verb,
                         const struct cli_options *parser)
{
    int count = parser->argc - parser->next;
    const char *text;

    if (count < 1) {
        hfi_cli_usage_error(call->command->name, "a name is missing behind", verb->name);
        return false;
    }
    call->name = parser->argv[parser->next];
    call->number = verb->least;
    if (count == 1 && verb->number == CLI_NUMBER_MUST) {
        hfi_cli_usage_error(call->command->name, "a number is missing behind", call->name);
        return false;
    }
    if (count > (verb->number == CLI_NUMBER_NONE ? 1 : 2)) {
        hfi_cli_usage_error(call->command->name, "too many arguments, the last is",
                            parser->argv[parser->argc - 1]);
        return false;
    }
    if (count == 1)
        return true;
    text = parser->argv[parser->next + 1];
    if (hfi_cli_number(text, strlen(text), verb->least, verb->most, &call->number))
        return true;
    hfi_cli_say("%s: '%s' is not a number from %lld to %lld", call->command->name, text,
                (long long)verb->least, (long long)verb->most);
    return false;
}

/* CLI_EXIT_OK; CLI_EXIT_USAGE after a message; -1 when help was asked for. */
static int parse(struct cli_call *call, const struct cli_verb *verb, int argc, char **argv,
                 char **ret_uri)
{
    struct cli_options parser;
    int id;

    hfi_cli_options_init(&parser, call->command->name,
                         verb->waits   ? waiting_table
                         : verb->shows ? showing_table
                                       : plain_table,
                         argc, argv);
    while ((id = hfi_cli_options_next(&parser)) > 0) {
        if (id == HELP)
            return -1;
        if (!set(call, id, &parser, ret_uri))
            return CLI_EXIT_USAGE;
    }
    if (id == CLI_OPTIONS_WRONG || !set_operands(call, verb, &parser))
        return CLI_EXIT_USAGE;
    return CLI_EXIT_OK;
}

static const struct cli_verb *find(const struct cli_verbs *verbs, const char *name)
{
    for (size_t i = 0; i < verbs->count; i++)
        if (strcmp(verbs->verb[i].name, name) == 0)
            return &verbs->verb[i];
    return NULL;
}

static int run(const struct cli_verb *verb, struct cli_call *call, char *uri)
{
    int code = hfi_cli_store_open(&call->store, uri, NULL);

    if (code != CLI_EXIT_OK)
        return code;
    code = verb->main(call);
    hfi_cli_store_close(&call->store);
    if (call->wait.key && code == CLI_EXIT_SIGNAL + call->wait.key)
        hfi_cli_die_of(call->wait.key);
    return code;
}

int hfi_cli_verbs_main(const struct cli_verbs *verbs, int argc, char **argv)
{
    const struct cli_command *command = verbs->command;
    struct cli_call call = { .command = command,
                             .noun = verbs->noun,
                             .wait_ms = HF_WAIT_FOREVER,
                             .busy_code = CLI_EXIT_BUSY };
    const struct cli_verb *verb;
    char *uri = NULL;
    int code;

    if (argc < 2)
        return hfi_cli_usage_error(command->name, "a verb is missing", NULL);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return hfi_cli_print_usage(command);
    verb = find(verbs, argv[1]);
    if (!verb)
        return hfi_cli_usage_error(command->name, "unknown verb", argv[1]);
    code = parse(&call, verb, argc - 1, argv + 1, &uri);
    if (code < 0)
        return hfi_cli_print_usage(command);
    return code == CLI_EXIT_OK ? run(verb, &call, uri) : code;
}
