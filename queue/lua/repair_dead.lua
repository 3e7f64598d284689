-- Purpose:   removes ids without a task from one page of the archived or completed tasks of a queue of Asynq: one of them
--            is enough to make its statistics fail for all queues
-- KEYS:      1 archived or completed (zset)
-- ARGV:      1 first index  2 most ids  3 prefix of the task keys, which share the queue's hash tag
-- Returns:   {seen, changed, removed from the set}
-- Refuses:   nothing
-- Invariant: afterwards every id of the page has a task
-- Exception: task keys are built from the prefix; a page names up to 200 of them
local set = KEYS[1]
local first, most, prefix = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local ids = redis.call("ZRANGE", set, first, first + most - 1)
local ghosts = {}
for _, id in ipairs(ids) do
  if redis.call("HEXISTS", prefix .. id, "msg") == 0 then
    ghosts[#ghosts + 1] = id
  end
end

for _, id in ipairs(ghosts) do
  redis.call("ZREM", set, id)
  redis.call("DEL", prefix .. id)
end
return {#ids, #ghosts, #ghosts}
