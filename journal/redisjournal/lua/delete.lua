-- Purpose: deletes an execution that has ended, with everything that only it needs, at a caller's wish.
-- KEYS: the nine of an execution (lib.lua). Exception: its idempotency key's entry and <row>:gone (string) are derived, in the
--   same hash tag.
-- ARGV: 1 states of the move, 2 a key of another partition is marked (1 or empty), 3 ms that <row>:gone lasts, then the tail.
-- Returns: {1}; {key, tenant, subject, idempotency key, ms of the row's purge} when a key of another partition must be marked
--   first.
-- Refuses: NOTFOUND, STATE, CONFLICT cleanup_open.
-- Invariant: the first write is a ZREM. A key outlives its row as a mark, until the row would have been purged; <row>:gone
--   keeps a submission that looked at an unmarked key of another partition from reserving the row anew.
local states, key_marked, lasts = unpack(ARGV, 1, 3)
local x = open(tail())
local row = x.row
if not x.exists then return refuse('NOTFOUND', 'execution') end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if unclean(x) then return refuse('CONFLICT', 'cleanup_open') end
local key = redis.call('HGET', x.key, 'idempotencyKey') or ''
local at = redis.call('ZSCORE', x.purge, row.id) or text(x.now)
if key ~= '' and row.keyMember == '' and key_marked == '' then return { 'key', row.tenant, row.subject, key, at } end

erase(x)
if row.keyMember ~= '' then
  redis.call('ZADD', x.purge, at, row.keyMember)
  redis.call('HSET', partition(x) .. row.keyMember, 'execution', row.id, 'gone', '1')
  redis.call('HDEL', partition(x) .. row.keyMember, 'fingerprint')
elseif key ~= '' then
  redis.call('SET', x.key .. ':gone', '1', 'PX', lasts)
end
return { '1' }
