-- SPDX-License-Identifier: Apache-2.0
-- Gives permits back: this owner's and no others. Repeatable. No command here is refused by a server that is
-- out of memory, once something was removed.
--
-- KEYS[1]  how many there are    KEYS[2]  those that are taken    KEYS[3]  the channel
-- ARGV[1]  what this owner's ids begin with    ARGV[2]  how many there are of them
--
-- Replies  how many subscribers were told, or -1 when the owner did not have all of them, or no longer
-- include permits
local wanted, now = tonumber(ARGV[2]), now_ms()
local removed, alive, told = 0, 0, 0
for i = 0, wanted - 1 do
    local till = redis.call('ZSCORE', KEYS[2], id(ARGV[1], i))
    if till then
        removed = removed + redis.call('ZREM', KEYS[2], id(ARGV[1], i))
        alive = alive + (tonumber(till) > now and 1 or 0)
    end
end
if removed > 0 then
    local there = redis.call('INCRBY', KEYS[1], removed)
    -- Redisson's waiters are woken by the number that is there, as by its own release of a single permit; a
    -- negative one it cannot read. What is done is done, also for a user who may not publish there.
    told = there > 0 and redis.pcall('PUBLISH', KEYS[3], there)
end
return alive < wanted and -1 or type(told) == 'number' and told or 0
