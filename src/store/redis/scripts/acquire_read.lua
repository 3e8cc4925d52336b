-- SPDX-License-Identifier: Apache-2.0
-- Takes a read-write lock for reading, if nobody has the name in another way and no writer is to come first.
-- Whoever has it for writing may read. All checks come before the first write, so an error reply means that
-- nothing was done. Repeated for an owner that has it, it changes nothing.
--
-- KEYS[1]  the lock (see acquire_write.lua)
-- KEYS[2]  this owner's key: <prefix>:<owner>:rwlock_timeout:1, which lives as long as its hold
-- KEYS[3]  the clients for whose writers new readers wait
-- ARGV[1]  owner    ARGV[2]  ttl in ms
--
-- Replies  {1, 1, 1}    taken; readers have no tokens
--          {0, ms until it may be free or -1, 0 RLock | 1 read-write lock, 0}
--          {2}          this owner has it already
local mode = redis.call('HGET', KEYS[1], 'mode')
local writes = mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':write') == 1
if not mode and redis.call('EXISTS', KEYS[1]) == 1 or mode == 'write' and not writes then
    return {0, redis.call('PTTL', KEYS[1]), mode and 1 or 0, 0}
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 and redis.call('PTTL', KEYS[2]) > 0 then
    return {2}
end
if not writes and redis.call('EXISTS', KEYS[3]) == 1 then
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
    if tonumber(last[2]) > now then
        return {0, last[2] - now, 1, 0}
    end
end
if mode then
    redis.call('HSET', KEYS[1], ARGV[1], '1')
else
    redis.call('HSET', KEYS[1], 'mode', 'read', ARGV[1], '1')
end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {1, 1, 1}
