-- SPDX-License-Identifier: Apache-2.0
-- Takes a read-write lock for writing, if nobody has the name. All checks come before the first write, so an
-- error reply means that nothing was done. Repeated for an owner that has it, it changes nothing. Readers that
-- are dead are in nobody's way.
--
-- KEYS[1]  the lock: a hash with mode = "read" or "write", and owner -> count, or <owner>:write -> "1"
--          (Redisson's RReadWriteLock)
-- KEYS[2]  the counter of tokens, in the lock's slot
-- KEYS[3]  the clients for whose writers new readers wait: a sorted set of client id -> until when, epoch ms
-- ARGV[1]  owner    ARGV[2]  ttl in ms    ARGV[3]  how many tokens are wanted
-- ARGV[4]  what the names of the readers' keys begin with
-- ARGV[5]  when it is busy, new readers are to wait for so many ms; 0: not at all
--
-- Replies  {1, first token, how many}      taken
--          {0, ms until it runs out or -1, 0 RLock | 1 read-write lock, 1 readers are to wait}   someone has it
--          {2}                             this owner has it already
-- include token
-- include readers
local field = ARGV[1] .. ':write'
local client = string.match(ARGV[1], '^(.+):') or ARGV[1] -- others of its owners may have left meanwhile
if redis.call('HEXISTS', KEYS[1], field) == 1 then
    return {2}
end
local mode = redis.call('HGET', KEYS[1], 'mode')
local left = 0
if mode == 'read' then
    left = readers(KEYS[1], ARGV[4])
elseif redis.call('EXISTS', KEYS[1]) == 1 then
    left = redis.call('PTTL', KEYS[1])
    left = left == 0 and 1 or left
end
if left ~= 0 then
    local waits = 0
    if ARGV[5] ~= '0' then
        local time = redis.call('TIME')
        local till = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[5]
        -- Without memory for it, or without the right to, it is a wish that is not fulfilled.
        if type(redis.pcall('ZADD', KEYS[3], till, client)) == 'number' then
            redis.call('PEXPIRE', KEYS[3], ARGV[5])
            waits = 1
            -- It must be heard of again before that.
            left = left < 0 and ARGV[5] / 2 or math.min(left, ARGV[5] / 2)
        end
    elseif type(redis.pcall('ZSCORE', KEYS[3], client)) == 'string' then
        waits = 1 -- for another writer of this client, which may have left
    end
    return {0, left, mode and 1 or 0, waits}
end
local last, count = tokens(KEYS[2], ARGV[3], redis.call('TIME'))
if mode then
    redis.call('DEL', KEYS[1]) -- what dead readers have left
end
redis.call('HSET', KEYS[1], 'mode', 'write', field, '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('ZREM', KEYS[3], client)
redis.call('SET', KEYS[2], string.format('%.0f', last))
return {1, last - count + 1, count}
