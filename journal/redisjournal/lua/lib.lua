-- Purpose: what all scripts share. A script opens the execution, guards, decides on the opened copy with put, event, move
--   and later, and then saves: save does every write, type-checks every key before the first one, and publishes last.
-- KEYS: of a script over one execution, 1 row (hash), 2 events (list), 3 checkpoints (list), 4 tools (hash), 5 inbox (hash),
--   6 receipts (hash), 7 due (zset), 8 handoff (zset), 9 purge (zset). Nine and not eight: one layout for all of them.
--   Exception to "every key in KEYS": the keys of the row's conversation (hash, :messages list, :waiting zset), of the
--   execution that follows in it, and the cleanup zset are derived from the row's key, inside the same hash tag.
-- ARGV: every script's ends with the tail: canceled event, paused event, settings, now in ms (empty: the server's clock).
-- Invariant: after open, a row is changed by save alone; 64-bit numbers are strings in keys and replies.

local FIELDS = {
  'id', 'conversation', 'tenant', 'subject', 'fingerprint', 'queue', 'state', 'node', 'step', 'version', 'active',
  'startedAtMs', 'endedAtMs', 'deadlineMs', 'deadlineAtMs', 'restAtMs', 'fence', 'fenceCounter', 'worker', 'expiresAtMs',
  'claimNonce', 'claimAnswer', 'wake', 'taskQueue', 'runnable', 'runnableAtMs', 'notBeforeMs', 'waitKind', 'waitUntilMs',
  'attempts', 'reclaims', 'reclaimWorkers', 'cancelAtMs', 'pauseAtMs', 'batch', 'readsHistory', 'interactionRequest',
  'interactionAnswered', 'interactionExpiresAtMs', 'interactionOnExpiry', 'interactionExpired', 'interactionReceived', 'pendingMessages',
  'historyStart', 'finalState', 'finalEvent', 'delegationLease', 'delegationRevision', 'delegationClean', 'commitFence',
  'commitStep', 'commitAnswer', 'operationFence', 'operation', 'operationAnswer', 'callerIndex', 'keyMember',
}

local KIND = {
  HSET = 'hash', HDEL = 'hash', HINCRBY = 'hash', RPUSH = 'list', ZADD = 'zset', ZREM = 'zset',
}

local function number(text) return tonumber(text or '') or 0 end
local function text(value) return string.format('%.0f', value) end
local function refuse(code, detail) return redis.error_reply(code .. ' ' .. detail) end
local function contains(list, word) return word ~= '' and string.find(',' .. list .. ',', ',' .. word .. ',', 1, true) ~= nil end

-- tail binds the end of ARGV.
local function tail()
  local n = #ARGV
  local t = { canceled = ARGV[n - 3], paused = ARGV[n - 2], tasks = {}, appended = {} }
  local words = {}
  for word in string.gmatch(ARGV[n - 1], '%S+') do words[#words + 1] = word end
  t.grace, t.retention, t.cleanup = number(words[1]), number(words[2]), number(words[3])
  t.cancel_grace, t.look_again = number(words[4]), number(words[5])
  t.max_events, t.max_waiting = number(words[6]), number(words[7])
  t.suspect, t.new_suffix = words[8], words[9]
  if ARGV[n] ~= '' then
    t.now = number(ARGV[n])
  else
    local clock = redis.call('TIME')
    t.now = number(clock[1]) * 1000 + math.floor(number(clock[2]) / 1000)
  end
  return t
end

-- read loads the fields that guards and decisions need.
local function read(x)
  local values = redis.call('HMGET', x.key, unpack(FIELDS))
  x.row, x.changes, x.log, x.commands, x.channels = {}, {}, {}, {}, {}
  for i, name in ipairs(FIELDS) do x.row[name] = values[i] or '' end
  x.exists = x.row.state ~= ''
  x.now = x.tail.now
  return x
end

local function open(t)
  local x = {
    tail = t, key = KEYS[1], events = KEYS[2], checkpoints = KEYS[3], tools = KEYS[4], inbox = KEYS[5],
    receipts = KEYS[6], due = KEYS[7], handoff = KEYS[8], purge = KEYS[9],
  }
  x.partition = string.match(x.key, '^(.*:)x:')
  x.prefix = string.match(x.key, '^(.-):{p%d%d}:')
  return read(x)
end

-- sibling opens another execution of the partition.
local function sibling(x, id)
  local key = x.partition .. 'x:' .. id
  return read({
    tail = x.tail, key = key, events = key .. ':events', checkpoints = key .. ':checkpoints', tools = key .. ':tools',
    inbox = key .. ':inbox', receipts = key .. ':receipts', due = x.due, handoff = x.handoff, purge = x.purge,
    partition = x.partition, prefix = x.prefix,
  })
end

local function put(x, name, value)
  x.row[name], x.changes[name] = value, value
end

local function clear(x, ...)
  for _, name in ipairs({ ... }) do
    if x.row[name] ~= '' then put(x, name, '') end
  end
end

local function event(x, payload) x.log[#x.log + 1] = payload end
local function move(x, index, at)
  x.index, x.at = index, at
  if index ~= 'handoff' then clear(x, 'runnable') end
end
local function later(x, ...) x.commands[#x.commands + 1] = { ... } end

-- live reports whether a claim holds the row now; ran_out whether one did and nobody has taken the row from it yet.
local function live(x) return x.row.fence ~= '' and number(x.row.expiresAtMs) > x.now end
local function ran_out(x) return x.row.fence ~= '' and number(x.row.expiresAtMs) <= x.now end

-- room reports whether a holder may write n more events; the last place is kept for the terminal one.
local function room(x, n) return n == 0 or redis.call('LLEN', x.events) + n <= x.tail.max_events - 1 end

-- guard is the first guard of every holder's script.
local function guard(x, fence)
  if not x.exists then return refuse('NOTFOUND', 'execution') end
  if fence == '' or x.row.fence ~= fence then return refuse('FENCED', 'superseded') end
end

-- repeated finds the answer of a fenced call that was carried out before, by the whole fence and the operation.
local function repeated(x, fence, operation, name)
  local row = x.row
  if fence ~= '' and row.operationFence == fence and row.operation == operation then
    local answer = row.operationAnswer
    if string.sub(answer, 1, #name + 1) == name .. '\n' then return string.sub(answer, #name + 2) end
  end
end

-- hold is the first guard of every numbered call: the fence, and an operation number that the claim has not passed.
local function hold(x, fence, operation)
  local refusal = guard(x, fence)
  if refusal then return refusal end
  if number(operation) == 0 or x.row.operationFence == fence and number(operation) <= number(x.row.operation) then
    return refuse('CONFLICT', 'operation ' .. operation .. ' is not the next')
  end
end

local function remember(x, fence, operation, name, answer)
  put(x, 'operationFence', fence)
  put(x, 'operation', operation)
  put(x, 'operationAnswer', name .. '\n' .. answer)
end

-- tasks lists what was made runnable, one line each.
local function tasks(x) return table.concat(x.tail.tasks, '\n') end

-- rest gives a row that needs no worker its due entry: the next moment somebody must look at it.
local function rest(x)
  local row, t, earliest = x.row, x.tail, nil
  local function bound(ms)
    if ms > 0 and (earliest == nil or ms < earliest) then earliest = ms end
  end
  if row.state == 'queued' then
    if row.active ~= '' then bound(number(row.notBeforeMs)) end
  elseif row.state == 'finalizing' then
    bound(number(row.restAtMs) + t.cleanup)
  else
    bound(number(row.deadlineAtMs))
    if row.state == 'running' then bound(number(row.notBeforeMs)) end
    if row.state == 'waiting_for_input' then bound(number(row.interactionExpiresAtMs)) end
    if row.state == 'suspended' then bound(number(row.restAtMs) + t.retention) end
  end
  move(x, 'due', earliest or x.now + t.look_again)
end

-- let_go ends the claim. take does so on behalf of a command, and raises the fence.
local function let_go(x) clear(x, 'fence', 'worker', 'expiresAtMs') end
local function take(x)
  if x.row.fence ~= '' then put(x, 'fenceCounter', text(number(x.row.fenceCounter) + 1)) end
  let_go(x)
end

local function clear_wait(x) clear(x, 'waitKind', 'waitUntilMs', 'notBeforeMs') end
local function clear_interaction(x)
  clear(x, 'interactionRequest', 'interactionAnswered', 'interactionExpiresAtMs', 'interactionOnExpiry',
    'interactionExpired', 'interactionReceived')
  put(x, 'interaction', '')
end

-- task_queue is where the row's task belongs: a step that ran out twice is suspect, and what never started goes behind.
local function task_queue(x)
  local reclaims = number(x.row.reclaims)
  if reclaims >= 2 or reclaims >= 1 and ran_out(x) then return x.tail.suspect end
  if x.row.startedAtMs == '' then return x.row.queue .. x.tail.new_suffix end
  return x.row.queue
end

-- runnable makes the row's step runnable now: its task must be standing after grace ms.
local function runnable(x, grace)
  local row, t = x.row, x.tail
  put(x, 'taskQueue', task_queue(x))
  clear(x, 'waitKind', 'waitUntilMs')
  put(x, 'wake', text(number(row.wake) + 1))
  put(x, 'runnableAtMs', text(x.now))
  put(x, 'runnable', '1')
  move(x, 'handoff', x.now + grace)
  t.tasks[#t.tasks + 1] = table.concat({ row.id, row.step, row.wake, row.taskQueue }, '\t')
end

-- standing is the row's task again, for a repeated command whose reply may have been lost with it.
local function standing(x)
  local row = x.row
  if row.runnable == '' then return '' end
  return table.concat({ row.id, row.step, row.wake, row.taskQueue }, '\t')
end

-- conversation is the key of the row's conversation. Colons of an id that a client chose are written %3a, so that no
-- conversation's key is another one's list.
local function conversation(x)
  local name = string.gsub(x.row.conversation, ':', '%%3a')
  return x.partition .. 'conv:' .. name
end

-- history appends messages to the conversation and notes the range that is the row's own. Two rows may append in one
-- script, when one hands the conversation to the other.
local function history(x, messages)
  if #messages == 0 then return end
  local key = conversation(x) .. ':messages'
  local appended = x.tail.appended
  local length = redis.call('LLEN', key) + (appended[key] or 0)
  appended[key] = (appended[key] or 0) + #messages
  if x.row.historyStart == '' then put(x, 'historyStart', text(length)) end
  put(x, 'historyEnd', text(length + #messages))
  for _, message in ipairs(messages) do later(x, 'RPUSH', key, message) end
end

-- enter makes the row its conversation's active one and appends its first messages. A queued row becomes runnable, at
-- its start time if that is yet to come; a suspended one stays where it is.
local function enter(x, messages, grace)
  put(x, 'active', '1')
  history(x, messages)
  later(x, 'HSET', conversation(x), 'active', x.row.id)
  if x.row.state ~= 'queued' then return end
  if number(x.row.notBeforeMs) > x.now then
    put(x, 'waitKind', 'schedule')
    put(x, 'waitUntilMs', x.row.notBeforeMs)
    rest(x)
  else
    runnable(x, grace)
  end
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

-- leave takes the row out of its conversation; when it was the active one, the next in line follows.
local function leave(x)
  local key = conversation(x)
  local line = key .. ':waiting'
  if x.row.active == '' then
    later(x, 'ZREM', line, x.row.id)
    return
  end
  put(x, 'active', '')
  for _, id in ipairs(redis.call('ZRANGE', line, 0, 9)) do
    later(x, 'ZREM', line, id)
    local next = sibling(x, id)
    if next.row.state == 'queued' or next.row.state == 'suspended' then
      enter(next, pending(next), 0)
      x.next = next
      return
    end
  end
  later(x, 'HSET', key, 'active', '')
end

-- finish ends the row: terminal event, claim, interaction and wait gone, conversation handed on.
local function finish(x, state, payload)
  local row = x.row
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
  leave(x)
  move(x, 'purge', x.now + x.tail.retention)
  if row.delegationLease ~= '' and row.delegationClean == '' then
    later(x, 'ZADD', x.partition .. 'cleanup', text(x.now), row.id)
  else
    later(x, 'ZREM', x.partition .. 'cleanup', row.id)
  end
end

-- finalize keeps how the row ends (empty: nobody has said) until its clean-up is done.
local function finalize(x, final_state, final_event)
  put(x, 'state', 'finalizing')
  put(x, 'restAtMs', text(x.now))
  put(x, 'finalState', final_state)
  put(x, 'finalEvent', final_event)
  clear(x, 'waitKind', 'waitUntilMs')
  later(x, 'ZADD', x.partition .. 'cleanup', text(x.now), x.row.id)
  rest(x)
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
  runnable(x, x.tail.grace)
end

local function check(command)
  local kind = redis.call('TYPE', command[2])['ok']
  if kind ~= 'none' and kind ~= KIND[command[1]] then error('WRONGTYPE ' .. command[2] .. ' is a ' .. kind) end
end

-- prepare does the reads of save, prepares its commands and checks them.
local function prepare(x)
  x.length = redis.call('LLEN', x.events)
  local fields = {}
  for name, value in pairs(x.changes) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  x.fields = fields
  for _, command in ipairs(x.commands) do check(command) end
  if x.next then prepare(x.next) end
end

-- write begins with a ZREM, which is admitted when memory is full, and what follows it in the script then is too; of an
-- execution that does not exist yet nothing is owed, so that a full Redis refuses it.
local function write(x)
  if x.exists then redis.call('ZREM', x.due, '') end
  if x.index and x.exists then
    redis.call('ZREM', x.due, x.row.id)
    redis.call('ZREM', x.handoff, x.row.id)
    redis.call('ZREM', x.purge, x.row.id)
  end
  for _, payload in ipairs(x.log) do redis.call('RPUSH', x.events, text(x.now) .. ' ' .. payload) end
  if #x.fields > 0 then redis.call('HSET', x.key, unpack(x.fields)) end
  for _, command in ipairs(x.commands) do redis.call(unpack(command)) end
  if x.index then redis.call('ZADD', x[x.index], text(x.at), x.row.id) end
  if x.next then write(x.next) end
end

local function publish(x)
  redis.call('PUBLISH', x.prefix .. ':feed:' .. x.row.id, 'changed')
  for _, channel in ipairs(x.channels) do redis.call('PUBLISH', channel, x.row.id) end
  if x.next then publish(x.next) end
end

-- touch notes a change that a client can see.
local function touch(x)
  put(x, 'version', text(number(x.row.version) + 1))
  put(x, 'updatedAtMs', text(x.now))
  if x.next then touch(x.next) end
end

-- save writes what was decided. The first write is a ZREM, which is admitted when memory is full.
local function save(x)
  prepare(x)
  write(x)
  publish(x)
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
  if row.state ~= 'queued' and row.state ~= 'running' then return 'expire' end
  if row.fence ~= '' then return 'requeue' end
  local late = row.deadlineAtMs ~= '' and number(row.deadlineAtMs) <= x.now
  if row.active == '' or row.waitKind ~= '' and (late or row.notBeforeMs == '') then return 'expire' end
  return 'requeue'
end

-- whole is the row as Go reads it: fields, last sequence, receipts.
local function whole(x)
  return { redis.call('HGETALL', x.key), text(redis.call('LLEN', x.events)), redis.call('HGETALL', x.receipts) }
end
