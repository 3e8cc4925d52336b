-- SPDX-License-Identifier: Apache-2.0
-- A writer no longer waits: readers need not wait for it any more.
--
-- KEYS[1]  the writers for whom new readers wait    KEYS[2]  the lock's channel
-- ARGV[1]  owner       ARGV[2]  what wakes all of them
--
-- Replies  1 when they waited for it, else 0
local waited = redis.call('ZREM', KEYS[1], ARGV[1])
if waited == 1 then
    redis.pcall('PUBLISH', KEYS[2], ARGV[2])
end
return waited
