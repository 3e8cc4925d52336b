/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the store. See store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/store.h"
#include "holdfast/objects.h"

/*
 * "scheme://user:PASSWORD@rest". The last '@' counts: a password with unescaped '@' or '/' in it is not
 * well-formed, and hidden all the same.
 */
void hfi_cli_hide_password(char *uri)
{
    char *start = strstr(uri, "://"), *colon, *at;

    if (!start || strncmp(uri, "sqlite", 6) == 0)
        return;
    at = strrchr(start, '@');
    colon = strchr(start + 3, ':');
    if (!at || !colon || colon > at)
        return;
    for (; *at; at++)
        *colon++ = *at;
    for (; colon < at; colon++)
        *colon = '\0';
}

/* The library's hook: any thread, locks held. One write of one line; what does not fit is dropped. */
static void warn(void *arg, enum hf_trace_level level, const char *text)
{
    const struct cli_store *store = arg;
    char line[768];
    size_t length = strnlen(text, sizeof line - 1);
    int saved = errno;
    ssize_t ignored;

    if (level != HF_TRACE_WARNING)
        return;
    memcpy(line, text, length);
    line[length] = '\n';
    ignored = write(store->hook, line, length + 1);
    (void)ignored;
    errno = saved;
}

void hfi_cli_store_warnings(struct cli_store *store)
{
    ssize_t count;

    if (store->warnings < 0)
        return;
    while ((count = read(store->warnings, store->carry + store->carried,
                         sizeof store->carry - store->carried)) > 0) {
        char *line = store->carry, *end = line + store->carried + count, *newline;

        while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
            *newline = '\0';
            hfi_cli_say("warning: %s", line);
            line = newline + 1;
        }
        store->carried = (size_t)(end - line);
        memmove(store->carry, line, store->carried);
    }
}

int hfi_cli_store_exit(int error)
{
    switch (error) {
    case HF_ERR_NO_MEMORY:
    case HF_ERR_SYSTEM:
        return CLI_EXIT_SYSTEM;
    case HF_ERR_INTERNAL:
    case HF_ERR_CLOSED:
    case HF_ERR_FORKED:
        return CLI_EXIT_INTERNAL;
    default:
        return hf_classify(error) == HF_CLASS_USAGE ? CLI_EXIT_USAGE : CLI_EXIT_STORE;
    }
}

int hfi_cli_store_failed(int error)
{
    const char *detail = hf_last_error();

    hfi_cli_say("%s", *detail ? detail : hf_strerror(error));
    return hfi_cli_store_exit(error);
}

int hfi_cli_store_failed_at(const char *name, int error)
{
    if (error != HF_ERR_WRONG_TYPE)
        return hfi_cli_store_failed(error);
    hfi_cli_say("'%s': something else is stored under this name", name);
    return hfi_cli_store_exit(error);
}

/* A copy of the URI that is ours; what others can read of it loses the password. */
static char *take_uri(char *uri)
{
    char *variable = getenv(CLI_STORE_VARIABLE);
    char *copy = uri ? strdup(uri) : strdup(variable ? variable : "");

    if (uri)
        hfi_cli_hide_password(uri);
    if (variable)
        hfi_cli_hide_password(variable);
    return copy;
}

int hfi_cli_store_open(struct cli_store *store, char *uri, const char *program)
{
    int ends[2], result, code;
    char *copy;

    memset(store, 0, sizeof *store);
    store->warnings = store->hook = -1;
    copy = take_uri(uri);
    if (!copy || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        hfi_cli_say("cannot start: %s", strerror(errno));
        free(copy);
        return CLI_EXIT_SYSTEM;
    }
    store->warnings = ends[0];
    store->hook = ends[1];
    result = hf_open(copy, HF_CLIENT(.program = program, .trace = warn, .trace_arg = store),
                     &store->client);
    explicit_bzero(copy, strlen(copy));
    free(copy);
    if (result == HF_OK)
        return CLI_EXIT_OK;
    code = hfi_cli_store_failed(result);
    if (result ==
        HF_ERR_SYSTEM) /* a folder that is not there: it is the store that cannot be used */
        code = CLI_EXIT_STORE;
    hfi_cli_store_close(store);
    return code;
}

void hfi_cli_store_close(struct cli_store *store)
{
    store->client = hf_close(store->client);
    hfi_cli_store_warnings(store);
    if (store->hook >= 0)
        close(store->hook);
    if (store->warnings >= 0)
        close(store->warnings);
    store->hook = store->warnings = -1;
}

/* A bucket is any string, and a key of another type is a wrong one: so its ttl tells whether there is anything. Only
 * servers have buckets, and only there something else can be under a name. */
static bool is_something(hf_client *client, const char *name)
{
    int64_t ttl_ms;
    int result = hf_bucket_ttl(client, name, &ttl_ms);

    return result == HF_OK || result == HF_ERR_WRONG_TYPE;
}

int hfi_cli_store_inspect(struct cli_store *store, const char *name, hf_list **ret_list)
{
    int result = hf_inspect(store->client, name, ret_list);

    if (result != HF_ERR_NOT_FOUND || !is_something(store->client, name))
        return result;
    result = hf_inspect(store->client, name, ret_list); /* it may have been taken in between */
    if (result != HF_ERR_NOT_FOUND)
        return result;
    hfi_cli_say("'%s': %s", name, hf_strerror(HF_ERR_WRONG_TYPE));
    return HF_ERR_WRONG_TYPE;
}
