-- SPDX-License-Identifier: Apache-2.0
-- A note that something was done, which is forgotten after a while. Ours alone: Redisson has nothing like it.
--
-- KEYS[1]  holdfast:stamp:{<name>}: when it was made, in ms by the server's clock
-- KEYS[2], KEYS[3]  notes of requests, as in semaphore.lua
-- ARGV[1]  set | get | delete    (get: only KEYS[1])
-- ARGV[2]  ms that the note of this request stands    ARGV[3]  ms that the stamp stands
--
-- Replies  'ok <ms since it was made> <ms left>'    get; else 'ok 0 0'
--          'absent'                                 get, delete
local verb = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local made = redis.call('GET', KEYS[1])
if verb == 'get' then
    local left = redis.call('PTTL', KEYS[1])
    if not made or left < 0 then
        return 'absent'
    end
    -- A clock that was set back, or what is no number: it was made just now.
    return string.format('ok %.0f %.0f', math.max(0, now - (tonumber(made) or now)), left)
end
local before = redis.call('GET', KEYS[2])
if before then
    return before
end
if verb == 'delete' then
    if redis.call('DEL', KEYS[1]) == 0 then
        return 'absent'
    end
else
    redis.call('SET', KEYS[1], string.format('%.0f', now), 'PX', ARGV[3])
end
redis.call('SET', KEYS[2], 'ok 0 0', 'PX', ARGV[2])
redis.call('DEL', KEYS[3])
return 'ok 0 0'
