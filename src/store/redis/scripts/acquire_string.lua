-- SPDX-License-Identifier: Apache-2.0
-- acquire.lua for locks that are plain strings, as redis-py's Lock and others like it keep them.
--
-- KEYS[1]  the lock: its value is the owner, with a ttl
-- KEYS[2]  the counter of tokens, in the lock's slot
-- ARGV[1]  owner    ARGV[2]  ttl in ms    ARGV[3]  how many tokens are wanted
-- ARGV[4]  when to look again, in ms, if its owner is of another make and will tell nobody of its release
--
-- Replies  {1, first token, how many}       taken; they are consecutive, and larger than all before
--          {0, ms until looking again is worthwhile or -1, 0 a lock | 1 a read-write lock}   someone has it
--          {2}                               this owner has it already
--          an error                          it is no lock
-- include token
local owner = redis.pcall('GET', KEYS[1])
if owner == ARGV[1] then
    return {2}
end
if type(owner) == 'table' then -- a hash is a lock of Redisson's
    local mode = string.find(owner.err, 'WRONGTYPE', 1, true) and redis.pcall('HEXISTS', KEYS[1], 'mode')
    if type(mode) ~= 'number' then
        return owner
    end
    return {0, redis.call('PTTL', KEYS[1]), mode}
end
if owner then
    local left = redis.call('PTTL', KEYS[1])
    if not string.find(owner, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
        local again = tonumber(ARGV[4])
        left = left >= 0 and left < again and left or again
    end
    return {0, left, 0}
end
local upto, count = tokens(KEYS[2], ARGV[3], redis.call('TIME'))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[2], string.format('%.0f', upto))
return {1, upto - count + 1, count}
