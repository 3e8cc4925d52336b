-- SPDX-License-Identifier: Apache-2.0
-- One step with a semaphore (Redisson's RSemaphore): a number in text. Nothing is written before all checks.
--
-- KEYS[1]  the semaphore
-- KEYS[2]  our note of this request: its answer, so that a repetition changes nothing and is answered alike
-- KEYS[3]  the note of an earlier request that will not be repeated: removed
-- KEYS[4]  its channel (redisson_sc)
-- ARGV[1]  set | release | return | add | drain | available | delete    (available: only KEYS[1])
-- ARGV[2]  ms that the note stands    ARGV[3]  a number    ARGV[4]  ttl in ms, 0: none
-- ARGV[5]  what a number may come to, up or down
--
-- Replies  'ok <number>'   drain: taken; available: available; else what there is now
--          'exists', 'absent'   set, return and delete: nothing was done
--          'range <number>'     it would come to that: nothing was done
--
-- Published is what there is now, where that is more than before and more than none: a negative number
-- breaks Redisson's listeners. A ttl that the key has stays, where Redisson's own scripts drop it.
local text = redis.call('GET', KEYS[1])
if text and text ~= '0' and not (string.find(text, '^%-?[1-9]%d*$') and #text < 17) then
    return {err = 'WRONGTYPE the value under this name is not a count'}
end
local verb, number, count = ARGV[1], tonumber(ARGV[3]), tonumber(text or 0)
local function ok(said)
    return string.format('ok %.0f', said)
end
if verb == 'available' then
    return ok(count)
end
local before = redis.call('GET', KEYS[2])
if before then
    return before
end
local function finish(said)
    redis.call('SET', KEYS[2], ok(said), 'PX', ARGV[2])
    redis.call('DEL', KEYS[3])
    return ok(said)
end
local function tell(said)
    redis.pcall('PUBLISH', KEYS[4], string.format('%.0f', said)) -- what is done is done, also when denied
end
if verb == 'set' then
    if text then
        return 'exists'
    end
    if ARGV[4] == '0' then
        redis.call('SET', KEYS[1], ARGV[3])
    else
        redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
    end
    tell(number)
    return finish(number)
end
if verb == 'drain' then
    if count <= 0 then
        return ok(0) -- fewer than none have been lent: they are not forgiven
    end
    redis.call('DECRBY', KEYS[1], text)
    return finish(count)
end
if not text and (verb == 'return' or verb == 'delete') then
    return 'absent'
end
if verb == 'delete' then
    redis.call('DEL', KEYS[1])
    return finish(0)
end
local sum = count + number
if math.abs(sum) > tonumber(ARGV[5]) then
    return string.format('range %.0f', sum)
end
redis.call('INCRBY', KEYS[1], ARGV[3])
if number > 0 and sum > 0 then
    tell(sum)
end
return finish(sum)
