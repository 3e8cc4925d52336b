/* SPDX-License-Identifier: Apache-2.0 */
#include "cpp/hidden.hpp"

#include <holdfast/holdfast.hpp>

std::error_code hidden_error()
{
    return HF_ERR_BUSY;
}

void hidden_open(const std::string &uri, std::error_code &error)
{
    const holdfast::client client(uri, {}, error);
}
