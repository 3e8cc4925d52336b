-- SPDX-License-Identifier: Apache-2.0
-- Takes a lock away from an owner that was seen, and from no other.
--
-- KEYS[1]  the lock    KEYS[2]  its channel
-- ARGV[1]  owner       ARGV[2]  what Redisson publishes for "unlocked"
--
-- Replies  1 removed, 0 someone else has it, -1 nobody has it, -2 it is a lock of another kind
if redis.call('EXISTS', KEYS[1]) == 0 then
    return -1
end
if redis.call('HEXISTS', KEYS[1], 'mode') == 1 then
    return -2
end
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
    return 0
end
redis.pcall('PUBLISH', KEYS[2], ARGV[2]) -- what is done is done, also when this is denied
return 1
