/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers as they come: with passwords, with users of few rights, of the wrong kind, not there (yet).
 *
 * What a user needs (a_user_of_few_rights runs with this and no more; N: the names of the locks):
 *   commands   evalsha eval client|setname client|id client|kill info select hget hset hdel hexists hlen
 *              hgetall exists pttl pexpire time get set publish subscribe unsubscribe ping
 *   keys       ~N ~holdfast:token:* ~holdfast:client:* ~redisson_lock__channel:* (scripts name channels
 *              as keys, as Redisson's do)
 *   channels   &redisson_lock__channel:* &redisson_rwlock:* &holdfast:client:*
 *   for people who look, also: pubsub|channels pubsub|numsub scan type, and all keys
 * Without client|setname, client|id, client|kill or info it works, too: with fewer checks, and an
 * attempt that was not answered can leave a lock behind for one ttl.
 */
#include "redis/support.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define LONG HF_ACQUIRE(.ttl_ms = 30000)
#define TRY  HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .ttl_ms = 30000)

/* The error of one attempt; what was got is given back. */
static int attempt(hf_client *client, const struct hf_acquire_options *options)
{
    hf_hold *hold = NULL;
    int error = hf_acquire(client, "lock", options, &hold);

    if (error == HF_OK)
        give(hold);
    return error;
}

static hf_client *client_at(const struct server *at, const char *userinfo, const char *tail)
{
    char uri[256];

    snprintf(uri, sizeof uri, "redis://%s127.0.0.1:%d%s", userinfo, at->port, tail);
    return client_of(uri, TRACED(.program = "te st"));
}

/* ------------------------------------------------------------------------------------------------
 * Passwords and users
 */

static void no_password_is_shown(hf_client *client)
{
    assert_null(strstr(hf_client_store(client), "s3cret"));
    assert_null(strstr(hf_last_error(), "s3cret"));
    assert_false(traced("s3cret"));
}

static void refused(const struct server *at, const char *userinfo)
{
    hf_client *a = client_at(at, userinfo, "");
    hf_hold *none = NULL;

    assert_int_equal(attempt(a, LONG), HF_ERR_AUTH); /* at once, though it would wait for ever */
    assert_int_equal(hf_classify(HF_ERR_AUTH), HF_CLASS_FATAL);
    no_password_is_shown(a);
    assert_int_equal(hf_check(a), HF_ERR_AUTH);
    no_password_is_shown(a);
    assert_int_equal(hf_acquire(a, "lock", HF_ACQUIRE(.wait_ms = 5000), &none), HF_ERR_AUTH);
    hf_close(a);
}

static void passwords(void **state)
{
    struct server own = { .config = "requirepass s3cret/p@ss:1", .password = "s3cret/p@ss:1" };
    hf_client *a;

    (void)state;
    server_start(&own);
    a = client_at(&own, ":s3cret%2Fp%40ss%3a1@", "/2");
    assert_int_equal(attempt(a, LONG), HF_OK);
    no_password_is_shown(a);
    hf_close(a);
    a = client_at(&own, "default:s3cret%2Fp%40ss%3A1@", "");
    assert_int_equal(attempt(a, TRY), HF_OK);
    hf_close(a);
    refused(&own, "");
    refused(&own, ":s3cretwrong@");
    refused(&own, "nobody:s3cret%2Fp%40ss%3A1@");
    server_check_clean(&own);
    server_stop(&own);
}

/* A password that the server does not want is one too many. */
static void a_needless_password(void **state)
{
    hf_client *a = client_at(&server, ":s3cret@", "");

    (void)state;
    assert_int_equal(attempt(a, TRY), HF_ERR_AUTH);
    no_password_is_shown(a);
    hf_close(a);
}

#define RIGHTS                                                                                     \
    " -@all +evalsha +eval +client|setname +client|id +client|kill +info +select +hget +hset"      \
    " +hdel +hexists +hlen +hgetall +exists +pttl +pexpire +time +get +set +del +publish"          \
    " +subscribe +unsubscribe +ping resetkeys ~job:* ~holdfast:token:* ~holdfast:client:*"         \
    " ~redisson_lock__channel:* resetchannels &redisson_lock__channel:* &redisson_rwlock:* "       \
    "&holdfast:client:*"

static void a_user_of_few_rights(void **state)
{
    hf_client *a, *b;
    hf_hold *hold;
    struct taker taker;

    (void)state;
    raw_do(&server, "ACL SETUSER few on >s3cret" RIGHTS);
    a = client_at(&server, "few:s3cret@", "");
    b = client_at(&server, "few:s3cret@", "");
    hold = take(a, "job:1", HF_ACQUIRE(.ttl_ms = 900));
    taker_start(&taker, b, "job:1", HF_ACQUIRE(.ttl_ms = 30000));
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 1);
    nap_ms(700); /* a renewal, and an announcement */
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    assert_int_equal(raw_integer(&server, "KEYS holdfast:client:*"), 2);
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    assert_int_equal(hf_check(a), HF_OK);
    assert_int_equal(attempt(a, LONG), HF_ERR_PERMISSION); /* no key of that name */
    assert_non_null(strstr(hf_last_error(), "NOPERM"));
    hf_close(a);
    hf_close(b);
    raw_do(&server, "ACL DELUSER few");
}

/* Nor what is only checked or tidied with. */
static void a_user_of_fewer_rights(void **state)
{
    hf_client *a;
    hf_hold *hold;

    (void)state;
    raw_do(&server, "ACL SETUSER fewer on >s3cret" RIGHTS
                    " -client|setname -client|id -client|kill -info -ping");
    a = client_at(&server, "fewer:s3cret@", "");
    hold = take(a, "job:1", LONG);
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    give(hold);
    assert_int_equal(hf_check(a), HF_ERR_PERMISSION);
    hf_close(a);
    raw_do(&server, "ACL DELUSER fewer");
}

/* Nor may it speak or listen: what it gives back is given back, and its waiters look once in a while. */
static void a_user_without_channels(void **state)
{
    char uri[64];
    hf_client *a, *b;
    hf_hold *hold;
    struct taker taker;

    (void)state;
    raw_do(&server, "ACL SETUSER mute on >s3cret" RIGHTS " resetchannels");
    snprintf(uri, sizeof uri, "redis://mute:s3cret@127.0.0.1:%d", server.port);
    a = client_of(uri, TRACED());
    b = client_of(uri, TRACED(.poll_ms = 200));
    hold = take(a, "job:1", LONG);
    taker_start(&taker, b, "job:1", LONG);
    nap_ms(50);
    assert_false(taker_done(&taker));
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    assert_int_equal(raw_integer(&server, "EXISTS job:1"), 0);
    hf_close(a);
    hf_close(b);
    raw_do(&server, "ACL DELUSER mute");
}

/* The password changes while something is held, and connections end. */
static void a_password_that_changes(void **state)
{
    hf_client *a;
    hf_hold *hold;

    (void)state;
    raw_do(&server, "ACL SETUSER few on >s3cret" RIGHTS);
    a = client_at(&server, "few:s3cret@", "");
    hold = take(a, "job:1", HF_ACQUIRE(.ttl_ms = 600));
    raw_do(&server, "ACL SETUSER few resetpass >other");
    raw_do(&server, "CLIENT KILL USER few");
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 3000); /* by time */
    assert_int_not_equal(hf_release(hold), HF_OK);
    assert_int_equal(attempt(a, TRY), HF_ERR_AUTH);
    no_password_is_shown(a);
    hf_close(a);
    AWAIT(raw_integer(&server, "EXISTS job:1") == 0);
    raw_do(&server, "ACL DELUSER few");
    raw_do(&server, "EVAL %s 0",
           "for _, k in ipairs(redis.call('KEYS', 'holdfast:client:*')) do "
           "redis.call('DEL', k) end");
}

static void a_database(void **state)
{
    hf_client *a = client_at(&server, "", "/3"), *b = client_at(&server, "", "/0");
    hf_hold *hold = take(a, "lock", LONG);
    char uri[256];

    (void)state;
    assert_int_equal(attempt(b, TRY), HF_OK);
    raw_do(&server, "SELECT 3");
    assert_int_equal(raw_integer(&server, "EXISTS lock"), 1);
    give(hold);
    assert_int_equal(raw_integer(&server, "EXISTS lock"), 0);
    raw_do(&server, "SELECT 0");
    hf_close(a);
    hf_close(b);
    a = client_at(&server, "", "/99");
    assert_int_equal(hf_classify(attempt(a, LONG)), HF_CLASS_FATAL);
    assert_non_null(strstr(hf_last_error(), "database"));
    hf_close(a);
    server_uri_unix(&server, uri, sizeof uri);
    strcat(uri, "?db=3");
    a = client_of(uri, TRACED());
    hold = take(a, "lock", LONG);
    raw_do(&server, "SELECT 3");
    assert_int_equal(raw_integer(&server, "EXISTS lock"), 1);
    give(hold);
    raw_do(&server, "SELECT 0");
    hf_close(a);
}

/* Who is connected, as CLIENT LIST shows it. */
static void a_name(void **state)
{
    hf_client *a = client_at(&server, "", "");
    hf_hold *hold = take(a, "lock", LONG);

    (void)state;
    assert_int_equal(raw_count_clients(&server, "holdfast:te_st@"), 1);
    give(hold);
    hf_close(a);
    AWAIT(raw_count_clients(&server, "holdfast:") == 0);
}

/* ------------------------------------------------------------------------------------------------
 * Servers of the wrong kind
 */

static void a_replica(void **state)
{
    char config[64];
    struct server own = { .config = config };
    hf_client *a;

    (void)state;
    snprintf(config, sizeof config, "replicaof 127.0.0.1 %d", server.port);
    server_start(&own);
    a = client_at(&own, "", "");
    assert_int_equal(attempt(a, LONG), HF_ERR_READ_ONLY);
    assert_non_null(strstr(hf_last_error(), "replica"));
    snprintf(config, sizeof config, "%d", server.port);
    assert_non_null(strstr(hf_last_error(), config)); /* it names the primary */
    assert_int_equal(hf_check(a), HF_ERR_READ_ONLY);
    raw_do(&own, "REPLICAOF NO ONE"); /* a person has changed something */
    AWAIT(attempt(a, TRY) == HF_OK);
    hf_close(a);
    server_stop(&own);
}

/* A primary that becomes a replica under our hands. */
static void a_demoted_primary(void **state)
{
    struct server own = { 0 };
    hf_client *a;
    hf_hold *hold;

    (void)state;
    server_start(&own);
    a = client_at(&own, "", "");
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 900));
    raw_do(&own, "REPLICAOF 127.0.0.1 %d", server.port);
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 3000); /* renewals are refused, or the key is gone */
    assert_int_not_equal(hf_release(hold), HF_OK);
    assert_int_equal(attempt(a, LONG), HF_ERR_READ_ONLY);
    hf_close(a);
    server_stop(&own);
}

static void a_cluster_node(void **state)
{
    struct server own = { .config = "cluster-enabled yes" };
    hf_client *a;

    (void)state;
    server_start(&own);
    a = client_at(&own, "", "");
    assert_int_equal(attempt(a, LONG), HF_ERR_CLUSTER);
    assert_non_null(strstr(hf_last_error(), "cluster"));
    hf_close(a);
    server_stop(&own);
}

static void a_server_that_evicts(void **state)
{
    struct server own = { .config = "maxmemory 100mb\nmaxmemory-policy allkeys-lru" };
    hf_client *a;

    (void)state;
    server_start(&own);
    a = client_at(&own, "", "");
    assert_int_equal(attempt(a, LONG), HF_OK);
    assert_true(traced("allkeys-lru"));
    assert_true(traced("noeviction"));
    hf_close(a);
    trace_forget();
    raw_do(&own, "CONFIG SET maxmemory-policy noeviction");
    a = client_at(&own, "", "");
    assert_int_equal(attempt(a, LONG), HF_OK);
    assert_false(traced("maxmemory-policy"));
    hf_close(a);
    server_stop(&own);
}

/* A server that is still reading its data: try once says so, others wait for it. */
static void a_server_that_loads(void **state)
{
    struct server own = { .config = "appendonly yes\nappendfsync no\nkey-load-delay 200\n"
                                    "loading-process-events-interval-bytes 1024" };
    hf_client *a;
    struct taker taker;

    (void)state;
    server_start(&own);
    for (int i = 0; i < 40; i++)
        raw_do(&own, "EVAL %s 0 %d",
               "for i = 1, 500 do redis.call('SET', 'filler:' .. ARGV[1] .. ':' .. i, 'x') end", i);
    raw_do(&own, "BGREWRITEAOF");
    AWAIT(strcmp(raw_info(&own, "persistence", "aof_rewrite_in_progress"), "0") == 0 &&
          strcmp(raw_info(&own, "persistence", "aof_rewrite_scheduled"), "0") == 0);
    server_kill(&own);
    server_launch(&own);
    server_await(&own); /* it answers, with an error */
    a = client_at(&own, "", "");
    assert_int_equal(attempt(a, TRY), HF_ERR_UNAVAILABLE);
    assert_non_null(strstr(hf_last_error(), "LOADING"));
    taker_start(&taker, a, "lock", LONG);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    server_stop(&own);
}

/* A server that takes no more connections says so to whatever comes first, be it a password. */
static void a_server_that_is_full(void **state)
{
    struct server own = { .config = "requirepass s3cret", .password = "s3cret" };
    hf_client *a;
    struct taker taker;

    (void)state;
    server_start(&own);
    a = client_at(&own, ":s3cret@", "");
    raw_do(&own, "CONFIG SET maxclients 1"); /* which this connection takes */
    for (int i = 0; i < 5; i++) {
        int error = attempt(a, TRY);

        assert_int_equal(hf_classify(error), HF_CLASS_RETRY);
    }
    no_password_is_shown(a);
    taker_start(&taker, a, "lock", LONG);
    nap_ms(100);
    assert_false(taker_done(&taker));
    raw_do(&own, "CONFIG SET maxclients 100");
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    server_stop(&own);
}

/* ------------------------------------------------------------------------------------------------
 * Nobody there
 */

static int closed_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0), port;

    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    port = ntohs(at.sin_port);
    close(fd);
    return port;
}

static void nobody_listens(void **state)
{
    struct server nobody = { .port = closed_port() };
    hf_client *a = client_at(&nobody, "", "");
    int64_t start = now_ms();

    (void)state;
    assert_int_equal(attempt(a, TRY), HF_ERR_UNREACHABLE);
    assert_true(now_ms() - start < 1000);
    assert_non_null(strstr(hf_last_error(), "refused"));
    start = now_ms();
    assert_int_equal(attempt(a, HF_ACQUIRE(.wait_ms = 500)), HF_ERR_UNREACHABLE);
    assert_in_range(now_ms() - start, 490, 1500);
    assert_int_equal(hf_check(a), HF_ERR_UNREACHABLE);
    start = now_ms();
    hf_close(a);
    assert_true(now_ms() - start < 1000);
}

static void no_such_socket(void **state)
{
    hf_client *a = client_of("redis+unix:///tmp/holdfast-there-is-no-such-socket", TRACED());

    (void)state;
    assert_int_equal(attempt(a, TRY), HF_ERR_UNREACHABLE);
    assert_non_null(strstr(hf_last_error(), "No such file"));
    hf_close(a);
}

static void no_such_host(void **state)
{
    hf_client *a = client_of("redis://no-such-host.invalid:1", TRACED());
    int64_t start = now_ms();

    (void)state;
    assert_int_equal(attempt(a, TRY), HF_ERR_UNREACHABLE);
    assert_true(now_ms() - start < 5000);
    assert_non_null(strstr(hf_last_error(), "cannot be resolved"));
    assert_int_equal(attempt(a, HF_ACQUIRE(.wait_ms = 300)), HF_ERR_UNREACHABLE);
    hf_close(a);
}

static void a_host_with_a_name(void **state)
{
    char uri[64];
    hf_client *a;

    (void)state;
    snprintf(uri, sizeof uri, "redis://localhost:%d", server.port);
    a = client_of(uri, TRACED());
    assert_int_equal(attempt(a, LONG),
                     HF_OK); /* also where the name has an address of another kind */
    hf_close(a);
}

static void comes_later(void **state)
{
    struct server own = { 0 };
    hf_client *a;
    struct taker taker;

    (void)state;
    server_start(&own); /* for its port and folder */
    server_kill(&own);
    a = client_at(&own, "", "");
    taker_start(&taker, a, "lock", LONG);
    nap_ms(300);
    assert_false(taker_done(&taker));
    server_restart(&own, false);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    server_stop(&own);
}

/* Something else listens there: it says nothing, or something else. */
static void not_a_redis(void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct server other = { 0 };
    struct taker taker;
    hf_client *a;
    int peer;

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    other.port = ntohs(at.sin_port);
    a = client_at(&other, "", "");
    taker_start(&taker, a, "lock", TRY);
    peer = accept(fd, NULL, NULL);
    assert_int_equal(send(peer, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL), 28);
    assert_int_not_equal(taker_join(&taker), HF_OK);
    close(peer);
    hf_close(a);
    a = client_of("redis://127.0.0.1:1", HF_CLIENT(.op_timeout_ms = 200)); /* not used */
    hf_close(a);
    close(fd);
}

static void silent(void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char uri[64];
    hf_client *a;
    int64_t start;

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 8), 0); /* connections are made, and nobody takes them */
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", ntohs(at.sin_port));
    a = client_of(uri, TRACED(.op_timeout_ms = 300));
    start = now_ms();
    assert_int_equal(attempt(a, TRY), HF_ERR_UNREACHABLE);
    assert_true(now_ms() - start < 1500);
    start = now_ms();
    assert_int_equal(attempt(a, HF_ACQUIRE(.wait_ms = 700)), HF_ERR_UNREACHABLE);
    assert_in_range(now_ms() - start, 690, 1700);
    start = now_ms();
    hf_close(a);
    assert_true(now_ms() - start < 3000);
    close(fd);
}

/* URIs that are none. */
static void uris(void **state)
{
    static const char *const BAD[] = { "redis:host",        "redis://",      "redis://h:0",
                                       "redis://h:65536",   "redis://h:x",   "redis://h/x",
                                       "redis://u:%zz@h",   "redis://[::1",  "redis+unix://rel",
                                       "redis+unix:///s?x", "redis://h/1/2", "redis://a%00b",
                                       "rediss://h",        "nothing",       ":" };
    hf_client *a = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        int error = hf_open(BAD[i], NULL, &a);

        if (error != HF_ERR_URI && error != HF_ERR_UNSUPPORTED)
            fail_msg("%s: %d", BAD[i], error);
        assert_null(a);
        assert_true(hf_last_error()[0] != '\0');
    }
    assert_int_equal(hf_open("redis://u:s3cret@h:x", NULL, &a), HF_ERR_URI);
    assert_null(strstr(hf_last_error(), "s3cret"));
}

static const struct CMUnitTest TESTS[] = {
    TEST(passwords),
    TEST(a_needless_password),
    TEST(a_user_of_few_rights),
    TEST(a_user_of_fewer_rights),
    TEST(a_user_without_channels),
    TEST(a_password_that_changes),
    TEST(a_database),
    TEST(a_name),
    TEST(a_replica),
    TEST(a_demoted_primary),
    TEST(a_cluster_node),
    TEST(a_server_that_evicts),
    TEST(a_server_that_loads),
    TEST(a_server_that_is_full),
    TEST(nobody_listens),
    TEST(no_such_socket),
    TEST(no_such_host),
    TEST(a_host_with_a_name),
    TEST(comes_later),
    TEST(not_a_redis),
    TEST(silent),
    TEST(uris),
};

TESTS_MAIN("server", TESTS)
