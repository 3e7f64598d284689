-- Purpose: attaches the lease that a queued execution was reserved for, and lets it run.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 states of the move, 2 lease, 3 expiry in seconds, 4 revision, then the tail.
-- Returns: {changed, pending, row, tasks}.
-- Refuses: NOTFOUND, STATE (also of one that was reserved without), CONFLICT (another lease).
-- Invariant: nobody has claimed the row before, and nobody could. The same lease again answers as it did.
local states, lease, expires, revision = unpack(ARGV, 1, 4)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists then return refuse('NOTFOUND', 'execution') end
if row.delegationLease == lease then return { '0', '0', whole(x), standing(x) } end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if row.delegated == '' then return refuse('STATE', 'reserved without a delegation') end
if row.delegationLease ~= '' then return refuse('CONFLICT', 'another delegation') end

put(x, 'delegationLease', lease)
put(x, 'delegationExpiresAtSeconds', expires)
put(x, 'delegationRevision', revision)
if row.waitKind == 'auth' then clear(x, 'waitKind', 'waitUntilMs') end
if row.state == 'queued' then
  if row.active ~= '' then m.start(x, GRACE) else m.rest(x) end
end
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
