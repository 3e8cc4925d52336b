/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets, maps, stamps. */
#include "cpp/check.hpp"

namespace
{

using namespace std::chrono_literals;
using namespace std::string_literals;
using holdfast::client;

const std::string BYTES = "a\0\xff\n"s;

/* The embedded store has none. */
bool has_values(const client &client)
{
    std::error_code error;

    holdfast::bucket(client, "is it there").get(error);
    if (error != HF_ERR_UNSUPPORTED)
        return true;
    THROWS(holdfast::bucket(client, "bucket").set("x"), std::errc::not_supported);
    THROWS(holdfast::map(client, "map").size(), HF_ERR_UNSUPPORTED);
    return false;
}

void buckets()
{
    const client a(store_uri());
    holdfast::bucket bucket(a, "bucket");
    holdfast::value_options options;
    std::error_code error;

    if (!has_values(a))
        return;
    CHECK(!bucket.get() && !bucket.remove() && !bucket.ttl());
    CHECK(!bucket.get(error) && error == HF_ERR_NOT_FOUND);
    bucket.set(BYTES);
    CHECK(bucket.get() == BYTES && bucket.ttl() == -1ms);
    CHECK(!bucket.set_if_absent("x"));
    CHECK(bucket.get_and_set("") == BYTES);
    CHECK(bucket.get() == "" && bucket.get_and_set("next") == "");
    CHECK(!bucket.compare_and_set("other", "x") && !bucket.compare_and_set({}, "x"));
    CHECK(!bucket.compare_and_set("", "x", {}, error) && error == HF_ERR_CHANGED);
    CHECK(bucket.compare_and_set("next", BYTES) && bucket.get() == BYTES);
    CHECK(bucket.remove() && bucket.compare_and_set(std::nullopt, "first"));
    options.ttl = 10s;
    bucket.set("soon gone", options);
    CHECK(bucket.ttl() > 5s && bucket.ttl() <= 10s);
    options.ttl = 0ms;
    options.token = 7;
    bucket.set("guarded", options);
    options.token = 6;
    THROWS(bucket.set("late", options), HF_ERR_STALE);
    CHECK(!bucket.remove(options, error) && error == HF_CLASS_LOST);
    CHECK(bucket.get() == "guarded");
}

void maps()
{
    const client a(store_uri());
    holdfast::map map(a, "map");
    holdfast::value_options options;

    if (!has_values(a))
        return;
    CHECK(map.size() == 0 && !map.get("k") && !map.remove("k"));
    CHECK(!map.put(BYTES, "1"));
    CHECK(map.put(BYTES, BYTES) == "1");
    CHECK(map.get(BYTES) == BYTES && map.size() == 1);
    CHECK(!map.put_if_absent(BYTES, "x") && map.put_if_absent("other", ""));
    CHECK(map.get("other") == "" && map.size() == 2);
    options.token = 9;
    map.put("k", "v", options);
    options.token = 8;
    THROWS(map.put("k", "late", options), HF_ERR_STALE);
    CHECK(map.remove(BYTES) == BYTES && map.size() == 2);
}

void stamps()
{
    const client a(store_uri()), b(store_uri());
    holdfast::stamp mine(a, "stamp"), theirs(b, "stamp");

    CHECK(!mine.get() && !mine.remove());
    mine.set(1h);
    const auto times = theirs.get();
    CHECK(times && times->age >= 0ms && times->age < 1min && times->remaining <= 1h &&
          times->remaining > 50min);
    CHECK(theirs.remove() && !mine.get());
    mine.set(1ms);
    AWAIT(!mine.get());
    THROWS(mine.set(0ms), HF_CLASS_USAGE);
}

constexpr test TESTS[] = {
    { "buckets", buckets },
    { "maps", maps },
    { "stamps", stamps },
};

} // namespace

int main(int argc, char **argv)
{
    return run_on_store(argc, argv, TESTS);
}
