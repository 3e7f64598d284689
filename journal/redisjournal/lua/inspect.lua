-- Purpose: reads a row with what stands beside it: its task, its entry, its conversation's active execution and line.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: the tail.
-- Returns: row, see whole(); the task that should be standing and since when in ms (both empty: none), now in ms, the score
--   of its entry, the active execution (empty: none), how many come before it in the line, when the next attempt to clean up
--   after it is due in ms (empty: none).
-- Refuses: NOTFOUND.
-- Invariant: writes nothing; everything is of one moment.
local t = tail()
local x = open(t, { 'id', 'conversation', 'state', 'step', 'wake', 'queue', 'taskQueue', 'runnableAtMs' })
if not x.exists then return refuse('NOTFOUND', 'execution') end
local row, key = whole(x), conversation(x)
row[6] = standing(x)
row[7] = x.row.runnableAtMs
row[8] = t.stamp
row[9] = redis.call('ZSCORE', x[x.was], x.row.id) or ''
row[10] = redis.call('HGET', key, 'active') or ''
row[11] = text(redis.call('ZRANK', key .. ':waiting', x.row.id) or 0)
row[12] = redis.call('ZSCORE', partition(x) .. 'cleanup', x.row.id) or ''
return row
