-- The id of a permit: what its owner's begin with, and which one it is.
local function id(begin, i)
    return begin .. string.char(math.floor(i / 256), i % 256)
end

-- By the server's clock.
local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
