-- SPDX-License-Identifier: Apache-2.0
-- break.lua for locks that are plain strings.
--
-- KEYS[1]  the lock    KEYS[2]  its channel
-- ARGV[1]  owner       ARGV[2]  what is published
-- ARGV[3]  as in release_string.lua
--
-- Replies  1 removed, 0 someone else has it, -1 nobody has it, -2 it is a lock of another kind
local owner = redis.pcall('GET', KEYS[1])
if not owner then
    return -1
end
if type(owner) == 'table' then
    return string.find(owner.err, 'WRONGTYPE', 1, true) and -2 or owner
end
if owner ~= ARGV[1] then
    return 0
end
redis.call('DEL', KEYS[1])
if ARGV[3] ~= '' then
    redis.pcall('DEL', ARGV[3])
    redis.pcall('LPUSH', ARGV[3], '1')
    redis.pcall('PEXPIRE', ARGV[3], '1000')
end
redis.pcall('PUBLISH', KEYS[2], ARGV[2])
return 1
