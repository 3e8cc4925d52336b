-- The queue of a fair lock: Redisson's list of owners in the order in which they came, and its sorted set of
-- owner -> until when its place is kept, epoch ms. Beside them, for waiters of Holdfast alone, a sorted set of
-- owner -> when it tried last: such a waiter is alive as long as it tries, whatever the other score is.
local LOCK, LIST, TILL, TRIED, CHANNEL = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local SILENCE = 5000 -- ms after which a waiter of Holdfast counts as dead
local time, now -- the server's, once it was looked at

local function look_at_clock()
    time = time or redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Moves when the places of those from `from` on (0: the head) run out.
local function shift(from, by)
    if by == 0 then
        return
    end
    for _, owner in ipairs(redis.call('LRANGE', LIST, from, -1)) do
        if redis.call('ZSCORE', TILL, owner) then
            redis.call('ZINCRBY', TILL, by, owner)
        end
    end
end

-- Takes an owner out of the queue. Those behind it were counting on its time, which Redisson takes off them
-- when it leaves; here only what is left of it, or one whose turn came late would be thrown out for it.
local function remove(owner, place, till, wait)
    redis.call('ZREM', TRIED, owner)
    redis.call('ZREM', TILL, owner)
    if place then
        look_at_clock()
        redis.call('LREM', LIST, 0, owner)
        shift(place, -math.max(0, math.min(wait, (till or now) - now)))
    end
end

-- The same, wherever it stands. Returns its place, false when it had none.
local function leave(owner, wait)
    local place = redis.call('LPOS', LIST, owner)
    local till = redis.call('ZSCORE', TILL, owner)
    if place or till then
        remove(owner, place, till, wait)
    end
    return place
end

-- Who is first, nil when nobody is, and ms for which it may stay that without a sign of life. Those before it
-- that are dead are taken out, also one without a score, which Redisson would keep for ever. `owner`: the head
-- of the list.
local function head(owner)
    look_at_clock()
    while owner do
        local tried = tonumber(redis.call('ZSCORE', TRIED, owner))
        if tried and tried > now then -- the clock was set back
            redis.call('ZADD', TRIED, now, owner)
            tried = now
        end
        local till = tried and tried + SILENCE or tonumber(redis.call('ZSCORE', TILL, owner) or 0)
        if till > now then
            return owner, till - now
        end
        leave(owner, math.huge)
        owner = redis.call('LINDEX', LIST, 0)
    end
end
