-- SPDX-License-Identifier: Apache-2.0
-- Renews many read-write locks that are held for reading: those that their owners still have. Another reader's
-- longer lease is not cut. One bad key does not spoil the others.
--
-- KEYS[2i - 1]  a lock    KEYS[2i]  the owner's key (see acquire_read.lua)
-- ARGV[2i - 1]  its ttl in ms from now; 0: only look    ARGV[2i]  its owner
--
-- Replies  an array: 1 where the owner has it, else 0
local kept = {}
for i = 1, #KEYS / 2 do
    local lock, key = KEYS[2 * i - 1], KEYS[2 * i]
    local ttl = tonumber(ARGV[2 * i - 1])
    local held = redis.pcall('HEXISTS', lock, ARGV[2 * i]) == 1 and redis.call('EXISTS', key) == 1
    kept[i] = held and 1 or 0
    if held and ttl > 0 then
        redis.call('PEXPIRE', key, ttl)
        if redis.call('PTTL', lock) < ttl then
            redis.call('PEXPIRE', lock, ttl)
        end
    end
end
return kept
