-- Purpose: stores a new execution, its first event, checkpoint 0 and its entry in an index.
-- KEYS: the nine of an execution (lib.lua), 10 conversation (hash), 11 idempotency key (hash; only when there is one and it
--   lives in this partition). Eleven: all that begins with an execution begins here. Exception: its listing indexes, the
--   named zset and <row>:gone (string, see delete.lua) are derived, in the same hash tag.
-- ARGV: 1 mode (write, or look: guards only), 2 fingerprint, 3 idempotency key's own text (empty: none), 4 what to do when
--   the conversation is busy (empty: refuse, enqueue, interrupt, rollback), 5 memory is short (1 or empty), 6 tenant, 7 subject, 8 member of the idempotency key
--   in the purge index (empty: not in this partition), 9 start in ms (0: at once), 10 checkpoint, 11 queued event,
--   12 number of further fields, 13 number of messages, 14 fingerprint as an earlier release stored it, 15 states in which
--   an execution is canceled, 16 cancel_requested event (both empty unless 4 is interrupt or rollback), of a fork 17 the
--   execution it comes from (empty: no fork), 18 how many
--   messages of that one's history and 19 from where they are counted (all, or own: from the part that the other one added),
--   or whole, 20 the conversation has to be there (1 or empty), then fields as name and value, then messages, then the tail.
-- Returns: {created, row, tasks}; {existing, row, tasks} for a submission that came before.
-- Refuses: NOTFOUND (what a fork comes from; no_conversation, alike for another tenant's), CONFLICT (also conversation_busy, key_reused, gone), LIMIT (the waiting line, parts of a history;
--   overloaded).
-- Invariant: a key and its row come in one write; the conversation has one active execution; nothing stays of a refusal. One
--   that interrupts cancels the active one in the same write, as cancel.lua does, and follows it, before the line; the one
--   that was to follow until then is canceled too. There is never more than one of these: its score in the line is 0.
local mode, fingerprint, key, on_busy, short, tenant, subject, member = unpack(ARGV, 1, 8)
local start_at, checkpoint, queued_event, field_count, message_count, earlier = unpack(ARGV, 9, 14)
local cancel_states, requested_event, source, taken, counted, continues = unpack(ARGV, 15, 20)
local t = tail()
local x = open(t)
local m = moves()
local id = string.sub(x.key, #partition(x) + 3)

-- same compares the fingerprint of a submission that came before.
local function same(stored) return stored == fingerprint or stored == earlier end

local function existing(y)
  return { 'existing', whole(y), standing(y) }
end

if member ~= '' then
  local entry = redis.call('HMGET', KEYS[11], 'execution', 'fingerprint', 'gone')
  if entry[3] then return refuse('CONFLICT', 'gone') end
  if entry[1] then
    local y = m.sibling(x, entry[1])
    if y.exists then
      if not same(entry[2]) then return refuse('CONFLICT', 'key_reused') end
      return existing(y)
    elseif string.sub(entry[1], 1, TAIL - 1) ~= string.sub(id, 1, TAIL - 1) then
      return refuse('CONFLICT', 'key_reused') -- by a request whose conversation is in another partition
    end
  end
end
if x.exists then
  local row = x.row
  if row.tenant ~= tenant or row.subject ~= subject or (redis.call('HGET', x.key, 'idempotencyKey') or '') ~= key then
    return refuse('CONFLICT', 'the id is taken')
  end
  if not same(row.fingerprint) then
    return refuse('CONFLICT', key ~= '' and 'key_reused' or 'the id is taken')
  end
  return existing(x)
end
if key ~= '' and member == '' and redis.call('EXISTS', x.key .. ':gone') == 1 then return refuse('CONFLICT', 'gone') end
local owner = redis.call('HMGET', KEYS[10], 'tenant', 'active', 'arrivals', 'executions', 'only', 'base', 'from')
if continues ~= '' and (owner[1] ~= tenant or number(owner[4]) <= 0) then return refuse('NOTFOUND', 'no_conversation') end
if owner[1] and owner[1] ~= tenant then return refuse('CONFLICT', 'the conversation belongs to another tenant') end
local line = KEYS[10] .. ':waiting'
local active = owner[2] or ''
local interrupts = active ~= '' and (on_busy == 'interrupt' or on_busy == 'rollback')
local base, parts_of_base, bases, lenders = '', 0, {}, {} -- what a fork begins with
local function add_part(name, first, last)
  base = base .. name .. ' ' .. text(first) .. ' ' .. text(last) .. '\n'
  parts_of_base = parts_of_base + 1
end

-- take_base takes the history of a fork, or gives the refusal.
local function take_base()
  local y = m.sibling(x, source)
  if not y.exists or y.row.tenant ~= tenant then return refuse('NOTFOUND', 'the execution to fork') end
  if owner[1] then return refuse('CONFLICT', 'the conversation is there') end
  if y.row.historyStart == '' then return refuse('CONFLICT', 'the execution to fork waits for its turn') end
  local length = number(taken)
  if counted == 'own' then length = length + number(y.row.historyStart) end
  if counted == 'whole' then length = number(y.row.historyEnd) end
  for _, part in ipairs(parts(y, redis.call('HGET', y.key, 'view') or '')) do
    local size = math.min(part[3] - part[2], length)
    if size > 0 then
      add_part(part[4], part[2], part[2] + size)
      bases[part[4]] = true
    end
    length = length - size
  end
  if length > 0 then return refuse('CONFLICT', 'the history to fork is shorter') end
  if parts_of_base > MAX_PARTS then return refuse('LIMIT', 'parts of a history') end
  for lender in string.gmatch(source .. ' ' .. y.row.lent, '%S+') do
    if redis.call('EXISTS', partition(x) .. 'x:' .. lender .. ':results') == 1 then lenders[#lenders + 1] = lender end
  end
end

-- The one that is to follow the active one, if there is one that interrupts.
local current, follows
if interrupts then
  current = m.sibling(x, active)
  local first = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')
  if first[1] and number(first[2]) == 0 then follows = m.sibling(x, first[1]) end
end
if source ~= '' then
  local refusal = take_base()
  if refusal then return refusal end
end
if active ~= '' and on_busy == '' then return refuse('CONFLICT', 'conversation_busy') end
if active ~= '' and on_busy == 'enqueue' and redis.call('ZCOUNT', line, 1, '+inf') >= MAX_WAITING then
  return refuse('LIMIT', 'waiting executions')
end
if interrupts and on_busy == 'rollback' then
  local _, count = string.gsub(owner[6] or '', '\n', '')
  if count + 1 > MAX_PARTS then return refuse('LIMIT', 'parts of a history') end
end
if follows and on_busy == 'interrupt' and number(follows.row.pendingMessages) + number(message_count) > MAX_INHERITED then
  return refuse('LIMIT', 'messages of those that were interrupted')
end
if short ~= '' then return refuse('LIMIT', 'overloaded') end
if mode == 'look' then return { 'free' } end

local fields = number(field_count)
for i = 1, fields do put(x, ARGV[19 + 2 * i], ARGV[20 + 2 * i]) end
put(x, 'id', id)
put(x, 'tenant', tenant)
put(x, 'subject', subject)
put(x, 'fingerprint', fingerprint)
put(x, 'idempotencyKey', key)
put(x, 'keyMember', member)
put(x, 'state', 'queued')
put(x, 'step', '0')
put(x, 'createdAtMs', text(x.now))
if number(start_at) > x.now then put(x, 'notBeforeMs', start_at) end
local messages = {}
for i = 1, number(message_count) do messages[i] = ARGV[20 + 2 * fields + i] end
event(x, queued_event)
later(x, 'RPUSH', x.checkpoints, t.stamp .. ' ' .. checkpoint)
later(x, 'HSET', KEYS[10], 'tenant', tenant)
later(x, 'HINCRBY', KEYS[10], 'executions', 1)
m.talk(x, number(owner[4]) == 0, owner[5])
local index, name = named(partition(x), KEYS[10])
if index ~= '' and not owner[1] then later(x, 'ZADD', index, '0', name) end
for _, of in ipairs(LISTS) do later(x, 'ZADD', listing(x, of, ''), text(x.now), string.sub(id, TAIL)) end
if base ~= '' then later(x, 'HSET', KEYS[10], 'base', base) end
for name in pairs(bases) do later(x, 'HINCRBY', partition(x) .. 'conv:' .. name, 'based', 1) end
if #lenders > 0 then put(x, 'lent', table.concat(lenders, ' ')) end
for _, lender in ipairs(lenders) do later(x, 'HINCRBY', partition(x) .. 'x:' .. lender .. ':results', 'forks', 1) end

local entered, inherited, back = false, 0, on_busy == 'rollback'
if interrupts then
  if follows then
    back = follows.row.rollback ~= ''
    if on_busy == 'interrupt' then
      local own = messages
      messages = m.pending(follows)
      inherited = #messages
      for _, message in ipairs(own) do messages[#messages + 1] = message end
    end
    m.finish(follows, 'canceled', CANCELED_EVENT)
    m.chain(x, follows)
  end
  if contains(cancel_states, current.row.state) then
    local changed
    entered, changed = m.revoke(current, requested_event, { row = x, messages = messages, inherited = inherited, back = back })
    if changed then m.chain(x, current) end
  end
elseif active == '' then
  local shift = ''
  if base ~= '' or owner[6] or number(owner[7]) > 0 then
    local sum = 0
    for first, last in string.gmatch(base ~= '' and base or owner[6] or '', '%S+ (%d+) (%d+)') do
      sum = sum + number(last) - number(first)
    end
    shift = text(sum - number(owner[7]))
  end
  m.enter(x, messages, GRACE, shift, 0)
  entered = true
end
if not entered then
  put(x, 'pendingMessages', text(#messages))
  for i, message in ipairs(messages) do put(x, 'message:' .. i, message) end
  put(x, 'waitKind', 'schedule')
  if interrupts then
    if back then put(x, 'rollback', '1') end
    if inherited > 0 then put(x, 'inheritedMessages', text(inherited)) end
    later(x, 'ZADD', line, '0', id)
  else
    later(x, 'HINCRBY', KEYS[10], 'arrivals', 1)
    later(x, 'ZADD', line, text(number(owner[3]) + 1), id)
  end
  m.rest(x)
end
if member ~= '' then later(x, 'HSET', KEYS[11], 'execution', id, 'fingerprint', fingerprint) end
touch(x)
save(x)
return { 'created', whole(x), tasks(x) }
