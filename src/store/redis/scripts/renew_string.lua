-- SPDX-License-Identifier: Apache-2.0
-- renew.lua for locks that are plain strings.
--
-- KEYS[i]       a lock
-- ARGV[2i - 1]  its ttl in ms from now; 0: only look    ARGV[2i]  its owner
--
-- Replies  an array: 1 where the owner has it, else 0
local kept = {}
for i = 1, #KEYS do
    local ttl = ARGV[2 * i - 1]
    kept[i] = redis.pcall('GET', KEYS[i]) == ARGV[2 * i] and 1 or 0
    if kept[i] == 1 and ttl ~= '0' then
        redis.call('PEXPIRE', KEYS[i], ttl)
    end
end
return kept
