-- Purpose: reads ledger entries.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 number of calls, then those, then the tail.
-- Returns: for each call its intent, mark and receipt.
-- Refuses: NOTFOUND.
-- Invariant: writes nothing.
local count = number(ARGV[1])
local x = open(tail(), { 'id', 'state', 'runnableAtMs' })
if not x.exists then return refuse('NOTFOUND', 'execution') end
local entries = {}
for i = 1, count do
  local call = ARGV[1 + i]
  entries[i] = redis.call('HMGET', x.tools, call .. ':intent', call .. ':started', call .. ':receipt')
end
return entries
