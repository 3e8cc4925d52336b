-- SPDX-License-Identifier: Apache-2.0
-- No writer of a client waits any more: readers need not wait for it.
--
-- KEYS[1]  the clients for whose writers new readers wait    KEYS[2]  the lock's channel
-- ARGV[1]  owner       ARGV[2]  what wakes all of them
--
-- Replies  1 when they waited for it, else 0
local waited = redis.call('ZREM', KEYS[1], string.match(ARGV[1], '^(.+):') or ARGV[1])
if waited == 1 then
    redis.pcall('PUBLISH', KEYS[2], ARGV[2])
end
return waited
