-- Purpose:   repairs the leases of a queue of Asynq that ran out long ago and that Asynq's recoverer cannot end
-- KEYS:      1 active (list)  2 lease (zset: task id -> expiry, seconds since 1970)
-- ARGV:      1 first index among them  2 most ids  3 prefix of the task keys, which share the queue's hash tag
--            4 lease, seconds; "long ago" is three of them
-- Returns:   {seen, changed, removed from lease}
-- Refuses:   nothing
-- Invariant: afterwards every lease of the page belongs to an active id; a task that only its lease remembered is gone
-- Exception: task keys are built from the prefix; a page names up to 200 of them
local active, lease = KEYS[1], KEYS[2]
local first, most, prefix, ttl = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local now = tonumber(redis.call("TIME")[1])
local ids = redis.call("ZRANGEBYSCORE", lease, "-inf", now - 3 * ttl, "LIMIT", first, most)
local lost, orphans = {}, {}
for _, id in ipairs(ids) do
  if not redis.call("LPOS", active, id) then
    lost[#lost + 1] = id
    if redis.call("HGET", prefix .. id, "state") == "active" then
      orphans[#orphans + 1] = id
    end
  end
end

for _, id in ipairs(lost) do
  redis.call("ZREM", lease, id)
end
for _, id in ipairs(orphans) do
  redis.call("DEL", prefix .. id)
end
return {#ids, #lost, #lost}
