-- SPDX-License-Identifier: Apache-2.0
-- Gives up a place in the queue of a fair lock, and tells whose turn it is now, if the lock is free.
--
-- KEYS[1..5]  as in acquire_fair.lua
-- ARGV[1]  owner    ARGV[2]  how long it wanted to wait    ARGV[3]  what Redisson publishes for "unlocked"
--
-- Replies  1 when it had a place, else 0
-- include queue
local place = leave(ARGV[1], tonumber(ARGV[2]))
local first = redis.call('EXISTS', LOCK) == 0 and head(redis.call('LINDEX', LIST, 0))
if first then
    redis.pcall('PUBLISH', CHANNEL .. ':' .. first, ARGV[3])
end
return place and 1 or 0
