/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: clients, holds of several locks, and who holds what. Included by holdfast.hpp.
 *
 * What is not said here is as in holdfast.h: threads, forks, who may block and for how long. No function is
 * noexcept that waits for a lock, since the cancellation of a thread (pthread_cancel) unwinds through it.
 */
#ifndef HOLDFAST_CLIENT_HPP
#define HOLDFAST_CLIENT_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/hold.hpp>

namespace holdfast
{

/* What hf_list_locks() and hf_inspect() found. */
class lock_list
{
  public:
    explicit lock_list(hf_list *raw = nullptr) noexcept : raw_(raw)
    {
    }

    lock_list(lock_list &&other) noexcept : raw_(std::exchange(other.raw_, nullptr))
    {
    }

    lock_list &operator=(lock_list &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }

    lock_list(const lock_list &) = delete;
    lock_list &operator=(const lock_list &) = delete;

    ~lock_list()
    {
        hf_list_free(raw_);
    }

    std::size_t size() const noexcept
    {
        return hf_list_count(raw_);
    }

    /* i is below size(). The texts in it are valid as long as the list. */
    hf_lock operator[](std::size_t i) const noexcept
    {
        hf_lock lock{};

        lock.size = sizeof lock;
        hf_list_get(raw_, i, &lock);
        return lock;
    }

    /* In order; the first holder is the one in the lock. None past the last. */
    std::optional<hf_holder> holder(std::size_t i, std::size_t j) const noexcept
    {
        return pick(hf_list_holder, i, j);
    }

    std::optional<hf_holder> waiter(std::size_t i, std::size_t j) const noexcept
    {
        return pick(hf_list_waiter, i, j);
    }

  private:
    template <class Function>
    std::optional<hf_holder> pick(Function function, std::size_t i, std::size_t j) const noexcept
    {
        hf_holder holder{};

        holder.size = sizeof holder;
        if (function(raw_, i, j, &holder) != HF_OK)
            return std::nullopt;
        return holder;
    }

    hf_list *raw_;
};

/* A client, closed by its end. Empty by default, and when it was moved away. */
class client
{
  public:
    client() noexcept = default;

    /* hf_open(). An empty URI means the embedded store in its usual place. With an error the client is empty. */
    explicit client(const std::string &uri, const client_options &options = {},
                    std::error_code &error = throws())
    {
        const hf_client_options raw = options.raw();

        detail::done(hf_open(detail::c_text(uri), &raw, &raw_), error, "open");
    }

    client(client &&other) noexcept : raw_(std::exchange(other.raw_, nullptr))
    {
    }

    client &operator=(client &&other) noexcept
    {
        if (this != &other) {
            hf_close(raw_);
            raw_ = std::exchange(other.raw_, nullptr);
        }
        return *this;
    }

    client(const client &) = delete;
    client &operator=(const client &) = delete;

    ~client()
    {
        hf_close(raw_);
    }

    /* hf_close(): releases what is held. Holds that are left are HF_RELEASED; locks, semaphores and the like
     * that were made of this client must not be used any more. */
    void close() noexcept
    {
        raw_ = hf_close(raw_);
    }

    explicit operator bool() const noexcept
    {
        return raw_ != nullptr;
    }

    hf_client *get() const noexcept
    {
        return raw_;
    }

    void check(std::error_code &error = throws()) const
    {
        detail::done(hf_check(raw_), error, "check");
    }

    std::string store() const
    {
        return raw_ ? hf_client_store(raw_) : "";
    }

    std::string id() const
    {
        return raw_ ? hf_client_id(raw_) : "";
    }

    /* hf_acquire(): waits as options.wait says. An error, BUSY too, is thrown, or leaves the hold empty. */
    hold acquire(const std::string &name, const acquire_options &options = {},
                 std::error_code &error = throws()) const
    {
        return take(name, options.raw(), error, HF_OK);
    }

    /* The same, but one try unless options.wait is given, and BUSY is no error: the hold is empty. */
    hold try_acquire(const std::string &name, const acquire_options &options = {},
                     std::error_code &error = throws()) const
    {
        hf_acquire_options raw = options.raw();

        if (!options.wait)
            raw.wait_ms = HF_TRY_ONCE;
        return take(name, raw, error, HF_ERR_BUSY);
    }

    lock_list list(const std::string &pattern = "*", std::error_code &error = throws()) const
    {
        hf_list *list = nullptr;

        detail::done(hf_list_locks(raw_, detail::c_text(pattern), &list), error, pattern);
        return lock_list(list);
    }

    /* Empty when nobody holds it or waits for it. */
    lock_list inspect(const std::string &name, std::error_code &error = throws()) const
    {
        hf_list *list = nullptr;

        detail::done(hf_inspect(raw_, detail::c_text(name), &list), error, name, HF_ERR_NOT_FOUND);
        return lock_list(list);
    }

    /* hf_break() */
    void break_hold(const std::string &name, const std::string &owner,
                    std::error_code &error = throws()) const
    {
        detail::done(hf_break(raw_, detail::c_text(name), detail::c_text(owner)), error, name);
    }

    /* hf_guard_fd() */
    int guard_fd(std::error_code &error = throws()) const
    {
        const int fd = hf_guard_fd(raw_);

        detail::done(fd < 0 ? fd : HF_OK, error, "guard");
        return fd;
    }

  private:
    hold take(const std::string &name, const hf_acquire_options &options, std::error_code &error,
              int no) const
    {
        hf_hold *raw = nullptr;

        detail::done(hf_acquire(raw_, detail::c_text(name), &options, &raw), error, name, no);
        return hold(raw);
    }

    hf_client *raw_ = nullptr;
};

/* A lock of a hold of several. */
struct member {
    member(const client &of, std::string name_, hf_mode mode_ = HF_EXCLUSIVE,
           std::int64_t permits_ = 0)
        : client_(of.get()), name(std::move(name_)), mode(mode_), permits(permits_)
    {
    }

    hf_client *client_;
    std::string name;
    hf_mode mode;
    std::int64_t permits;
};

namespace detail
{

/* The same for C, as long as they are there. */
inline std::vector<hf_member> raw_members(const std::vector<member> &members)
{
    std::vector<hf_member> raw(members.size());

    for (std::size_t i = 0; i < members.size(); i++) {
        raw[i].size = sizeof raw[i];
        raw[i].client = members[i].client_;
        raw[i].name = c_text(members[i].name);
        raw[i].mode = members[i].mode;
        raw[i].permits = members[i].permits;
    }
    return raw;
}

inline int take_all(const std::vector<member> &members, const hf_acquire_options &options,
                    hf_hold **ret_hold)
{
    const std::vector<hf_member> raw = raw_members(members);

    return hf_multi_acquire(raw.data(), raw.size(), &options, ret_hold);
}

} // namespace detail

/* hf_multi_acquire(): all of them as one hold, or none. The clients must be there until it is released. */
inline hold acquire_all(const std::vector<member> &members, const acquire_options &options = {},
                        std::error_code &error = throws())
{
    const hf_acquire_options raw = options.raw();
    hf_hold *got = nullptr;

    detail::done(detail::take_all(members, raw, &got), error, "several locks");
    return hold(got);
}

} // namespace holdfast

#endif
