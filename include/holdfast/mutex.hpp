/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: locks for std::lock_guard, std::unique_lock, std::scoped_lock and std::shared_lock.
 * Included by holdfast.hpp.
 *
 * An object is a name in a store, and may be used by any number of threads, each of which is an owner of its
 * own, as with the standard's mutexes: who has locked it unlocks it. Objects of one name, in this process or
 * others, are the same lock.
 *
 * What differs: a hold can be lost while it is held. Nothing is thrown then, and no guard lets go by itself.
 *   while it works   a thread asks state(), held() or remaining() of its own hold (no I/O), verify() (a round
 *                    trip), and passes token() along with what it writes
 *   when it ends     unlock() never throws; it returns HF_ERR_LOST, HF_ERR_UNSURE, and so on. The standard's
 *                    guards drop that, so an object can be given a function that is called with it
 * A lost lock may be granted to another thread of this process, by the same object, while the first has not
 * unlocked it yet: each thread's hold is its own.
 *
 * try_lock() and its kin return false for HF_ERR_BUSY only, and throw the rest: a store that cannot be reached
 * is no rival. lock() waits as the options say, and throws HF_ERR_BUSY after that time. std::lock() and
 * std::scoped_lock of several objects give way to each other until all are to be had; multi_mutex takes them
 * in one order instead, with one deadline.
 */
#ifndef HOLDFAST_MUTEX_HPP
#define HOLDFAST_MUTEX_HPP

#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include <holdfast/client.hpp>

namespace holdfast
{

namespace detail
{

/* What all of them are. The handles of those threads that have it locked are in a list, whose elements are
 * made before the lock is taken: nothing can fail after that. */
class lockable
{
  public:
    lockable(const lockable &) = delete;
    lockable &operator=(const lockable &) = delete;

    void lock(std::error_code &error = throws())
    {
        take(false, wait(), error, HF_OK);
    }

    bool try_lock(std::error_code &error = throws())
    {
        return take(false, HF_TRY_ONCE, error, HF_ERR_BUSY);
    }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time,
                      std::error_code &error = throws())
    {
        return take(false, wait_ms(time), error, HF_ERR_BUSY);
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time,
                        std::error_code &error = throws())
    {
        return until(time, error,
                     [&](std::int64_t wait) { return take(false, wait, error, HF_ERR_BUSY); });
    }

    /* Gives back what this thread has taken last. Never throws; std::errc::operation_not_permitted when this
     * thread has nothing. */
    std::error_code unlock() noexcept
    {
        return give(false);
    }

    /* Of what this thread has taken last; HF_RELEASED, 0, "" where there is nothing. */
    hf_state state() const noexcept
    {
        return look([](const hold &mine) { return mine.state(); });
    }

    bool held() const noexcept
    {
        return look([](const hold &mine) { return mine.held(); });
    }

    milliseconds remaining() const noexcept
    {
        return look([](const hold &mine) { return mine.remaining(); });
    }

    std::uint64_t token() const noexcept
    {
        return look([](const hold &mine) { return mine.token(); });
    }

    std::string owner() const
    {
        return look([](const hold &mine) { return mine.owner(); });
    }

    /* As hold::verify(); false, too, where this thread has nothing. */
    bool verify(std::error_code &error = throws())
    {
        hf_hold *raw = look([](hold &mine) { return mine.get(); });

        return done(raw ? hf_hold_verify(raw) : HF_ERR_LOST, error, what_, HF_ERR_LOST);
    }

  protected:
    using failed = std::function<void(std::error_code)>;

    lockable(member one, acquire_options options, failed on_unlock_error)
        : lockable(std::vector<member>{ std::move(one) }, std::move(options),
                   std::move(on_unlock_error))
    {
        what_ = members_[0].name;
        several_ = false;
    }

    lockable(std::vector<member> members, acquire_options options, failed on_unlock_error)
        : members_(std::move(members)), options_(std::move(options)),
          on_unlock_error_(std::move(on_unlock_error))
    {
        options_.owner = 0;
        options_.busy = nullptr;
    }

    ~lockable() = default;

    /* Of lock() and lock_shared(). */
    std::int64_t wait() const noexcept
    {
        return options_.raw().wait_ms;
    }

    bool take(bool shared, std::int64_t wait, std::error_code &error, int no)
    {
        std::list<entry> mine(1);

        mine.front().shared = shared;
        if (!done(acquire(shared, wait, mine.front().handle), error, what_, no))
            return false;
        const std::lock_guard<std::mutex> guard(guard_);
        entries_.splice(entries_.end(), mine);
        return true;
    }

    std::error_code give(bool shared) noexcept
    {
        std::list<entry> mine;
        std::error_code error = std::make_error_code(std::errc::operation_not_permitted);

        {
            const std::lock_guard<std::mutex> guard(guard_);
            const auto i = find(entries_, [&](const entry &e) { return e.shared == shared; });

            if (i != entries_.end())
                mine.splice(mine.end(), entries_, i);
        }
        if (!mine.empty())
            error = mine.front().handle.release();
        if (error)
            tell(error);
        return error;
    }

  private:
    struct entry {
        std::thread::id thread = std::this_thread::get_id();
        bool shared = false;
        hold handle;
    };

    int acquire(bool shared, std::int64_t wait, hold &ret_handle)
    {
        hf_acquire_options raw = options_.raw();
        hf_hold *got = nullptr;
        int error;

        raw.wait_ms = wait;
        if (several_) {
            error = take_all(members_, raw, &got);
        } else {
            raw.mode = shared ? HF_SHARED : members_[0].mode;
            raw.reentry = shared ? 0 : raw.reentry;
            raw.prefer = raw.mode == HF_WRITE ? raw.prefer : 0;
            error = hf_acquire(members_[0].client_, c_text(members_[0].name), &raw, &got);
        }
        ret_handle = hold(got);
        return error;
    }

    /* The last one of this thread that is wanted. */
    template <class List, class Wanted>
    static auto find(List &entries, Wanted wanted) -> decltype(entries.begin())
    {
        auto i = entries.end();

        while (i != entries.begin())
            if ((--i)->thread == std::this_thread::get_id() && wanted(*i))
                return i;
        return entries.end();
    }

    /* Other threads take and give meanwhile, but nobody ends a hold of this one. */
    template <class Look> auto look(Look at) const -> decltype(at(std::declval<hold &>()))
    {
        hold none;
        const std::lock_guard<std::mutex> guard(guard_);
        const auto i = find(entries_, [](const entry &) { return true; });

        return at(i == entries_.end() ? none : i->handle);
    }

    void tell(std::error_code error) const noexcept
    {
        if (!on_unlock_error_)
            return;
#ifdef __cpp_exceptions
        try {
            on_unlock_error_(error);
        } catch (...) { /* a guard's end has nobody to throw to */
        }
#else
        on_unlock_error_(error);
#endif
    }

    const std::vector<member> members_; /* one, or those of a multi_mutex */
    bool several_ = true;
    std::string what_ = "several locks";
    acquire_options options_;
    const failed on_unlock_error_;
    mutable std::mutex guard_; /* never held while the store is asked */
    mutable std::list<entry> entries_;
};

} // namespace detail

/*
 * One owner at a time. The options' mode, owner, permits, reentry, prefer and busy are not used; on_unlock_error
 * is called by unlock() with what it returns, unless that is success; what it throws is dropped.
 */
template <hf_mode mode, bool recursive> class basic_mutex final : public detail::lockable
{
  public:
    explicit basic_mutex(const client &of, std::string name, acquire_options options = {},
                         failed on_unlock_error = {})
        : lockable(member(of, std::move(name), mode), reentry(std::move(options)),
                   std::move(on_unlock_error))
    {
    }

  private:
    static acquire_options reentry(acquire_options options)
    {
        options.reentry = recursive;
        return options;
    }
};

/* A thread that has it gets HF_ERR_REENTRY (std::errc::resource_deadlock_would_occur) when it locks again. */
using mutex = basic_mutex<HF_EXCLUSIVE, false>;
using fair_mutex = basic_mutex<HF_FAIR, false>;
using fenced_mutex = basic_mutex<HF_FENCED, false>;
using spin_mutex = basic_mutex<HF_SPIN, false>;
/* A thread that has it may lock again; the store is told of the last unlock(). */
using recursive_mutex = basic_mutex<HF_EXCLUSIVE, true>;
using recursive_fair_mutex = basic_mutex<HF_FAIR, true>;
using recursive_fenced_mutex = basic_mutex<HF_FENCED, true>;
using recursive_spin_mutex = basic_mutex<HF_SPIN, true>;

/*
 * One that writes, or any number that read. A thread that writes may read as well, and go on reading when it
 * has unlocked the former; one that reads and wants to write gets HF_ERR_UPGRADE
 * (std::errc::resource_deadlock_would_occur). Reading may be entered again. The options' `prefer` counts.
 */
class shared_mutex final : public detail::lockable
{
  public:
    explicit shared_mutex(const client &of, std::string name, acquire_options options = {},
                          failed on_unlock_error = {})
        : lockable(member(of, std::move(name), HF_WRITE), once(std::move(options)),
                   std::move(on_unlock_error))
    {
    }

    void lock_shared(std::error_code &error = throws())
    {
        take(true, wait(), error, HF_OK);
    }

    bool try_lock_shared(std::error_code &error = throws())
    {
        return take(true, HF_TRY_ONCE, error, HF_ERR_BUSY);
    }

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time,
                             std::error_code &error = throws())
    {
        return take(true, detail::wait_ms(time), error, HF_ERR_BUSY);
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time,
                               std::error_code &error = throws())
    {
        return detail::until(
            time, error, [&](std::int64_t wait) { return take(true, wait, error, HF_ERR_BUSY); });
    }

    /* As unlock(), of what this thread reads. */
    std::error_code unlock_shared() noexcept
    {
        return give(true);
    }

  private:
    static acquire_options once(acquire_options options)
    {
        options.reentry = false;
        return options;
    }
};

/* Several locks of any kind and store as one, all or none: hf_multi_acquire(). It has no token of its own (0). */
class multi_mutex final : public detail::lockable
{
  public:
    explicit multi_mutex(std::vector<member> members, acquire_options options = {},
                         failed on_unlock_error = {})
        : lockable(std::move(members), std::move(options), std::move(on_unlock_error))
    {
    }
};

} // namespace holdfast

#endif
