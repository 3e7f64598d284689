-- Purpose: reads a page of the log with its last sequence and the row's state.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 sequence after which to begin, 2 limit, then the tail.
-- Returns: {last sequence, state, entries, tenant, subject}.
-- Refuses: NOTFOUND.
-- Invariant: writes nothing; the page and the state are of one moment.
local after, limit = unpack(ARGV, 1, 2)
local x = open(tail(), { 'id', 'state', 'runnableAtMs', 'tenant', 'subject' })
if not x.exists then return refuse('NOTFOUND', 'execution') end
local first, last, page = number(after), length(x), {}
local behind = math.min(last, first + number(limit))
if behind > first then page = redis.call('LRANGE', x.events, after, text(behind - 1)) end
return { text(last), x.row.state, page, x.row.tenant, x.row.subject }
