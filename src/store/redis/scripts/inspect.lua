-- SPDX-License-Identifier: Apache-2.0
-- Looks at names that may be locks, semaphores or latches, and at what belongs to them. Changes nothing.
--
-- KEYS[i]  a name    ARGV[1]  of how many holders and waiters of each is told at most
--
-- Replies  for each name: 0 when it is none of these, else
--          {ms until it runs out or -1, owner, count}    an RLock that nobody queues for
--          {kind, ms, available, holders, {owner, ms, count, …}, waiters, {owner, …}}
--              fair      a lock with a queue: its holder, if there is one, and the queue in its order
--              read      the readers that live, each with its own ms
--              write     the writer; if it reads, too, that counts as entered once more
--              permits   as owner the id of each permit, 16 bytes, as count 1
--              number    a number alone: a semaphore, a latch, permits of which none is taken, or of no kind
--          and last the server's time in ms
-- What lies where something else was expected is passed over: a hash of a program's own may have a field "mode",
-- and what is in it must not keep the server busy.
local MOST = tonumber(ARGV[1])
local FIELDS = 10000 -- no read-write lock has more
local OWNER = '^%x+%-%x+%-%x+%-%x+%-%x+:' -- <uuid>:<thread>, and perhaps more parts
local NEVER = 922337203685477 -- when Redisson's permits without a lease run out
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local now_text = string.format('%.0f', now)

-- false for an error, too
local function ask(...)
    local reply = redis.pcall(...)
    return not (type(reply) == 'table' and reply.err) and reply
end

-- Redisson's prefixName() and suffixName()
local function derived(prefix, name, suffix)
    return prefix .. (string.find(name, '{', 1, true) and name or '{' .. name .. '}') .. suffix
end

-- Those who wait, but for the dead (parts/queue.lua), and how many they are.
local function queue(name)
    local list = derived('redisson_lock_queue:', name, '')
    local till, tried = derived('redisson_lock_timeout:', name, ''), derived('holdfast_fair:', name, '')
    local living, total = {}, ask('LLEN', list) or 0
    for _, owner in ipairs(ask('LRANGE', list, 0, MOST - 1) or {}) do
        local sign = tonumber(ask('ZSCORE', tried, owner) or nil)
        local over = sign and sign + 5000 or tonumber(ask('ZSCORE', till, owner) or 0)
        if over > now then
            living[#living + 1] = owner
        else
            total = total - 1
        end
    end
    return total, living
end

-- ms until the last of a reader's holds runs out; 0: it is dead
local function reader_left(name, owner, count)
    local left = 0
    for hold = count, math.max(1, count - 999), -1 do
        left = math.max(left, ask('PTTL', derived('', name, ':' .. owner .. ':rwlock_timeout:' .. hold)) or 0)
    end
    return left
end

local function look_at_read_write(name, mode)
    if redis.call('HLEN', name) > FIELDS then
        return 0
    end
    local fields, holders, rows = redis.call('HGETALL', name), 0, {}
    local values, ttl = {}, redis.call('PTTL', name)
    for i = 1, #fields, 2 do
        values[fields[i]] = tonumber(fields[i + 1])
    end
    for i = 1, #fields, 2 do
        local owner, count, left = fields[i], values[fields[i]], 0
        if not count or not string.find(owner, OWNER) then
            left = 0
        elseif mode == 'write' and string.sub(owner, -6) == ':write' then
            owner = string.sub(owner, 1, -7)
            left, count = ttl, count + (values[owner] or 0)
        elseif mode == 'read' then
            left = reader_left(name, owner, count)
        end
        if left ~= 0 then
            holders = holders + 1
            if holders <= MOST then
                rows[#rows + 1], rows[#rows + 2], rows[#rows + 3] = owner, left, count
            end
        end
    end
    return holders > 0 and {mode, ttl, -1, holders, rows, 0, {}} or 0
end

local function look_at_hash(name)
    local mode = redis.call('HGET', name, 'mode')
    if mode == 'read' or mode == 'write' then
        return look_at_read_write(name, mode)
    end
    if redis.call('HLEN', name) ~= 1 then
        return 0
    end
    local field = redis.call('HGETALL', name)
    if not (string.find(field[1], OWNER) and string.find(field[2], '^%d+$')) then
        return 0
    end
    local row = {redis.call('PTTL', name), field[1], field[2]}
    local waiters, owners = queue(name)
    if waiters == 0 then
        return row
    end
    return {'fair', row[1], -1, 1, {field[1], row[1], tonumber(field[2])}, waiters, owners}
end

local function look_at_number(name)
    local text, set = nil, derived('', name, ':timeout')
    if redis.call('STRLEN', name) < 17 then
        text = redis.call('GET', name)
    end
    local number = text and (text == '0' or string.find(text, '^%-?[1-9]%d*$')) and tonumber(text)
    if not number then
        return 0
    end
    local taken, rows = ask('ZCOUNT', set, '(' .. now_text, '+inf') or 0, {}
    if (ask('ZCARD', set) or 0) == 0 then
        return {'number', redis.call('PTTL', name), number, 0, {}, 0, {}}
    end
    local ids = redis.call('ZRANGEBYSCORE', set, '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', 0, MOST)
    for i = 1, #ids, 2 do
        local till = tonumber(ids[i + 1])
        rows[#rows + 1], rows[#rows + 2] = ids[i], till < NEVER and math.ceil(till - now) or -1
        rows[#rows + 1] = 1
    end
    number = number + redis.call('ZCOUNT', set, '-inf', now_text)
    return {'permits', redis.call('PTTL', name), number, taken, rows, 0, {}}
end

local function look_at_nothing(name)
    local waiters, owners = queue(name)
    return waiters > 0 and {'fair', -1, -1, 0, {}, waiters, owners} or 0
end

local found = {}
for i = 1, #KEYS do
    local kind = redis.call('TYPE', KEYS[i]).ok
    found[i] = kind == 'hash' and look_at_hash(KEYS[i]) or kind == 'string' and look_at_number(KEYS[i]) or
        kind == 'none' and look_at_nothing(KEYS[i]) or 0
end
found[#KEYS + 1] = now
return found
