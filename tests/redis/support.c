/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/support.h"

#include <signal.h>
#include <string.h>

struct server server;

static struct leaks leaks;
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;
static char trace_text[1 << 18];
static size_t trace_len;

void trace_note(void *arg, enum hf_trace_level level, const char *text)
{
    size_t len = strlen(text);

    (void)arg;
    (void)level;
    pthread_mutex_lock(&trace_lock);
    if (trace_len + len + 2 < sizeof trace_text) {
        memcpy(trace_text + trace_len, text, len);
        trace_len += len;
        trace_text[trace_len++] = '\n';
        trace_text[trace_len] = '\0';
    }
    pthread_mutex_unlock(&trace_lock);
}

bool traced(const char *text)
{
    bool found;

    pthread_mutex_lock(&trace_lock);
    found = strstr(trace_text, text) != NULL;
    pthread_mutex_unlock(&trace_lock);
    return found;
}

void trace_forget(void)
{
    pthread_mutex_lock(&trace_lock);
    trace_len = 0;
    trace_text[0] = '\0';
    pthread_mutex_unlock(&trace_lock);
}

static int group_begin(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL); /* it must never be raised */
    server_start(&server);
    return 0;
}

static int group_end(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

int test_begin(void **state)
{
    (void)state;
    raw_do(&server, "FLUSHALL"); /* what a test left that failed */
    raw_close(&server);
    leaks_note(&leaks);
    trace_forget();
    return 0;
}

int test_end(void **state)
{
    (void)state;
    server_check_clean(&server);
    leaks_check(&leaks);
    return 0;
}

int suite_main(int argc, char **argv, const char *name, const struct CMUnitTest *tests,
               size_t count)
{
    server.program = "redis-server";
    if (argc > 1 && strstr(argv[1], "-server")) { /* another one */
        server.program = argv[1];
        argv++;
        argc--;
    }
    if (!server_exists(server.program)) {
        printf("skipped: there is no %s\n", server.program);
        return 77;
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(name, tests, count, group_begin, group_end);
}

hf_client *client_open_with(const struct hf_client_options *options)
{
    char uri[256];

    return client_of(server_uri(&server, uri, sizeof uri), options);
}

hf_client *client_open(void)
{
    return client_open_with(TRACED(.program = "test"));
}

void foreign_take(const char *name, long ttl_ms)
{
    raw_do(&server, "HSET %s " FOREIGN " 1", name);
    raw_do(&server, "PEXPIRE %s %ld", name, ttl_ms);
}

long long foreign_give(const char *name)
{
    long long removed = raw_integer(&server, "HDEL %s " FOREIGN, name);

    if (strchr(name, '{'))
        raw_do(&server, "PUBLISH redisson_lock__channel:%s 0", name);
    else
        raw_do(&server, "PUBLISH redisson_lock__channel:{%s} 0", name);
    return removed;
}

struct proxy proxy;

hf_client *client_behind(const struct hf_client_options *options)
{
    char uri[64];

    return client_of(proxy_uri(&proxy, uri, sizeof uri), options);
}

int proxy_begin(void **state)
{
    test_begin(state);
    proxy_start(&proxy, server.port);
    return 0;
}

int proxy_end(void **state)
{
    proxy_stop(&proxy);
    return test_end(state);
}
