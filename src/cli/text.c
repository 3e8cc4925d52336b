/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people. Names, labels and programs come from other hosts: nothing of them reaches a terminal
 * but through hfi_cli_clean().
 */
#include <stdio.h>
#include <string.h>

#include "cli/text.h"

/* The length of the character at s, 0 when it is not UTF-8 (RFC 3629: no surrogates, shortest form). */
static size_t decode(const char *s, uint32_t *ret_code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *u = (const unsigned char *)s;
    size_t length = u[0] < 0x80   ? 1
                    : u[0] < 0xc2 ? 0
                    : u[0] < 0xe0 ? 2
                    : u[0] < 0xf0 ? 3
                    : u[0] < 0xf5 ? 4
                                  : 0;
    uint32_t code;

    if (length <= 1) {
        *ret_code = u[0];
        return length;
    }
    code = u[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80) /* also at the final NUL */
            return 0;
        code = code << 6 | (u[i] & 0x3f);
    }
    if (code < least[length] || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
        return 0;
    *ret_code = code;
    return length;
}

static int is_harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

size_t hfi_cli_clean(char *to, size_t room, const char *from)
{
    size_t used = 0;

    while (*from) {
        uint32_t code = 0;
        size_t length = decode(from, &code);
        int harmful = length == 0 || is_harmful(code);
        size_t add = harmful ? 1 : length;

        if (used + add >= room)
            break;
        memcpy(to + used, harmful ? "?" : from, add);
        used += add;
        from += length ? length : 1;
    }
    to[used] = '\0';
    return used;
}

size_t hfi_cli_utf8(char *to, size_t room, const char *from)
{
    size_t used = 0;

    while (*from) {
        uint32_t code = 0;
        size_t length = decode(from, &code), add = length ? length : 3;

        if (used + add >= room)
            break;
        memcpy(to + used, length ? from : "\xef\xbf\xbd", add);
        used += add;
        from += length ? length : 1;
    }
    to[used] = '\0';
    return used;
}

/* Rough, and without the locale's tables: combining marks take no column, East Asian wide ones two. */
static size_t columns_of(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        unsigned char columns;
    } ranges[] = {
        { 0x0300, 0x036f, 0 },   { 0x0483, 0x0489, 0 },   { 0x0591, 0x05bd, 0 },
        { 0x064b, 0x065f, 0 },   { 0x1100, 0x115f, 2 },   { 0x1ab0, 0x1aff, 0 },
        { 0x1dc0, 0x1dff, 0 },   { 0x200b, 0x200f, 0 },   { 0x20d0, 0x20ff, 0 },
        { 0x2e80, 0x303e, 2 },   { 0x3041, 0x4dbf, 2 },   { 0x4e00, 0xa4cf, 2 },
        { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },
        { 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
        { 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
        { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
    };

    for (unsigned i = 0; i < sizeof ranges / sizeof ranges[0] && code >= ranges[i].first; i++)
        if (code <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}

size_t hfi_cli_width(const char *text)
{
    size_t width = 0;

    while (*text) {
        uint32_t code = 0;
        size_t length = decode(text, &code);

        width += columns_of(code);
        text += length ? length : 1;
    }
    return width;
}

size_t hfi_cli_fit(const char *text, size_t columns)
{
    size_t used = 0;

    while (text[used]) {
        uint32_t code = 0;
        size_t length = decode(text + used, &code), width = columns_of(code);

        if (width > columns)
            break;
        columns -= width;
        used += length ? length : 1;
    }
    return used;
}

const char *hfi_cli_age(char to[CLI_AGE_ROOM], int64_t ms)
{
    long long s = (long long)(ms / 1000);

    if (ms < 0)
        snprintf(to, CLI_AGE_ROOM, "-");
    else if (s < 60)
        snprintf(to, CLI_AGE_ROOM, "%llds", s);
    else if (s < 3600)
        snprintf(to, CLI_AGE_ROOM, "%lldm", s / 60);
    else if (s < 86400)
        snprintf(to, CLI_AGE_ROOM, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(to, CLI_AGE_ROOM, "%lldd%02lldh", s / 86400, s / 3600 % 24);
    return to;
}

const char *hfi_cli_span(char to[CLI_SPAN_ROOM], int64_t ms)
{
    long long whole = (long long)(ms / 1000);
    char fraction[] = { (char)('0' + ms / 100 % 10), (char)('0' + ms / 10 % 10),
                        (char)('0' + ms % 10), '\0' };

    for (size_t i = sizeof fraction - 1; i > 0 && fraction[i - 1] == '0'; i--)
        fraction[i - 1] = '\0';
    if (ms < 1000)
        snprintf(to, CLI_SPAN_ROOM, "%lldms", (long long)ms);
    else if (fraction[0])
        snprintf(to, CLI_SPAN_ROOM, "%lld.%ss", whole, fraction);
    else if (whole % 3600 == 0)
        snprintf(to, CLI_SPAN_ROOM, "%lldh", whole / 3600);
    else if (whole % 60 == 0)
        snprintf(to, CLI_SPAN_ROOM, "%lldm", whole / 60);
    else
        snprintf(to, CLI_SPAN_ROOM, "%llds", whole);
    return to;
}

const char *hfi_cli_holder(char to[CLI_HOLDER_ROOM], const struct hf_holder *holder)
{
    char text[CLI_HOLDER_ROOM], pid[32] = "";

    if (holder->pid > 0)
        snprintf(pid, sizeof pid, "pid %lld", (long long)holder->pid);
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", holder->user, holder->host[0] ? "@" : "",
             holder->host, pid[0] && (holder->host[0] || holder->user[0]) ? " " : "", pid,
             holder->program[0] ? " " : "", holder->program);
    if (!text[0])
        snprintf(text, sizeof text, "%s", holder->owner[0] ? holder->owner : "-");
    hfi_cli_clean(to, CLI_HOLDER_ROOM, text[0] == ' ' ? text + 1 : text);
    return to;
}

const char *hfi_cli_holder_since(char to[CLI_SINCE_ROOM], const struct hf_holder *holder)
{
    char who[CLI_HOLDER_ROOM], age[CLI_AGE_ROOM], label[HF_LABEL_MAX + 1];
    int known = holder->age_ms >= 0;

    hfi_cli_clean(label, sizeof label, holder->label);
    snprintf(to, CLI_SINCE_ROOM, "%s%s%s%s%s%s", hfi_cli_holder(who, holder), known ? " for " : "",
             known ? hfi_cli_age(age, holder->age_ms) : "", label[0] ? ": \"" : "", label,
             label[0] ? "\"" : "");
    return to;
}

bool hfi_cli_is_somebody(const struct hf_holder *holder)
{
    return holder->owner[0] || holder->host[0] || holder->pid > 0;
}

/* "3 readers, first …", "1 reader, …" */
static size_t several(char *to, size_t room, const struct hf_lock *lock, const char *what)
{
    char first[CLI_SINCE_ROOM];
    long long count = (long long)lock->holders;
    int known = hfi_cli_is_somebody(&lock->holder);

    return (size_t)snprintf(to, room, "%lld %s%s%s%s", count, what, count == 1 ? "" : "s",
                            !known       ? ""
                            : count == 1 ? ", "
                                         : ", first ",
                            known ? hfi_cli_holder_since(first, &lock->holder) : "");
}

static size_t available(char *to, const struct hf_lock *lock)
{
    long long count = (long long)lock->available;

    return (size_t)snprintf(to, CLI_WHO_ROOM, "%lld permit%s available", count,
                            count == 1 ? "" : "s");
}

const char *hfi_cli_who(char to[CLI_WHO_ROOM], const struct hf_lock *lock)
{
    char since[CLI_SINCE_ROOM];
    size_t used;

    if (strcmp(lock->kind, "latch") == 0) {
        snprintf(to, CLI_WHO_ROOM, "count %lld", (long long)lock->available);
    } else if (strcmp(lock->kind, "semaphore") == 0) {
        available(to, lock);
    } else if (strcmp(lock->kind, "permits") == 0) {
        used = available(to, lock);
        if (lock->holders > 0) {
            used += (size_t)snprintf(to + used, CLI_WHO_ROOM - used, ", ");
            several(to + used, CLI_WHO_ROOM - used, lock, "holder");
        }
    } else if (strcmp(lock->kind, "read") == 0 && lock->holders > 0) {
        several(to, CLI_WHO_ROOM, lock, "reader");
    } else if (hfi_cli_is_somebody(&lock->holder)) {
        snprintf(to, CLI_WHO_ROOM, "held by %s", hfi_cli_holder_since(since, &lock->holder));
    } else {
        snprintf(to, CLI_WHO_ROOM, "held by someone else");
    }
    return to;
}

const char *hfi_cli_holders(char to[CLI_WHO_ROOM], const struct hf_lock *lock)
{
    char first[CLI_HOLDER_ROOM], left[48] = "", number[48] = "";
    bool known = hfi_cli_is_somebody(&lock->holder);

    if (strcmp(lock->kind, "latch") == 0)
        snprintf(left, sizeof left, "count %lld", (long long)lock->available);
    else if (hfi_cli_has_number(lock))
        snprintf(left, sizeof left, "%lld available", (long long)lock->available);
    if (lock->holders > 1)
        snprintf(number, sizeof number, known ? "%lld, first " : "%lld", (long long)lock->holders);
    snprintf(to, CLI_WHO_ROOM, "%s%s%s%s", left, left[0] && (known || number[0]) ? "; " : "",
             number, known ? hfi_cli_holder(first, &lock->holder) : "");
    return to;
}

const char *hfi_cli_is_or_has(const char *who)
{
    return strncmp(who, "held ", 5) == 0 ? "is" : "has";
}

bool hfi_cli_has_number(const struct hf_lock *lock)
{
    return strcmp(lock->kind, "permits") == 0 || strcmp(lock->kind, "semaphore") == 0 ||
           strcmp(lock->kind, "latch") == 0;
}
