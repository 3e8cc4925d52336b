/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: errors. Included by holdfast.hpp.
 *
 * The numbers of holdfast.h are error codes, and its classes are error conditions:
 *
 *     std::error_code error = HF_ERR_UNREACHABLE;
 *     if (error == HF_CLASS_RETRY) …          // what to do now
 *     if (error == std::errc::not_enough_memory) …
 *
 * Functions that can fail take an error code as their last argument. With one, they report through it (and
 * clear it on success); without, they throw std::system_error, whose code() is the same. In a program without
 * exceptions (-fno-exceptions) the latter print one line to stderr and abort, as the standard library's do.
 */
#ifndef HOLDFAST_ERROR_HPP
#define HOLDFAST_ERROR_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include <holdfast/holdfast.h>

namespace holdfast
{

/* What is visible here is one object in a program, also where its parts hide their names. */
#define HOLDFAST_SHARED inline HF_API

/* The category of errors, "holdfast". The values are the HF_ERR_ numbers. */
HOLDFAST_SHARED const std::error_category &category() noexcept;
/* The category of classes, "holdfast class". The values are those of enum hf_class. */
HOLDFAST_SHARED const std::error_category &class_category() noexcept;

} // namespace holdfast

template <> struct std::is_error_code_enum<hf_error> : std::true_type {
};
template <> struct std::is_error_condition_enum<hf_class> : std::true_type {
};

inline std::error_code make_error_code(hf_error error) noexcept
{
    return { static_cast<int>(error), holdfast::category() };
}

inline std::error_condition make_error_condition(hf_class class_) noexcept
{
    return { static_cast<int>(class_), holdfast::class_category() };
}

namespace holdfast
{

namespace detail
{

class errors final : public std::error_category
{
  public:
    const char *name() const noexcept override
    {
        return "holdfast";
    }

    std::string message(int value) const override
    {
        return hf_strerror(value);
    }

    /* The standard's word for it, where there is one. */
    std::error_condition default_error_condition(int value) const noexcept override
    {
        switch (value) {
        case HF_ERR_BUSY:
            return std::errc::device_or_resource_busy;
        case HF_ERR_REENTRY:
        case HF_ERR_UPGRADE:
            return std::errc::resource_deadlock_would_occur;
        case HF_ERR_NO_MEMORY:
            return std::errc::not_enough_memory;
        case HF_ERR_CANCELLED:
            return std::errc::operation_canceled;
        case HF_ERR_UNSUPPORTED:
            return std::errc::not_supported;
        case HF_ERR_PERMISSION:
            return std::errc::permission_denied;
        case HF_ERR_INVALID:
        case HF_ERR_NAME:
        case HF_ERR_TTL:
        case HF_ERR_LABEL:
        case HF_ERR_URI:
            return std::errc::invalid_argument;
        default:
            return { value, *this };
        }
    }
};

class classes final : public std::error_category
{
  public:
    const char *name() const noexcept override
    {
        return "holdfast class";
    }

    std::string message(int value) const override
    {
        static const char *const TEXT[] = {
            "done",
            "wait, or do something else",
            "treat it as not done",
            "nothing was done: try again later",
            "stop the work that the lock protected",
            "cancelled",
            "correct the call",
            "a person must change something first",
        };
        const auto i = static_cast<std::size_t>(value);

        return i < sizeof TEXT / sizeof TEXT[0] ? TEXT[i] : "unknown class";
    }

    bool equivalent(const std::error_code &code, int condition) const noexcept override
    {
        return code.category() == category() && hf_classify(code.value()) == condition;
    }
};

} // namespace detail

inline const std::error_category &category() noexcept
{
    static const detail::errors category;

    return category;
}

inline const std::error_category &class_category() noexcept
{
    static const detail::classes category;

    return category;
}

/* The default of every error argument: "throw instead". It is only compared, never written. */
HOLDFAST_SHARED std::error_code &throws() noexcept
{
    static std::error_code nothing;

    return nothing;
}

#undef HOLDFAST_SHARED

namespace detail
{

/* Says what failed, and the library's own details where they say more than the error's name. */
[[noreturn]] inline void fail(int error, const std::string &what)
{
    std::string text = what;

    if (std::strcmp(hf_last_error(), hf_strerror(error)) != 0)
        text.append(": ").append(hf_last_error());
#ifdef __cpp_exceptions
    throw std::system_error(error, category(), text);
#else
    std::fprintf(stderr, "holdfast: %s: %s\n", text.c_str(), hf_strerror(error));
    std::abort();
#endif
}

/* How each function ends: was it done? `no` is an answer, not a failure, and is not thrown. */
inline bool done(int error, std::error_code &ret, const std::string &what, int no = HF_OK)
{
    if (&ret != &throws())
        ret.assign(error, category());
    else if (error && error != no)
        fail(error, what);
    return error == HF_OK;
}

/* A text for C. One with a NUL inside would be cut: it becomes none, which names and URIs must not be. */
inline const char *c_text(const std::string &text) noexcept
{
    return std::strlen(text.c_str()) == text.size() ? text.c_str() : "\n";
}

} // namespace detail

} // namespace holdfast

#endif
