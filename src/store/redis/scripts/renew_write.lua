-- SPDX-License-Identifier: Apache-2.0
-- Renews many read-write locks that are held for writing: those that their owners still have. A reader's longer
-- lease is not cut. One bad key does not spoil the others.
--
-- KEYS[i]       a lock
-- ARGV[2i - 1]  its ttl in ms from now; 0: only look    ARGV[2i]  its owner
--
-- Replies  an array: 1 where the owner has it, else 0
local kept = {}
for i = 1, #KEYS do
    local ttl = tonumber(ARGV[2 * i - 1])
    kept[i] = redis.pcall('HEXISTS', KEYS[i], ARGV[2 * i] .. ':write') == 1 and 1 or 0
    if kept[i] == 1 and ttl > 0 and redis.call('PTTL', KEYS[i]) < ttl then
        redis.call('PEXPIRE', KEYS[i], ttl)
    end
end
return kept
