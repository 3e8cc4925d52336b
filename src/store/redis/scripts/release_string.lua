-- SPDX-License-Identifier: Apache-2.0
-- release.lua for locks that are plain strings. No command here is refused by a server that is out of memory,
-- but for the one in a pcall.
--
-- KEYS[1]  the lock    KEYS[2]  its channel
-- ARGV[1]  owner       ARGV[2]  what is published
-- ARGV[3]  the list on which waiters of python-redis-lock block, or ''. No key: it is in another slot, and
--          where it is denied the release goes on without
--
-- Replies  how many subscribers were told, or -1 when the owner did not have it (something else has its place)
local owner = redis.pcall('GET', KEYS[1])
if type(owner) == 'table' and not string.find(owner.err, 'WRONGTYPE', 1, true) then
    return owner
end
if owner ~= ARGV[1] then
    return -1
end
redis.call('DEL', KEYS[1])
if ARGV[3] ~= '' then -- one waiter takes the element; it is gone after a second when there is none
    redis.pcall('DEL', ARGV[3])
    redis.pcall('LPUSH', ARGV[3], '1')
    redis.pcall('PEXPIRE', ARGV[3], '1000')
end
local told = redis.pcall('PUBLISH', KEYS[2], ARGV[2])
return type(told) == 'number' and told or 0
