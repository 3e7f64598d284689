-- Purpose: the rarer moves of a row: its ends and stops, questions, its place in the conversation's line, what a reaper does.
--   It is the body of lib.lua's last function, moves(): a script that calls it builds them, another one does without.
-- KEYS: those of the script.
-- ARGV: those of the script.
-- Invariant: as lib.lua: nothing is written here but through put, event, move and later.

-- is_row reports whether a key can be a row: what is gone or damaged keeps no other one from what it does.
local function is_row(key) return redis.call('TYPE', key)['ok'] == 'hash' end

-- sibling opens another execution of the partition.
local function sibling(x, id)
  local key = partition(x) .. 'x:' .. id
  return read({
    tail = x.tail, key = key, events = key .. ':events', checkpoints = key .. ':checkpoints', tools = key .. ':tools',
    inbox = key .. ':inbox', receipts = key .. ':receipts', due = x.due, handoff = x.handoff, purge = x.purge,
  }, fields())
end

-- chain has a row saved with another one, behind those that already are; it gives that row.
local function chain(x, y)
  while x.next do x = x.next end
  x.next = y
  return y
end

-- take ends the claim on behalf of a command, and raises the fence.
local function take(x)
  if x.row.fence ~= '' then put(x, 'fenceCounter', text(number(x.row.fenceCounter) + 1)) end
  let_go(x)
end

local function clear_interaction(x)
  clear(x, 'interactionRequest', 'interactionAnswered', 'interactionExpiresAtMs', 'interactionOnExpiry',
    'interactionExpired', 'interactionReceived')
  put(x, 'interaction', '')
end

-- kept is how long the row is kept after its end, in ms.
local function kept(x)
  local own = number(x.row.retentionMs)
  return own > 0 and own or RETENTION
end

-- suspended_until is when a suspended row fails: nobody loses one that was to be kept for a short time by pausing it.
local function suspended_until(x) return number(x.row.restAtMs) + math.max(kept(x), RETENTION) end

-- rest gives a row that needs no worker its due entry: the next moment somebody must look at it.
local function rest(x)
  local row, earliest = x.row, nil
  local function bound(ms)
    if ms > 0 and (earliest == nil or ms < earliest) then earliest = ms end
  end
  if row.cancelAtMs ~= '' and row.fence == '' and row.state ~= 'finalizing' then
    bound(x.now) -- its parent has ended: whatever it waits for, the reaper ends it
  elseif row.state == 'queued' and intended(x) then
    bound(number(row.createdAtMs) + DELEGATE)
  elseif row.state == 'queued' then
    if row.active ~= '' then bound(number(row.notBeforeMs)) end
  elseif row.state == 'finalizing' then
    bound(number(row.restAtMs) + CLEANUP)
  else
    bound(number(row.deadlineAtMs))
    if row.state == 'running' then bound(number(row.notBeforeMs)) end
    if row.state == 'waiting_for_input' then bound(number(row.interactionExpiresAtMs)) end
    if row.state == 'suspended' then bound(suspended_until(x)) end
  end
  move(x, 'due', earliest or x.now + LOOK_AGAIN)
end

-- start makes a queued row runnable that is its conversation's active one: when its delegation is there, and at its time.
local function start(x, grace)
  if intended(x) then
    put(x, 'waitKind', 'auth')
    put(x, 'waitUntilMs', text(number(x.row.createdAtMs) + DELEGATE))
    rest(x)
  elseif number(x.row.notBeforeMs) > x.now then
    put(x, 'waitKind', 'schedule')
    put(x, 'waitUntilMs', x.row.notBeforeMs)
    rest(x)
  else
    runnable(x, grace)
  end
end

-- enter makes the row its conversation's active one and appends its first messages, behind those of whom it took the place
-- of. A queued row starts; a suspended one stays where it is. shift is
-- what its place in the history is ahead of its place in the list; empty: they are the same. So many of the messages are
-- inherited.
local function enter(x, messages, grace, shift, inherited)
  put(x, 'active', '1')
  if shift ~= '' then put(x, 'shift', shift) end
  history(x, messages)
  if #messages == 0 then -- a fork that goes on without another word
    put(x, 'historyStart', text(number(shift)))
    put(x, 'historyEnd', text(number(shift)))
  elseif inherited > 0 then
    put(x, 'historyStart', text(number(x.row.historyStart) + inherited))
  end
  clear(x, 'rollback', 'inheritedMessages')
  later(x, 'HSET', conversation(x), 'active', x.row.id)
  if x.row.state == 'queued' then start(x, grace) end
end

-- pending reads the first messages that a row kept until its turn, and has them deleted.
local function pending(x)
  local messages = {}
  for i = 1, number(x.row.pendingMessages) do
    messages[i] = redis.call('HGET', x.key, 'message:' .. i) or ''
    later(x, 'HDEL', x.key, 'message:' .. i)
  end
  clear(x, 'pendingMessages')
  return messages
end

-- shape is how the history goes on behind a row that ends: its shift. With back it goes on from before the row.
local function shape(x, back)
  local key = conversation(x)
  local stored = redis.call('HMGET', key, 'base', 'from')
  local base, from, sum, count = stored[1] or '', number(stored[2]), 0, 0
  for first, last in string.gmatch(base, '%S+ (%d+) (%d+)') do
    sum, count = sum + number(last) - number(first), count + 1
  end
  if back then
    local list = key .. ':messages'
    local start, behind = number(x.row.historyStart) - sum + from, redis.call('LLEN', list)
    behind = behind + (x.tail.appended and x.tail.appended[list] or 0)
    put(x, 'view', count .. ' ' .. text(from) .. ' ' .. text(behind))
    if start > from then
      base = base .. string.match(key, '}:conv:(.*)$') .. ' ' .. text(from) .. ' ' .. text(start) .. '\n'
      sum = sum + start - from
    end
    from = behind
    later(x, 'HSET', key, 'base', base, 'from', text(from))
  end
  if base == '' and from == 0 then return '' end
  return text(sum - from)
end

-- leave takes the row out of its conversation; when it was the active one, the next in line follows. An heir is a row that
-- is about to be stored and follows at once in place of the line's: row, messages, inherited, back.
local function leave(x, heir)
  local key = conversation(x)
  local line = key .. ':waiting'
  if x.row.active == '' then
    later(x, 'ZREM', line, x.row.id)
    return
  end
  put(x, 'active', '')
  if heir then
    enter(heir.row, heir.messages, GRACE, shape(x, heir.back), heir.inherited)
    return
  end
  for _, id in ipairs(redis.call('ZRANGE', line, 0, 9)) do
    later(x, 'ZREM', line, id)
    local next = is_row(partition(x) .. 'x:' .. id) and sibling(x, id)
    if next and (next.row.state == 'queued' or next.row.state == 'suspended') then
      enter(next, pending(next), 0, shape(x, next.row.rollback ~= ''), number(next.row.inheritedMessages))
      chain(x, next)
      return
    end
  end
  later(x, 'HDEL', key, 'active')
end

-- seal answers the calls of the batch that a row which ends is in, so that its history stays one that a model can be sent: a
-- message each, of the call's id and what the ledger holds of it. A commit's plans are not in the ledger yet. See journal.Sealed.
local function seal(x, heir)
  local sealed, planned = {}, x.planned or {}
  for call in string.gmatch(x.row.batch, '[^\n]+') do
    local entry = redis.call('HMGET', x.tools, call .. ':intent', call .. ':receipt')
    local intent, receipt = planned[call] or entry[1] or '', entry[2] or ''
    sealed[#sealed + 1] = table.concat({
      '{"role":"tool","sealed":{"callId":"', call, '"', intent ~= '' and ',"intent":' or '', intent,
      receipt ~= '' and ',"receipt":' or '', receipt, '},"executionId":"', x.row.id, '"}',
    })
  end
  history(x, sealed, heir and heir.row)
end

-- LIVE are fields that say nothing about a row that has ended, or nothing that its key does not say.
local LIVE = {
  id = true, fenceCounter = true, taskQueue = true, runnableAtMs = true, deadlineMs = true, pendingMessages = true,
  retentionMs = true, shift = true, rollback = true, inheritedMessages = true,
}

-- A claim reads overrides, and is granted on no row that has ended.
local READ_BY_NO_SCRIPT = { request = true, overrides = true, outcome = true, failure = true }

-- settle rewrites a row that ends with what is still needed of it. A hash whose values have at most 64 bytes is kept in a
-- third of the memory: those that are longer, and that no script reads, go behind the last checkpoint, as name and value.
-- What Go takes for granted when it is not there is left out: see decodeRow.
local function settle(x)
  local row, stored = {}, redis.call('HGETALL', x.key)
  for i = 1, #stored, 2 do row[stored[i]] = stored[i + 1] end
  for name in pairs(row) do
    if LIVE[name] or string.find(name, '^message:') then row[name] = nil end
  end
  for i = 1, #x.changes, 2 do row[x.changes[i]] = x.changes[i + 1] end
  if row.updatedAtMs == row.endedAtMs then row.updatedAtMs = '' end
  if row.queue == NORMAL_QUEUE then row.queue = '' end
  redis.call('LLEN', x.checkpoints)
  local long = {}
  x.changes, x.long = {}, nil
  for name, value in pairs(row) do
    if value ~= '' then
      local kept = READ_BY_NO_SCRIPT[name] and long or x.changes
      kept[#kept + 1] = name
      kept[#kept + 1] = value
    end
  end
  if #long > 0 then x.long = long end
end

-- note_cleanup lets somebody clean up behind a row that ends, or nobody any more. The entry is when to try next; that of a
-- row that is finalizing stands for this, too.
local function note_cleanup(x)
  local index = partition(x) .. 'cleanup'
  if x.row.state == 'finalizing' or unclean(x) then
    later(x, 'ZADD', index, 'NX', text(x.now), x.row.id)
  elseif x.state == 'finalizing' or is_terminal(x.state) then
    later(x, 'ZREM', index, x.row.id)
  end
end

-- stored is a field that is not read with the others, as it will be saved.
local function stored(x, name) return rawget(x.row, name) or redis.call('HGET', x.key, name) or '' end

-- USAGE names the counts of a usage in the order in which they are stored. Those of OPTIONAL are left out when they are zero.
local USAGE = {
  'requests', 'inputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'outputTokens', 'totalTokens', 'toolCalls', 'costMicros',
  'partial', 'lostRequests', 'delegatedRequests',
}
local OPTIONAL = {
  cacheReadTokens = true, cacheWriteTokens = true, costMicros = true, partial = true, lostRequests = true,
  delegatedRequests = true,
}

-- result is what the end of a child brings its parent, see journal.ChildResult. Blobs are passed on as they are.
local function result(x)
  local outcome, failure, counts = stored(x, 'outcome'), stored(x, 'failure'), {}
  local place = 0
  for count in string.gmatch(stored(x, 'usage'), '%S+') do
    place = place + 1
    local name = USAGE[place]
    if not OPTIONAL[name] or count ~= '0' then
      counts[#counts + 1] = '"' .. name .. '":' .. (name == 'partial' and 'true' or count)
    end
  end
  return table.concat({
    '{"type":"child","executionId":"', x.row.id, '","state":"', x.row.state, '"', outcome ~= '' and ',"outcome":' or '', outcome,
    failure ~= '' and ',"failure":' or '', failure, ',"usage":{', table.concat(counts, ','), '}}',
  })
end

-- arrived reports whether the row waits for entries of its inbox and all are there. So is the one that is about to come.
local function arrived(x, coming)
  local waits = false
  for request in string.gmatch(x.row.await, '[^\n]+') do
    if request ~= coming and redis.call('HEXISTS', x.inbox, request) == 0 then return false end
    waits = true
  end
  return waits
end

-- deliver brings the parent of a row that ends its result. A parent that waits for nothing else goes on.
local function deliver(x)
  local id, call = string.match(x.row.parent, '^(%S+) (.+)$')
  local key = partition(x) .. 'x:' .. id
  later(x, 'ZREM', key .. ':open', string.sub(x.row.id, TAIL))
  if not is_row(key) then return end
  local y = sibling(x, id)
  local row = y.row
  if row.state == '' or is_terminal(row.state) then return end
  later(y, 'HSETNX', y.inbox, 'child:' .. call, result(x))
  if row.state == 'running' and row.fence == '' and row.runnableAtMs == '' and arrived(y, 'child:' .. call) then
    clear(y, 'notBeforeMs')
    runnable(y, 0)
  end
  chain(x, y)
end

-- request_cancel asks the holder of the row to end it.
local function request_cancel(x, requested_event)
  put(x, 'cancelAtMs', text(x.now))
  event(x, requested_event)
  x.channel = prefix(x) .. ':requests:' .. x.row.worker
end

-- cancel_children asks the children of a row that ends to end as well. One that nobody holds is due at once: a reaper ends it,
-- so that no script grows with the tree.
local function cancel_children(x)
  local last = x
  for _, name in ipairs(redis.call('ZRANGE', x.key .. ':open', 0, -1)) do
    local id = string.sub(x.row.id, 1, TAIL - 1) .. name
    if is_row(partition(x) .. 'x:' .. id) then
      local y = sibling(x, id)
      local state = y.row.state
      if state ~= '' and state ~= 'finalizing' and not is_terminal(state) and y.row.cancelAtMs == '' then
        if live(y) then
          request_cancel(y, REQUESTED_EVENT)
        else
          put(y, 'cancelAtMs', text(x.now))
          move(y, 'due', x.now)
        end
        last = chain(last, y)
      end
    end
  end
end

-- finish ends the row: terminal event, claim, interaction and wait gone, conversation handed on, result delivered to a parent,
-- children asked to end.
local function finish(x, state, payload, heir)
  local row = x.row
  seal(x, heir)
  put(x, 'state', state)
  put(x, 'endedAtMs', text(x.now))
  let_go(x)
  clear_wait(x)
  clear_interaction(x)
  clear(x, 'finalState', 'finalEvent', 'restAtMs', 'batch', 'readsHistory', 'pauseAtMs')
  put(x, 'suspensionReason', '')
  put(x, 'suspensionDetail', '')
  if state ~= 'completed' then put(x, 'outcome', '') end
  if state ~= 'failed' then put(x, 'failure', '') end
  event(x, payload)
  leave(x, heir)
  x.settle = settle
  move(x, 'purge', x.now + kept(x))
  note_cleanup(x)
  if row.parent ~= '' then deliver(x) end
  if row.children ~= '' then cancel_children(x) end
end

-- finalize keeps how the row ends (empty: nobody has said) until its clean-up is done.
local function finalize(x, final_state, final_event)
  put(x, 'state', 'finalizing')
  put(x, 'restAtMs', text(x.now))
  put(x, 'finalState', final_state)
  put(x, 'finalEvent', final_event)
  unwait(x)
  note_cleanup(x)
  rest(x)
end

-- cleaned is what follows when something outside was undone: a finalizing row for which nothing else is open ends as it was to.
local function cleaned(x)
  if unclean(x) then return end
  if x.row.state ~= 'finalizing' then
    note_cleanup(x)
  elseif x.row.finalState ~= '' then
    take(x)
    finish(x, x.row.finalState, x.row.finalEvent)
  end
end

-- suspend stops the row until somebody resumes it. What it waited for stays with it.
local function suspend(x, reason, detail, payload)
  put(x, 'state', 'suspended')
  put(x, 'restAtMs', text(x.now))
  put(x, 'suspensionReason', reason)
  put(x, 'suspensionDetail', detail)
  clear(x, 'pauseAtMs')
  event(x, payload)
  rest(x)
end

-- quarantine suspends a row that was reclaimed once too often, and names the node and the workers.
local function quarantine(x, workers)
  local names = string.gsub(workers, '\n', ', ')
  local function escape(value)
    local escaped = string.gsub(value, '[%c"\\<>&]', function(c) return string.format('\\u%04x', string.byte(c)) end)
    return escaped
  end
  local function fill(template, node, list)
    local filled = string.gsub(template, '@NODE@', function() return node end)
    filled = string.gsub(filled, '@WORKERS@', function() return list end)
    return filled
  end
  suspend(x, 'quarantined', fill(QUARANTINE_DETAIL, x.row.node, names),
    fill(QUARANTINED_EVENT, escape(x.row.node), escape(names)))
end

-- ask opens an interaction: the row waits for input.
local function ask(x, request, blob, expires, on_expiry, kind, expired, received, payload)
  put(x, 'state', 'waiting_for_input')
  put(x, 'interaction', blob)
  put(x, 'interactionRequest', request)
  put(x, 'interactionAnswered', '')
  put(x, 'interactionExpiresAtMs', expires)
  put(x, 'interactionOnExpiry', on_expiry)
  put(x, 'interactionExpired', expired)
  put(x, 'interactionReceived', received)
  put(x, 'waitKind', kind)
  put(x, 'waitUntilMs', expires)
  event(x, payload)
  rest(x)
end

-- asked refuses a second open interaction, and a question that was answered before.
local function asked(x, request, used)
  local open = x.row.interactionRequest
  if open ~= '' and not used[open] then return refuse('CONFLICT', 'interaction ' .. open .. ' is open') end
  if redis.call('HEXISTS', x.inbox, request) == 1 or redis.call('HEXISTS', x.receipts, 'request:' .. request) == 1 then
    return refuse('CONFLICT', 'interaction ' .. request .. ' was answered')
  end
end

-- answer_interaction takes a row that waits for input back to running, with a result in its inbox.
local function answer_interaction(x, payload)
  later(x, 'HSET', x.inbox, x.row.interactionRequest, payload)
  put(x, 'interactionAnswered', '1')
  put(x, 'state', 'running')
  runnable(x, GRACE)
end

-- revoke cancels a row that may be canceled: it ends here unless a live claim holds it, whose holder is then asked to. It
-- tells whether the row ended, and whether anything changed.
local function revoke(x, requested_event, heir)
  if not live(x) then
    take(x)
    finish(x, 'canceled', CANCELED_EVENT, heir)
    return true, true
  end
  if x.row.cancelAtMs ~= '' then return false, false end
  request_cancel(x, requested_event)
  return false, true
end

-- talk lists the row among the executions of its conversation: the only one in a field, several in an index.
local function talk(x, first, only)
  local key, name = conversation(x), string.sub(x.row.id, TAIL)
  if first then
    later(x, 'HSET', key, 'only', name)
    return
  end
  if only then
    local other = partition(x) .. 'x:' .. string.sub(x.row.id, 1, TAIL - 1) .. only
    local created = is_row(other) and redis.call('HGET', other, 'createdAtMs')
    if created then later(x, 'ZADD', key .. ':executions', created, only) end
    later(x, 'HDEL', key, 'only')
  end
  later(x, 'ZADD', key .. ':executions', text(x.now), name)
end

-- due_entry reports whether the row's entry is still due as a sweep saw it.
local function due_entry(x, index, at)
  local score = redis.call('ZSCORE', x[index], x.row.id)
  return score and number(score) == number(at) and number(score) <= x.now
end

-- action is what a reaper must do about an entry of the index.
local function action(x, index)
  local row = x.row
  if index == 'purge' then return 'purge' end
  if index == 'handoff' then return 'standing' end
  if row.cancelAtMs ~= '' and row.fence == '' then return 'expire' end -- its parent has ended
  if row.state ~= 'queued' and row.state ~= 'running' then return 'expire' end
  if row.fence ~= '' then return 'requeue' end
  local late = row.deadlineAtMs ~= '' and number(row.deadlineAtMs) <= x.now
  if row.active == '' or intended(x) or row.waitKind ~= '' and (late or row.notBeforeMs == '') then return 'expire' end
  return 'requeue'
end

return {
  sibling = sibling, take = take, clear_interaction = clear_interaction, rest = rest, enter = enter, finish = finish,
  finalize = finalize, suspend = suspend, quarantine = quarantine, ask = ask, asked = asked,
  answer_interaction = answer_interaction, talk = talk, due_entry = due_entry, action = action,
  suspended_until = suspended_until, kept = kept, chain = chain, arrived = arrived, cleaned = cleaned, stored = stored,
  start = start, revoke = revoke, pending = pending, shape = shape,
}
