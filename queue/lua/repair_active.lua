-- Purpose:   repairs one page of the tasks in progress of a queue of Asynq
-- KEYS:      1 active (list)  2 lease (zset: task id -> expiry, seconds since 1970)
-- ARGV:      1 first index  2 most ids  3 prefix of the task keys, which share the queue's hash tag  4 lease, seconds
-- Returns:   {seen, changed, removed from active}
-- Refuses:   nothing
-- Invariant: afterwards every id of the page has a task and a lease. A new lease is a whole one: the worker that still
--            has the task renews it, and a task whose worker is dead runs out of it.
-- Exception: task keys are built from the prefix; a page names up to 200 of them
local active, lease = KEYS[1], KEYS[2]
local first, most, prefix, ttl = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local ids = redis.call("LRANGE", active, first, first + most - 1)
local now = tonumber(redis.call("TIME")[1])
local ghosts, bare = {}, {}
for _, id in ipairs(ids) do
  if redis.call("HEXISTS", prefix .. id, "msg") == 0 then
    ghosts[#ghosts + 1] = id
  elseif not redis.call("ZSCORE", lease, id) then
    bare[#bare + 1] = id
  end
end

for _, id in ipairs(ghosts) do
  redis.call("LREM", active, 0, id)
  redis.call("ZREM", lease, id)
  redis.call("DEL", prefix .. id)
end
for _, id in ipairs(bare) do
  redis.call("ZADD", lease, now + ttl, id)
end
return {#ids, #ghosts + #bare, #ghosts}
