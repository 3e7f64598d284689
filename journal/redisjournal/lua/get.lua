-- Purpose: reads a row.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: the tail.
-- Returns: row: fields, last sequence, receipts.
-- Refuses: NOTFOUND.
-- Invariant: writes nothing; the row and its last sequence are of one moment.
local x = open(tail())
if not x.exists then return refuse('NOTFOUND', 'execution') end
return whole(x)
