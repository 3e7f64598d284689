-- Purpose:   puts a task in progress back into its queue, unchanged, for whoever comes first.
-- KEYS:      1 active (list)  2 lease (zset)  3 pending (list)  4 task (hash), all of one queue of Asynq
-- ARGV:      1 task id  2 now, nanoseconds since 1970 (Asynq's pending_since; its unit and its clock)
--            3 "head": it is the next one again; "tail": it comes after those that wait
-- Returns:   "OK", also when there was nothing to do
-- Refuses:   nothing
-- Invariant: the id is in exactly one of active and pending; a task without its hash is in neither
local active, lease, pending, task = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, now, place = ARGV[1], ARGV[2], ARGV[3]

if not redis.call("LPOS", active, id) then
  return redis.status_reply("OK")
end
local known = redis.call("HEXISTS", task, "msg") == 1

redis.call("LREM", active, 0, id)
redis.call("ZREM", lease, id)
if known then
  redis.call("HSET", task, "state", "pending", "pending_since", now)
  redis.call(place == "head" and "RPUSH" or "LPUSH", pending, id)
else
  redis.call("DEL", task)
end
return redis.status_reply("OK")
