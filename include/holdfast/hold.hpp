/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: holds. Included by holdfast.hpp.
 *
 * A hold owns its handle, and may be moved to another thread; two threads must not release one. It may outlive its
 * client, and is HF_RELEASED then.
 */
#ifndef HOLDFAST_HOLD_HPP
#define HOLDFAST_HOLD_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include <holdfast/options.hpp>

namespace holdfast
{

/* A hold that somebody else owns. It must be there when something is asked. */
class hold_view
{
  public:
    hold_view() noexcept = default;
    explicit hold_view(const hf_hold *raw) noexcept : raw_(const_cast<hf_hold *>(raw))
    {
    }

    /* Is there a handle at all? state() says whether it is still worth something. */
    explicit operator bool() const noexcept
    {
        return raw_ != nullptr;
    }

    /* No I/O. Without a handle: HF_RELEASED. In a child of fork(): HF_LOST, as nothing may be done there. */
    hf_state state() const noexcept
    {
        const int state = raw_ ? hf_hold_state(raw_) : HF_RELEASED;

        return state < 0 ? HF_LOST : static_cast<hf_state>(state);
    }

    /* May the work go on: is it HF_HELD or HF_AT_RISK? */
    bool held() const noexcept
    {
        return state() == HF_HELD || state() == HF_AT_RISK;
    }

    milliseconds remaining() const noexcept
    {
        return milliseconds(raw_ ? hf_hold_remaining_ms(raw_) : 0);
    }

    std::uint64_t token() const noexcept
    {
        return raw_ ? hf_hold_token(raw_) : 0;
    }

    std::string owner() const
    {
        char text[HF_OWNER_MAX + 1] = "";

        if (raw_)
            hf_hold_owner(raw_, text, sizeof text);
        return text;
    }

    std::string name() const
    {
        return raw_ ? hf_hold_name(raw_) : "";
    }

    const hf_hold *get() const noexcept
    {
        return raw_;
    }

  protected:
    hf_hold *raw_ = nullptr;
};

/*
 * A hold, given back by its end at the latest. The end tells nobody how the release went: call release()
 * where it matters whether the hold was lost.
 */
class hold : public hold_view
{
  public:
    hold() noexcept = default;
    /* Takes over what a C function returned. */
    explicit hold(hf_hold *raw) noexcept
    {
        raw_ = raw;
    }

    hold(hold &&other) noexcept : hold(other.detach())
    {
    }

    hold &operator=(hold &&other) noexcept
    {
        if (this != &other) {
            hf_release(raw_);
            raw_ = other.detach();
        }
        return *this;
    }

    hold(const hold &) = delete;
    hold &operator=(const hold &) = delete;

    ~hold()
    {
        hf_release(raw_);
    }

    /* HF_ERR_LOST: others may have been at work since. HF_ERR_UNSURE: the library goes on trying. Nothing is
     * thrown, and the hold is empty afterwards, whatever is returned. */
    std::error_code release() noexcept
    {
        return { hf_release(detach()), category() };
    }

    /* Asks the store, and renews: is it still ours? LOST is an answer: false. */
    bool verify(std::error_code &error = throws())
    {
        return detail::done(hf_hold_verify(raw_), error, "verify", HF_ERR_LOST);
    }

    /* Of a hold of several locks: that of the i-th member; empty where there is none. Valid as long as this. */
    hold_view member(std::size_t i) const noexcept
    {
        return hold_view(raw_ ? hf_multi_hold(raw_, i) : nullptr);
    }

    using hold_view::get;
    hf_hold *get() noexcept
    {
        return raw_;
    }

    /* Gives the handle to the caller, for hf_release() or hf_release_start(). */
    hf_hold *detach() noexcept
    {
        return std::exchange(raw_, nullptr);
    }
};

} // namespace holdfast

#endif
