-- SPDX-License-Identifier: Apache-2.0
-- inspect.lua for locks that are plain strings. Changes nothing.
--
-- Any string may be a lock. Among many keys (ARGV[1] is '') only those count whose value looks like what clients
-- draw for it: ours, a UUID, 32 hexadecimal digits or more (redis-py, redlock), 24 characters of base64
-- (python-redis-lock, redsync). A single one that is asked for counts whatever it has.
--
-- KEYS[i]  a key    ARGV[1]  '1' when one was asked for, else ''
--
-- Replies  for each key: 0 when it is no lock, else
--          {ms until it runs out or -1, owner, '1'}
--          {ms until it runs out or -1, 'mode', 'read' or 'write'}   a read-write lock of Redisson's in its place
--          and last the server's time in ms
local function is_token(text)
    local size = #text
    return string.find(text, '^%x+%-%x+%-%x+%-%x+%-%x+$') or
        string.find(text, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') or
        size >= 32 and size <= 64 and string.find(text, '^%x+$') or
        size == 24 and string.find(text, '^[%w+/]+=?=?$')
end
local function look_at_hash(key)
    local mode = redis.call('HGET', key, 'mode')
    if mode == 'read' or mode == 'write' then
        return {redis.call('PTTL', key), 'mode', mode}
    end
    local field = redis.call('HLEN', key) == 1 and redis.call('HGETALL', key) or {'', ''}
    if string.find(field[1], '^%x+%-%x+%-%x+%-%x+%-%x+:') and string.find(field[2], '^%d+$') then
        return {redis.call('PTTL', key), field[1], field[2]}
    end
    return 0
end
local found = {}
for i = 1, #KEYS do
    local kind = redis.call('TYPE', KEYS[i]).ok
    found[i] = 0
    if kind == 'hash' then
        found[i] = look_at_hash(KEYS[i])
    elseif kind == 'string' then
        local owner = redis.call('GET', KEYS[i])
        if ARGV[1] ~= '' or is_token(owner) then
            found[i] = {redis.call('PTTL', KEYS[i]), owner, '1'}
        end
    end
end
local time = redis.call('TIME')
found[#KEYS + 1] = time[1] * 1000 + math.floor(time[2] / 1000)
return found
