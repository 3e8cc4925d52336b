/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows a ? in redis://… and redis+unix://…: name=value, joined by &. Each may be there once; what is
 * not known is refused, so that a misspelt prefix does not become another lock.
 *
 * A password that has a ? and was not escaped ends up here, with the @ behind it. Nothing that comes before
 * an @ is ever repeated in a message.
 */
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "store/redis/redis.h"

#define NAME_SHOWN_MAX 32

struct option {
    const char *name;
    const char *form; /* for people */
    bool unix_only;
    const char *(*take)(struct hfi_redis_uri *uri, const char *value,
                        size_t len); /* what is wrong */
};

static const char *take_prefix(struct hfi_redis_uri *uri, const char *value, size_t len)
{
    if (!hfi_redis_uri_decode(value, len, uri->prefix, sizeof uri->prefix) ||
        !hfi_text_ok(uri->prefix, strlen(uri->prefix)))
        return "the prefix in the URI must be at most 256 bytes of UTF-8, percent-encoded, without "
               "control characters";
    return NULL;
}

static const char *take_layout(struct hfi_redis_uri *uri, const char *value, size_t len)
{
    if (len == 6 && strncmp(value, "string", len) == 0)
        uri->layout = HFI_LAYOUT_STRING;
    else if (len != 4 || strncmp(value, "hash", len) != 0)
        return "the layout in the URI must be hash (Redisson's locks) or string (SET NX PX)";
    return NULL;
}

static const char *take_db(struct hfi_redis_uri *uri, const char *value, size_t len)
{
    return hfi_redis_uri_number(value, len, HFI_REDIS_DB_MAX, &uri->db)
               ? NULL
               : "the db in the URI must be the number of a database";
}

static const struct option OPTIONS[] = {
    { "prefix", "prefix=TEXT", false, take_prefix },
    { "layout", "layout=string", false, take_layout },
    { "db", "db=N", true, take_db },
};

#define OPTION_COUNT (sizeof OPTIONS / sizeof OPTIONS[0])

static int fail(const char *what, size_t shown_len, const char *shown, bool is_unix, char *detail)
{
    size_t n =
        (size_t)snprintf(detail, HFI_DETAIL_MAX, "%s%s%.*s%s; options are ", what,
                         shown_len ? " \"" : "", (int)shown_len, shown, shown_len ? "\"" : "");

    for (size_t i = 0; i < OPTION_COUNT && n < HFI_DETAIL_MAX; i++)
        if (is_unix || !OPTIONS[i].unix_only)
            n += (size_t)snprintf(detail + n, HFI_DETAIL_MAX - n, "%s%s", i ? ", " : "",
                                  OPTIONS[i].form);
    return HF_ERR_URI;
}

/* What is repeated is at most a word of ours, and no piece of a password. */
static int unknown(const char *at, size_t len, const char *rest, bool is_unix, char *detail)
{
    const char *equals = memchr(at, '=', len);
    size_t n = equals ? (size_t)(equals - at) : 0;

    if (strchr(rest, '@'))
        return fail(
            "the URI has an option that is not known (in a user or password write %3F for ?)", 0,
            "", is_unix, detail);
    if (n > NAME_SHOWN_MAX || strspn(at, "abcdefghijklmnopqrstuvwxyz_-") < n)
        n = 0;
    return fail("the URI has an option that is not known", n, at, is_unix, detail);
}

static const struct option *find(const char *at, size_t len, bool is_unix)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strlen(OPTIONS[i].name) == len && strncmp(at, OPTIONS[i].name, len) == 0)
            return is_unix || !OPTIONS[i].unix_only ? &OPTIONS[i] : NULL;
    return NULL;
}

int hfi_redis_uri_options(const char *rest, bool is_unix, struct hfi_redis_uri *uri, char *detail)
{
    bool seen[OPTION_COUNT] = { false };

    for (const char *at = rest;; at++) {
        size_t len = strcspn(at, "&"), head = strcspn(at, "=&");
        const struct option *option = at[head] == '=' ? find(at, head, is_unix) : NULL;
        const char *wrong;

        if (!option)
            return unknown(at, len, rest, is_unix, detail);
        if (seen[option - OPTIONS])
            return fail("the URI has an option twice", head, at, is_unix, detail);
        seen[option - OPTIONS] = true;
        wrong = option->take(uri, at + head + 1, len - head - 1);
        if (wrong)
            return fail(wrong, 0, "", is_unix, detail);
        at += len;
        if (!*at)
            return HF_OK;
    }
}
