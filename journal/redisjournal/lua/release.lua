-- Purpose: ends a claim without advancing: handed back, to be retried later, or suspended.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 operation, 3 states of the move, 4 kind (back, retry, suspend), 5 usage (empty: unchanged), 6 ms until
--   the retry, 7 to 9 retry event around the attempt and the instant, 10 suspension reason, 11 detail, 12 event, 13 number
--   of unsent calls, then those, then the tail.
-- Returns: {replayed, "<step> <state> <sequence>\n<tasks>"}.
-- Refuses: NOTFOUND, FENCED, CONFLICT, STATE.
-- Invariant: no reclaim is counted. A recorded cancel ends the row here, a recorded pause suspends it.
local fence, operation, states, kind, usage, after, retry_head, retry_middle, retry_end = unpack(ARGV, 1, 9)
local reason, detail, suspended_event, unsent_count = unpack(ARGV, 10, 13)
local t = tail()
local x = open(t, {
  'id', 'state', 'step', 'version', 'runnableAtMs', 'fence', 'cancelAtMs', 'pauseAtMs', 'operationFence', 'operation',
  'operationAnswer', 'attempts', 'reclaims', 'wake', 'queue', 'taskQueue', 'startedAtMs', 'waitKind',
})
local row = x.row
local m = moves()

local answer = repeated(x, fence, operation, 'release')
if answer then return { '1', answer } end
local refusal = hold(x, fence, operation)
if refusal then return refusal end
if not contains(states, row.state) then return refuse('STATE', row.state) end

for i = 1, number(unsent_count) do
  local call = ARGV[13 + i]
  local marks = redis.call('HMGET', x.tools, call .. ':started', call .. ':receipt')
  if marks[1] == fence and not marks[2] then later(x, 'HDEL', x.tools, call .. ':started') end
end
if usage ~= '' then put(x, 'usage', usage) end
let_go(x)
if row.cancelAtMs ~= '' then
  m.finish(x, 'canceled', CANCELED_EVENT)
elseif kind == 'suspend' then
  m.suspend(x, reason, detail, suspended_event)
else
  if kind == 'retry' then
    local at = text(x.now + number(after))
    put(x, 'attempts', text(number(row.attempts) + 1))
    put(x, 'notBeforeMs', at)
    put(x, 'waitKind', 'retry')
    put(x, 'waitUntilMs', at)
    event(x, retry_head .. row.attempts .. retry_middle .. at .. retry_end)
    m.rest(x)
  end
  if row.pauseAtMs ~= '' then
    m.suspend(x, 'paused', '', PAUSED_EVENT)
  elseif kind == 'back' then
    runnable(x, GRACE)
  end
end
touch(x)
local sequence = text(length(x) + #x.log)
answer = table.concat({ row.step, row.state, sequence }, ' ') .. '\n' .. tasks(x)
remember(x, fence, operation, 'release', answer)
save(x)
return { '0', answer }
