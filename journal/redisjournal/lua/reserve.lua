-- Purpose: stores a new execution, its first event, checkpoint 0 and its entry in an index.
-- KEYS: the nine of an execution (lib.lua), 10 conversation (hash), 11 idempotency key (hash; only when there is one and it
--   lives in this partition). Eleven: all that begins with an execution begins here. Exception: its listing indexes and
--   <row>:gone (string, see delete.lua) are derived, in the same hash tag.
-- ARGV: 1 mode (write, or look: guards only), 2 fingerprint, 3 idempotency key's own text (empty: none), 4 enqueue when the
--   conversation is busy (1 or empty), 5 memory is short (1 or empty), 6 tenant, 7 subject, 8 member of the idempotency key
--   in the purge index (empty: not in this partition), 9 start in ms (0: at once), 10 checkpoint, 11 queued event,
--   12 number of further fields, 13 number of messages, 14 fingerprint as an earlier release stored it, then fields as name
--   and value, then messages, then the tail.
-- Returns: {created, row, tasks}; {existing, row, tasks} for a submission that came before.
-- Refuses: CONFLICT (also conversation_busy, key_reused, gone), LIMIT (the waiting line; overloaded).
-- Invariant: a key and its row come in one write; the conversation has one active execution; nothing stays of a refusal.
local mode, fingerprint, key, enqueue, short, tenant, subject, member = unpack(ARGV, 1, 8)
local start_at, checkpoint, queued_event, field_count, message_count, earlier = unpack(ARGV, 9, 14)
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
local owner = redis.call('HMGET', KEYS[10], 'tenant', 'active', 'arrivals', 'executions', 'only')
local line = KEYS[10] .. ':waiting'
local active = owner[2] or ''
local waiting = redis.call('ZCARD', line)
if owner[1] and owner[1] ~= tenant then return refuse('CONFLICT', 'the conversation belongs to another tenant') end
if active ~= '' and enqueue == '' then return refuse('CONFLICT', 'conversation_busy') end
if active ~= '' and waiting >= MAX_WAITING then return refuse('LIMIT', 'waiting executions') end
if short ~= '' then return refuse('LIMIT', 'overloaded') end
if mode == 'look' then return { 'free' } end

local fields = number(field_count)
for i = 1, fields do put(x, ARGV[13 + 2 * i], ARGV[14 + 2 * i]) end
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
for i = 1, number(message_count) do messages[i] = ARGV[14 + 2 * fields + i] end
event(x, queued_event)
later(x, 'RPUSH', x.checkpoints, checkpoint)
later(x, 'HSET', KEYS[10], 'tenant', tenant)
later(x, 'HINCRBY', KEYS[10], 'executions', 1)
m.talk(x, number(owner[4]) == 0, owner[5])
for _, of in ipairs(LISTS) do later(x, 'ZADD', listing(x, of, ''), text(x.now), string.sub(id, TAIL)) end
if active == '' then
  m.enter(x, messages, GRACE)
else
  put(x, 'pendingMessages', message_count)
  for i, message in ipairs(messages) do put(x, 'message:' .. i, message) end
  put(x, 'waitKind', 'schedule')
  later(x, 'HINCRBY', KEYS[10], 'arrivals', 1)
  later(x, 'ZADD', line, text(number(owner[3]) + 1), id)
  m.rest(x)
end
if member ~= '' then later(x, 'HSET', KEYS[11], 'execution', id, 'fingerprint', fingerprint) end
touch(x)
save(x)
return { 'created', whole(x), tasks(x) }
