/* SPDX-License-Identifier: Apache-2.0 */
/* redis://[user[:password]@]host[:port][/db][?options]   redis+unix://[user[:password]@]/path[?options] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/redis.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hfi_redis_uri_decode(const char *from, size_t len, char *to, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        char c = from[i];

        if (c == '%') {
            int high = i + 2 < len ? hex_digit(from[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(from[i + 2]) : -1;

            if (low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f || n + 1 >= room)
            return false;
        to[n++] = c;
    }
    to[n] = '\0';
    return true;
}

bool hfi_redis_uri_number(const char *text, size_t len, unsigned most, unsigned *ret)
{
    unsigned value = 0;

    if (len == 0 || len > 7)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    *ret = value;
    return value <= most;
}

static int fail(char *detail, const char *what)
{
    snprintf(detail, HFI_DETAIL_MAX,
             "%s; write redis://[user[:password]@]host[:port][/db][?prefix=TEXT] or "
             "redis+unix:///path[?db=N]",
             what);
    return HF_ERR_URI;
}

/* "user:password@"; moves *at behind it. */
static bool userinfo(const char **at, size_t *len, struct hfi_redis_uri *uri)
{
    const char *end = NULL, *colon;
    size_t n;

    for (size_t i = 0; i < *len && (*at)[i] != '/'; i++)
        if ((*at)[i] == '@')
            end = *at + i;
    if (!end)
        return true;
    n = (size_t)(end - *at);
    colon = memchr(*at, ':', n);
    if (!hfi_redis_uri_decode(*at, colon ? (size_t)(colon - *at) : n, uri->user, sizeof uri->user))
        return false;
    if (colon && !hfi_redis_uri_decode(colon + 1, (size_t)(end - colon - 1), uri->password,
                                       sizeof uri->password))
        return false;
    *len -= n + 1;
    *at = end + 1;
    return true;
}

static bool host_and_port(const char *at, size_t len, struct hfi_redis_uri *uri)
{
    const char *colon;
    unsigned port;

    if (len > 0 && at[0] == '[') { /* an IPv6 address */
        const char *close = memchr(at, ']', len);

        if (!close ||
            !hfi_redis_uri_decode(at + 1, (size_t)(close - at - 1), uri->host, sizeof uri->host))
            return false;
        len -= (size_t)(close + 1 - at);
        at = close + 1;
        if (len > 0 && at[0] != ':')
            return false;
        colon = len > 0 ? at : NULL;
    } else {
        colon = memchr(at, ':', len);
        if (!hfi_redis_uri_decode(at, colon ? (size_t)(colon - at) : len, uri->host,
                                  sizeof uri->host))
            return false;
    }
    strcpy(uri->port, "6379");
    if (colon) {
        size_t n = len - (size_t)(colon + 1 - at);

        if (!hfi_redis_uri_number(colon + 1, n, 65535, &port) || port == 0)
            return false;
        snprintf(uri->port, sizeof uri->port, "%hu", (unsigned short)port);
    }
    return uri->host[0] != '\0';
}

static int parse_tcp(const char *at, size_t len, struct hfi_redis_uri *uri, char *detail)
{
    const char *slash = memchr(at, '/', len);
    size_t n = slash ? (size_t)(slash - at) : len;

    if (!host_and_port(at, n, uri))
        return fail(detail, "the host or port in the URI is not valid");
    if (slash && n + 1 < len &&
        !hfi_redis_uri_number(slash + 1, len - n - 1, HFI_REDIS_DB_MAX, &uri->db))
        return fail(detail, "what follows the host in the URI must be the number of a database");
    return HF_OK;
}

static int parse_unix(const char *at, size_t len, struct hfi_redis_uri *uri, char *detail)
{
    if (len == 0 || at[0] != '/' || !hfi_redis_uri_decode(at, len, uri->path, sizeof uri->path))
        return fail(detail,
                    "the socket's path in the URI must be absolute and of at most 107 bytes");
    return HF_OK;
}

/* Escapes what a part may have inside that would end it, so that the result is a URI again. */
static void show_text(struct hfi_redis_uri *uri, const char *text, const char *special)
{
    size_t n = strlen(uri->shown);

    for (; *text && n + 4 < sizeof uri->shown; text++) {
        if (strchr(special, *text))
            n += (size_t)snprintf(uri->shown + n, 4, "%%%02X", (unsigned char)*text);
        else
            uri->shown[n++] = *text;
    }
    uri->shown[n] = '\0';
}

/* "?name=value" or "&name=value" */
static void show_option(struct hfi_redis_uri *uri, const char *name, const char *value)
{
    show_text(uri, strchr(uri->shown, '?') ? "&" : "?", "");
    show_text(uri, name, "");
    show_text(uri, "=", "");
    show_text(uri, value, "&%#?@+ ");
}

static void show(const char *scheme, struct hfi_redis_uri *uri)
{
    bool v6 = strchr(uri->host, ':') != NULL;
    char text[24];

    snprintf(uri->shown, sizeof uri->shown, "%s://", scheme);
    show_text(uri, uri->user, ":/?%#@[] ");
    show_text(uri, uri->user[0] ? "@" : "", "");
    if (uri->path[0]) {
        show_text(uri, uri->path, "?%# ");
        snprintf(text, sizeof text, "%u", uri->db);
        if (uri->db)
            show_option(uri, "db", text);
    } else {
        show_text(uri, v6 ? "[" : "", "");
        show_text(uri, uri->host, v6 ? "/?%#@[] " : ":/?%#@[] ");
        snprintf(text, sizeof text, "%s:%s/%u", v6 ? "]" : "", uri->port, uri->db);
        show_text(uri, text, "");
    }
    if (uri->prefix[0])
        show_option(uri, "prefix", uri->prefix);
    if (uri->layout == HFI_LAYOUT_STRING)
        show_option(uri, "layout", "string");
}

int hfi_redis_uri(const char *scheme, const char *rest, struct hfi_redis_uri *uri, char *detail)
{
    bool socket = strcmp(scheme, "redis+unix") == 0;
    size_t len;
    int error;

    memset(uri, 0, sizeof *uri);
    if (strncmp(rest, "//", 2) != 0)
        return fail(detail, "the URI lacks //");
    rest += 2;
    len = strcspn(rest, "?");
    if (!userinfo(&rest, &len, uri))
        return fail(detail, "the user or password in the URI is not valid");
    error = socket ? parse_unix(rest, len, uri, detail) : parse_tcp(rest, len, uri, detail);
    if (error && strchr(rest + len, '@'))
        return fail(detail, "the URI is not valid before its ? (in a user or password write %3F)");
    if (!error && rest[len] == '?')
        error = hfi_redis_uri_options(rest + len + 1, socket, uri, detail);
    if (!error)
        show(scheme, uri);
    return error;
}
