-- Purpose: what scripts share; each gets those locals that it needs (script.go). A script opens the execution, guards, decides on the opened copy with put, event, move
--   and later, and then saves: save does every write, type-checks every key before the first one, and publishes last. In
--   front of it stand the store's constants, in capitals (prelude.go); behind it moves(), which builds what only the rarer
--   moves of a row need, so that the common path of a claim and a commit does without.
-- KEYS: of a script over one execution, 1 row (hash), 2 events (list), 3 due (zset), 4 handoff (zset), 5 checkpoints (list),
--   6 tools (hash), 7 inbox (hash), 8 receipts (hash), 9 purge (zset). Nine and not eight: one layout for all of them. Those
--   with a usual way are sent without the last ones, which that does not need.
--   Exception to "every key in KEYS": the keys of the row's conversation (hash, :messages list, :waiting zset), of the
--   execution that follows in it, of its parent and its children with their :children and :open zsets, the row's :blobs list
--   (of rows that an earlier release ended) and the cleanup and outside zsets are derived from the row's key, inside the same hash tag.
-- ARGV: every script's ends with the tail: now in ms (empty: the server's clock).
-- Invariant: after open, a row is changed by save alone and deleted by erase alone; 64-bit numbers are strings in keys and
--   replies.

-- fields are what guards and decisions may need.
local function fields()
  return {
    'v', 'id', 'conversation', 'tenant', 'subject', 'fingerprint', 'queue', 'state', 'node', 'step', 'version', 'active',
    'startedAtMs', 'endedAtMs', 'deadlineMs', 'deadlineAtMs', 'restAtMs', 'fence', 'fenceCounter', 'worker', 'expiresAtMs',
    'refusedNonce', 'claimAnswer', 'wake', 'taskQueue', 'runnableAtMs', 'notBeforeMs', 'waitKind', 'waitUntilMs',
    'attempts', 'reclaims', 'reclaimWorkers', 'cancelAtMs', 'pauseAtMs', 'batch', 'readsHistory', 'interactionRequest',
    'interactionAnswered', 'interactionExpiresAtMs', 'interactionOnExpiry', 'interactionExpired', 'interactionReceived', 'pendingMessages',
    'historyStart', 'finalState', 'finalEvent', 'delegated', 'delegationLease', 'delegationRevision', 'delegationExpiresAtSeconds', 'delegationClean', 'committed',
    'operationFence', 'operation', 'operationAnswer', 'callerIndex', 'keyMember', 'createdAtMs', 'retentionMs',
    'historyEnd', 'shift', 'rollback', 'inheritedMessages', 'lent', 'parent', 'children', 'await', 'cleanup',
  }
end

local function number(text) return tonumber(text or '') or 0 end
local function text(value) return string.format('%.0f', value) end
local function refuse(code, detail) return redis.error_reply(code .. ' ' .. detail) end
local function contains(list, word)
  return list == word and word ~= '' or word ~= '' and string.find(',' .. list .. ',', ',' .. word .. ',', 1, true) ~= nil
end
local function is_terminal(state) return state == 'completed' or state == 'failed' or state == 'canceled' end

-- tail binds the end of ARGV: the clock as a number, and as the text that is stored.
local function tail()
  local now = ARGV[#ARGV]
  if now == '' then
    local clock = redis.call('TIME')
    now = string.format('%s%03d', clock[1], clock[2] / 1000)
  end
  return { now = number(now), stamp = now, tasks = {} }
end

-- read loads the named fields at once, and all others together when the first of them is used.
local function read(x, names)
  local row, values = {}, redis.call('HMGET', x.key, unpack(names))
  for i = 1, #names do row[names[i]] = values[i] or '' end
  x.row = setmetatable(row, {
    __index = function(_, name)
      local others = fields()
      local rest = redis.call('HMGET', x.key, unpack(others))
      for i, other in ipairs(others) do
        if rawget(row, other) == nil then rawset(row, other, rest[i] or '') end
      end
      return rawget(row, name)
    end,
  })
  x.changes, x.log, x.commands, x.state = {}, {}, {}, row.state
  x.exists = row.state ~= ''
  if row.id == '' and x.exists then row.id = string.match(x.key, '[^:]*$') end
  x.now = x.tail.now
  x.was = row.runnableAtMs ~= '' and 'handoff' or is_terminal(row.state) and 'purge' or 'due'
  return x
end

-- newer reports whether a later release has given the row another shape: it is left as it is. A script that did not read v is a
-- holder's, whose claim was granted.
local function newer(row) return number(rawget(row, 'v')) > ROW_VERSION end

-- open reads the row; of another shape it ends the script with NEWER. A script that names the fields it decides on (state and runnableAtMs among them) saves the others.
local function open(t, names)
  local x = read({
    tail = t, key = KEYS[1], events = KEYS[2], due = KEYS[3], handoff = KEYS[4], checkpoints = KEYS[5], tools = KEYS[6],
    inbox = KEYS[7] or KEYS[1] .. ':inbox', receipts = KEYS[8] or KEYS[1] .. ':receipts',
    purge = KEYS[9] or string.sub(KEYS[1], 1, TAG_END) .. 'purge',
  }, names or fields())
  if newer(x.row) then error(refuse('NEWER', 'row')) end
  return x
end

-- partition begins every key of the row's partition, prefix every channel.
local function partition(x) return string.match(x.key or x.due, '^(.-}:)') end
local function prefix(x) return string.match(x.key, '^(.-):{') end

-- put changes a field. Changes are kept as one command takes them: name and value in turn, the last of a name counts.
local function put(x, name, value)
  local changes = x.changes
  local n = #changes
  x.row[name], changes[n + 1], changes[n + 2] = value, name, value
end

-- clear empties fields; one that the script has not read is written without a look.
local function clear(x, ...)
  for i = 1, select('#', ...) do
    local name = select(i, ...)
    if rawget(x.row, name) ~= '' then put(x, name, '') end
  end
end

local function event(x, payload) x.log[#x.log + 1] = payload end
-- naming puts names into their places in an event.
local function naming(payload, names)
  local function escape(place)
    return names[place] and string.gsub(names[place], '[%c"\\<>&]', function(c) return string.format('\\u%04x', string.byte(c)) end)
  end
  local named = string.gsub(payload, '@(%u+)@', escape)
  return named
end
local function move(x, index, at)
  x.index, x.at = index, at
  if index ~= 'handoff' and x.row.runnableAtMs ~= '' then clear(x, 'runnableAtMs', 'taskQueue') end
end
local function later(x, ...) x.commands[#x.commands + 1] = { ... } end

-- live reports whether a claim holds the row now; ran_out whether one did and nobody has taken the row from it yet.
local function live(x) return x.row.fence ~= '' and number(x.row.expiresAtMs) > x.now end
local function ran_out(x) return x.row.fence ~= '' and number(x.row.expiresAtMs) <= x.now end

-- length is that of the log before anything is written.
local function length(x)
  if not x.length then x.length = redis.call('LLEN', x.events) end
  return x.length
end

-- room reports whether a holder may write n more events; the last place is kept for the terminal one.
local function room(x, n) return n == 0 or length(x) + n <= MAX_EVENTS - 1 end

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

-- let_go ends the claim.
local function let_go(x) clear(x, 'fence', 'worker', 'expiresAtMs') end

-- unwait ends the wait, but for its not-before: what else belongs to it is set with waitKind alone.
local function unwait(x)
  if x.row.waitKind == '' then return end
  clear(x, 'waitKind', 'waitUntilMs')
  if x.row.await ~= '' then put(x, 'await', '') end
end

-- clear_wait ends the wait.
local function clear_wait(x)
  unwait(x)
  clear(x, 'notBeforeMs')
end

-- intended reports whether the row's delegation is yet to come: nobody may claim it before.
local function intended(x) return x.row.delegated ~= '' and x.row.delegationLease == '' end

-- unclean reports whether something outside is to be undone: a delegation, or what the row's cleanup tells of.
local function unclean(x)
  local row = x.row
  return row.delegated ~= '' and row.delegationClean == '' or row.cleanup ~= ''
end

-- owe notes what is to be undone outside once the row ends (empty: nothing any more), and lists the row among those that owe.
local function owe(x, cleanup)
  local index = partition(x) .. 'outside'
  put(x, 'cleanup', cleanup)
  if cleanup ~= '' then later(x, 'ZADD', index, x.tail.stamp, x.row.id) else later(x, 'ZREM', index, x.row.id) end
end

-- task_queue is where the row's task belongs: a step that ran out twice is suspect, and what never started goes behind.
local function task_queue(x)
  local reclaims = number(x.row.reclaims)
  if reclaims >= 2 or reclaims >= 1 and ran_out(x) then return SUSPECT_QUEUE end
  if x.row.startedAtMs == '' then return x.row.queue .. NEW_SUFFIX end
  return x.row.queue
end

-- standing is the row's task, for whoever enqueues it (again: the reply of a repeated command may have been lost with it).
-- A taskQueue is kept only where it is not the row's queue.
local function standing(x)
  local row = x.row
  if row.runnableAtMs == '' then return '' end
  local queue = row.taskQueue ~= '' and row.taskQueue or row.queue
  return table.concat({ row.id, row.step, row.wake, queue }, '\t')
end

-- runnable makes the row's step runnable now: its task must be standing after grace ms.
local function runnable(x, grace)
  local row, lines, queue = x.row, x.tail.tasks, task_queue(x)
  if queue ~= row.queue then put(x, 'taskQueue', queue) else clear(x, 'taskQueue') end
  unwait(x)
  put(x, 'wake', text(number(row.wake) + 1))
  put(x, 'runnableAtMs', x.tail.stamp)
  move(x, 'handoff', x.now + grace)
  lines[#lines + 1] = standing(x)
end

-- conversation is the key of the row's conversation, of which the row has the name: the id, and where a client chose that
-- the tenant. Colons of an id are written %3a, so that no conversation's key is another one's list.
local function conversation(x)
  local name = x.row.conversation
  if string.find(name, ':', 1, true) then name = string.gsub(name, ':', '%%3a') end
  return partition(x) .. 'conv:' .. name
end

-- PAGE is how many values go into one command: Lua hands over fewer than 8,000.
local PAGE = 1000

-- history appends messages to the conversation and notes the range that is the row's own. Two rows may append in one
-- script, when one hands the conversation to the other: a writer is the one that is written first.
local function history(x, messages, writer)
  if #messages == 0 then return end
  local key = conversation(x) .. ':messages'
  local appended = x.tail.appended or {}
  x.tail.appended = appended
  local before = redis.call('LLEN', key) + (appended[key] or 0) + number(x.row.shift)
  appended[key] = (appended[key] or 0) + #messages
  if x.row.historyStart == '' then put(x, 'historyStart', text(before)) end
  put(x, 'historyEnd', text(before + #messages))
  for i = 1, #messages, PAGE do later(writer or x, 'RPUSH', key, unpack(messages, i, math.min(i + PAGE - 1, #messages))) end
end

-- parts is the history that the row sees: for each part the list that holds it, the first index there, the one behind its
-- last, and the list's conversation. A conversation's base is what its history begins with, "<conversation> <first> <behind the
-- last>" a line; behind that comes its own list from an index on. A view is that of a row that was rolled back: so many
-- parts of the base, and the own list between two indexes.
local function parts(x, view)
  local key, list = conversation(x), {}
  local stored = redis.call('HMGET', key, 'base', 'from')
  local most, from, behind = string.match(view, '^(%d+) (%d+) (%d+)$')
  most, from = number(most or tostring(MAX_PARTS)), number(from or stored[2])
  for name, first, last in string.gmatch(stored[1] or '', '(%S+) (%d+) (%d+)') do
    if #list == most then break end
    list[#list + 1] = { partition(x) .. 'conv:' .. name .. ':messages', number(first), number(last), name }
  end
  list[#list + 1] = {
    key .. ':messages', from, behind and number(behind) or redis.call('LLEN', key .. ':messages'),
    string.match(key, '}:conv:(.*)$'),
  }
  return list
end

-- total is how many messages parts hold.
local function total(list)
  local sum = 0
  for _, part in ipairs(list) do sum = sum + part[3] - part[2] end
  return sum
end

-- span reads at most so many messages of parts from a message on.
local function span(list, from, most)
  local found, passed = {}, 0
  for _, part in ipairs(list) do
    local first = part[2] + from + #found - passed
    if first < part[3] and #found < most then
      for _, message in ipairs(redis.call('LRANGE', part[1], first, math.min(part[3], first + most - #found) - 1)) do
        found[#found + 1] = message
      end
    end
    passed = passed + part[3] - part[2]
  end
  return found
end

-- check fails on a key of another type than its command's, as the command itself would, but before anything is written.
local function check(command)
  local name = command[1]
  local probe = name == 'RPUSH' and 'LLEN' or string.sub(name, 1, 1) == 'H' and 'HLEN' or 'ZCARD'
  redis.call(probe, command[2])
end

-- prepare does the reads of save, prepares its commands and checks them.
local function prepare(x)
  if #x.log > 0 then length(x) end
  if x.settle then x.settle(x) end
  for i = 1, #x.commands do check(x.commands[i]) end
  if x.next then prepare(x.next) end
end

-- LISTS are those a row is listed for: its tenant, its caller, and whoever sees all tenants.
local LISTS = { 'tenant', 'caller', '*' }

-- listing is the index that lists the row for one of LISTS in a state; empty: in any. No tenant is called *.
local function listing(x, of, state)
  local row = x.row
  if of == '*' then return partition(x) .. 'tenant:' .. state .. ':*' end
  local owner = of == 'tenant' and row.tenant or #row.tenant .. ':' .. row.tenant .. ':' .. row.subject
  return partition(x) .. of .. ':' .. state .. ':' .. owner
end

-- relist moves the row to the indexes of its new state. Most executions are completed: they have no index of their state.
local function relist(x)
  local row = x.row
  local name = string.sub(row.id, TAIL)
  for _, of in ipairs(LISTS) do
    if x.exists and x.state ~= 'completed' then redis.call('ZREM', listing(x, of, x.state), name) end
    if row.state ~= 'completed' then redis.call('ZADD', listing(x, of, row.state), row.createdAtMs, name) end
  end
end

-- write begins with a ZREM, which is admitted when memory is full, and what follows it in the script then is too; of an
-- execution that does not exist yet nothing is owed, so that a full Redis refuses it.
local function write(x)
  local id, index, log = x.row.id, x.index, x.log
  if x.exists then redis.call('ZREM', x[x.was], index and id or '') end
  if index then redis.call('ZADD', x[index], text(x.at), id) end
  if x.row.state ~= x.state then relist(x) end
  if #log > 0 then
    local at, entries = x.tail.stamp .. ' ', {}
    for i = 1, #log do entries[i] = at .. log[i] end
    for i = 1, #log, PAGE do redis.call('RPUSH', x.events, unpack(entries, i, math.min(i + PAGE - 1, #log))) end
  end
  if x.settle then redis.call('DEL', x.key) end
  if #x.changes > 0 then redis.call('HSET', x.key, unpack(x.changes)) end
  for i = 1, #x.commands do redis.call(unpack(x.commands[i])) end
  if x.long then redis.call('RPUSH', x.checkpoints, unpack(x.long)) end
  if x.next then write(x.next) end
end

-- publish tells the row's followers which events were written: the last sequence, and how many. 0: none were.
local function publish(x)
  local written = #x.log > 0 and text(x.length + #x.log) .. ' ' .. #x.log or '0'
  redis.call('PUBLISH', prefix(x) .. ':feed:' .. x.row.id, written)
  if x.channel then redis.call('PUBLISH', x.channel, x.row.id) end
  if x.next then publish(x.next) end
end

-- touch notes a change that a client can see, or n of them.
local function touch(x, n)
  put(x, 'version', text(number(x.row.version) + (n or 1)))
  put(x, 'updatedAtMs', x.tail.stamp)
  if x.next then touch(x.next) end
end

-- save writes what was decided. Quiet, it tells nobody: nothing has changed that a client can see.
local function save(x, quiet)
  prepare(x)
  write(x)
  if not quiet then publish(x) end
end

-- whole is the row as Go reads it: fields, last sequence, receipts, the long fields of a row that has ended, id.
local function whole(x)
  local row, long = x.row, {}
  if is_terminal(row.state) then
    long = redis.call('LRANGE', x.checkpoints, number(row.step) + 1, -1)
    if #long == 0 then long = redis.call('LRANGE', x.key .. ':blobs', 0, -1) end
  end
  return {
    redis.call('HGETALL', x.key), text(redis.call('LLEN', x.events)), redis.call('HGETALL', x.receipts), long, row.id,
  }
end

-- lean takes the conversation from the count of those that are based on what its base is made of; it tells which of these
-- nobody needs any more.
local function lean(at, key)
  local own, counted, unneeded = string.match(key, '}:conv:(.*)$'), {}, {}
  for name in string.gmatch(redis.call('HGET', key, 'base') or '', '(%S+) %d+ %d+') do
    if name ~= own and not counted[name] then
      counted[name] = true
      local other = at .. 'conv:' .. name
      if redis.call('HINCRBY', other, 'based', -1) <= 0 and number(redis.call('HGET', other, 'executions')) <= 0 then
        unneeded[#unneeded + 1] = other
      end
    end
  end
  return unneeded
end

-- named is the index of conversations whose ids clients chose, by name; empty: the id was minted.
local function named(at, key)
  local name = string.match(key, '}:conv:(.*)$')
  if string.find(name, '/', 1, true) then return at .. 'named', name end
  return '', name
end

-- drop deletes a conversation without executions, and those that were kept for it alone.
local function drop(at, key)
  local keys = { key }
  while #keys > 0 do
    local last = table.remove(keys)
    if number(redis.call('HGET', last, 'based')) <= 0 then
      for _, other in ipairs(lean(at, last)) do keys[#keys + 1] = other end
      redis.call('UNLINK', last, last .. ':messages', last .. ':waiting', last .. ':executions')
      local index, name = named(at, last)
      if index ~= '' then redis.call('ZREM', index, name) end
    end
  end
end

-- close ends the history of a conversation whose executions are all gone: what others are based on stays in its list for
-- them, and whoever submits to it again begins behind that, where nothing is said.
local function close(at, key)
  for _, other in ipairs(lean(at, key)) do drop(at, other) end
  redis.call('HDEL', key, 'base')
  redis.call('HSET', key, 'from', redis.call('LLEN', key .. ':messages'))
end

-- erase deletes a row that has ended with all that only it needs; the conversation goes with its last execution, unless
-- others are based on it: then its history is theirs alone. What becomes of an idempotency key is the script's. The first
-- write is a ZREM, and no later one needs memory.
local function erase(x)
  local row, talk, name = x.row, conversation(x), string.sub(x.row.id, TAIL)
  local left = number(redis.call('HGET', talk, 'executions'))
  redis.call('ZREM', x.purge, row.id)
  redis.call('ZREM', x.due, row.id)
  redis.call('ZREM', x.handoff, row.id)
  redis.call('ZREM', partition(x) .. 'cleanup', row.id)
  redis.call('ZREM', partition(x) .. 'outside', row.id)
  if row.callerIndex ~= '' then redis.call('ZREM', partition(x) .. row.callerIndex, row.id) end -- of an earlier release
  for _, of in ipairs(LISTS) do
    redis.call('ZREM', listing(x, of, ''), name)
    redis.call('ZREM', listing(x, of, row.state), name)
  end
  if left <= 1 and number(redis.call('HGET', talk, 'based')) <= 0 then
    drop(partition(x), talk)
  else
    redis.call('HINCRBY', talk, 'executions', -1)
    redis.call('ZREM', talk .. ':executions', name)
    if redis.call('HGET', talk, 'only') == name then redis.call('HDEL', talk, 'only') end
    if left <= 1 then close(partition(x), talk) end
  end
  local results = x.key .. ':results'
  if number(redis.call('HGET', results, 'forks')) <= 0 then redis.call('UNLINK', results) end
  for lender in string.gmatch(row.lent, '%S+') do
    local key = partition(x) .. 'x:' .. lender
    if redis.call('HINCRBY', key .. ':results', 'forks', -1) <= 0 and redis.call('EXISTS', key) == 0 then
      redis.call('UNLINK', key .. ':results')
    end
  end
  redis.call('ZREM', partition(x) .. 'push', row.id)
  if row.children ~= '' then redis.call('UNLINK', x.key .. ':children', x.key .. ':open') end
  redis.call('UNLINK', x.key, x.key .. ':blobs', x.key .. ':push', x.events, x.checkpoints, x.tools, x.inbox, x.receipts)
end
