-- SPDX-License-Identifier: Apache-2.0
-- What people may see of a client: who it is, what it holds and waits for. The server's clock dates it.
--
-- KEYS[1]  holdfast:client:<uuid>, a hash
-- ARGV[1]  ttl in ms
-- ARGV[2..7]  host, user, program, pid, version, age of the client in ms
-- ARGV[8]  what stands before hold: and wait: in fields: '', or 'string-' for locks of that layout
-- then for each change:
--   name, '1' held or '0', owner number, token, ms held, label, number of threads that wait,
--   ms waiting, '1' when it listens for wake-ups or '0', what kind of lock: '' or '/<kind>' or
--   '/<kind>/<permits at once>'
-- Fields  host user program pid version started, and with ARGV[8] before them
--         hold<kind>:<name>  "<owner number> <token> <since, epoch ms> <label>"
--         wait<kind>:<name>  "<threads> <since, epoch ms>"
--
-- A process can have to do with one name in several ways at once; a mutex has no kind, so that who knows of no
-- others reads it. Of some kinds there are several holds, the oldest is told; of a fair lock each owner tells
-- its own: so what is no longer held takes only its own owner's away.
--
-- Replies  1 when the key was there before, else 0
local known = redis.call('EXISTS', KEYS[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function since(age)
    return string.format('%.0f', now - tonumber(age))
end
redis.call('HSET', KEYS[1], 'host', ARGV[2], 'user', ARGV[3], 'program', ARGV[4], 'pid', ARGV[5],
    'version', ARGV[6], 'started', since(ARGV[7]))
for i = 9, #ARGV, 10 do
    local hold = ARGV[8] .. 'hold' .. ARGV[i + 9] .. ':' .. ARGV[i]
    local wait = ARGV[8] .. 'wait' .. ARGV[i + 9] .. ':' .. ARGV[i]
    local owner = ARGV[i + 2] .. ' '
    if ARGV[i + 1] == '1' then
        redis.call('HSET', KEYS[1], hold,
            owner .. ARGV[i + 3] .. ' ' .. since(ARGV[i + 4]) .. ' ' .. ARGV[i + 5])
    elseif string.sub(redis.call('HGET', KEYS[1], hold) or '', 1, #owner) == owner then
        redis.call('HDEL', KEYS[1], hold)
    end
    if ARGV[i + 6] ~= '0' or ARGV[i + 8] == '1' then
        redis.call('HSET', KEYS[1], wait, ARGV[i + 6] .. ' ' .. since(ARGV[i + 7]))
    else
        redis.call('HDEL', KEYS[1], wait)
    end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return known
