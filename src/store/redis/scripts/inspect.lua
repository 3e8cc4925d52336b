-- SPDX-License-Identifier: Apache-2.0
-- Looks at keys that may be locks. Changes nothing.
--
-- KEYS[i]  a key
--
-- Replies  for each key: 0 when it is no lock, else
--          {ms until it runs out or -1, owner, count}    an RLock
--          {ms until it runs out or -1, 'mode', 'read' or 'write'}   a read-write lock
--          and last the server's time in ms
local found = {}
for i = 1, #KEYS do
    found[i] = 0
    if redis.call('TYPE', KEYS[i]).ok == 'hash' then
        local mode = redis.call('HGET', KEYS[i], 'mode')
        if mode == 'read' or mode == 'write' then
            found[i] = {redis.call('PTTL', KEYS[i]), 'mode', mode}
        elseif redis.call('HLEN', KEYS[i]) == 1 then
            local field = redis.call('HGETALL', KEYS[i])
            -- an owner: <uuid>:<thread>, and perhaps more parts
            if string.find(field[1], '^%x+%-%x+%-%x+%-%x+%-%x+:') and string.find(field[2], '^%d+$') then
                found[i] = {redis.call('PTTL', KEYS[i]), field[1], field[2]}
            end
        end
    end
end
local time = redis.call('TIME')
found[#KEYS + 1] = time[1] * 1000 + math.floor(time[2] / 1000)
return found
