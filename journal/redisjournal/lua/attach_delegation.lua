-- Purpose: stores a delegation.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 operation, 3 states of the move, 4 lease, 5 expiry in seconds, 6 revision, 7 clean (1 or empty), then the
--   tail.
-- Returns: row.
-- Refuses: NOTFOUND, FENCED, STATE, CONFLICT (another lease).
-- Invariant: a higher revision replaces expiry and revision, another one changes nothing; clean never goes back.
local fence, operation, states, lease, expires, revision, clean = unpack(ARGV, 1, 7)
local x = open(tail())
local row = x.row

-- higher compares unsigned 64-bit numbers as text.
local function higher(a, b) return #a > #b or #a == #b and a > b end

if repeated(x, fence, operation, 'attach delegation') then return whole(x) end
local refusal = hold(x, fence, operation)
if refusal then return refusal end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if row.delegationLease ~= '' and row.delegationLease ~= lease then return refuse('CONFLICT', 'another delegation') end

if row.delegationLease == '' or higher(revision, row.delegationRevision) then
  put(x, 'delegated', '1')
  put(x, 'delegationLease', lease)
  put(x, 'delegationExpiresAtSeconds', expires)
  put(x, 'delegationRevision', revision)
  if clean ~= '' then put(x, 'delegationClean', '1') end
  touch(x)
end
remember(x, fence, operation, 'attach delegation', '')
save(x)
return whole(x)
