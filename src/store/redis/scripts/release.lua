-- SPDX-License-Identifier: Apache-2.0
-- Gives a lock back: removes this owner and nothing else, and tells the waiters. Repeatable. No command
-- here is refused by a server that is out of memory.
--
-- KEYS[1]  the lock    KEYS[2]  its channel
-- ARGV[1]  owner       ARGV[2]  what Redisson publishes for "unlocked"
--
-- Replies  how many subscribers were told, or -1 when the owner did not have it
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
    return -1
end
-- What is done is done, also for a user who may not publish there.
local told = redis.pcall('PUBLISH', KEYS[2], ARGV[2])
return type(told) == 'number' and told or 0
