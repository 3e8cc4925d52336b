/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: what event loops start on semaphores, permits, latches, buckets, maps and stamps. Included by
 * events.hpp.
 *
 *     holdfast::bucket bucket(client, "state");
 *     events.get(bucket, [](std::error_code error, std::optional<std::string> value) { … });
 *
 * Each is the object's own function of that name, which it starts; the object may be gone before it is done. The
 * error is whatever came of it: HF_ERR_NOT_FOUND, HF_ERR_EXISTS, HF_ERR_CHANGED and HF_ERR_BUSY, too. Numbers are 0
 * and values none with an error.
 */
#ifndef HOLDFAST_CALLS_HPP
#define HOLDFAST_CALLS_HPP

#include <functional>

#include <holdfast/values.hpp>

namespace holdfast
{

namespace detail
{

/* A part of class events, which has start_call(). */
template <class Events> class calls
{
  public:
    /* What was started, for cancel(). */
    using ticket = void *;
    using finished = std::function<void(std::error_code)>;
    using counted = std::function<void(std::error_code, std::int64_t)>;
    /* What is available, and what is taken. */
    using counted_both = std::function<void(std::error_code, std::int64_t, std::int64_t)>;
    using valued = std::function<void(std::error_code, std::optional<std::string>)>;
    using timed = std::function<void(std::error_code, milliseconds)>;
    using stamped = std::function<void(std::error_code, stamp::times)>;

    ticket release(const semaphore &of, std::int64_t permits, finished then,
                   std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_semaphore_release_start, permits);
    }

    ticket release_if_exists(const semaphore &of, std::int64_t permits, finished then,
                             std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_semaphore_release_if_exists_start,
                    permits);
    }

    /* ttl 0: it stays. */
    ticket set(const semaphore &of, std::int64_t permits, milliseconds ttl, finished then,
               std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_semaphore_set_start, permits,
                    std::int64_t{ ttl.count() });
    }

    ticket add(const semaphore &of, std::int64_t change, finished then,
               std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_semaphore_add_start, change);
    }

    ticket drain(const semaphore &of, counted then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_semaphore_drain_start);
    }

    ticket available(const semaphore &of, counted then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_semaphore_available_start);
    }

    ticket remove(const semaphore &of, finished then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_semaphore_delete_start);
    }

    ticket set(const permits &of, std::int64_t count, finished then,
               std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_permits_set_start, count);
    }

    ticket resize(const permits &of, std::int64_t count, finished then,
                  std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_permits_resize_start, count);
    }

    ticket add(const permits &of, std::int64_t change, finished then,
               std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_permits_add_start, change);
    }

    ticket count(const permits &of, counted_both then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_permits_count_start);
    }

    ticket remove(const permits &of, finished then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_permits_delete_start);
    }

    ticket set(const latch &of, std::int64_t count, finished then,
               std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_latch_set_start, count);
    }

    ticket count_down(const latch &of, counted then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_latch_down_start);
    }

    ticket count(const latch &of, counted then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_latch_count_start);
    }

    ticket remove(const latch &of, finished then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_latch_delete_start);
    }

    ticket get(const bucket &of, valued then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_bucket_get_start);
    }

    ticket set(const bucket &of, std::string_view value, const value_options &options,
               finished then, std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return call(of, told(std::move(then)), error, hf_bucket_set_start, bytes(value), &raw);
    }

    ticket set_if_absent(const bucket &of, std::string_view value, const value_options &options,
                         finished then, std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return call(of, told(std::move(then)), error, hf_bucket_set_if_absent_start, bytes(value),
                    &raw);
    }

    /* Expected none: only if there is none. */
    ticket compare_and_set(const bucket &of, const std::optional<std::string_view> &expected,
                           std::string_view value, const value_options &options, finished then,
                           std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return call(of, told(std::move(then)), error, hf_bucket_compare_and_set_start,
                    expected ? bytes(*expected) : hf_value{}, bytes(value), &raw);
    }

    ticket get_and_set(const bucket &of, std::string_view value, const value_options &options,
                       valued then, std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return call(of, told(std::move(then)), error, hf_bucket_get_and_set_start, bytes(value),
                    &raw);
    }

    /* -1 ms: it does not vanish. */
    ticket ttl(const bucket &of, timed then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_bucket_ttl_start);
    }

    ticket remove(const bucket &of, const value_options &options, finished then,
                  std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return call(of, told(std::move(then)), error, hf_bucket_delete_start, &raw);
    }

    ticket put(const map &of, std::string_view key, std::string_view value,
               const value_options &options, valued then, std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return call(of, told(std::move(then)), error, hf_map_put_start, bytes(key), bytes(value),
                    &raw);
    }

    ticket put_if_absent(const map &of, std::string_view key, std::string_view value,
                         const value_options &options, finished then,
                         std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return call(of, told(std::move(then)), error, hf_map_put_if_absent_start, bytes(key),
                    bytes(value), &raw);
    }

    ticket get(const map &of, std::string_view key, valued then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_map_get_start, bytes(key));
    }

    ticket remove(const map &of, std::string_view key, const value_options &options, valued then,
                  std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return call(of, told(std::move(then)), error, hf_map_remove_start, bytes(key), &raw);
    }

    ticket size(const map &of, counted then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_map_size_start);
    }

    ticket set(const stamp &of, milliseconds how_long, finished then,
               std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_stamp_set_start,
                    std::int64_t{ how_long.count() });
    }

    ticket get(const stamp &of, stamped then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_stamp_get_start);
    }

    ticket remove(const stamp &of, finished then, std::error_code &error = throws())
    {
        return call(of, told(std::move(then)), error, hf_stamp_delete_start);
    }

  protected:
    using answered = std::function<void(std::error_code, const hf_event &)>;

    template <class Then> static answered told(Then then)
    {
        if (!then)
            return nullptr;
        return [then = std::move(then)](std::error_code error, const hf_event &event) {
            hand(then, error, event);
        };
    }

  private:
    static void hand(const finished &then, std::error_code error, const hf_event &)
    {
        then(error);
    }

    static void hand(const counted &then, std::error_code error, const hf_event &event)
    {
        then(error, event.number[0]);
    }

    static void hand(const counted_both &then, std::error_code error, const hf_event &event)
    {
        then(error, event.number[0], event.number[1]);
    }

    static void hand(const valued &then, std::error_code error, const hf_event &event)
    {
        then(error, text_of(event.value));
    }

    static void hand(const timed &then, std::error_code error, const hf_event &event)
    {
        then(error, milliseconds(event.number[0]));
    }

    static void hand(const stamped &then, std::error_code error, const hf_event &event)
    {
        then(error, { milliseconds(event.number[0]), milliseconds(event.number[1]) });
    }

    template <class Start, class... Arguments>
    ticket call(const object &of, answered then, std::error_code &error, Start start,
                const Arguments &...arguments)
    {
        return static_cast<Events *>(this)->start_call(
            of.client_, of.name_, std::move(then), error, [&](hf_client *client, void *cookie) {
                return start(client, of.c_name(), arguments..., cookie);
            });
    }
};

} // namespace detail

} // namespace holdfast

#endif
