-- SPDX-License-Identifier: Apache-2.0
-- Renews permits of many semaphores: those that their owners still have, all of them. One bad key does not
-- spoil the others.
--
-- KEYS[i]       the permits that are taken
-- ARGV[3i - 2]  their ttl in ms from now; 0: only look
-- ARGV[3i - 1]  what the owner's ids begin with    ARGV[3i]  how many there are of them
--
-- Replies  an array: 1 where the owner has them, else 0
-- include permits
local kept, now = {}, now_ms()
for i = 1, #KEYS do
    local ttl, begin, count = tonumber(ARGV[3 * i - 2]), ARGV[3 * i - 1], tonumber(ARGV[3 * i])
    kept[i] = 1
    for k = 0, count - 1 do
        local till = redis.pcall('ZSCORE', KEYS[i], id(begin, k))
        if type(till) ~= 'string' or tonumber(till) <= now then
            kept[i] = 0
            break
        end
    end
    if kept[i] * ttl > 0 then
        -- Not there. A server that is out of memory refuses nothing more once a script has begun to write.
        redis.call('ZREM', KEYS[i], '')
    else
        count = 0
    end
    for k = 0, count - 1 do
        redis.call('ZADD', KEYS[i], now + ttl, id(begin, k))
    end
end
return kept
