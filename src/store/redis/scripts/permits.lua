-- SPDX-License-Identifier: Apache-2.0
-- One step with the number that expirable permits share (Redisson's RPermitExpirableSemaphore): what is
-- available, as a number in text, and those that are taken, each with the time at which it expires. The
-- clock is the server's.
--
-- KEYS[1]  the number          KEYS[2], KEYS[3]  notes, as in semaphore.lua
-- KEYS[4]  its channel (redisson_sc)             KEYS[5]  a sorted set: permit -> epoch ms
-- ARGV[1]  set | resize | add | count | delete   (count: KEYS[1] and, as KEYS[2], the sorted set)
-- ARGV[2]  ms that the note stands    ARGV[3]  a number
-- ARGV[4]  what a number may come to, up or down
--
-- Replies  'ok <available> <taken>'
--          'exists', 'absent'    set and delete: nothing was done
--          'range <number>'      it would come to that: nothing was done
--
-- A ttl that the key has stays. A negative number is never published.
local text = redis.call('GET', KEYS[1])
if text and text ~= '0' and not (string.find(text, '^%-?[1-9]%d*$') and #text < 17) then
    return {err = 'WRONGTYPE the value under this name is not a count'}
end
local verb, number, count = ARGV[1], tonumber(ARGV[3]), tonumber(text or 0)
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local set = verb == 'count' and KEYS[2] or KEYS[5]
local expired = redis.call('ZCOUNT', set, '-inf', now)
local taken = redis.call('ZCARD', set) - expired
local function ok(available)
    return string.format('ok %.0f %.0f', available, taken)
end
if verb == 'count' then
    return ok(text and count + expired or 0)
end
local before = redis.call('GET', KEYS[2])
if before then
    return before
end
local function finish(available)
    redis.call('SET', KEYS[2], ok(available), 'PX', ARGV[2])
    redis.call('DEL', KEYS[3])
    return ok(available)
end
local function tell(said)
    redis.pcall('PUBLISH', KEYS[4], string.format('%.0f', said)) -- what is done is done, also when denied
end
if verb == 'delete' then
    if redis.call('DEL', KEYS[1], KEYS[5]) == 0 then
        return 'absent'
    end
    taken = 0
    return finish(0)
end
if verb == 'set' and text then
    return 'exists'
end
if not text and verb ~= 'add' then
    redis.call('SET', KEYS[1], ARGV[3])
    tell(number)
    return finish(number)
end
if verb == 'add' then
    local sum = count + number
    if math.abs(sum) > tonumber(ARGV[4]) then
        return string.format('range %.0f', sum)
    end
    redis.call('INCRBY', KEYS[1], ARGV[3])
    if number > 0 then
        tell(number)
    end
    return finish(sum)
end
-- A new total: what is not taken is available, fewer than none included. Expired permits come back here.
local left = number - taken
redis.call('INCRBY', KEYS[1], string.format('%.0f', left - count))
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now)
if left > count and left > 0 then
    tell(left > count + expired and number or left)
end
return finish(left)
