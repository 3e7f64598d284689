-- Purpose: writes a step, or a chain of steps: checkpoint N+1 and all that belongs to it; ends the claim, or keeps it for the
--   next node.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 step N, 3 states of the move, 4 kind (continue, park, suspend, end), 5 node, 6 checkpoint, 7 usage,
--   8 reads history, 9 counts of messages, plans, batch, events, consumed, earlier checkpoints, events of these, clean-ups (0:
--   unchanged), 10 ms to keep the claim (0: it ends), 11 ms at which the claim was given (0: not known); then those: messages, plans as call and intent, calls, events, request
--   ids, checkpoints of the steps before the last one, what is to be cleaned up. Messages, plans, events and request ids are
--   those of all steps in turn. Then, for all kinds but
--   continue, what follows: request id of an interaction (empty: none), interaction, its expiry in ms (empty: none), on expiry,
--   wait kind, inbox entry and event of an expiry, inbox entries waited for, a line each (empty: none), ms to wait (0: no bound),
--   suspension reason, detail, final state, field and blob of outcome or failure, event of what follows. Then the tail.
-- Returns: {replayed, "<step> <state> <sequence>[ kept]\n<tasks>"}.
-- Refuses: NOTFOUND, FENCED, CONFLICT (another step; the interaction), STATE, LIMIT (the log is full).
-- Invariant: keyed by (fence, last step): a repeat answers as before and writes nothing. A recorded cancel wins over whatever
--   follows, a recorded pause over going on.
local fence, step, states, kind, node, checkpoint, usage, reads_history, counts, keep, claimed = unpack(ARGV, 1, 11)
local t = tail()
local x = open(t, {
  'id', 'state', 'step', 'version', 'runnableAtMs', 'fence', 'committed', 'cancelAtMs', 'pauseAtMs', 'conversation',
  'historyStart', 'wake', 'queue', 'taskQueue', 'startedAtMs', 'attempts', 'reclaims', 'waitKind', 'notBeforeMs', 'batch',
  'readsHistory', 'interactionRequest', 'shift',
})
local row = x.row

local message_count, plan_count, call_count, event_count, used_count, earlier_count, earlier_events, cleanup_count =
  string.match(counts, '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
local steps = number(earlier_count) + 1

-- An answer begins with the last step that was written.
local reached = text(number(step) + steps)
local written = fence .. ' ' .. reached .. ' '
if fence ~= '' and string.sub(row.committed, 1, #written) == written then
  return { '1', string.sub(row.committed, #fence + 2) }
end
local refusal = guard(x, fence)
if refusal then return refusal end
if row.step ~= step then return refuse('CONFLICT', 'the execution is at step ' .. row.step) end
if not contains(states, row.state) then return refuse('STATE', row.state) end

local cursor = 11
local function list(size)
  local items = {}
  size = number(size)
  for i = 1, size do items[i] = ARGV[cursor + i] end
  cursor = cursor + size
  return items
end
local messages, plans, batch, events, consumed, checkpoints = list(message_count), list(2 * plan_count), list(call_count),
  list(event_count), list(used_count), list(earlier_count)
local cleanup = list(cleanup_count)[1]
local request, interaction, expires, on_expiry, wait_kind, expired, received, await, wait, reason, detail, final_state, result,
  value, follow_event
if kind ~= 'continue' then
  request, interaction, expires, on_expiry, wait_kind, expired, received, await, wait, reason, detail, final_state, result,
    value, follow_event = unpack(ARGV, cursor + 1, cursor + 15)
end
local used, new = {}, #events
for _, id in ipairs(consumed) do used[id] = true end
local kept = number(keep) > 0 and kind == 'continue' and row.cancelAtMs == '' and row.pauseAtMs == ''
if kind == 'park' and await ~= '' then
  local all = true
  for id in string.gmatch(await, '[^\n]+') do
    all = all and not used[id] and redis.call('HEXISTS', x.inbox, id) == 1
  end
  if all then kind = 'continue' end
end
if kind == 'park' and request ~= '' then
  refusal = moves().asked(x, request, used)
  if refusal then return refusal end
  new = new + 1
elseif kind == 'suspend' then
  new = new + 1
elseif kind == 'end' then
  new = number(earlier_events) -- an end is always written
end
if row.cancelAtMs == '' and not room(x, new) then return refuse('LIMIT', 'events') end

put(x, 'step', reached)
put(x, 'node', node)
put(x, 'usage', usage)
if row.readsHistory ~= reads_history then put(x, 'readsHistory', reads_history) end
local calls = table.concat(batch, '\n')
if row.batch ~= calls then put(x, 'batch', calls) end
if row.reclaims ~= '' then clear(x, 'reclaims', 'reclaimWorkers') end
clear(x, 'attempts')
clear_wait(x)
if not kept then let_go(x) end
checkpoints[steps] = checkpoint
local stamp = t.stamp .. ' '
if number(claimed) > 0 then stamp = t.stamp .. '+' .. text(math.max(0, x.now - number(claimed))) .. ' ' end
for i = 1, steps do checkpoints[i] = stamp .. checkpoints[i] end
later(x, 'RPUSH', x.checkpoints, unpack(checkpoints))
history(x, messages)
x.planned = {}
for i = 1, #plans, 2 do
  local call = plans[i]
  local marks = redis.call('HMGET', x.tools, call .. ':started', call .. ':receipt')
  if not marks[2] then
    x.planned[call] = plans[i + 1]
    later(x, 'HSET', x.tools, call .. ':intent', plans[i + 1])
    if marks[1] then later(x, 'HDEL', x.tools, call .. ':started') end
  end
end
for _, payload in ipairs(events) do event(x, payload) end
for _, id in ipairs(consumed) do
  later(x, 'HDEL', x.inbox, id)
  if id == row.interactionRequest then moves().clear_interaction(x) end
end

if cleanup and cleanup ~= row.cleanup then owe(x, cleanup) end
if kind == 'end' and result ~= '' then put(x, result, value) end
if row.cancelAtMs ~= '' then
  moves().finish(x, 'canceled', CANCELED_EVENT)
elseif kind == 'end' then
  if unclean(x) then
    moves().finalize(x, final_state, follow_event)
  else
    moves().finish(x, final_state, follow_event)
  end
elseif kept then
  put(x, 'expiresAtMs', text(x.now + number(keep)))
  move(x, 'due', x.now + number(keep))
elseif kind == 'suspend' then
  moves().suspend(x, reason, detail, follow_event)
else
  if kind == 'park' then
    local at = number(wait) > 0 and text(x.now + number(wait)) or ''
    if request ~= '' then
      moves().ask(x, request, interaction, expires, on_expiry, wait_kind, expired, received, follow_event)
    else
      put(x, 'waitKind', wait_kind)
      put(x, 'waitUntilMs', at)
      put(x, 'notBeforeMs', at)
      if await ~= '' then put(x, 'await', await) end
      moves().rest(x)
    end
  end
  if row.pauseAtMs ~= '' then
    moves().suspend(x, 'paused', '', PAUSED_EVENT)
  elseif kind == 'continue' then
    runnable(x, GRACE)
  end
end
touch(x, steps)
local sequence = text(length(x) + #x.log)
local answer = row.step .. ' ' .. row.state .. ' ' .. sequence .. (kept and ' kept' or '') .. '\n' .. tasks(x)
put(x, 'committed', fence .. ' ' .. answer)
save(x)
return { '0', answer }
