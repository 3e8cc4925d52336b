-- SPDX-License-Identifier: Apache-2.0
-- One step with a map (Redisson's RMap with StringCodec): a hash, byte for byte.
--
-- KEYS[1]  the map             KEYS[2], KEYS[3]  notes, as in semaphore.lua
-- KEYS[4]  our guard, as in bucket.lua: one for the whole map
-- ARGV[1]  get | size | put | absent | remove    (get, size: only KEYS[1])
-- ARGV[2]  how many bytes of a value can be told at most
-- ARGV[3]  ms that the note stands
-- ARGV[4]  token, 0: none      ARGV[5]  ms that the guard stands, from its last use
-- ARGV[6]  the key in the map  ARGV[7]  the value
--
-- Replies  'ok <size> 0'              size
--          'ok 0 0', 'ok 0 0 <bytes>' what there is; put, remove: what there was
--          'exists', 'absent', 'stale', 'large <bytes>'    nothing was done
local verb, field = ARGV[1], ARGV[6]
if verb == 'size' then
    return string.format('ok %.0f 0', redis.call('HLEN', KEYS[1]))
end
local size = redis.call('HSTRLEN', KEYS[1], field)
local exists = redis.call('HEXISTS', KEYS[1], field) == 1
local function told()
    return exists and 'ok 0 0 ' .. redis.call('HGET', KEYS[1], field) or 'ok 0 0'
end
if verb == 'get' then
    if not exists then
        return 'absent'
    end
    return size > tonumber(ARGV[2]) and 'large ' .. size or told()
end
local before = redis.call('GET', KEYS[2])
if before then
    return before
end
local token, guard = ARGV[4], redis.call('GET', KEYS[4])
if token ~= '0' and guard and (#guard > #token or (#guard == #token and guard > token)) then
    return 'stale'
end
if verb == 'absent' and exists then
    return 'exists'
elseif verb == 'remove' and not exists then
    return 'absent'
elseif size > tonumber(ARGV[2]) then
    return 'large ' .. size
end
local reply = told()
if verb == 'remove' then
    redis.call('HDEL', KEYS[1], field)
else
    redis.call('HSET', KEYS[1], field, ARGV[7])
end
if token ~= '0' then
    redis.call('SET', KEYS[4], token, 'PX', ARGV[5])
end
redis.call('SET', KEYS[2], reply, 'PX', ARGV[3])
redis.call('DEL', KEYS[3])
return reply
