/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast for C++17 and later: the whole of it. It is header only, over the C library (-lholdfast).
 *
 *     holdfast::client client("redis://localhost");
 *     holdfast::mutex mutex(client, "order:1001");
 *     std::unique_lock lock(mutex, 5s);
 *
 *     if (lock)
 *         write(order, mutex.token());
 *
 *   error.hpp     error codes and conditions; how functions throw, or do not
 *   options.hpp   options, and times to wait
 *   hold.hpp      holds
 *   client.hpp    clients, holds of several locks, and who holds what
 *   mutex.hpp     locks for std::lock_guard, unique_lock, scoped_lock, shared_lock, and what becomes of a loss
 *   counters.hpp  semaphores, permits, latches
 *   values.hpp    buckets, maps, stamps
 *   events.hpp    event loops, with
 *   calls.hpp     what they start on objects
 */
#ifndef HOLDFAST_HOLDFAST_HPP
#define HOLDFAST_HOLDFAST_HPP

#include <holdfast/calls.hpp>
#include <holdfast/client.hpp>
#include <holdfast/counters.hpp>
#include <holdfast/error.hpp>
#include <holdfast/events.hpp>
#include <holdfast/hold.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/options.hpp>
#include <holdfast/values.hpp>

#endif
