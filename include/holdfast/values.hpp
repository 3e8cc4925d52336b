/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++: buckets, maps and stamps. Included by holdfast.hpp.
 *
 * As in counters.hpp; what a function returns as none is no error. Values and keys are bytes of any kind.
 */
#ifndef HOLDFAST_VALUES_HPP
#define HOLDFAST_VALUES_HPP

#include <string_view>

#include <holdfast/counters.hpp>

namespace holdfast
{

/* As struct hf_value_options. */
struct value_options {
    milliseconds ttl{};
    std::uint64_t token = 0;

    hf_value_options raw() const noexcept
    {
        hf_value_options to{};

        to.size = sizeof to;
        to.ttl_ms = ttl.count();
        to.token = token;
        return to;
    }
};

namespace detail
{

/* Bytes for C, where NULL would mean that there are none. */
inline hf_value bytes(std::string_view value) noexcept
{
    return { value.data() ? value.data() : "", value.size() };
}

inline std::optional<std::string> text_of(const hf_value &value)
{
    if (!value.bytes)
        return std::nullopt;
    return std::string(static_cast<const char *>(value.bytes), value.len);
}

/* Bytes from C. */
class owned_value
{
  public:
    owned_value() noexcept = default;
    explicit owned_value(const hf_value &value) noexcept : raw(value)
    {
    }

    owned_value(const owned_value &) = delete;
    owned_value &operator=(const owned_value &) = delete;

    ~owned_value()
    {
        hf_value_free(&raw);
    }

    std::optional<std::string> get() const
    {
        return text_of(raw);
    }

    hf_value raw{};
};

} // namespace detail

/* A small value. None, where there is none: that is no error. */
class bucket : public detail::object
{
  public:
    bucket(const client &of, std::string name) : object(of, std::move(name))
    {
    }

    std::optional<std::string> get(std::error_code &error = throws()) const
    {
        detail::owned_value value;

        ends(hf_bucket_get(client_, c_name(), &value.raw), error, HF_ERR_NOT_FOUND);
        return value.get();
    }

    void set(std::string_view value, const value_options &options = {},
             std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        ends(hf_bucket_set(client_, c_name(), detail::bytes(value), &raw), error);
    }

    /* false: EXISTS. */
    bool set_if_absent(std::string_view value, const value_options &options = {},
                       std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return ends(hf_bucket_set_if_absent(client_, c_name(), detail::bytes(value), &raw), error,
                    HF_ERR_EXISTS);
    }

    /* Expected none: only if there is none. false: CHANGED. */
    bool compare_and_set(const std::optional<std::string_view> &expected, std::string_view value,
                         const value_options &options = {}, std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();
        const hf_value before = expected ? detail::bytes(*expected) : hf_value{};

        return ends(
            hf_bucket_compare_and_set(client_, c_name(), before, detail::bytes(value), &raw), error,
            HF_ERR_CHANGED);
    }

    /* What was there before. */
    std::optional<std::string> get_and_set(std::string_view value,
                                           const value_options &options = {},
                                           std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();
        detail::owned_value before;

        ends(hf_bucket_get_and_set(client_, c_name(), detail::bytes(value), &raw, &before.raw),
             error);
        return before.get();
    }

    /* -1 ms: it does not vanish. None: NOT_FOUND. */
    std::optional<milliseconds> ttl(std::error_code &error = throws()) const
    {
        std::int64_t ms = 0;

        if (!ends(hf_bucket_ttl(client_, c_name(), &ms), error, HF_ERR_NOT_FOUND))
            return std::nullopt;
        return milliseconds(ms);
    }

    /* false: NOT_FOUND. */
    bool remove(const value_options &options = {}, std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return ends(hf_bucket_delete(client_, c_name(), &raw), error, HF_ERR_NOT_FOUND);
    }
};

/* Small values by key. */
class map : public detail::object
{
  public:
    map(const client &of, std::string name) : object(of, std::move(name))
    {
    }

    /* What was there before. */
    std::optional<std::string> put(std::string_view key, std::string_view value,
                                   const value_options &options = {},
                                   std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();
        detail::owned_value before;

        ends(hf_map_put(client_, c_name(), detail::bytes(key), detail::bytes(value), &raw,
                        &before.raw),
             error);
        return before.get();
    }

    /* false: EXISTS. */
    bool put_if_absent(std::string_view key, std::string_view value,
                       const value_options &options = {}, std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();

        return ends(
            hf_map_put_if_absent(client_, c_name(), detail::bytes(key), detail::bytes(value), &raw),
            error, HF_ERR_EXISTS);
    }

    std::optional<std::string> get(std::string_view key, std::error_code &error = throws()) const
    {
        detail::owned_value value;

        ends(hf_map_get(client_, c_name(), detail::bytes(key), &value.raw), error,
             HF_ERR_NOT_FOUND);
        return value.get();
    }

    /* What was there; none: NOT_FOUND. */
    std::optional<std::string> remove(std::string_view key, const value_options &options = {},
                                      std::error_code &error = throws())
    {
        const hf_value_options raw = options.raw();
        detail::owned_value before;

        ends(hf_map_remove(client_, c_name(), detail::bytes(key), &raw, &before.raw), error,
             HF_ERR_NOT_FOUND);
        return before.get();
    }

    std::int64_t size(std::error_code &error = throws()) const
    {
        std::int64_t size = 0;

        ends(hf_map_size(client_, c_name(), &size), error);
        return size;
    }
};

/* A note that something was done, which is forgotten after a while. */
class stamp : public detail::object
{
  public:
    struct times {
        milliseconds age, remaining;
    };

    stamp(const client &of, std::string name) : object(of, std::move(name))
    {
    }

    void set(milliseconds how_long, std::error_code &error = throws())
    {
        ends(hf_stamp_set(client_, c_name(), how_long.count()), error);
    }

    /* None: NOT_FOUND. */
    std::optional<times> get(std::error_code &error = throws()) const
    {
        std::int64_t age = 0, remaining = 0;

        if (!ends(hf_stamp_get(client_, c_name(), &age, &remaining), error, HF_ERR_NOT_FOUND))
            return std::nullopt;
        return times{ milliseconds(age), milliseconds(remaining) };
    }

    /* false: NOT_FOUND. */
    bool remove(std::error_code &error = throws())
    {
        return ends(hf_stamp_delete(client_, c_name()), error, HF_ERR_NOT_FOUND);
    }
};

} // namespace holdfast

#endif
