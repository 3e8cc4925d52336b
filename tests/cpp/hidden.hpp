/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library that uses Holdfast, and shows nothing but these functions. */
#ifndef TESTS_CPP_HIDDEN_HPP
#define TESTS_CPP_HIDDEN_HPP

#include <string>
#include <system_error>

[[gnu::visibility("default")]] std::error_code hidden_error(); /* HF_ERR_BUSY */
[[gnu::visibility("default")]] void hidden_open(const std::string &uri, std::error_code &error);

#endif
