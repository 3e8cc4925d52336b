/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a history, read and written. What is written is read as the same. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "history/history.h"
#include "holdfast/holdfast.h"

static const char *const KIND[HIST_KIND_COUNT] = {
#define HIST_X(name, word) word,
    HIST_KINDS(HIST_X)
#undef HIST_X
};

static const char *const OUTCOME[] = { "unknown", "ok", "fail" };

static const struct {
    int error;
    const char *word;
} ERROR[] = {
#define HIST_X(name, value, class_, text) { value, #name },
    HF_ERRORS(HIST_X)
#undef HIST_X
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ERROR_HEAD   (sizeof "HF_ERR_" - 1)

const char *hist_kind_word(enum hist_kind kind)
{
    return KIND[kind];
}

const char *hist_outcome_word(enum hist_outcome outcome)
{
    return OUTCOME[outcome];
}

const char *hist_error_word(int error)
{
    for (size_t i = 0; i < COUNT(ERROR); i++)
        if (ERROR[i].error == error)
            return ERROR[i].word + ERROR_HEAD;
    return "-";
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

static void write_number(FILE *file, const char *key, uint64_t number)
{
    if (number)
        fprintf(file, " %s=%" PRIu64, key, number);
}

void hist_write_line(const struct history *history, const struct hist_op *op, FILE *file)
{
    fprintf(file, "%" PRIu64 " ", op->invoked);
    if (op->returned == HIST_NEVER)
        fputs("-", file);
    else
        fprintf(file, "%" PRIu64, op->returned);
    fprintf(file, " p%u t%u %s %s %s %s", (unsigned)op->process, (unsigned)op->thread,
            or_dash(hist_text(history, op->lock)), or_dash(hist_text(history, op->who)),
            KIND[op->kind], OUTCOME[op->outcome]);
    if (op->owner)
        fprintf(file, " owner=%s", hist_text(history, op->owner));
    write_number(file, "token", op->token);
    write_number(file, "until", op->until);
    write_number(file, "seen", op->seen);
    write_number(file, "ttl", op->ttl_ms);
    if (op->wait_ms)
        fprintf(file, " wait=%" PRId64, op->wait_ms);
    if (op->results != (op->returned != HIST_NEVER))
        fprintf(file, " results=%u", (unsigned)op->results);
    if (op->error)
        fprintf(file, " error=%s", hist_error_word(op->error));
    fputc('\n', file);
}

void hist_write_settings(const struct history *history, FILE *file)
{
    const struct hist_settings *s = &history->settings;

    fprintf(file,
            "set death %s\nset contract %s\nset busy %s\nset wake_ms %" PRIu64
            "\nset op_timeout_ms %" PRIu64 "\nset connect_timeout_ms %" PRIu64
            "\nset ttl_ms %" PRIu64 "\nset allowance_ms %" PRIu64 "\n",
            s->death_frees ? "frees" : "keeps", s->contract_broken ? "broken" : "kept",
            s->busy_strict ? "strict" : "loose", s->wake_ms, s->op_timeout_ms,
            s->connect_timeout_ms, s->ttl_ms, s->allowance_ms);
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

__attribute__((format(printf, 3, 4))) static bool wrong(char *ret_why, size_t room,
                                                        const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(ret_why, room, format, list);
    va_end(list);
    return false;
}

static bool number_of(const char *text, uint64_t *ret_number)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

static bool small_number_of(const char *text, uint32_t *ret_number)
{
    uint64_t number;

    if (!number_of(text, &number) || number > UINT32_MAX)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

/* "p12" */
static bool member_of(const char *text, char letter, uint32_t *ret_number)
{
    return text[0] == letter && small_number_of(text + 1, ret_number);
}

static bool word_of(const char *text, const char *const *words, size_t count, uint8_t *ret_number)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0) {
            *ret_number = (uint8_t)i;
            return true;
        }
    return false;
}

static bool name_of(struct history *history, const char *text, uint32_t *ret_name)
{
    if (strlen(text) > HIST_TEXT_MAX)
        return false;
    *ret_name = strcmp(text, "-") == 0 ? 0 : hist_name(history, text);
    return true;
}

static bool error_of(const char *text, int *ret_error)
{
    for (size_t i = 0; i < COUNT(ERROR); i++)
        if (strcmp(text, ERROR[i].word + ERROR_HEAD) == 0) {
            *ret_error = ERROR[i].error;
            return true;
        }
    return false;
}

static bool wait_of(const char *text, int64_t *ret_wait)
{
    uint64_t number;

    if (strcmp(text, "-1") == 0) {
        *ret_wait = -1;
        return true;
    }
    if (!number_of(text, &number) || number > INT64_MAX)
        return false;
    *ret_wait = (int64_t)number;
    return true;
}

static bool read_pair(struct history *history, struct hist_op *op, char *pair)
{
    char *value = strchr(pair, '=');
    uint32_t results;

    if (!value)
        return false;
    *value++ = '\0';
    if (strcmp(pair, "owner") == 0)
        return name_of(history, value, &op->owner);
    if (strcmp(pair, "token") == 0)
        return number_of(value, &op->token);
    if (strcmp(pair, "until") == 0)
        return number_of(value, &op->until);
    if (strcmp(pair, "seen") == 0)
        return number_of(value, &op->seen);
    if (strcmp(pair, "ttl") == 0)
        return small_number_of(value, &op->ttl_ms);
    if (strcmp(pair, "wait") == 0)
        return wait_of(value, &op->wait_ms);
    if (strcmp(pair, "error") == 0)
        return error_of(value, &op->error);
    if (strcmp(pair, "results") != 0 || !small_number_of(value, &results) || results > UINT16_MAX)
        return false;
    op->results = (uint16_t)results;
    return true;
}

static bool read_column(struct history *history, struct hist_op *op, int column, const char *text)
{
    switch (column) {
    case 0:
        return number_of(text, &op->invoked);
    case 1:
        op->returned = HIST_NEVER;
        if (strcmp(text, "-") == 0)
            return true;
        op->results = 1;
        return number_of(text, &op->returned) && op->returned >= op->invoked;
    case 2:
        return member_of(text, 'p', &op->process);
    case 3:
        return member_of(text, 't', &op->thread);
    case 4:
        return name_of(history, text, &op->lock);
    case 5:
        return name_of(history, text, &op->who);
    case 6:
        return word_of(text, KIND, COUNT(KIND), &op->kind);
    default:
        return word_of(text, OUTCOME, COUNT(OUTCOME), &op->outcome);
    }
}

static bool read_setting(struct history *history, const char *name, const char *value)
{
    struct hist_settings *s = &history->settings;
    struct {
        const char *name;
        uint64_t *number;
    } const numbers[] = { { "wake_ms", &s->wake_ms },
                          { "op_timeout_ms", &s->op_timeout_ms },
                          { "connect_timeout_ms", &s->connect_timeout_ms },
                          { "ttl_ms", &s->ttl_ms },
                          { "allowance_ms", &s->allowance_ms } };
    struct {
        const char *name, *off, *on;
        bool *flag;
    } const flags[] = { { "death", "keeps", "frees", &s->death_frees },
                        { "contract", "kept", "broken", &s->contract_broken },
                        { "busy", "loose", "strict", &s->busy_strict } };

    for (size_t i = 0; i < COUNT(numbers); i++)
        if (strcmp(name, numbers[i].name) == 0)
            return number_of(value, numbers[i].number);
    for (size_t i = 0; i < COUNT(flags); i++)
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].flag = strcmp(value, flags[i].on) == 0;
            return *flags[i].flag || strcmp(value, flags[i].off) == 0;
        }
    return false;
}

enum { COLUMNS = 8 };

static bool read_operation(struct history *history, char *word, char **rest, char *ret_why,
                           size_t room)
{
    struct hist_op op = { .returned = HIST_NEVER };
    int column = 0;

    for (; word; word = strtok_r(NULL, " ", rest), column++) {
        bool ok = column < COLUMNS ? read_column(history, &op, column, word)
                                   : read_pair(history, &op, word);

        if (!ok)
            return wrong(ret_why, room, "\"%s\" is not what column %d can be", word, column + 1);
    }
    if (column < COLUMNS)
        return wrong(ret_why, room, "only %d columns", column);
    if (op.returned == HIST_NEVER && op.outcome != HIST_UNKNOWN)
        return wrong(ret_why, room, "it never returned, so its outcome is unknown");
    if (hist_is_operation(&op) && !op.lock)
        return wrong(ret_why, room, "an operation without a lock");
    op.line = (uint32_t)history->count + 1;
    hist_add(history, &op);
    return true;
}

bool hist_read_line(struct history *history, const char *line, char *ret_why, size_t room)
{
    char copy[HIST_LINE_MAX], *rest = NULL, *word;
    const char *name, *value;

    if (strlen(line) >= sizeof copy)
        return wrong(ret_why, room, "longer than %d bytes", HIST_LINE_MAX - 1);
    strcpy(copy, line);
    word = strtok_r(copy, " ", &rest);
    if (!word || word[0] == '#')
        return true;
    if (strcmp(word, "set") != 0)
        return read_operation(history, word, &rest, ret_why, room);
    name = strtok_r(NULL, " ", &rest);
    value = strtok_r(NULL, " ", &rest);
    if (!name || !value || strtok_r(NULL, " ", &rest) || !read_setting(history, name, value))
        return wrong(ret_why, room, "no such setting");
    return true;
}

bool hist_read(struct history *history, FILE *file, char *ret_why, size_t room)
{
    char line[HIST_LINE_MAX + 1], why[128];

    for (unsigned number = 1; fgets(line, sizeof line, file); number++) {
        line[strcspn(line, "\n")] = '\0';
        if (!hist_read_line(history, line, why, sizeof why))
            return wrong(ret_why, room, "line %u: %s", number, why);
    }
    if (ferror(file))
        return wrong(ret_why, room, "cannot be read");
    hist_sort(history);
    return true;
}
