-- SPDX-License-Identifier: Apache-2.0
-- Gives a read-write lock back that was held for reading: removes this owner's hold, and with it readers that
-- are dead. The lock then lives as long as the last of the others. Repeatable. No command here is refused by a
-- server that is out of memory.
--
-- KEYS[1]  the lock    KEYS[2]  its channel    KEYS[3]  this owner's key (see acquire_read.lua)
-- ARGV[1]  owner       ARGV[2]  what the names of the readers' keys begin with
-- ARGV[3]  what Redisson publishes for "not read any more"
--
-- Replies  how many subscribers were told, or -1 when the owner did not have it, or no longer
-- include readers
local held = redis.call('HDEL', KEYS[1], ARGV[1])
local alive = redis.call('DEL', KEYS[3])
local told = 0
if held == 1 and redis.call('HGET', KEYS[1], 'mode') == 'read' then
    local left, dead = readers(KEYS[1], ARGV[2])
    if left > 0 then
        for _, owner in ipairs(dead) do
            redis.call('HDEL', KEYS[1], owner)
        end
        redis.call('PEXPIRE', KEYS[1], left)
    else
        redis.call('DEL', KEYS[1])
        -- What is done is done, also for a user who may not publish there.
        told = redis.pcall('PUBLISH', KEYS[2], ARGV[3])
    end
end
return held + alive < 2 and -1 or type(told) == 'number' and told or 0
