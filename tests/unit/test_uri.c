/* SPDX-License-Identifier: Apache-2.0 */
/* redis://… and redis+unix://… */
#include "unit.h"

#include "store/redis/redis.h"

static struct hfi_redis_uri uri;
static char detail[HFI_DETAIL_MAX];

static int parse(const char *text)
{
    const char *colon = strchr(text, ':');
    char scheme[16];
    int error;

    memset(&uri, 0xaa, sizeof uri);
    memset(detail, 0, sizeof detail);
    snprintf(scheme, sizeof scheme, "%.*s", (int)(colon - text), text);
    error = hfi_redis_uri(scheme, colon + 1, &uri, detail);
    assert_true((error != HF_OK) == (detail[0] != '\0'));
    assert_null(strchr(detail, '\n'));
    return error;
}

struct good {
    const char *text, *host, *port, *path, *user, *password, *shown;
    unsigned db;
};

static void good_ones(void **state)
{
    static const struct good GOOD[] = {
        { "redis://h", "h", "6379", "", "", "", "redis://h:6379/0", 0 },
        { "redis://h/", "h", "6379", "", "", "", "redis://h:6379/0", 0 },
        { "redis://h:1", "h", "1", "", "", "", "redis://h:1/0", 0 },
        { "redis://h:65535/7", "h", "65535", "", "", "", "redis://h:65535/7", 7 },
        { "redis://h:0080", "h", "80", "", "", "", "redis://h:80/0", 0 },
        { "redis://h/15", "h", "6379", "", "", "", "redis://h:6379/15", 15 },
        { "redis://h/1000000", "h", "6379", "", "", "", "redis://h:6379/1000000", 1000000 },
        { "redis://10.0.0.1:7000", "10.0.0.1", "7000", "", "", "", "redis://10.0.0.1:7000/0", 0 },
        { "redis://u:p@h", "h", "6379", "", "u", "p", "redis://u@h:6379/0", 0 },
        { "redis://:p@h", "h", "6379", "", "", "p", "redis://h:6379/0", 0 },
        { "redis://:@h", "h", "6379", "", "", "", "redis://h:6379/0", 0 },
        { "redis://u@h", "h", "6379", "", "u", "", "redis://u@h:6379/0", 0 },
        { "redis://u:@h", "h", "6379", "", "u", "", "redis://u@h:6379/0", 0 },
        { "redis://:a:b@h", "h", "6379", "", "", "a:b", "redis://h:6379/0", 0 },
        { "redis://:a@b@h", "h", "6379", "", "", "a@b", "redis://h:6379/0", 0 },
        { "redis://:%70%2f%40%25%3A@h", "h", "6379", "", "", "p/@%:", "redis://h:6379/0", 0 },
        { "redis://:\xc3\xa9%C3%A9@h", "h", "6379", "", "", "\xc3\xa9\xc3\xa9", "redis://h:6379/0",
          0 },
        { "redis://a%40b:p@h", "h", "6379", "", "a@b", "p", "redis://a%40b@h:6379/0", 0 },
        { "redis://a%2Fb%20c:p@h", "h", "6379", "", "a/b c", "p", "redis://a%2Fb%20c@h:6379/0", 0 },
        { "redis://[::1]", "::1", "6379", "", "", "", "redis://[::1]:6379/0", 0 },
        { "redis://[::1]:7/3", "::1", "7", "", "", "", "redis://[::1]:7/3", 3 },
        { "redis://u:p@[fe80::1%25eth0]:7", "fe80::1%eth0", "7", "", "u", "p",
          "redis://u@[fe80::1%25eth0]:7/0", 0 },
        { "redis://a%2Fb%3Ac", "a/b:c", "6379", "", "", "", "redis://[a%2Fb:c]:6379/0", 0 },
        { "redis+unix:///run/r.sock", "", "", "/run/r.sock", "", "", "redis+unix:///run/r.sock",
          0 },
        { "redis+unix:///r?db=4", "", "", "/r", "", "", "redis+unix:///r?db=4", 4 },
        { "redis+unix://u:p@/r", "", "", "/r", "u", "p", "redis+unix://u@/r", 0 },
        { "redis+unix://:p@/r?db=0", "", "", "/r", "", "p", "redis+unix:///r", 0 },
        { "redis+unix:///a%3Fb%20c@d", "", "", "/a?b c@d", "", "", "redis+unix:///a%3Fb%20c@d", 0 },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(GOOD); i++) {
        const struct good *good = &GOOD[i];

        if (parse(good->text) != HF_OK)
            fail_msg("%s: %s", good->text, detail);
        assert_string_equal(uri.host, good->host);
        assert_string_equal(uri.port, good->port);
        assert_string_equal(uri.path, good->path);
        assert_string_equal(uri.user, good->user);
        assert_string_equal(uri.password, good->password);
        assert_int_equal(uri.db, good->db);
        assert_string_equal(uri.prefix, "");
        if (good->shown)
            assert_string_equal(uri.shown, good->shown);
    }
}

static void options(void **state)
{
    static const struct {
        const char *text, *shown, *prefix;
        unsigned db;
        enum hfi_layout layout;
    } GOOD[] = {
        { "redis://h?prefix=app:", "redis://h:6379/0?prefix=app:", "app:", 0, HFI_LAYOUT_HASH },
        { "redis://u:p@[::1]:7/3?prefix=%7Ba%7d%26b", "redis://u@[::1]:7/3?prefix={a}%26b", "{a}&b",
          3, HFI_LAYOUT_HASH },
        { "redis://h/?prefix=a@b/c?d=e#", "redis://h:6379/0?prefix=a%40b/c%3Fd=e%23", "a@b/c?d=e#",
          0, HFI_LAYOUT_HASH },
        { "redis://h?prefix=", "redis://h:6379/0", "", 0, HFI_LAYOUT_HASH },
        { "redis://h?prefix=a+b%20c%2B", "redis://h:6379/0?prefix=a%2Bb%20c%2B", "a+b c+", 0,
          HFI_LAYOUT_HASH },
        { "redis+unix:///r?prefix=p&db=4", "redis+unix:///r?db=4&prefix=p", "p", 4,
          HFI_LAYOUT_HASH },
        { "redis+unix:///r?db=0&prefix=\xc3\xa9", "redis+unix:///r?prefix=\xc3\xa9", "\xc3\xa9", 0,
          HFI_LAYOUT_HASH },
        { "redis://h?layout=string", "redis://h:6379/0?layout=string", "", 0, HFI_LAYOUT_STRING },
        { "redis://h?layout=hash", "redis://h:6379/0", "", 0, HFI_LAYOUT_HASH },
        { "redis+unix:///r?layout=string&db=2&prefix=lock:",
          "redis+unix:///r?db=2&prefix=lock:&layout=string", "lock:", 2, HFI_LAYOUT_STRING },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(GOOD); i++) {
        if (parse(GOOD[i].text) != HF_OK)
            fail_msg("%s: %s", GOOD[i].text, detail);
        assert_string_equal(uri.shown, GOOD[i].shown);
        assert_string_equal(uri.prefix, GOOD[i].prefix);
        assert_int_equal(uri.db, GOOD[i].db);
        assert_int_equal(uri.layout, GOOD[i].layout);
    }
}

static void bad_ones(void **state)
{
    static const char *const BAD[] = {
        "redis:h",
        "redis:/h",
        "redis:",
        "redis://",
        "redis:///0",
        "redis://:6379",
        "redis://u:p@",
        "redis://u:p@:6379",
        "redis://h:",
        "redis://h:0",
        "redis://h:65536",
        "redis://h:99999999999999999999",
        "redis://h:-1",
        "redis://h:6379x",
        "redis://h: 6379",
        "redis://h:1:2",
        "redis://::1",
        "redis://[::1",
        "redis://[]",
        "redis://[::1]x",
        "redis://[::1]:",
        "redis://h/x",
        "redis://h/-1",
        "redis://h/1/",
        "redis://h/1/2",
        "redis://h/1000001",
        "redis://h/10000000",
        "redis://h/4294967296",
        "redis://h/0?db=1",
        "redis://h%",
        "redis://h%4",
        "redis://h%zz",
        "redis://h%00",
        "redis://h%0a",
        "redis://:p%@h",
        "redis://:p%0@h",
        "redis://:p%g0@h",
        "redis://:a%00b@h",
        "redis://:a%0d%0ab@h",
        "redis://:a\nb@h",
        "redis://a%0ab:p@h",
        "redis://a\x7f@h",
        "redis+unix://",
        "redis+unix://r.sock",
        "redis+unix:r.sock",
        "redis+unix:///r?db=",
        "redis+unix:///r?db=x",
        "redis+unix:///r?db=1x",
        "redis+unix:///r?database=1",
        "redis+unix:///r?",
        "redis+unix:///r?db=1&x=2",
        "redis+unix:///a%00b",
        "redis+unix://u:p@r",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(BAD); i++)
        if (parse(BAD[i]) != HF_ERR_URI)
            fail_msg("%s was taken", BAD[i]);
}

static void bad_options(void **state)
{
    static const char *const BAD[] = {
        "redis://h?",
        "redis://h/0?",
        "redis://h?prefix",
        "redis://h?prefix&",
        "redis://h?prefix=a&",
        "redis://h?&prefix=a",
        "redis://h?prefix=a&prefix=a",
        "redis://h?prefix=a&x=1",
        "redis://h?Prefix=a",
        "redis://h?prefixx=a",
        "redis://h?pref=a",
        "redis://h?=a",
        "redis://h?prefix=%zz",
        "redis://h?prefix=a%00b",
        "redis://h?prefix=a%0ab",
        "redis://h?prefix=a\nb",
        "redis://h?prefix=%ff",
        "redis://h?prefix=%c2%85",
        "redis://:6379?prefix=a",
        "redis://:a?b@h",
        "redis+unix:///r?db=1&db=2",
        "redis://h?layout=",
        "redis://h?layout",
        "redis://h?layout=strin",
        "redis://h?layout=String",
        "redis://h?layout=strings",
        "redis://h?layout=%73tring",
        "redis://h?layout=string&layout=string",
        "redis+unix:///r?prefix=a&db=x",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(BAD); i++)
        if (parse(BAD[i]) != HF_ERR_URI)
            fail_msg("%s was taken", BAD[i]);
}

/* A part of `n` letters in its place; the limit of each is named by the size of its member. */
static int parse_long(const char *head, size_t n, const char *tail)
{
    static char part[2000], text[3000];

    memset(part, 'x', n);
    part[n] = '\0';
    snprintf(text, sizeof text, "%s%s%s", head, part, tail);
    return parse(text);
}

static void limits(void **state)
{
    static const struct {
        const char *head, *tail;
        size_t most;
    } LIMITS[] = {
        { "redis://", "", sizeof uri.host - 1 },
        { "redis://[", "]", sizeof uri.host - 1 },
        { "redis://", ":p@h", sizeof uri.user - 1 },
        { "redis://u:", "@h", sizeof uri.password - 1 },
        { "redis+unix:///", "", sizeof uri.path - 2 },
        { "redis://h?prefix=", "", HFI_PREFIX_MAX },
        { "redis+unix:///r?prefix=", "&db=1", HFI_PREFIX_MAX },
    };

    (void)state;
    assert_int_equal(sizeof uri.path, 108); /* sockaddr_un's */
    for (size_t i = 0; i < UNIT_COUNT(LIMITS); i++) {
        assert_int_equal(parse_long(LIMITS[i].head, LIMITS[i].most, LIMITS[i].tail), HF_OK);
        assert_true(strlen(uri.shown) < sizeof uri.shown);
        assert_int_equal(parse_long(LIMITS[i].head, LIMITS[i].most + 1, LIMITS[i].tail),
                         HF_ERR_URI);
        assert_int_equal(parse_long(LIMITS[i].head, 1990, LIMITS[i].tail), HF_ERR_URI);
    }
}

/* All parts as long as they may be, each byte escaped: what is shown is whole all the same. */
static void shown_is_whole(void **state)
{
    static char text[6000];
    size_t n = (size_t)snprintf(text, sizeof text, "redis://");

    (void)state;
    for (size_t i = 0; i < sizeof uri.user - 1; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%%2f");
    n += (size_t)snprintf(text + n, sizeof text - n, ":secret@");
    for (size_t i = 0; i < sizeof uri.host - 1; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%%2F");
    n += (size_t)snprintf(text + n, sizeof text - n, ":65535/1000000?layout=string&prefix=");
    for (size_t i = 0; i < HFI_PREFIX_MAX; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%%23");
    assert_int_equal(parse(text), HF_OK);
    assert_int_equal(strlen(uri.user), sizeof uri.user - 1);
    assert_int_equal(uri.db, 1000000);
    assert_null(strstr(uri.shown, "secret"));
    assert_int_equal(strlen(uri.prefix), HFI_PREFIX_MAX);
    assert_non_null(strstr(uri.shown, ":65535/1000000?prefix=%23"));
    assert_non_null(strstr(uri.shown, "%23&layout=string"));
    assert_int_equal(strlen(strchr(uri.shown, '?')),
                     strlen("?prefix=&layout=string") + 3 * HFI_PREFIX_MAX);
}

/* Neither what is shown nor a complaint has the password in it, whatever is wrong with the rest. */
static void passwords_are_never_shown(void **state)
{
    static const char *const HEADS[] = { "redis://user:s3cr3t@", "redis://:s3cr3t@",
                                         "redis://:%733cr3t@", "redis+unix://user:s3cr3t@",
                                         "redis+unix://:s3cr3t@" };
    static const char *const TAILS[] = { "h",
                                         "h:1/2",
                                         "",
                                         "h:x",
                                         "h/x",
                                         "[::1",
                                         "%zz",
                                         "/r",
                                         "/r?db=1",
                                         "/r?x",
                                         "%",
                                         "h:1:2",
                                         ":",
                                         "/%00",
                                         "h?x=1",
                                         "h?prefix=a&b=c",
                                         "h:x?prefix=a@b" };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(HEADS); i++) {
        for (size_t k = 0; k < UNIT_COUNT(TAILS); k++) {
            char text[128];
            int error;

            snprintf(text, sizeof text, "%s%s", HEADS[i], TAILS[k]);
            error = parse(text);
            assert_null(strstr(detail, "s3cr3t"));
            if (!error)
                assert_null(strstr(uri.shown, "s3cr3t"));
        }
    }
    /* A password with a slash that was not escaped: refused, and not shown either. */
    assert_int_equal(parse("redis://:s3/cr3t@h"), HF_ERR_URI);
    assert_null(strstr(detail, "s3"));
    /* And one with a question mark. */
    assert_int_equal(parse("redis://:s3?cr3t=x@h"), HF_ERR_URI);
    assert_null(strstr(detail, "s3"));
    assert_null(strstr(detail, "cr3t"));
    assert_non_null(strstr(detail, "%3F"));
    assert_int_equal(parse("redis://h:1?cr3t=x@h"), HF_ERR_URI);
    assert_null(strstr(detail, "cr3t"));
    assert_non_null(strstr(detail, "%3F"));
}

/* What is not known is named, with what is. */
static void options_are_named(void **state)
{
    (void)state;
    assert_int_equal(parse("redis://h?prefx=a"), HF_ERR_URI);
    assert_string_equal(detail, "the URI has an option that is not known \"prefx\"; options are "
                                "prefix=TEXT, layout=string");
    assert_int_equal(parse("redis://h?db=1"), HF_ERR_URI);
    assert_non_null(strstr(detail, "not known \"db\""));
    assert_int_equal(parse("redis+unix:///r?base=1"), HF_ERR_URI);
    assert_non_null(strstr(detail, "options are prefix=TEXT, layout=string, db=N"));
    assert_int_equal(parse("redis://h?prefix=a&prefix=b"), HF_ERR_URI);
    assert_non_null(strstr(detail, "twice \"prefix\""));
    assert_int_equal(parse("redis://h?layout=list"), HF_ERR_URI);
    assert_non_null(strstr(detail, "must be hash"));
    assert_int_equal(parse_long("redis://h?", 33, "=a"), HF_ERR_URI);
    assert_null(strstr(detail, "xxx"));
    assert_int_equal(parse_long("redis://h?prefix=", HFI_PREFIX_MAX + 1, ""), HF_ERR_URI);
    assert_non_null(strstr(detail, "at most 256 bytes"));
}

/* Random bytes: no crash, and no line break gets through. */
static void random_text(void **state)
{
    static const char LETTERS[] = "redis:/@[]%?=#&ab09. \n\x7f\xc3";
    struct hfi_random random;

    (void)state;
    hfi_random_init(&random, unit_first_seed());
    for (int i = 0; i < 200000; i++) {
        char text[40] = "redis://";
        size_t n = strlen(text), len = n + (size_t)hfi_random_below(&random, 24);

        for (; n < len; n++)
            text[n] = LETTERS[hfi_random_below(&random, sizeof LETTERS - 1)];
        text[len] = '\0';
        if (hfi_random_below(&random, 2)) {
            memmove(text + 10, text + 5, strlen(text + 5) + 1);
            memcpy(text, "redis+unix", 10);
        }
        if (parse(text) == HF_OK) {
            assert_null(strpbrk(uri.shown, "\n\x7f"));
            assert_null(strpbrk(uri.password, "\n\x7f"));
            assert_true((uri.path[0] != '\0') == (uri.host[0] == '\0'));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones),
        cmocka_unit_test(bad_ones),
        cmocka_unit_test(limits),
        cmocka_unit_test(shown_is_whole),
        cmocka_unit_test(random_text),
        cmocka_unit_test(passwords_are_never_shown),
        cmocka_unit_test(options),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(options_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
