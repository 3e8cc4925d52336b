-- SPDX-License-Identifier: Apache-2.0
-- Takes a try back whose outcome nobody knows, or that nobody wants any more. Repeatable. No command here is
-- refused by a server that is out of memory, once something was removed.
--
-- KEYS[1]  how many there are    KEYS[2]  the channel    KEYS[3]  what this owner has taken
--
-- Replies  how many subscribers were told, or -1 when nothing was taken
local taken = redis.call('GET', KEYS[3])
if not taken then
    return -1
end
redis.call('DEL', KEYS[3])
if redis.call('EXISTS', KEYS[1]) == 0 then
    return 0 -- deleted meanwhile; it is not made again
end
local there = redis.call('INCRBY', KEYS[1], taken)
-- What is done is done, also for a user who may not publish there. Redisson cannot read a negative number.
local told = there > 0 and redis.pcall('PUBLISH', KEYS[2], there)
return type(told) == 'number' and told or 0
