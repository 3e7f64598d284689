-- Purpose:   ends tasks of one queue that are done, each as Asynq's own script ends one, and counts them together
-- KEYS:      1 active (list)  2 lease (zset: task id -> expiry)  3 processed:<day> (string)  4 processed (string), all of one
--            queue of Asynq
-- ARGV:      1 expiry of the day's count, seconds since 1970  2 highest count  3 prefix of the task keys, which share the
--            queue's hash tag  4 and on: the task ids
-- Returns:   for each task 1, or 0 when it was not active or had no lease: then it was ended elsewhere
-- Refuses:   nothing
-- Invariant: an id that is ended is neither active nor leased and has no task; it is counted once
-- Exception: task keys are built from the prefix
local active, lease, today, total = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expires, most, prefix = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local answers, ended, done = {}, {}, 0

for i = 4, #ARGV do
  answers[i - 3] = 0
  if redis.call("LREM", active, 0, ARGV[i]) > 0 and redis.call("ZREM", lease, ARGV[i]) > 0 then
    answers[i - 3] = 1
    ended[#ended + 1] = prefix .. ARGV[i]
  end
end
if #ended > 0 then
  done = redis.call("DEL", unpack(ended))
end
if done > 0 then
  if redis.call("INCRBY", today, done) == done then
    redis.call("EXPIREAT", today, expires)
  end
  if (tonumber(redis.call("GET", total) or "0") or 0) + done >= most then
    redis.call("SET", total, done)
  else
    redis.call("INCRBY", total, done)
  end
end
return answers
