/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/java.h"

#include <sys/time.h>

/* KEYS lock, queue, timeouts, channel; ARGV now. */
#define FAIR_HEAD                                                                                  \
    "local N, Q, Z, now = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1]) "                           \
    "local function c(...) return redis.call(...) end "                                            \
    "while true do local h = c('LINDEX', Q, 0) if not h then break end "                           \
    "local s = c('ZSCORE', Z, h) if not s or tonumber(s) > now then break end "                    \
    "c('ZREM', Z, h) c('LPOP', Q) end "

/* ARGV[2] lease, [3] owner, [4] wait */
#define FAIR_TRY                                                                                   \
    FAIR_HEAD                                                                                      \
    "local lease, me, wait = ARGV[2], ARGV[3], tonumber(ARGV[4]) "                                 \
    "if c('EXISTS', N) == 0 and (c('EXISTS', Q) == 0 or c('LINDEX', Q, 0) == me) then "            \
    "c('LPOP', Q) c('ZREM', Z, me) "                                                               \
    "for _, m in ipairs(c('ZRANGE', Z, 0, -1)) do c('ZINCRBY', Z, -wait, m) end "                  \
    "c('HSET', N, me, 1) c('PEXPIRE', N, lease) return -1000 end "                                 \
    "if c('HEXISTS', N, me) == 1 then c('HINCRBY', N, me, 1) c('PEXPIRE', N, lease) "              \
    "return -1000 end "                                                                            \
    "if c('ZSCORE', Z, me) then return math.max(0, c('PTTL', N)) end "                             \
    "local last, ttl = c('LINDEX', Q, -1), nil "                                                   \
    "if last and last ~= me and c('ZSCORE', Z, last) then ttl = c('ZSCORE', Z, last) - now "       \
    "else ttl = c('PTTL', N) end "                                                                 \
    "if c('ZADD', Z, ttl + wait + now, me) == 1 then c('RPUSH', Q, me) end return ttl"

/* ARGV[2] owner */
#define FAIR_UNLOCK                                                                                \
    FAIR_HEAD                                                                                      \
    "local me = ARGV[2] local function tell() local h = c('LINDEX', Q, 0) "                        \
    "if h then c('PUBLISH', KEYS[4] .. ':' .. h, '0') end end "                                    \
    "if c('EXISTS', N) == 0 then tell() return 1 end "                                             \
    "if c('HEXISTS', N, me) == 0 then return 0 end "                                               \
    "if c('HINCRBY', N, me, -1) > 0 then return 1 end c('DEL', N) tell() return 1"

/* KEYS queue, timeouts; ARGV owner, wait */
#define FAIR_GIVE_UP                                                                               \
    "local q = redis.call('LRANGE', KEYS[1], 0, -1) local behind = false "                         \
    "for _, o in ipairs(q) do if behind then "                                                     \
    "redis.call('ZINCRBY', KEYS[2], -tonumber(ARGV[2]), o) end "                                   \
    "if o == ARGV[1] then behind = true end end "                                                  \
    "redis.call('ZREM', KEYS[2], ARGV[1]) redis.call('LREM', KEYS[1], 0, ARGV[1]) return 0"

/* KEYS lock, own timeout prefix; ARGV lease, owner */
#define READ_TRY                                                                                   \
    "local N, K, lease, me = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2] "                        \
    "local mode = redis.call('HGET', N, 'mode') "                                                  \
    "if not mode then redis.call('HSET', N, 'mode', 'read', me, 1) "                               \
    "redis.call('SET', K .. ':1', 1, 'PX', lease) redis.call('PEXPIRE', N, lease) "                \
    "return -1000 end "                                                                            \
    "if mode == 'read' or redis.call('HEXISTS', N, me .. ':write') == 1 then "                     \
    "local i = redis.call('HINCRBY', N, me, 1) "                                                   \
    "redis.call('SET', K .. ':' .. i, 1, 'PX', lease) "                                            \
    "redis.call('PEXPIRE', N, math.max(redis.call('PTTL', N), lease)) return -1000 end "           \
    "return redis.call('PTTL', N)"

/* KEYS lock, channel, own timeout prefix, prefix of all; ARGV owner */
#define READ_UNLOCK                                                                                \
    "local N, me = KEYS[1], ARGV[1] local mode = redis.call('HGET', N, 'mode') "                   \
    "if not mode then redis.call('PUBLISH', KEYS[2], '0') return 0 end "                           \
    "if redis.call('HEXISTS', N, me) == 0 then return 0 end "                                      \
    "local left = redis.call('HINCRBY', N, me, -1) "                                               \
    "if left == 0 then redis.call('HDEL', N, me) end "                                             \
    "redis.call('DEL', KEYS[3] .. ':' .. (left + 1)) "                                             \
    "if redis.call('HLEN', N) > 1 then local m = -3 local all = redis.call('HGETALL', N) "         \
    "for i = 1, #all, 2 do local v = tonumber(all[i + 1]) if v then for k = v, 1, -1 do "          \
    "m = math.max(m, redis.call('PTTL', KEYS[4] .. ':' .. all[i] .. ':rwlock_timeout:' .. k)) "    \
    "end end end if m > 0 then redis.call('PEXPIRE', N, m) return 1 end "                          \
    "if mode == 'write' then return 1 end end "                                                    \
    "redis.call('DEL', N) redis.call('PUBLISH', KEYS[2], '0') return 1"

/* KEYS lock; ARGV lease, owner */
#define WRITE_TRY                                                                                  \
    "local N, me = KEYS[1], ARGV[2] .. ':write' local mode = redis.call('HGET', N, 'mode') "       \
    "if not mode then redis.call('HSET', N, 'mode', 'write', me, 1) "                              \
    "redis.call('PEXPIRE', N, ARGV[1]) return -1000 end "                                          \
    "if mode == 'write' and redis.call('HEXISTS', N, me) == 1 then "                               \
    "redis.call('HINCRBY', N, me, 1) redis.call('PEXPIRE', N, redis.call('PTTL', N) + ARGV[1]) "   \
    "return -1000 end return redis.call('PTTL', N)"

/* KEYS lock, channel; ARGV owner */
#define WRITE_UNLOCK                                                                               \
    "local N, me = KEYS[1], ARGV[1] .. ':write' local mode = redis.call('HGET', N, 'mode') "       \
    "if not mode then redis.call('PUBLISH', KEYS[2], '1') return 0 end "                           \
    "if mode ~= 'write' or redis.call('HEXISTS', N, me) == 0 then return 0 end "                   \
    "if redis.call('HINCRBY', N, me, -1) > 0 then return 1 end redis.call('HDEL', N, me) "         \
    "if redis.call('HLEN', N) == 1 then redis.call('DEL', N) "                                     \
    "redis.call('PUBLISH', KEYS[2], '1') else redis.call('HSET', N, 'mode', 'read') end return 1"

/* KEYS count, taken, channel; ARGV now */
#define PERMIT_COLLECT                                                                             \
    "local N, Z, now = KEYS[1], KEYS[2], tonumber(ARGV[1]) "                                       \
    "local over = redis.call('ZRANGEBYSCORE', Z, 0, now) if #over > 0 then "                       \
    "redis.call('ZREM', Z, unpack(over)) local v = redis.call('INCRBY', N, #over) "                \
    "if v > 0 then redis.call('PUBLISH', KEYS[3], v) end end "

/* ARGV[2] until, [3] id */
#define PERMIT_TRY                                                                                 \
    PERMIT_COLLECT "local v = redis.call('GET', N) if v and tonumber(v) >= 1 then "                \
                   "redis.call('DECRBY', N, 1) redis.call('ZADD', Z, ARGV[2], ARGV[3]) return 1 "  \
                   "end return 0"

/* ARGV[2] id */
#define PERMIT_RELEASE                                                                             \
    "local till = redis.call('ZSCORE', KEYS[2], ARGV[2]) "                                         \
    "if redis.call('ZREM', KEYS[2], ARGV[2]) ~= 1 then return 0 end "                              \
    "redis.call('PUBLISH', KEYS[3], redis.call('INCRBY', KEYS[1], 1)) "                            \
    "return tonumber(till) > tonumber(ARGV[1]) and 1 or 0"

static long long wall_ms(void)
{
    struct timeval tv;

    gettimeofday(&tv, NULL);
    return (long long)tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

const char *java_owner(int thread)
{
    static char text[4][64];
    static unsigned next;
    char *to = text[next++ % 4];

    snprintf(to, sizeof text[0], "01234567-89ab-4cde-8f01-23456789abcd:%d", thread);
    return to;
}

/* ------------------------------------------------------------------------------------------------
 * Fair
 */

long long java_fair_try(const char *name, int thread, long long wait_ms, long long lease_ms)
{
    return raw_integer(&server,
                       "EVAL %s 3 %s redisson_lock_queue:{%s} redisson_lock_timeout:{%s} "
                       "%lld %lld %s %lld",
                       FAIR_TRY, name, name, name, wall_ms(), lease_ms, java_owner(thread),
                       wait_ms);
}

bool java_fair_unlock(const char *name, int thread)
{
    return raw_integer(&server,
                       "EVAL %s 4 %s redisson_lock_queue:{%s} redisson_lock_timeout:{%s} "
                       "redisson_lock__channel:{%s} %lld %s",
                       FAIR_UNLOCK, name, name, name, name, wall_ms(), java_owner(thread)) == 1;
}

void java_fair_give_up(const char *name, int thread, long long wait_ms)
{
    raw_do(&server, "EVAL %s 2 redisson_lock_queue:{%s} redisson_lock_timeout:{%s} %s %lld",
           FAIR_GIVE_UP, name, name, java_owner(thread), wait_ms);
}

/* ------------------------------------------------------------------------------------------------
 * Read-write
 */

long long java_read_try(const char *name, int thread, long long lease_ms)
{
    const char *owner = java_owner(thread);

    return raw_integer(&server, "EVAL %s 2 %s {%s}:%s:rwlock_timeout %lld %s", READ_TRY, name, name,
                       owner, lease_ms, owner);
}

bool java_read_unlock(const char *name, int thread)
{
    const char *owner = java_owner(thread);

    return raw_integer(&server, "EVAL %s 4 %s redisson_rwlock:{%s} {%s}:%s:rwlock_timeout {%s} %s",
                       READ_UNLOCK, name, name, name, owner, name, owner) == 1;
}

long long java_write_try(const char *name, int thread, long long lease_ms)
{
    return raw_integer(&server, "EVAL %s 1 %s %lld %s", WRITE_TRY, name, lease_ms,
                       java_owner(thread));
}

bool java_write_unlock(const char *name, int thread)
{
    return raw_integer(&server, "EVAL %s 2 %s redisson_rwlock:{%s} %s", WRITE_UNLOCK, name, name,
                       java_owner(thread)) == 1;
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

bool java_permit_try(const char *name, const char *id, long long lease_ms)
{
    long long now = wall_ms();

    return raw_integer(&server, "EVAL %s 3 %s {%s}:timeout redisson_sc:{%s} %lld %lld %s",
                       PERMIT_TRY, name, name, name, now, now + lease_ms, id) == 1;
}

bool java_permit_release(const char *name, const char *id)
{
    return raw_integer(&server, "EVAL %s 3 %s {%s}:timeout redisson_sc:{%s} %lld %s",
                       PERMIT_RELEASE, name, name, name, wall_ms(), id) == 1;
}
