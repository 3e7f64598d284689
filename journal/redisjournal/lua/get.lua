-- Purpose: reads a row.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: the tail.
-- Returns: row, see whole(); then the task that should be standing (empty: none).
-- Refuses: NOTFOUND.
-- Invariant: writes nothing; the row and its last sequence are of one moment.
local x = open(tail(), { 'id', 'state', 'step', 'wake', 'queue', 'taskQueue', 'runnableAtMs' })
if not x.exists then return refuse('NOTFOUND', 'execution') end
local row = whole(x)
row[6] = standing(x)
return row
