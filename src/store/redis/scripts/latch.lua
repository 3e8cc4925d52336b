-- SPDX-License-Identifier: Apache-2.0
-- One step with a count-down latch (Redisson's RCountDownLatch): a number in text, not there at zero.
--
-- KEYS[1]  the latch           KEYS[2], KEYS[3]  notes, as in semaphore.lua
-- KEYS[4]  its channel (redisson_countdownlatch__channel__)
-- KEYS[5]  our note that it was deleted: Redisson's message of that says as much as one of a new count
-- ARGV[1]  set | down | get | delete    (get: only KEYS[1])
-- ARGV[2]  ms that the note of this request stands    ARGV[3]  a number
-- ARGV[4]  ms that the note of a deletion stands
--
-- Replies  'ok <what is left>'
--          'exists', 'absent'    set and delete: nothing was done
--
-- Published: 0 at zero, which lets waiters go; 1 for a new count and for a deletion.
local text = redis.call('GET', KEYS[1])
if text and text ~= '0' and not (string.find(text, '^%-?[1-9]%d*$') and #text < 17) then
    return {err = 'WRONGTYPE the value under this name is not a count'}
end
local verb, count = ARGV[1], math.max(0, tonumber(text or 0))
local function ok(left)
    return string.format('ok %.0f', left)
end
if verb == 'get' then
    return ok(count)
end
local before = redis.call('GET', KEYS[2])
if before then
    return before
end
local function finish(said, left)
    if said then
        redis.pcall('PUBLISH', KEYS[4], said) -- what is done is done, also when this is denied
    end
    redis.call('SET', KEYS[2], ok(left), 'PX', ARGV[2])
    redis.call('DEL', KEYS[3])
    return ok(left)
end
if verb == 'set' then
    if text then
        return 'exists'
    end
    redis.call('SET', KEYS[1], ARGV[3])
    redis.call('DEL', KEYS[5])
    return finish('1', tonumber(ARGV[3]))
end
if verb == 'down' then
    if not text then
        return ok(0)
    end
    if count > 1 then
        redis.call('DECR', KEYS[1])
        return finish(nil, count - 1)
    end
    redis.call('DEL', KEYS[1])
    return finish('0', 0)
end
if not text then
    return 'absent'
end
redis.call('DEL', KEYS[1])
if count > 0 then
    redis.call('SET', KEYS[5], '1', 'PX', ARGV[4])
end
return finish('1', 0)
