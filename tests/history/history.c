/* SPDX-License-Identifier: Apache-2.0 */
/* A history in memory: operations in an array, texts by number. */
#include "history/history.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

struct hist_name {
    UT_hash_handle hh;
    uint32_t number;
    char text[HIST_TEXT_MAX + 1];
};

struct hist_names {
    struct hist_name *map, **by_number;
    uint32_t count, room;
};

/* A test without memory has nothing to say. */
static void *need(void *memory)
{
    if (!memory) {
        fputs("history: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

void hist_init(struct history *history)
{
    memset(history, 0, sizeof *history);
    history->names = need(calloc(1, sizeof *history->names));
    history->settings = (struct hist_settings){ .wake_ms = 1000,
                                                .op_timeout_ms = 2000,
                                                .connect_timeout_ms = 2000,
                                                .ttl_ms = 30000,
                                                .allowance_ms = 1000 };
    hist_name(history, "");
}

void hist_free(struct history *history)
{
    struct hist_name *name, *next;

    HASH_ITER (hh, history->names->map, name, next) {
        HASH_DEL(history->names->map, name);
        free(name);
    }
    free(history->names->by_number);
    free(history->names);
    free(history->ops);
}

uint32_t hist_name(struct history *history, const char *text)
{
    struct hist_names *names = history->names;
    struct hist_name *name;

    HASH_FIND_STR(names->map, text, name);
    if (name)
        return name->number;
    name = need(calloc(1, sizeof *name));
    snprintf(name->text, sizeof name->text, "%s", text);
    name->number = names->count++;
    if (names->count > names->room) {
        names->room = names->room ? 2 * names->room : 64;
        names->by_number =
            need(realloc(names->by_number, names->room * sizeof(struct hist_name *)));
    }
    names->by_number[name->number] = name;
    HASH_ADD_STR(names->map, text, name);
    return name->number;
}

const char *hist_text(const struct history *history, uint32_t name)
{
    return name < history->names->count ? history->names->by_number[name]->text : "";
}

uint32_t hist_name_count(const struct history *history)
{
    return history->names->count;
}

struct hist_op *hist_add(struct history *history, const struct hist_op *op)
{
    if (history->count == history->room) {
        history->room = history->room ? 2 * history->room : 1024;
        history->ops = need(realloc(history->ops, history->room * sizeof *history->ops));
    }
    history->ops[history->count] = *op;
    return &history->ops[history->count++];
}

static int by_invocation(const void *a, const void *b)
{
    const struct hist_op *x = a, *y = b;

    if (x->invoked != y->invoked)
        return x->invoked < y->invoked ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

void hist_sort(struct history *history)
{
    if (history->count)
        qsort(history->ops, history->count, sizeof *history->ops, by_invocation);
}
