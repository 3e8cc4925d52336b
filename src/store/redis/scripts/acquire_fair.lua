-- SPDX-License-Identifier: Apache-2.0
-- Takes a lock for an owner, if nobody has it and nobody waits who came before. All checks come before the
-- first write, but that those who wait no longer are taken out of the queue. Repeated for an owner that has
-- it, it changes nothing.
--
-- KEYS[1]  the lock: a hash of owner -> "1", with a ttl (Redisson's RFairLock)
-- KEYS[2..5]  see parts/queue.lua; the last is the lock's channel, with which the names of the waiters' begin
-- KEYS[6]  the counter of tokens, in the lock's slot
-- ARGV[1]  owner    ARGV[2]  ttl in ms    ARGV[3]  how many tokens are wanted
-- ARGV[4]  ms for which it wants to wait, as Redisson counts them    ARGV[5]  '1': if it is busy, take a place
-- ARGV[6]  what Redisson publishes for "unlocked"
--
-- Replies  {1, first token, how many}    taken
--          {0, ms after which to look again or -1, 2 our turn | 1 read-write lock, 1 it has a place}
--          {2}                           this owner has it already
-- include token
-- include queue
local LIFE = 30000 -- ms by which a place that runs out is kept longer while its owner lives
local OFTEN = 1500 -- ms after which who has a place tries again at the latest
local me, wait = ARGV[1], tonumber(ARGV[4])
local free = redis.call('EXISTS', LOCK) == 0
if not free and redis.call('HEXISTS', LOCK, me) == 1 then
    return {2}
end
local before = redis.call('LINDEX', LIST, 0)
local first, alive = before, 0
if not free or before ~= me then -- else it is our turn, and we are alive
    first, alive = head(before)
end
look_at_clock()
if free and (not first or first == me) then
    local last, count = tokens(KEYS[6], ARGV[3], time)
    if first then
        remove(me, 0, redis.call('ZSCORE', TILL, me), wait)
    end
    redis.call('HSET', LOCK, me, '1')
    redis.call('PEXPIRE', LOCK, ARGV[2])
    redis.call('SET', KEYS[6], string.format('%.0f', last))
    return {1, last - count + 1, count}
end

local function take_place()
    local till, place = redis.call('ZSCORE', TILL, me), redis.call('LPOS', LIST, me)
    if till and place then
        redis.call('ZREM', TRIED, '') -- not there; who has a place keeps it also on a server out of memory,
        redis.call('ZADD', TRIED, now, me) -- which refuses nothing more once a script has begun to write
    else
        local tail = redis.call('LINDEX', LIST, -1)
        local after = tail and tail ~= me and redis.call('ZSCORE', TILL, tail)
        after = after and after - now or redis.call('PTTL', LOCK)
        till = now + math.max(0, after) + wait
        redis.call('ZADD', TILL, till, me)
        redis.call('ZADD', TRIED, now, me)
        if not place then
            redis.call('RPUSH', LIST, me)
        end
    end
    -- Redisson's clients throw out whose time is over. They cannot know that we live: so it never is.
    if till - now < 2 * SILENCE then
        local by = LIFE - math.min(0, till - now)
        shift(redis.call('LPOS', LIST, me), by)
        till = till + by
    end
    local keep = math.ceil(till - now) + LIFE
    if redis.call('PTTL', TRIED) < keep then
        redis.call('PEXPIRE', TRIED, keep)
    end
end

if ARGV[5] == '1' then
    take_place()
end
if free and first ~= before then
    redis.pcall('PUBLISH', CHANNEL .. ':' .. first, ARGV[6]) -- it does not know that it has become the first
end
local left = free and alive or redis.call('PTTL', LOCK)
if ARGV[5] == '1' and (left < 0 or left > OFTEN) then
    left = OFTEN
end
return {0, left, redis.call('HEXISTS', LOCK, 'mode') == 1 and 1 or 2, tonumber(ARGV[5])}
