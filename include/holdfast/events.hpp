/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: event loops. Included by holdfast.hpp.
 *
 *     holdfast::events events(client);
 *     events.acquire("order:1001", {}, [&](std::error_code error, holdfast::hold hold) { … });
 *     // the loop: poll events.fd() for POLLIN, then
 *     events.dispatch();
 *
 * calls.hpp has what is started on semaphores, latches, buckets and the like.
 *
 * Functions are called by dispatch() alone, on its thread, one for each thing that was started, whatever comes of
 * it; hf_last_error() has the details there. They may start further things, and cancel. A client has one such
 * object, and all that is started on the client is started here. What is under way when the object ends goes on
 * without its function: what comes of it is kept until the client is closed.
 */
#ifndef HOLDFAST_EVENTS_HPP
#define HOLDFAST_EVENTS_HPP

#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <holdfast/calls.hpp>

namespace holdfast
{

class events : public detail::calls<events>
{
    friend class detail::calls<events>;

  public:
    using detail::calls<events>::release;

    /* A hold, or an error. */
    using acquired = std::function<void(std::error_code, hold)>;
    /* HF_AT_RISK or HF_LOST, at most once each; the hold is its owner's, and valid until released. */
    using changed = std::function<void(hold_view, hf_state)>;

    explicit events(const client &of) : client_(of.get())
    {
    }

    ~events()
    {
        const std::lock_guard<std::mutex> guard(shared().guard);

        for (auto i = shared().pending.begin(); i != shared().pending.end();)
            i = i->second->starter == this ? shared().pending.erase(i) : std::next(i);
    }

    events(const events &) = delete;
    events &operator=(const events &) = delete;

    /* hf_fd(): poll it for POLLIN. */
    int fd(std::error_code &error = throws())
    {
        const int fd = hf_fd(client_);

        detail::done(fd < 0 ? fd : HF_OK, error, "events");
        return fd;
    }

    /* Called by dispatch() for holds of blocking calls, too. Set it before the first dispatch(). */
    void on_change(changed then)
    {
        changed_ = std::move(then);
    }

    /* Starts an acquire. With an error here, `then` is not called. NULL then. */
    ticket acquire(const std::string &name, const acquire_options &options, acquired then,
                   std::error_code &error = throws())
    {
        const hf_acquire_options raw = options.raw();

        return start({ std::move(then), nullptr, this }, name, error, [&](void *cookie) {
            return hf_acquire_start(client_, detail::c_text(name), &raw, cookie);
        });
    }

    /* Starts hf_multi_acquire(). Its members' clients each have such an object, and all of these dispatch: `then`
     * is called by the last member's. To cancel, ask each of them. */
    ticket acquire_all(const std::vector<member> &members, const acquire_options &options,
                       acquired then, std::error_code &error = throws())
    {
        const hf_acquire_options raw = options.raw();
        const std::vector<hf_member> all = detail::raw_members(members);

        return start({ std::move(then), nullptr, this }, "several locks", error, [&](void *cookie) {
            return hf_multi_acquire_start(all.data(), all.size(), &raw, cookie);
        });
    }

    /* Starts waiting for a semaphore's permits, of which there is no hold. */
    ticket acquire_semaphore(const std::string &name, std::int64_t permits,
                             std::optional<milliseconds> wait, finished then,
                             std::error_code &error = throws())
    {
        const hf_wait_options raw = waiting(wait);
        answered on_end = told(std::move(then));

        return start({ nullptr, std::move(on_end), this }, name, error, [&](void *cookie) {
            return hf_semaphore_acquire_start(client_, detail::c_text(name), permits, &raw, cookie);
        });
    }

    /* Starts waiting for a latch. */
    ticket await_latch(const std::string &name, std::optional<milliseconds> wait, finished then,
                       std::error_code &error = throws())
    {
        const hf_wait_options raw = waiting(wait);
        answered on_end = told(std::move(then));

        return start({ nullptr, std::move(on_end), this }, name, error, [&](void *cookie) {
            return hf_latch_await_start(client_, detail::c_text(name), &raw, cookie);
        });
    }

    /* Starts a release. The hold is empty from now on. */
    void release(hold given, finished then, std::error_code &error = throws())
    {
        answered on_end = told(std::move(then));

        start({ nullptr, std::move(on_end), this }, "release", error,
              [&](void *cookie) { return hf_release_start(given.detach(), cookie); });
    }

    /* Ends a wait: its function is still called, with HF_ERR_CANCELLED, or with what was granted first.
     * false: it is over already. */
    bool cancel(ticket started, std::error_code &error = throws())
    {
        return detail::done(hf_cancel(client_, started), error, "cancel", HF_ERR_NOT_FOUND);
    }

    /* Calls what there is something for, until there is nothing. What a function throws comes out here; the
     * rest waits for the next call. Returns how many events there were. */
    std::size_t dispatch(std::error_code &error = throws())
    {
        hf_event event{};
        std::size_t count = 0;
        int result;

        event.size = sizeof event;
        while ((result = hf_next(client_, &event)) == 1) {
            count++;
            deliver(event);
        }
        detail::done(result, error, "events");
        return count;
    }

  private:
    struct pending {
        acquired on_hold;
        answered on_end;
        const events *starter;
    };

    /* Of all objects: an event may come from another client than it was started on. */
    struct registry {
        std::mutex guard;
        std::unordered_map<ticket, std::unique_ptr<struct pending>> pending;
    };

    HF_API static registry &shared()
    {
        static registry all;

        return all;
    }

    /* A call of an object, which is to be of the same client. */
    template <class Start>
    ticket start_call(hf_client *client, const std::string &name, answered then,
                      std::error_code &error, Start begin)
    {
        const bool ours = client == client_;

        return start({ nullptr, std::move(then), this }, ours ? name : name + " (another client's)",
                     error, [&](void *cookie) { return begin(ours ? client : nullptr, cookie); });
    }

    static hf_wait_options waiting(std::optional<milliseconds> wait) noexcept
    {
        hf_wait_options to{};

        to.size = sizeof to;
        to.wait_ms = HF_WAIT_FOREVER;
        if (wait)
            to.wait_ms = wait->count() > 0 ? wait->count() : HF_TRY_ONCE;
        return to;
    }

    /* It is noted before it starts: its event may come to another thread at once. */
    template <class Start>
    ticket start(pending what, const std::string &name, std::error_code &error, Start begin)
    {
        auto owned = std::make_unique<pending>(std::move(what));
        const ticket cookie = owned.get();
        int result;

        {
            const std::lock_guard<std::mutex> guard(shared().guard);
            shared().pending.emplace(cookie, std::move(owned));
        }
        result = begin(cookie);
        if (result == HF_OK)
            return cookie;
        forget(cookie);
        detail::done(result, error, name);
        return nullptr;
    }

    static std::unique_ptr<pending> forget(ticket cookie)
    {
        const std::lock_guard<std::mutex> guard(shared().guard);
        const auto i = shared().pending.find(cookie);
        std::unique_ptr<pending> owned;

        if (i != shared().pending.end()) {
            owned = std::move(i->second);
            shared().pending.erase(i);
        }
        return owned;
    }

    void deliver(const hf_event &event)
    {
        const std::error_code error(event.error, category());

        if (event.type == HF_EVENT_AT_RISK || event.type == HF_EVENT_LOST) {
            if (changed_)
                changed_(hold_view(event.hold), event.type == HF_EVENT_LOST ? HF_LOST : HF_AT_RISK);
            return;
        }

        hold got(event.type == HF_EVENT_ACQUIRED ? event.hold : nullptr);
        detail::owned_value value(event.value);
        const std::unique_ptr<pending> owned = forget(event.cookie);

        if (owned && owned->on_hold)
            owned->on_hold(error, std::move(got));
        else if (owned && owned->on_end)
            owned->on_end(error, event);
    }

    hf_client *client_;
    changed changed_;
};

} // namespace holdfast

#endif
