-- SPDX-License-Identifier: Apache-2.0
-- Takes a lock for an owner, if nobody has it. All checks come before the first write, so an error reply
-- means that nothing was done. Repeated for an owner that has it, it changes nothing.
--
-- KEYS[1]  the lock: a hash of owner -> "1", with a ttl (Redisson's RLock)
-- KEYS[2]  the counter of tokens, in the lock's slot
-- ARGV[1]  owner    ARGV[2]  ttl in ms    ARGV[3]  how many tokens are wanted
--
-- Replies  {1, first token, how many}       taken; they are consecutive, and larger than all before
--          {0, ms until it runs out or -1, 0 RLock | 1 read-write lock}   someone else has it
--          {2}                               this owner has it already
if redis.call('EXISTS', KEYS[1]) == 1 then
    if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
        return {2}
    end
    return {0, redis.call('PTTL', KEYS[1]), redis.call('HEXISTS', KEYS[1], 'mode')}
end
-- A token is at least the server's time in microseconds: so it grows even when the counter was lost. A block
-- of tokens lies behind that time, between the last one given and now, so that the counter never runs
-- ahead of the clock because of it.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[2]) or now)
local count = tonumber(ARGV[3])
local upto = now
if last >= now then
    count, upto = 1, last + 1
elseif now - last < count then
    count = now - last
end
redis.call('HSET', KEYS[1], ARGV[1], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], string.format('%.0f', upto))
return {1, upto - count + 1, count}
