-- Purpose: writes a step: checkpoint N+1 and all that belongs to it; ends the claim.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 step N, 3 states of the move, 4 kind (continue, park, suspend, end), 5 node, 6 checkpoint, 7 usage,
--   8 reads history, 9 request id of an interaction (empty: none), 10 interaction, 11 its expiry in ms (empty: none),
--   12 on expiry, 13 wait kind, 14 inbox entry and 15 event of an expiry, 16 inbox entry waited for (empty: none), 17 ms to
--   wait (0: no bound), 18 suspension reason, 19 detail, 20 final state, 21 field and 22 blob of outcome or failure,
--   23 event of what follows, 24 counts of messages, plans, batch, events, consumed; then those: messages, plans as call
--   and intent, calls, events, request ids; then the tail.
-- Returns: {replayed, "<step> <state> <sequence>\n<tasks>"}.
-- Refuses: NOTFOUND, FENCED, CONFLICT (another step; the interaction), STATE, LIMIT (the log is full).
-- Invariant: keyed by (fence, step): a repeat answers as before and writes nothing. A recorded cancel wins over whatever
--   follows, a recorded pause over going on.
local fence, step, states, kind, node, checkpoint, usage, reads_history = unpack(ARGV, 1, 8)
local request, interaction, expires, on_expiry, wait_kind, expired, received, await, wait =
  unpack(ARGV, 9, 17)
local reason, detail, final_state, result, value, follow_event, counts = unpack(ARGV, 18, 24)
local t = tail()
local x = open(t)
local row = x.row

if fence ~= '' and row.commitFence == fence and row.commitStep == step then return { '1', row.commitAnswer } end
local refusal = guard(x, fence)
if refusal then return refusal end
if row.step ~= step then return refuse('CONFLICT', 'the execution is at step ' .. row.step) end
if not contains(states, row.state) then return refuse('STATE', row.state) end

local cursor, sizes = 24, {}
for size in string.gmatch(counts, '%d+') do sizes[#sizes + 1] = number(size) end
local function list(size)
  local items = {}
  for i = 1, size do items[i] = ARGV[cursor + i] end
  cursor = cursor + size
  return items
end
local messages, plans, batch, events, consumed =
  list(sizes[1]), list(2 * sizes[2]), list(sizes[3]), list(sizes[4]), list(sizes[5])
local used, more = {}, 0
for _, id in ipairs(consumed) do used[id] = true end
if kind == 'park' and await ~= '' and not used[await] and redis.call('HEXISTS', x.inbox, await) == 1 then
  kind = 'continue'
end
if kind == 'park' and request ~= '' then
  refusal = asked(x, request, used)
  if refusal then return refusal end
  more = 1
elseif kind == 'suspend' then
  more = 1
end
if row.cancelAtMs == '' and kind ~= 'end' and not room(x, #events + more) then return refuse('LIMIT', 'events') end

put(x, 'step', text(number(step) + 1))
put(x, 'node', node)
put(x, 'usage', usage)
put(x, 'readsHistory', reads_history)
put(x, 'batch', table.concat(batch, '\n'))
clear(x, 'attempts', 'reclaims', 'reclaimWorkers')
clear_wait(x)
let_go(x)
later(x, 'RPUSH', x.checkpoints, checkpoint)
history(x, messages)
for i = 1, #plans, 2 do
  local call = plans[i]
  if redis.call('HEXISTS', x.tools, call .. ':receipt') == 0 then
    later(x, 'HSET', x.tools, call .. ':intent', plans[i + 1])
    later(x, 'HDEL', x.tools, call .. ':started')
  end
end
for _, payload in ipairs(events) do event(x, payload) end
for _, id in ipairs(consumed) do
  later(x, 'HDEL', x.inbox, id)
  if id == row.interactionRequest then clear_interaction(x) end
end

if result ~= '' then put(x, result, value) end
if row.cancelAtMs ~= '' then
  finish(x, 'canceled', t.canceled)
elseif kind == 'end' then
  if row.delegationLease ~= '' and row.delegationClean == '' then
    finalize(x, final_state, follow_event)
  else
    finish(x, final_state, follow_event)
  end
elseif kind == 'suspend' then
  suspend(x, reason, detail, follow_event)
else
  if kind == 'park' then
    local at = number(wait) > 0 and text(x.now + number(wait)) or ''
    if request ~= '' then
      ask(x, request, interaction, expires, on_expiry, wait_kind, expired, received, follow_event)
    else
      put(x, 'waitKind', wait_kind)
      put(x, 'waitUntilMs', at)
      put(x, 'notBeforeMs', at)
      rest(x)
    end
  end
  if row.pauseAtMs ~= '' then
    suspend(x, 'paused', '', t.paused)
  elseif kind == 'continue' then
    runnable(x, t.grace)
  end
end
touch(x)
local sequence = text(redis.call('LLEN', x.events) + #x.log)
local answer = table.concat({ row.step, row.state, sequence }, ' ') .. '\n' .. tasks(x)
put(x, 'commitFence', fence)
put(x, 'commitStep', step)
put(x, 'commitAnswer', answer)
save(x)
return { '0', answer }
