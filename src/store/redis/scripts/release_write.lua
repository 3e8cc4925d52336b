-- SPDX-License-Identifier: Apache-2.0
-- Gives a read-write lock back that was held for writing: removes this owner's hold and its client's wish to be
-- preferred, and nothing else. If it reads, too, it goes on doing so, and others may now. Repeatable. No
-- command here is refused by a server that is out of memory, once something was removed.
--
-- KEYS[1]  the lock    KEYS[2]  its channel    KEYS[3]  the clients for whose writers new readers wait
-- ARGV[1]  owner       ARGV[2]  what the names of the readers' keys begin with
-- ARGV[3]  what Redisson publishes for "not written any more"
--
-- Replies  how many subscribers were told, or -1 when the owner did not have it
-- include readers
local waited = redis.call('ZREM', KEYS[3], string.match(ARGV[1], '^(.+):') or ARGV[1])
local held = redis.call('HDEL', KEYS[1], ARGV[1] .. ':write')
if held == 1 then
    local left, dead = readers(KEYS[1], ARGV[2])
    if left > 0 then
        for _, owner in ipairs(dead) do
            redis.call('HDEL', KEYS[1], owner)
        end
        redis.call('HSET', KEYS[1], 'mode', 'read')
        redis.call('PEXPIRE', KEYS[1], left)
    else
        redis.call('DEL', KEYS[1])
    end
end
-- What is done is done, also for a user who may not publish there.
local told = held + waited > 0 and redis.pcall('PUBLISH', KEYS[2], ARGV[3])
told = type(told) == 'number' and told or 0
if held == 1 and told > 0 then
    -- That wakes the threads of Redisson that sleep now. One that has looked and does not sleep yet would miss
    -- it: this, which a reader's release publishes, it finds when it goes to sleep.
    redis.pcall('PUBLISH', KEYS[2], '0')
end
return held == 0 and -1 or told
