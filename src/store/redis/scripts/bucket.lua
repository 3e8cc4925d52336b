-- SPDX-License-Identifier: Apache-2.0
-- One step with a bucket (Redisson's RBucket with StringCodec): a string, byte for byte.
--
-- KEYS[1]  the bucket          KEYS[2], KEYS[3]  notes, as in semaphore.lua
-- KEYS[4]  our guard: the largest token that a change was made with
-- ARGV[1]  get | ttl | set | absent | compare | swap | delete    (get, ttl: only KEYS[1])
-- ARGV[2]  how many bytes of a value can be told at most
-- ARGV[3]  ms that the note stands
-- ARGV[4]  token, 0: none      ARGV[5]  ms that the guard stands, from its last use
-- ARGV[6]  ttl in ms, 0: none  ARGV[7]  the value
-- ARGV[8]  compare: what is expected; not there: no bucket is
--
-- Replies  'ok <number> 0'            ttl: ms, or -1; else 0
--          'ok 0 0 <bytes>'           get, swap: what there is, what there was
--          'exists', 'absent', 'changed', 'stale', 'large <bytes>'    nothing was done
--
-- The guard outlives the bucket: a holder that was paused may come back long after the value was deleted or
-- has expired. It does not stand for ever, or each name that was ever guarded would leave a key behind.
local size = redis.call('STRLEN', KEYS[1]) -- an error when it is no string
local exists = redis.call('EXISTS', KEYS[1]) == 1
local verb, value = ARGV[1], ARGV[7]
local function told()
    return exists and 'ok 0 0 ' .. redis.call('GET', KEYS[1]) or 'ok 0 0'
end
if not exists and (verb == 'get' or verb == 'ttl') then
    return 'absent'
end
if verb == 'ttl' then
    return string.format('ok %.0f 0', redis.call('PTTL', KEYS[1]))
end
if verb == 'get' then
    return size > tonumber(ARGV[2]) and 'large ' .. size or told()
end
local before = redis.call('GET', KEYS[2])
if before then
    return before
end
local token, guard = ARGV[4], redis.call('GET', KEYS[4])
-- Decimal numbers of up to 20 digits: more than a Lua number holds.
if token ~= '0' and guard and (#guard > #token or (#guard == #token and guard > token)) then
    return 'stale'
end
if verb == 'swap' and size > tonumber(ARGV[2]) then
    return 'large ' .. size
elseif verb == 'absent' and exists then
    return 'exists'
elseif verb == 'delete' and not exists then
    return 'absent'
elseif verb == 'compare' then
    local expected = ARGV[8]
    local same = not exists and not expected
    if exists and expected and size == #expected then
        same = redis.call('GET', KEYS[1]) == expected
    end
    if not same then
        return 'changed'
    end
end
local reply = verb == 'swap' and told() or 'ok 0 0'
if verb == 'delete' then
    redis.call('DEL', KEYS[1])
elseif ARGV[6] == '0' then
    redis.call('SET', KEYS[1], value)
else
    redis.call('SET', KEYS[1], value, 'PX', ARGV[6])
end
if token ~= '0' then
    redis.call('SET', KEYS[4], token, 'PX', ARGV[5])
end
redis.call('SET', KEYS[2], reply, 'PX', ARGV[3])
redis.call('DEL', KEYS[3])
return reply
