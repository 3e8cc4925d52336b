/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: semaphores, permits and latches. Included by holdfast.hpp.
 *
 * An object is a name in a store: it keeps no state of its own, may be copied, and used by any number of threads
 * as long as its client is there. Each function is that of objects.h whose name it has, but for
 * remove(), since delete is a word of the language. Where a function returns bool, false is the answer that
 * its comment names; it is not thrown (an error code, where one is given, tells it).
 */
#ifndef HOLDFAST_COUNTERS_HPP
#define HOLDFAST_COUNTERS_HPP

#include <cstdint>
#include <string>
#include <utility>

#include <holdfast/client.hpp>
#include <holdfast/objects.h>

namespace holdfast
{

namespace detail
{

template <class Events> class calls;

class object
{
    template <class Events> friend class calls;

  public:
    const std::string &name() const noexcept
    {
        return name_;
    }

  protected:
    object(const client &of, std::string name) : client_(of.get()), name_(std::move(name))
    {
    }

    const char *c_name() const noexcept
    {
        return c_text(name_);
    }

    bool ends(int result, std::error_code &error, int no = HF_OK) const
    {
        return done(result, error, name_, no);
    }

    template <class Rep, class Period>
    static hf_wait_options wait_for(const std::chrono::duration<Rep, Period> &time)
    {
        return waiting(wait_ms(time));
    }

    static hf_wait_options waiting(std::int64_t wait_ms) noexcept
    {
        hf_wait_options to{};

        to.size = sizeof to;
        to.wait_ms = wait_ms;
        return to;
    }

    hf_client *client_;
    std::string name_;
};

} // namespace detail

/* A number of permits that belong to nobody, as std::counting_semaphore has it. */
class semaphore : public detail::object
{
  public:
    semaphore(const client &of, std::string name) : object(of, std::move(name))
    {
    }

    void acquire(std::int64_t permits = 1, std::error_code &error = throws())
    {
        take(permits, waiting(HF_WAIT_FOREVER), error, HF_OK);
    }

    /* false: BUSY, here and below. */
    bool try_acquire(std::int64_t permits = 1, std::error_code &error = throws())
    {
        return take(permits, waiting(HF_TRY_ONCE), error, HF_ERR_BUSY);
    }

    template <class Rep, class Period>
    bool try_acquire_for(const std::chrono::duration<Rep, Period> &time, std::int64_t permits = 1,
                         std::error_code &error = throws())
    {
        return take(permits, wait_for(time), error, HF_ERR_BUSY);
    }

    template <class Clock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &time,
                           std::int64_t permits = 1, std::error_code &error = throws())
    {
        return detail::until(time, error, [&](std::int64_t wait) {
            return take(permits, waiting(wait), error, HF_ERR_BUSY);
        });
    }

    void release(std::int64_t permits = 1, std::error_code &error = throws())
    {
        ends(hf_semaphore_release(client_, c_name(), permits), error);
    }

    /* false: NOT_FOUND. */
    bool release_if_exists(std::int64_t permits = 1, std::error_code &error = throws())
    {
        return ends(hf_semaphore_release_if_exists(client_, c_name(), permits), error,
                    HF_ERR_NOT_FOUND);
    }

    /* false: EXISTS. */
    bool set(std::int64_t permits, milliseconds ttl = {}, std::error_code &error = throws())
    {
        return ends(hf_semaphore_set(client_, c_name(), permits, ttl.count()), error,
                    HF_ERR_EXISTS);
    }

    void add(std::int64_t change, std::error_code &error = throws())
    {
        ends(hf_semaphore_add(client_, c_name(), change), error);
    }

    std::int64_t drain(std::error_code &error = throws())
    {
        std::int64_t permits = 0;

        ends(hf_semaphore_drain(client_, c_name(), &permits), error);
        return permits;
    }

    std::int64_t available(std::error_code &error = throws()) const
    {
        std::int64_t permits = 0;

        ends(hf_semaphore_available(client_, c_name(), &permits), error);
        return permits;
    }

    /* false: NOT_FOUND. */
    bool remove(std::error_code &error = throws())
    {
        return ends(hf_semaphore_delete(client_, c_name()), error, HF_ERR_NOT_FOUND);
    }

  private:
    bool take(std::int64_t permits, const hf_wait_options &options, std::error_code &error, int no)
    {
        return ends(hf_semaphore_acquire(client_, c_name(), permits, &options), error, no);
    }
};

/* Permits that are holds: renewed, lost, and back by themselves when their holder dies. */
class permits : public detail::object
{
  public:
    permits(const client &of, std::string name) : object(of, std::move(name))
    {
    }

    /* Waits as options.wait says; BUSY is an error. The mode and number in the options are not used. */
    hold acquire(std::int64_t count = 1, const acquire_options &options = {},
                 std::error_code &error = throws())
    {
        return take(count, options.raw(), error, HF_OK);
    }

    /* One try unless options.wait is given; BUSY: the hold is empty. */
    hold try_acquire(std::int64_t count = 1, const acquire_options &options = {},
                     std::error_code &error = throws())
    {
        hf_acquire_options raw = options.raw();

        if (!options.wait)
            raw.wait_ms = HF_TRY_ONCE;
        return take(count, raw, error, HF_ERR_BUSY);
    }

    /* false: EXISTS. */
    bool set(std::int64_t count, std::error_code &error = throws())
    {
        return ends(hf_permits_set(client_, c_name(), count), error, HF_ERR_EXISTS);
    }

    void resize(std::int64_t count, std::error_code &error = throws())
    {
        ends(hf_permits_resize(client_, c_name(), count), error);
    }

    void add(std::int64_t change, std::error_code &error = throws())
    {
        ends(hf_permits_add(client_, c_name(), change), error);
    }

    std::int64_t available(std::error_code &error = throws()) const
    {
        std::int64_t count = 0;

        ends(hf_permits_count(client_, c_name(), &count, nullptr), error);
        return count;
    }

    std::int64_t taken(std::error_code &error = throws()) const
    {
        std::int64_t count = 0;

        ends(hf_permits_count(client_, c_name(), nullptr, &count), error);
        return count;
    }

    /* false: NOT_FOUND. */
    bool remove(std::error_code &error = throws())
    {
        return ends(hf_permits_delete(client_, c_name()), error, HF_ERR_NOT_FOUND);
    }

  private:
    hold take(std::int64_t count, const hf_acquire_options &options, std::error_code &error, int no)
    {
        hf_hold *raw = nullptr;

        ends(hf_permits_acquire(client_, c_name(), count, &options, &raw), error, no);
        return hold(raw);
    }
};

/* A count that goes down to zero, as std::latch has it; it can be set anew when it is there. */
class latch : public detail::object
{
  public:
    latch(const client &of, std::string name) : object(of, std::move(name))
    {
    }

    /* false: EXISTS. */
    bool set(std::int64_t count, std::error_code &error = throws())
    {
        return ends(hf_latch_set(client_, c_name(), count), error, HF_ERR_EXISTS);
    }

    /* What is left. */
    std::int64_t count_down(std::error_code &error = throws())
    {
        std::int64_t left = 0;

        ends(hf_latch_down(client_, c_name(), &left), error);
        return left;
    }

    std::int64_t count(std::error_code &error = throws()) const
    {
        std::int64_t left = 0;

        ends(hf_latch_count(client_, c_name(), &left), error);
        return left;
    }

    /* HF_ERR_NOT_FOUND: it was deleted meanwhile. */
    void wait(std::error_code &error = throws()) const
    {
        await(waiting(HF_WAIT_FOREVER), error, HF_OK);
    }

    /* false: BUSY, the count is not zero yet, here and below. */
    bool try_wait(std::error_code &error = throws()) const
    {
        return await(waiting(HF_TRY_ONCE), error, HF_ERR_BUSY);
    }

    template <class Rep, class Period>
    bool try_wait_for(const std::chrono::duration<Rep, Period> &time,
                      std::error_code &error = throws()) const
    {
        return await(wait_for(time), error, HF_ERR_BUSY);
    }

    template <class Clock, class Duration>
    bool try_wait_until(const std::chrono::time_point<Clock, Duration> &time,
                        std::error_code &error = throws()) const
    {
        return detail::until(time, error, [&](std::int64_t wait) {
            return await(waiting(wait), error, HF_ERR_BUSY);
        });
    }

    /* false: NOT_FOUND. */
    bool remove(std::error_code &error = throws())
    {
        return ends(hf_latch_delete(client_, c_name()), error, HF_ERR_NOT_FOUND);
    }

  private:
    bool await(const hf_wait_options &options, std::error_code &error, int no) const
    {
        return ends(hf_latch_await(client_, c_name(), &options), error, no);
    }
};

} // namespace holdfast

#endif
