-- Purpose: reads a page of an execution's checkpoints or of its conversation's messages.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 checkpoints or messages, 2 first index, 3 limit, then the tail.
-- Returns: entries.
-- Refuses: NOTFOUND.
-- Invariant: writes nothing.
local what, from, limit = unpack(ARGV, 1, 3)
local x = open(tail(), { 'id', 'state', 'step', 'conversation', 'runnableAtMs', 'view' })
if not x.exists then return refuse('NOTFOUND', 'execution') end
if number(limit) <= 0 then return {} end
local last = number(from) + number(limit) - 1
if what == 'messages' then return span(parts(x, x.row.view), number(from), number(limit)) end
last = math.min(last, number(x.row.step)) -- behind it stand the long fields of a row that has ended
if last < number(from) then return {} end
return redis.call('LRANGE', x.checkpoints, from, text(last))
