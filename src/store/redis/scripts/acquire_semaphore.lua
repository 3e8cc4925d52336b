-- SPDX-License-Identifier: Apache-2.0
-- Takes permits, all or none. That they were taken is remembered for a while, so that a try whose answer was
-- lost can be taken back. All checks come before the first write, so an error reply means that nothing was
-- done. Repeated while it is remembered, it changes nothing.
--
-- KEYS[1]  how many there are (Redisson's RSemaphore)    KEYS[2]  what this owner has taken
-- ARGV[1]  how many are wanted    ARGV[2]  ms for which it is remembered
--
-- Replies  {1, 1, 1}      taken; there are no tokens
--          {0, -1, 3, 0}  there are too few, or there is no such semaphore
--          {2}            taken already
if redis.call('EXISTS', KEYS[2]) == 1 then
    return {2}
end
local there = redis.call('GET', KEYS[1])
if there and not string.find(there, '^%-?%d+$') then
    return {err = 'WRONGTYPE the value under this name is not a count'}
end
if not there or tonumber(there) < tonumber(ARGV[1]) then
    return {0, -1, 3, 0}
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
redis.call('DECRBY', KEYS[1], ARGV[1])
return {1, 1, 1}
