/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `holdfast ls` and `show` print of a list that a store has made of whatever others have put into it. JSON
 * is read back, and must say the same; tables must not do anything to a terminal.
 *
 * The commands are the real ones. This file stands for the library's calls below them, and for the store.
 */
#include "fuzz/fuzz.h"

#include <jansson.h>

#include "base/list.h"
#include "base/name.h"
#include "cli/cli.h"
#include "cli/message.h"
#include "cli/store.h"
#include "cli/text.h"

#define LOCKS_MAX   6
#define WAITERS_MAX 4
#define HOLDERS_MAX 4
#define NAME_ROOM   1400 /* longer than names are */

static hf_list *list;
static char store_uri[256];
static int answer;

/* ------------------------------------------------------------------------------------------------
 * Below the commands
 */

int hf_list_locks(hf_client *client, const char *pattern, hf_list **ret_list)
{
    (void)client;
    (void)pattern;
    *ret_list = list;
    return HF_OK;
}

int hfi_cli_store_inspect(struct cli_store *store, const char *name, hf_list **ret_list)
{
    (void)store;
    (void)name;
    if (answer == HF_OK)
        *ret_list = list;
    return answer;
}

const char *hf_client_store(const hf_client *client)
{
    (void)client;
    return store_uri;
}

int hfi_cli_store_open(struct cli_store *store, char *uri, const char *program)
{
    (void)uri;
    (void)program;
    memset(store, 0, sizeof *store);
    return CLI_EXIT_OK;
}

void hfi_cli_store_close(struct cli_store *store)
{
    (void)store;
}

int hfi_cli_store_failed(int error)
{
    (void)error;
    return CLI_EXIT_STORE;
}

int hfi_cli_store_exit(int error)
{
    (void)error;
    return CLI_EXIT_STORE;
}

int hfi_cli_flush(void)
{
    return fflush(stdout) == 0 ? CLI_EXIT_OK : CLI_EXIT_OUTPUT;
}

int hfi_cli_print_usage(const struct cli_command *command)
{
    (void)command;
    return CLI_EXIT_OK;
}

/* Messages go to standard error: not what is looked at here. */
void hfi_cli_say(const char *format, ...)
{
    (void)format;
}

/* ------------------------------------------------------------------------------------------------
 * A list
 */

/* Any bytes but NUL; or as the stores do it, through hfi_holder_text(). */
static void draw_text(struct input *input, char *to, size_t room, bool raw)
{
    char *text = input_string(input, '\n', room * 2);

    if (raw)
        snprintf(to, room, "%s", text);
    else
        hfi_holder_text(to, room, text, strlen(text));
    free(text);
}

static int64_t draw_number(struct input *input)
{
    static const unsigned BYTES[] = { 0, 1, 2, 4, 8 };
    uint32_t kind = input_below(input, 6);

    return kind == 5 ? -1 : (int64_t)input_number(input, BYTES[kind]);
}

static void draw_holder(struct input *input, struct hf_holder *holder)
{
    uint32_t what = input_byte(input);
    bool raw = what & 0x80;

    if (what & 1)
        draw_text(input, holder->owner, sizeof holder->owner, raw);
    if (what & 2)
        draw_text(input, holder->host, sizeof holder->host, raw);
    if (what & 4)
        draw_text(input, holder->user, sizeof holder->user, raw);
    if (what & 8)
        draw_text(input, holder->program, sizeof holder->program, raw);
    if (what & 16)
        draw_text(input, holder->label, sizeof holder->label, raw);
    if (what & 32) {
        holder->pid = draw_number(input);
        holder->age_ms = draw_number(input);
        holder->remaining_ms = draw_number(input);
    }
    if (what & 64) {
        holder->token = (uint64_t)draw_number(input);
        holder->count = draw_number(input);
    }
}

static const char *draw_kind(struct input *input)
{
    static const char *const KINDS[] = { "",      "mutex",   "fair",      "read",
                                         "write", "permits", "semaphore", "latch" };

    return KINDS[input_below(input, sizeof KINDS / sizeof KINDS[0])];
}

static void draw_lock(struct input *input)
{
    char *name = input_string(input, '\n', NAME_ROOM);
    struct hfi_list_lock *lock = hfi_list_add(list, name, strlen(name));
    uint32_t waiters = input_below(input, WAITERS_MAX + 1);

    MUST(lock);
    lock->state = (enum hfi_lock_state)input_below(input, HFI_LOCK_FOREIGN + 1);
    lock->waiters = draw_number(input);
    draw_holder(input, &lock->holder);
    for (uint32_t i = 0; i < waiters; i++) {
        struct hf_holder *waiter = hfi_list_add_waiter(lock);

        MUST(waiter);
        draw_holder(input, waiter);
    }
    lock->kind = draw_kind(input);
    lock->holders = draw_number(input);
    lock->available = draw_number(input);
    for (uint32_t others = input_below(input, HOLDERS_MAX); others > 0; others--) {
        struct hf_holder *other = hfi_list_add_holder(lock);

        MUST(other);
        draw_holder(input, other);
    }
    free(name);
}

static void draw_list(struct input *input)
{
    uint32_t count = input_below(input, LOCKS_MAX + 1);

    list = hfi_list_new();
    MUST(list);
    draw_text(input, store_uri, sizeof store_uri, false);
    for (uint32_t i = 0; i < count; i++)
        draw_lock(input);
}

/* The commands free the list that they are given. */
static hf_list *copy_of(const hf_list *from)
{
    hf_list *copy = hfi_list_new();

    MUST(copy);
    for (size_t i = 0; i < from->count; i++) {
        struct hfi_list_lock *lock =
            hfi_list_add(copy, from->lock[i].name, strlen(from->lock[i].name));

        lock->state = from->lock[i].state;
        lock->waiters = from->lock[i].waiters;
        lock->holder = from->lock[i].holder;
        lock->kind = from->lock[i].kind;
        lock->holders = from->lock[i].holders;
        lock->available = from->lock[i].available;
        for (size_t k = 0; k < from->lock[i].other_count; k++)
            *hfi_list_add_holder(lock) = from->lock[i].other[k];
        for (size_t k = 0; k < from->lock[i].waiter_count; k++)
            *hfi_list_add_waiter(lock) = from->lock[i].waiter[k];
    }
    return copy;
}

/* ------------------------------------------------------------------------------------------------
 * Running a command
 */

/* What it printed. Freed by the caller. */
static char *run(const struct cli_command *command, const char *option, const char *operand,
                 const hf_list *of, int code)
{
    char *argv[4] = { strdup(command->name), NULL, NULL, NULL }, *text = NULL;
    FILE *saved = stdout, *memory;
    size_t size = 0;
    int argc = 1, result;

    if (option)
        argv[argc++] = strdup(option);
    if (operand)
        argv[argc++] = strdup(operand);
    list = copy_of(of);
    memory = open_memstream(&text, &size);
    MUST(memory);
    stdout = memory;
    result = command->main(argc, argv);
    stdout = saved;
    fclose(memory);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    MUST(result == code && strlen(text) == size);
    return text;
}

/* ------------------------------------------------------------------------------------------------
 * Reading JSON back
 */

static void must_be_text(const json_t *object, const char *key, const char *text, bool or_null)
{
    char expected[3 * HF_NAME_MAX + 1];
    const json_t *value = json_object_get(object, key);

    if (or_null && !*text) {
        MUST(json_is_null(value));
        return;
    }
    hfi_cli_utf8(expected, sizeof expected, text);
    MUST(json_is_string(value) && json_string_length(value) == strlen(expected));
    MUST(strcmp(json_string_value(value), expected) == 0);
}

static void must_be_number(const json_t *object, const char *key, int64_t number, int64_t least)
{
    const json_t *value = json_object_get(object, key);

    if (number < least)
        MUST(json_is_null(value));
    else
        MUST(json_is_integer(value) && json_integer_value(value) == number);
}

static void must_be_holder(const json_t *value, const struct hf_holder *holder)
{
    if (!holder->owner[0] && !holder->host[0] && holder->pid <= 0) {
        MUST(json_is_null(value));
        return;
    }
    MUST(json_is_object(value) && json_object_size(value) == 10);
    must_be_text(value, "owner", holder->owner, true);
    must_be_text(value, "host", holder->host, true);
    must_be_text(value, "user", holder->user, true);
    must_be_text(value, "program", holder->program, true);
    must_be_text(value, "label", holder->label, true);
    must_be_number(value, "pid", holder->pid, 1);
    must_be_number(value, "age_ms", holder->age_ms, 0);
    must_be_number(value, "remaining_ms", holder->remaining_ms, 0);
    must_be_number(value, "token", (int64_t)holder->token, 1);
    must_be_number(value, "count", holder->count, 0);
}

static bool is_somebody(const struct hf_holder *holder)
{
    return holder->owner[0] || holder->host[0] || holder->pid > 0;
}

/* Those of whom something is known; a free lock has none. */
static void must_be_holders(const json_t *value, const struct hfi_list_lock *lock)
{
    size_t at = 0;

    bool held = lock->state != HFI_LOCK_FREE;

    MUST(json_is_array(value));
    if (held && is_somebody(&lock->holder))
        must_be_holder(json_array_get(value, at++), &lock->holder);
    for (size_t i = 0; held && i < lock->other_count; i++)
        if (is_somebody(&lock->other[i]))
            must_be_holder(json_array_get(value, at++), &lock->other[i]);
    MUST(json_array_size(value) == at);
}

/* A number of permits may be below zero, and a count that is none is not told. */
static void must_be_available(const json_t *value, const struct hfi_list_lock *lock)
{
    bool counts = strcmp(lock->kind, "permits") == 0 || strcmp(lock->kind, "semaphore") == 0 ||
                  strcmp(lock->kind, "latch") == 0;

    must_be_number(value, "available", counts ? lock->available : -1, counts ? INT64_MIN : 0);
}

static void must_be_lock(const json_t *value, const struct hfi_list_lock *lock)
{
    static const char *const STATES[] = { "free", "held", "foreign" };

    MUST(json_is_object(value));
    must_be_text(value, "name", lock->name, false);
    must_be_text(value, "kind", lock->kind, true);
    must_be_text(value, "state", STATES[lock->state], false);
    must_be_holder(json_object_get(value, "holder"), &lock->holder);
    must_be_holders(json_object_get(value, "holders"), lock);
    must_be_number(value, "holder_count", lock->holders, 0);
    must_be_available(value, lock);
    must_be_number(value, "waiter_count", lock->waiters, 0);
}

static json_t *read_back(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (!json)
        fprintf(stderr, "%s\n%s\n", error.text, text);
    MUST(json_is_object(json));
    must_be_text(json, "store", store_uri, false);
    return json;
}

static void check_ls_json(const hf_list *of)
{
    char *text = run(&hfi_cli_ls, "--json", NULL, of, CLI_EXIT_OK);
    json_t *json = read_back(text), *locks = json_object_get(json, "locks");

    MUST(json_object_size(json) == 2 && json_array_size(locks) == of->count);
    for (size_t i = 0; i < of->count; i++) {
        MUST(json_object_size(json_array_get(locks, i)) == 8);
        must_be_lock(json_array_get(locks, i), &of->lock[i]);
    }
    json_decref(json);
    free(text);
}

static void check_show_json(const hf_list *of, const char *name)
{
    char *text = run(&hfi_cli_show, "--json", name, of, CLI_EXIT_OK);
    json_t *json = read_back(text), *waiters = json_object_get(json, "waiters");
    const struct hfi_list_lock *lock = &of->lock[0];

    MUST(json_object_size(json) == 10 && json_array_size(waiters) == lock->waiter_count);
    must_be_lock(json, lock);
    for (size_t i = 0; i < lock->waiter_count; i++)
        must_be_holder(json_array_get(waiters, i), &lock->waiter[i]);
    json_decref(json);
    free(text);
}

static void check_show_nothing(const hf_list *of, const char *name)
{
    char *text;
    json_t *json;

    answer = HF_ERR_NOT_FOUND;
    text = run(&hfi_cli_show, "--json", name, of, CLI_EXIT_NONE);
    hf_list_free(list); /* it was not given away */
    json = read_back(text);
    must_be_text(json, "name", name, false);
    must_be_text(json, "state", "free", false);
    must_be_number(json, "waiter_count", 0, 0);
    MUST(json_is_null(json_object_get(json, "holder")));
    MUST(json_object_size(json) == 10 && json_is_null(json_object_get(json, "kind")));
    MUST(json_array_size(json_object_get(json, "holders")) == 0);
    MUST(json_array_size(json_object_get(json, "waiters")) == 0);
    json_decref(json);
    free(text);
    answer = HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Text for people
 */

static size_t check_printed(char *text)
{
    size_t lines = 0;
    char clean[64 * 1024];

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        hfi_cli_clean(clean, sizeof clean, line);
        MUST(strcmp(clean, line) == 0);
        lines++;
    }
    free(text);
    return lines;
}

static void check_tables(const hf_list *of, const char *name)
{
    size_t named = 0;

    for (size_t i = 0; i < of->count; i++)
        named += of->lock[i].name[0] != '\0';
    MUST(check_printed(run(&hfi_cli_ls, NULL, NULL, of, CLI_EXIT_OK)) == 1 + of->count);
    MUST(check_printed(run(&hfi_cli_ls, "--names", NULL, of, CLI_EXIT_OK)) == named);
    if (of->count > 0)
        check_printed(run(&hfi_cli_show, "--", name, of, CLI_EXIT_OK));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, data + size };
    char *name = input_string(&input, '\n', HF_NAME_MAX);
    hf_list *given;

    draw_list(&input);
    given = list;
    if (name[0] != '-') { /* an operand, not an option */
        check_show_nothing(given, name);
        if (given->count > 0)
            check_show_json(given, name);
    }
    check_ls_json(given);
    check_tables(given, name);
    hf_list_free(given);
    free(name);
    return 0;
}
