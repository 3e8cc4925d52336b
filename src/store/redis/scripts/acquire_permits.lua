-- SPDX-License-Identifier: Apache-2.0
-- Takes permits for a time, all or none, after those that have run out were collected. All checks come before
-- the first write, so an error reply means that nothing was done. Repeated for an owner that has them, it
-- changes nothing.
--
-- KEYS[1]  how many there are (Redisson's RPermitExpirableSemaphore)
-- KEYS[2]  those that are taken: a sorted set of id -> when it runs out, epoch ms
-- KEYS[3]  the channel
-- ARGV[1]  what this owner's ids begin with, 14 bytes; 2 bytes follow: which one it is, from 0
-- ARGV[2]  how many are wanted    ARGV[3]  ttl in ms
--
-- Replies  {1, 1, 1}   taken; there are no tokens
--          {0, ms until the next one runs out or -1, 3, 0}   there are too few, or there is no such semaphore
--          {2}         this owner has them already
-- include permits
local there, now = redis.call('GET', KEYS[1]), now_ms()
if there and not string.find(there, '^%-?%d+$') then
    return {err = 'WRONGTYPE the value under this name is not a count'}
end
local over = redis.call('ZCOUNT', KEYS[2], '-inf', now)
local wanted = tonumber(ARGV[2])
for i = 0, wanted - 1 do
    local till = redis.call('ZSCORE', KEYS[2], id(ARGV[1], i))
    if till and tonumber(till) > now then
        return {2}
    end
end
local enough = (there or over > 0) and (there or 0) + over >= wanted
if over > 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
end
if enough or over > 0 then
    there = redis.call('INCRBY', KEYS[1], enough and over - wanted or over)
end
if enough then
    for i = 0, wanted - 1 do
        redis.call('ZADD', KEYS[2], now + ARGV[3], id(ARGV[1], i))
    end
    local left = redis.call('PTTL', KEYS[1])
    if left > 0 then
        redis.call('PEXPIRE', KEYS[2], left)
    end
end
if over > 0 and there > 0 then
    redis.pcall('PUBLISH', KEYS[3], there) -- some may do for others
end
if enough then
    return {1, 1, 1}
end
local next = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
return {0, next[2] and math.ceil(next[2] - now) or -1, 3, 0}
