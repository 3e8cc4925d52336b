/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URIs. What is accepted is well-formed, and what is shown of it leads to the same store again, without its
 * password. The first byte says how the rest is read:
 *   redis, redis+unix   as the driver has it, behind the scheme
 *   hf_open             whole; not those that name a file
 *   sqlite              as a path: it is looked for, and nothing is made
 */
#include "fuzz/fuzz.h"

#include "base/name.h"
#include "cli/store.h"
#include "store/redis/redis.h"
#include "store/sqlite/fs.h"

#define TEXT_MAX 2048

static bool is_one_line(const char *detail)
{
    return detail[0] != '\0' && strlen(detail) < HFI_DETAIL_MAX && !strchr(detail, '\n');
}

static bool has_controls(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

static void check_port(const char *port)
{
    unsigned long number = strtoul(port, NULL, 10);

    MUST(strspn(port, "0123456789") == strlen(port) && port[0] != '0');
    MUST(number >= 1 && number <= 65535);
}

static void check_parts(const char *scheme, const struct hfi_redis_uri *uri)
{
    bool by_path = strcmp(scheme, "redis+unix") == 0;

    MUST(by_path ? uri->path[0] == '/' && !uri->host[0] : uri->host[0] && !uri->path[0]);
    MUST(!has_controls(uri->host) && !has_controls(uri->path) && !has_controls(uri->user));
    MUST(!has_controls(uri->password) && uri->db <= 1000000);
    MUST(hfi_text_ok(uri->prefix, strlen(uri->prefix)));
    if (!by_path)
        check_port(uri->port);
}

static void check_same(const struct hfi_redis_uri *a, const struct hfi_redis_uri *b)
{
    MUST(strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0);
    MUST(strcmp(a->path, b->path) == 0 && strcmp(a->user, b->user) == 0);
    MUST(a->db == b->db && strcmp(a->prefix, b->prefix) == 0);
}

/* What people and commands see of a store is a way to it. */
static void check_shown(const char *scheme, const struct hfi_redis_uri *uri)
{
    struct hfi_redis_uri again;
    char detail[HFI_DETAIL_MAX] = "";
    size_t head = strlen(scheme);

    MUST(!has_controls(uri->shown));
    MUST(strncmp(uri->shown, scheme, head) == 0 && uri->shown[head] == ':');
    MUST(hfi_redis_uri(scheme, uri->shown + head + 1, &again, detail) == HF_OK);
    check_same(uri, &again);
    MUST(again.password[0] == '\0');
    MUST(strcmp(again.shown, uri->shown) == 0);
}

/* The command overwrites what `ps` shows of it. */
static void check_hidden(const char *scheme, const char *rest)
{
    size_t room = strlen(scheme) + strlen(rest) + 2;
    char *whole = fuzz_alloc(room), detail[HFI_DETAIL_MAX] = "";
    struct hfi_redis_uri uri;

    snprintf(whole, room, "%s:%s", scheme, rest);
    hfi_cli_hide_password(whole);
    MUST(strlen(whole) < room);
    if (hfi_redis_uri(scheme, whole + strlen(scheme) + 1, &uri, detail) == HF_OK)
        MUST(uri.password[0] == '\0');
    free(whole);
}

static void parse(const char *scheme, const char *rest)
{
    struct hfi_redis_uri uri;
    char detail[HFI_DETAIL_MAX] = "";
    int error;

    memset(&uri, 0xaa, sizeof uri);
    error = hfi_redis_uri(scheme, rest, &uri, detail);
    MUST(error == HF_OK || error == HF_ERR_URI || error == HF_ERR_UNSUPPORTED);
    MUST(error == HF_OK ? detail[0] == '\0' : is_one_line(detail));
    if (error == HF_OK) {
        check_parts(scheme, &uri);
        check_shown(scheme, &uri);
    }
    check_hidden(scheme, rest);
}

static void open_client(const char *text)
{
    hf_client *client = NULL;
    int error;

    if (!*text || strncmp(text, "sqlite:", 7) == 0)
        return; /* a file would be made */
    error = hf_open(text, NULL, &client);
    if (error) {
        MUST(error == HF_ERR_URI || error == HF_ERR_UNSUPPORTED);
        MUST(!client && is_one_line(hf_last_error()));
        return;
    }
    MUST(strncmp(hf_client_store(client), "redis", 5) == 0);
    MUST(strlen(hf_client_id(client)) == 36);
    hf_close(client);
}

static void find_file(const char *rest)
{
    char *path = fuzz_alloc(HFI_SQLITE_PATH_ROOM), detail[HFI_DETAIL_MAX] = "";
    bool is_private = true;
    int error;

    if (*rest) { /* the usual place is made where it is missing */
        error = hfi_sqlite_path(rest, path, &is_private, detail, sizeof detail);
        MUST(error == HF_OK ? detail[0] == '\0' : is_one_line(detail));
        MUST(error || (path[0] == '/' && strlen(path) <= HFI_SQLITE_PATH_MAX && !is_private));
        MUST(error || !has_controls(path));
    }
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, data + size };
    uint32_t how = input_below(&input, 4);
    char *text = input_string(&input, 0, TEXT_MAX);

    if (how == 0)
        parse("redis", text);
    else if (how == 1)
        parse("redis+unix", text);
    else if (how == 2)
        open_client(text);
    else
        find_file(text);
    free(text);
    return 0;
}
