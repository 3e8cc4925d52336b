/* SPDX-License-Identifier: Apache-2.0 */
/* The Redis store: what is said first on a connection, and which servers are refused. */
#include "wire.h"

static struct wire w;
static struct hfi_request check;

/* A request waits, so a connection is wanted. */
static void begin(const char *uri)
{
    wire_open(&w, uri);
    check = (struct hfi_request){ .op = HFI_OP_CHECK };
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_NONE);
    wire_submit(&w, &check, HFI_OP_CHECK);
    assert_false(w.class_->has_output(w.store, COMMANDS));
    wire_connect(&w, COMMANDS);
}

#define NAME "CLIENT SETNAME holdfast:prog@host:4711\n"
#define REST "CLIENT ID\nINFO server\nINFO replication\nINFO memory\n"

static void plain(void **state)
{
    (void)state;
    begin("redis://h");
    wire_expect(&w, COMMANDS, NAME REST);
    wire_close(&w);
}

static void with_everything(void **state)
{
    (void)state;
    begin("redis://user:s3cr3t@h/7");
    wire_expect(&w, COMMANDS, "AUTH user s3cr3t\n" NAME "SELECT 7\n" REST);
    assert_null(strstr(w.store->class_->uri(w.store), "s3cr3t"));
    wire_close(&w);
}

static void password_only(void **state)
{
    (void)state;
    begin("redis://:s3cr3t@h");
    wire_expect(&w, COMMANDS, "AUTH s3cr3t\n" NAME REST);
    wire_close(&w);
}

/* What is not allowed in a client's name is replaced. */
static void a_name_with_strange_characters(void **state)
{
    (void)state;
    wire_open(&w, "redis://h");
    strcpy(w.identity.program, "a b\n\xc3\xa9");
    wire_submit(&w, &check, HFI_OP_CHECK);
    wire_connect(&w, COMMANDS);
    wire_expect(&w, COMMANDS, "CLIENT SETNAME holdfast:a_b___@host:4711\n" REST);
    wire_close(&w);
}

/* The wake-up connection needs less; and no database: channels have none. */
static void wakeups(void **state)
{
    struct hfi_watch *watch;

    (void)state;
    wire_open(&w, "redis://user:s3cr3t@h/7");
    watch = wire_watch(&w, "L");
    wire_submit(&w, &watch->request, HFI_OP_WATCH);
    wire_connect(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, "AUTH user s3cr3t\n" NAME);
    wire_say(&w, WAKEUPS, "+OK\r\n+OK\r\n");
    wire_expect(&w, WAKEUPS, "SUBSCRIBE redisson_lock__channel:{L}\n");
    wire_close(&w);
}

/* Nothing of a request is sent before the server is known. */
static void nothing_before_the_last_reply(void **state)
{
    (void)state;
    begin("redis://h");
    wire_expect(&w, COMMANDS, NAME REST);
    wire_say(&w, COMMANDS, "+OK\r\n:7\r\n$-1\r\n$-1\r\n");
    wire_expect(&w, COMMANDS, "");
    assert_true(w.class_->expects(w.store, COMMANDS));
    wire_say(&w, COMMANDS, "$-1\r\n");
    wire_expect(&w, COMMANDS, "PING\n");
    wire_say(&w, COMMANDS, "+PONG\r\n");
    wire_finished(&w, &check, HFI_DONE, HF_OK);
    assert_false(w.class_->expects(w.store, COMMANDS));
    wire_close(&w);
}

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */

/* The whole greeting's replies; what is refused, why, and what people read. */
static void check_refused(const char *uri, const char *replies, int error, const char *detail)
{
    begin(uri);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, replies);
    if (!wire_drops(&w, COMMANDS))
        fail_msg("was taken: %s", replies);
    wire_finished(&w, &check, HFI_NOT_DONE, error);
    if (!strstr(w.store->detail, detail))
        fail_msg("says \"%s\" instead of \"%s\"", w.store->detail, detail);
    assert_null(strstr(w.store->detail, "s3cr3t"));
    assert_null(strpbrk(w.store->detail, "\r\n"));
    wire_close(&w);
}

#define BULK(length, text) "$" length "\r\n" text "\r\n"

static void refused_servers(void **state)
{
    static const struct {
        const char *replies;
        int error;
        const char *detail;
    } CASES[] = {
        { "-NOAUTH Authentication required.\r\n", HF_ERR_AUTH, "wants a password" },
        { "-ERR max number of clients reached\r\n", HF_ERR_UNAVAILABLE, "max number of clients" },
        { "+OK\r\n:7\r\n-LOADING Redis is loading the dataset in memory\r\n", HF_ERR_UNAVAILABLE,
          "cannot serve now: LOADING" },
        { "+OK\r\n:7\r\n-BUSY Redis is busy running a script.\r\n", HF_ERR_UNAVAILABLE, "BUSY" },
        { "+OK\r\n:7\r\n-MASTERDOWN Link with MASTER is down\r\n", HF_ERR_UNAVAILABLE,
          "MASTERDOWN" },
        { "+OK\r\n:7\r\n" BULK("21", "redis_version:6.0.16\r"), HF_ERR_UNSUPPORTED,
          "is Redis 6.0.16: at least 6.2 is needed" },
        { "+OK\r\n:7\r\n" BULK("20", "redis_version:5.0.7\n"), HF_ERR_UNSUPPORTED, "5.0.7" },
        { "+OK\r\n:7\r\n" BULK("42", "redis_version:7.0.0\r\nredis_mode:cluster\r\n "),
          HF_ERR_CLUSTER, "is a node of a cluster" },
        { "+OK\r\n:7\r\n$-1\r\n" BULK("56", "role:slave\r\nmaster_host:10.1.2.3\r\n"
                                            "master_port:6380\r\n    "),
          HF_ERR_READ_ONLY, "is a read-only replica: name its primary, 10.1.2.3 port 6380" },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++)
        check_refused("redis://h", CASES[i].replies, CASES[i].error, CASES[i].detail);
}

static void refused_users(void **state)
{
    (void)state;
    check_refused("redis://u:s3cr3t@h", "-WRONGPASS invalid username-password pair\r\n",
                  HF_ERR_AUTH, "refused the user or password");
    check_refused("redis://:s3cr3t@h", "-ERR invalid password\r\n", HF_ERR_AUTH, "refused");
    check_refused("redis://:s3cr3t@h",
                  "-ERR AUTH <password> called without any password configured for the default "
                  "user.\r\n",
                  HF_ERR_AUTH, "without any password");
    check_refused("redis://:s3cr3t@h", "-ERR max number of clients reached\r\n", HF_ERR_UNAVAILABLE,
                  "max number of clients");
    check_refused("redis://h/99", "+OK\r\n-ERR DB index is out of range\r\n", HF_ERR_PROTOCOL,
                  "the database cannot be selected");
    check_refused("redis://h/9", "+OK\r\n-NOPERM this user has no permissions\r\n",
                  HF_ERR_PERMISSION, "the database cannot be selected");
}

/* ------------------------------------------------------------------------------------------------
 * What is let pass
 */

static void check_taken(const char *replies)
{
    begin("redis://h");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, replies);
    if (wire_drops(&w, COMMANDS))
        fail_msg("was refused: %s: %s", w.store->detail, replies);
    wire_expect(&w, COMMANDS, "PING\n");
}

static void accepted_servers(void **state)
{
    static const char *const CASES[] = {
        /* INFO, SETNAME and ID are denied: nothing is known, but it can be tried. */
        "+OK\r\n:7\r\n-NOPERM this user has no permissions\r\n-NOPERM no\r\n-NOPERM no\r\n",
        "-NOPERM no\r\n-NOPERM no\r\n-NOPERM no\r\n-NOPERM no\r\n-NOPERM no\r\n",
        "-ERR unknown command\r\n-ERR unknown\r\n-ERR unknown\r\n-ERR x\r\n-ERR x\r\n",
        /* Exactly new enough, and what a future one may say. */
        "+OK\r\n:7\r\n" BULK("20", "redis_version:6.2.0\n") "$0\r\n\r\n$0\r\n\r\n",
        "+OK\r\n:7\r\n" BULK("18", "redis_version:10.0") "$0\r\n\r\n$0\r\n\r\n",
        "+OK\r\n:7\r\n" BULK("17", "redis_version:abc") "$0\r\n\r\n$0\r\n\r\n",
        /* Nonsense of the right and the wrong type. */
        "+OK\r\n+what\r\n:1\r\n:2\r\n*0\r\n",
        ":0\r\n:-5\r\n$-1\r\n*-1\r\n+\r\n",
        "+OK\r\n:7\r\n" BULK("20", "redis_mode=cluster\r\n") "$0\r\n\r\n$0\r\n\r\n",
        /* Keys at the end of other words are not the keys. */
        "+OK\r\n:7\r\n" BULK("20", "xredis_version:1.0\r\n") "$11\r\nxrole:slave\r\n$-1\r\n",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++) {
        check_taken(CASES[i]);
        assert_string_equal(w.warnings, "");
        wire_close(&w);
    }
}

/* A server that may throw locks away is warned about: once, and only if it may. */
static void eviction(void **state)
{
    (void)state;
    check_taken("+OK\r\n:7\r\n$-1\r\n$-1\r\n" BULK(
        "49", "maxmemory:1000000\r\nmaxmemory_policy:allkeys-lru\r\n"));
    assert_non_null(strstr(w.warnings,
                           "redis://h:6379/0 may throw locks away when its memory is full "
                           "(maxmemory-policy allkeys-lru)"));
    w.warnings[0] = '\0';
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &check, HFI_UNKNOWN, HF_ERR_UNSURE);
    wire_submit(&w, &check, HFI_OP_CHECK);
    wire_connect(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS,
             "+OK\r\n:8\r\n$-1\r\n$-1\r\n" BULK(
                 "49", "maxmemory:1000000\r\nmaxmemory_policy:allkeys-lru\r\n"));
    assert_string_equal(w.warnings, "");
    wire_close(&w);

    check_taken("+OK\r\n:7\r\n$-1\r\n$-1\r\n" BULK(
        "43", "maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n"));
    assert_string_equal(w.warnings, "");
    wire_close(&w);
}

/* The replies come byte by byte, in any pieces. */
static void cut_anywhere(void **state)
{
    static const char REPLIES[] = "+OK\r\n:7\r\n" BULK("21", "redis_version:7.0.15\n")
        BULK("12", "role:master\n") BULK("12", "maxmemory:0\n");

    (void)state;
    for (size_t cut = 1; cut < sizeof REPLIES - 1; cut++) {
        begin("redis://h");
        wire_commands(&w, COMMANDS);
        wire_say_bytes(&w, COMMANDS, REPLIES, cut);
        wire_expect(&w, COMMANDS, "");
        wire_say_bytes(&w, COMMANDS, REPLIES + cut, sizeof REPLIES - 1 - cut);
        wire_expect(&w, COMMANDS, "PING\n");
        assert_int_equal(wire_redis(&w)->server_id, 7);
        assert_int_equal(wire_redis(&w)->version, 700);
        wire_close(&w);
    }
}

/* What is no RESP at all, and what goes on after a refusal. */
static void garbage(void **state)
{
    static const char *const CASES[] = {
        "HTTP/1.1 400 Bad Request\r\n",
        "\r\n",
        "*-2\r\n",
        "$-2\r\n",
        "$9999999999999999999\r\n",
        ":x\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++) {
        begin("redis://h");
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, CASES[i]);
        wire_say(&w, COMMANDS, "+OK\r\n"); /* already on its way */
        if (wire_drops(&w, COMMANDS))
            wire_finished(&w, &check, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
        wire_close(&w);
    }
    begin("redis://h");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-NOAUTH x\r\n-NOAUTH x\r\n-NOAUTH x\r\n-NOAUTH x\r\n-NOAUTH x\r\n");
    wire_say(&w, COMMANDS, "-NOAUTH x\r\n");
    assert_true(wire_drops(&w, COMMANDS));
    wire_finished(&w, &check, HFI_NOT_DONE, HF_ERR_AUTH);
    wire_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(with_everything),
        cmocka_unit_test(password_only),
        cmocka_unit_test(a_name_with_strange_characters),
        cmocka_unit_test(wakeups),
        cmocka_unit_test(nothing_before_the_last_reply),
        cmocka_unit_test(refused_servers),
        cmocka_unit_test(refused_users),
        cmocka_unit_test(accepted_servers),
        cmocka_unit_test(eviction),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(garbage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
