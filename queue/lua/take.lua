-- Purpose:   takes up to a number of tasks from a queue, each as Asynq's own dequeue takes one
-- KEYS:      1 pending (list)  2 paused (string)  3 active (list)  4 lease (zset: task id -> expiry), all of one queue of Asynq
-- ARGV:      1 expiry of the leases, seconds since 1970, by the worker's clock like all of Asynq's
--            2 prefix of the task keys, which share the queue's hash tag  3 most tasks
-- Returns:   id, task (Asynq's encoding), since when it was pending (Asynq's unit), id, …, oldest first; nil when there are none or the queue is paused
-- Refuses:   nothing
-- Invariant: the id of a task taken is active, with a lease, and not pending; an id without a task is in none of them
-- Exception: task keys are built from the prefix; a call names up to 100 more of them than it may take
local pending, paused, active, lease = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expires, prefix, most = ARGV[1], ARGV[2], tonumber(ARGV[3])

if redis.call("EXISTS", paused) == 1 then
  return false
end
local found, ghosts = {}, 0
while #found < 3 * most and ghosts < 100 do
  local id = redis.call("RPOPLPUSH", pending, active)
  if not id then
    break
  end
  local key = prefix .. id
  local task = redis.call("HMGET", key, "msg", "pending_since")
  if task[1] then
    redis.call("HSET", key, "state", "active")
    redis.call("HDEL", key, "pending_since")
    redis.call("ZADD", lease, expires, id)
    found[#found + 1] = id
    found[#found + 1] = task[1]
    found[#found + 1] = task[2] or ""
  else
    redis.call("LPOP", active)
    redis.call("DEL", key)
    ghosts = ghosts + 1
  end
end
if #found == 0 and ghosts < 100 then
  return false
end
return found
