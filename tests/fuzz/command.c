/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/command.h"

#include "fuzz/fuzz.h"

#define HFI_SCRIPT_TEXTS
#include "redis_scripts.inc"
#undef HFI_SCRIPT_TEXTS

void stream_add(struct stream *stream, const char *bytes, size_t count)
{
    if (stream->taken > 0) {
        memmove(stream->bytes, stream->bytes + stream->taken, stream->len - stream->taken);
        stream->len -= stream->taken;
        stream->taken = 0;
    }
    if (stream->len + count > stream->room) {
        stream->room = (stream->len + count) * 2;
        stream->bytes = realloc(stream->bytes, stream->room);
        MUST(stream->bytes);
    }
    if (count > 0)
        memcpy(stream->bytes + stream->len, bytes, count);
    stream->len += count;
}

void stream_reset(struct stream *stream)
{
    stream->len = stream->taken = 0;
}

void stream_free(struct stream *stream)
{
    free(stream->bytes);
    *stream = (struct stream){ 0 };
}

/* "*<n>\r\n" or "$<n>\r\n"; false: not all of it is there. */
static bool take_head(const char **at, const char *end, char kind, size_t *ret_number)
{
    const char *s = *at;
    size_t number = 0;

    if (s == end)
        return false;
    MUST(*s == kind);
    for (s++; s < end && *s != '\r'; s++) {
        MUST(*s >= '0' && *s <= '9' && number < 1000000);
        number = number * 10 + (size_t)(*s - '0');
    }
    if (end - s < 2)
        return false;
    MUST(s[1] == '\n' && s[-1] != kind);
    *ret_number = number;
    *at = s + 2;
    return true;
}

bool stream_take(struct stream *stream, struct command *command)
{
    char *start = stream->bytes + stream->taken;
    const char *at = start, *end = stream->bytes + stream->len;

    if (at == end || !take_head(&at, end, '*', &command->argc))
        return false;
    MUST(command->argc >= 1 && command->argc <= COMMAND_ARGS_MAX);
    for (size_t i = 0; i < command->argc; i++) {
        if (!take_head(&at, end, '$', &command->len[i]) || (size_t)(end - at) < command->len[i] + 2)
            return false;
        command->argv[i] = at;
        at += command->len[i];
        MUST(at[0] == '\r' && at[1] == '\n');
        at += 2;
    }
    for (size_t i = 0; i < command->argc; i++)
        start[command->argv[i] - start + (ptrdiff_t)command->len[i]] = '\0';
    stream->taken += (size_t)(at - start);
    return true;
}

enum script command_script(const struct command *command)
{
    static const struct {
        const char *sha, *text;
        size_t length;
    } SCRIPTS[] = {
#define HFI_SCRIPT(name, sha, text, length) { sha, text, length },
#include "redis_scripts.inc"
#undef HFI_SCRIPT
    };
    bool by_text = strcmp(command->argv[0], "EVAL") == 0;

    if (!by_text && strcmp(command->argv[0], "EVALSHA") != 0)
        return SCRIPT_none;
    MUST(command->argc >= 3);
    for (size_t i = 0; i < sizeof SCRIPTS / sizeof SCRIPTS[0]; i++) {
        if (by_text ? command->len[1] == SCRIPTS[i].length &&
                          memcmp(command->argv[1], SCRIPTS[i].text, SCRIPTS[i].length) == 0
                    : strcmp(command->argv[1], SCRIPTS[i].sha) == 0)
            return (enum script)(i + 1);
    }
    fuzz_fail(__FILE__, __LINE__, "a script that is none of ours");
}

bool command_is(const struct command *command, const char *first, const char *second)
{
    return strcmp(command->argv[0], first) == 0 &&
           (!second || (command->argc > 1 && strcmp(command->argv[1], second) == 0));
}
