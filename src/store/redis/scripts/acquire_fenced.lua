-- SPDX-License-Identifier: Apache-2.0
-- Takes a lock for an owner, if nobody has it, with a token from the lock's own counter. All checks come before
-- the first write, so an error reply means that nothing was done. Repeated for an owner that has it, it changes
-- nothing: the token stays.
--
-- KEYS[1]  the lock: a hash of owner -> "1", with a ttl    KEYS[2]  its counter, for ever (Redisson's RFencedLock)
-- ARGV[1]  owner    ARGV[2]  ttl in ms
--
-- Replies  as acquire.lua; there is one token
if redis.call('EXISTS', KEYS[1]) == 1 then
    if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
        return {2}
    end
    return {0, redis.call('PTTL', KEYS[1]), redis.call('HEXISTS', KEYS[1], 'mode')}
end
local token = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], ARGV[1], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, token, 1}
