-- Purpose:   notes that a worker is there, and forgets those that nobody has heard of for long
-- KEYS:      1 workers (zset: worker id -> when it was heard of, ms)
-- ARGV:      1 worker id  2 how long a worker is remembered, ms
-- Returns:   nothing
-- Refuses:   nothing
-- Invariant: the set names every worker whose own key lives; those keys decide who does
local workers = KEYS[1]
local id, memory = ARGV[1], tonumber(ARGV[2])

local clock = redis.call("TIME")
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call("ZADD", workers, now, id)
redis.call("ZREMRANGEBYSCORE", workers, "-inf", now - memory)
return false
