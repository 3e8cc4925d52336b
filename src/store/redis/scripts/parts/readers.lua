-- Redisson keeps for the i-th hold of a reader the key <prefix>:<owner>:rwlock_timeout:<i>. A reader none of
-- whose keys is left is dead, whatever the hash says. (Of one that counts more holds than anybody has only the
-- last are looked at: what is in the data must not keep the server busy.)
-- Returns ms until the last of the living readers runs out, 0 when there is none, and the fields of the dead.
local function readers(lock, prefix)
    local fields = redis.call('HGETALL', lock)
    local longest, dead = 0, {}
    for i = 1, #fields, 2 do
        local owner, count = fields[i], tonumber(fields[i + 1])
        if owner ~= 'mode' and string.sub(owner, -6) ~= ':write' then
            local left = 0
            for hold = count or 0, math.max(1, (count or 0) - 999), -1 do
                left = math.max(left,
                    redis.call('PTTL', prefix .. ':' .. owner .. ':rwlock_timeout:' .. hold))
            end
            longest = math.max(longest, left)
            if left == 0 then
                dead[#dead + 1] = owner
            end
        end
    end
    return longest, dead
end
