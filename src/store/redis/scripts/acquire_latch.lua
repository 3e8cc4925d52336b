-- SPDX-License-Identifier: Apache-2.0
-- Looks whether a count-down latch is open. Changes nothing.
--
-- KEYS[1]  the count (Redisson's RCountDownLatch)    KEYS[2]  there for a while when the latch was deleted
--
-- Replies  {1, 1, 1}      it has reached zero, or is not there
--          {0, -1, 4, 0}  not yet
--          {3}            it was deleted
local count = redis.call('GET', KEYS[1])
if not count then
    return redis.call('EXISTS', KEYS[2]) == 1 and {3} or {1, 1, 1}
end
if not tonumber(count) then
    return {err = 'WRONGTYPE the value under this name is not a count'}
end
return tonumber(count) > 0 and {0, -1, 4, 0} or {1, 1, 1}
