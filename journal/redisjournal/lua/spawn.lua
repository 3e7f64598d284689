-- Purpose: stores a child of an execution: its row, its first event, checkpoint 0 and its entry in an index, and its entries
--   among the parent's children.
-- KEYS: the nine of the parent (lib.lua), 10 conversation of the child (hash). Exception: the child's own keys, its listing
--   indexes and the parent's :children and :open (zsets: tail of an id and call, tail of an id -> place) are derived, in the
--   same hash tag.
-- ARGV: 1 fence, 2 states of the move, 3 child, 4 call, 5 memory is short (1 or empty), 6 tenant and 7 subject (both empty: the
--   parent's), 8 the priority is the parent's (1 or empty), 9 checkpoint, 10 queued event, 11 number of further fields, then those as name
--   and value, then messages, then the tail.
-- Returns: {created, row, tasks}; {existing, row, tasks} for a child that was spawned before.
-- Refuses: NOTFOUND, FENCED, STATE (also with a cancel recorded), CONFLICT (another child, caller or conversation; gone), LIMIT
--   (children; overloaded).
-- Invariant: one child for a call, one call for a child, as long as the parent is there. The conversation is new.
local fence, states, id, call, short, tenant, subject, inherits, checkpoint, queued_event, field_count = unpack(ARGV, 1, 11)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

local refusal = guard(x, fence)
if refusal then return refusal end
if not contains(states, row.state) then return refuse('STATE', row.state) end
local y, name = m.sibling(x, id), string.sub(id, TAIL)
local spawned = row.children ~= '' and redis.call('ZRANGE', x.key .. ':children', 0, -1) or {}
for _, member in ipairs(spawned) do
  local other, answers = string.match(member, '^(%S+) (.+)$')
  if other == name and answers == call then
    if not y.exists then return refuse('CONFLICT', 'gone') end
    return { 'existing', whole(y), standing(y) }
  elseif other == name or answers == call then
    return refuse('CONFLICT', 'the call has another child')
  end
end
if (tenant ~= '' or subject ~= '') and (tenant ~= row.tenant or subject ~= row.subject) then
  return refuse('CONFLICT', 'the child of another caller')
end
if y.exists then return refuse('CONFLICT', 'the id is taken') end
if row.cancelAtMs ~= '' then return refuse('STATE', 'a cancel is recorded') end
if #spawned >= MAX_CHILDREN then return refuse('LIMIT', 'children') end
if redis.call('EXISTS', KEYS[10]) == 1 then return refuse('CONFLICT', 'the conversation is there') end
if short ~= '' then return refuse('LIMIT', 'overloaded') end

local fields, messages = number(field_count), {}
for i = 1, fields do put(y, ARGV[10 + 2 * i], ARGV[11 + 2 * i]) end
for i = 12 + 2 * fields, #ARGV - 1 do messages[#messages + 1] = ARGV[i] end
local inherited = inherits ~= '' and m.stored(x, 'priority') or ''
if inherited ~= '' then put(y, 'priority', inherited) end
if y.row.queue == '' then put(y, 'queue', row.queue) end
if y.row.retentionMs == '' and row.retentionMs ~= '' then put(y, 'retentionMs', row.retentionMs) end
put(y, 'id', id)
put(y, 'parent', row.id .. ' ' .. call)
put(y, 'tenant', row.tenant)
put(y, 'subject', row.subject)
put(y, 'state', 'queued')
put(y, 'step', '0')
put(y, 'createdAtMs', text(x.now))
event(y, queued_event)
later(y, 'RPUSH', y.checkpoints, t.stamp .. ' ' .. checkpoint)
later(y, 'HSET', KEYS[10], 'tenant', row.tenant)
later(y, 'HINCRBY', KEYS[10], 'executions', 1)
m.talk(y, true)
for _, of in ipairs(LISTS) do later(y, 'ZADD', listing(y, of, ''), text(x.now), name) end
m.enter(y, messages, GRACE, '', 0)
put(x, 'children', text(#spawned + 1))
later(x, 'ZADD', x.key .. ':children', text(#spawned), name .. ' ' .. call)
later(x, 'ZADD', x.key .. ':open', text(#spawned), name)
m.chain(x, y)
touch(x)
save(x)
return { 'created', whole(y), tasks(x) }
