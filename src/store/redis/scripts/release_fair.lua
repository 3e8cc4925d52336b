-- SPDX-License-Identifier: Apache-2.0
-- Gives a fair lock back: removes this owner and nothing else, its place in the queue, too, if it has one, and
-- tells whose turn it is. Repeatable. No command here is refused by a server that is out of memory, once
-- something was removed.
--
-- KEYS[1..5]  as in acquire_fair.lua
-- ARGV[1]  owner    ARGV[2]  how long it wanted to wait; '': it has no place    ARGV[3]  what Redisson publishes for "unlocked"
--
-- Replies  how many subscribers were told, or -1 when the owner did not have it
-- include queue
local held = redis.call('HDEL', LOCK, ARGV[1])
local place = ARGV[2] ~= '' and leave(ARGV[1], tonumber(ARGV[2]))
local told
if (held == 1 or place) and redis.call('EXISTS', LOCK) == 0 then
    local first = head(redis.call('LINDEX', LIST, 0))
    -- Without anybody in the queue there may be others, who do not queue. What is done is done, also for a
    -- user who may not publish there.
    told = redis.pcall('PUBLISH', first and CHANNEL .. ':' .. first or CHANNEL, ARGV[3])
end
return held == 0 and -1 or type(told) == 'number' and told or 0
