-- A token is at least the server's time in microseconds: so it grows even when the counter was lost. A block
-- of tokens lies behind that time, between the last one given and now, so that the counter never runs
-- ahead of the clock because of it. Changes nothing; the caller sets the counter to the last one.
-- `time`: of the server. Returns the last one, and how many there are.
local function tokens(counter, wanted, time)
    local now = time[1] * 1000000 + time[2]
    local last = tonumber(redis.call('GET', counter) or now)
    if last >= now then
        return last + 1, 1
    end
    return now, math.min(tonumber(wanted), now - last)
end
