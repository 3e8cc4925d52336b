-- SPDX-License-Identifier: Apache-2.0
-- Takes a lock away from an owner that was seen, and from no other, and tells whoever should look.
--
-- KEYS[1..5]  as in acquire_fair.lua: the lock, its queue, its channel
-- KEYS[6]  the channel of read-write locks
-- KEYS[7]  permits that are taken: a sorted set of id -> epoch ms    KEYS[8]  the channel of permits
-- ARGV[1]  owner       ARGV[2], ARGV[3]  what Redisson publishes for "unlocked", and to wake all
-- ARGV[4]  what the names of readers' keys begin with
-- ARGV[5]  what the ids of the owner's permits begin with, or the whole id of one; '': it can have none
-- ARGV[6]  how many permits an owner has at most
--
-- Replies  1 removed, 0 someone else has it, -1 nobody has it
-- include queue
-- include readers
local owner = ARGV[1]

-- What is done is done, also when this is denied.
local function tell(channel, said)
    redis.pcall('PUBLISH', channel, said)
    return 1
end

-- A read-write lock that one owner less has lives as long as the last reader.
local function settle()
    local left, dead = readers(LOCK, ARGV[4])
    if left == 0 then
        redis.call('DEL', LOCK)
        return tell(KEYS[6], ARGV[3])
    end
    for _, reader in ipairs(dead) do
        redis.call('HDEL', LOCK, reader)
    end
    redis.call('HSET', LOCK, 'mode', 'read')
    redis.call('PEXPIRE', LOCK, left)
    return tell(KEYS[6], ARGV[3])
end

local function break_permits()
    local removed = 0
    if redis.call('ZCARD', KEYS[7]) == 0 then
        return -1
    end
    if #ARGV[5] == 16 then
        removed = redis.call('ZREM', KEYS[7], ARGV[5])
    elseif #ARGV[5] == 14 then
        for i = 0, ARGV[6] - 1 do
            local id = ARGV[5] .. string.char(math.floor(i / 256), i % 256)
            removed = removed + redis.call('ZREM', KEYS[7], id)
        end
    end
    if removed == 0 then
        return 0
    end
    local there = redis.call('INCRBY', LOCK, removed)
    return there > 0 and tell(KEYS[8], there) or 1
end

local kind = redis.call('TYPE', LOCK).ok
if kind == 'string' or kind == 'none' then
    return break_permits()
end
local mode = redis.call('HGET', LOCK, 'mode') -- an error when it is no hash
if mode == 'write' then
    return redis.call('HDEL', LOCK, owner .. ':write') == 1 and settle() or 0
end
local count = tonumber(redis.call('HGET', LOCK, owner) or nil)
if owner == 'mode' or not count then
    return 0
end
redis.call('HDEL', LOCK, owner)
if mode == 'read' then
    for hold = count, math.max(1, count - 999), -1 do
        redis.call('DEL', ARGV[4] .. ':' .. owner .. ':rwlock_timeout:' .. hold)
    end
    return settle()
end
local first = redis.call('EXISTS', LOCK) == 0 and head(redis.call('LINDEX', LIST, 0))
if first then
    tell(CHANNEL .. ':' .. first, ARGV[2])
end
return tell(CHANNEL, ARGV[2])
