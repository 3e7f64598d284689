-- Purpose: holds a row against what must be true of it, and mends what can be mended without judgment.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 repair (1 or empty), 2 known states, then the tail.
-- Returns: {state (empty: unreadable, or gone), findings as code, detail, mended (1 or 0), flat}.
-- Refuses: nothing.
-- Invariant: without repair nothing is written; a repair writes entries of indexes and who is active in a conversation that has
--   nobody, and changes no row.
local repair, states = unpack(ARGV, 1, 2)
local t = tail()
local found = {}
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return { '', found } end
if kind ~= 'hash' then return { '', { 'unreadable', 'it is a ' .. kind, '0' } } end
if number(redis.call('HGET', KEYS[1], 'v')) > ROW_VERSION then
  return { '', { 'newer', 'it is of a later release, which alone can judge it', '0' } }
end
local x = open(t)
local row = x.row
if not contains(states, row.state) or not tonumber(row.step) then
  return { '', { 'unreadable', 'its state is ' .. row.state .. ', its step ' .. row.step, '0' } }
end
local m = moves()
local id, name, key = row.id, string.sub(row.id, TAIL), conversation(x)
local created = row.createdAtMs ~= '' and row.createdAtMs or t.stamp

-- finding notes what is wrong, and the command that mends it, if there is one.
local function finding(code, detail, ...)
  local mends = repair ~= '' and select('#', ...) > 0
  found[#found + 1] = code
  found[#found + 1] = detail
  found[#found + 1] = mends and '1' or '0'
  if mends then later(x, ...) end
end

-- place is when somebody must look at the row.
local function place()
  if x.was == 'handoff' then return x.now end
  if x.was == 'purge' then return x.now + m.kept(x) end
  if row.fence ~= '' then return number(row.expiresAtMs) end
  m.rest(x)
  local at = x.at
  x.index, x.at = nil, nil
  return at
end

-- Somebody calls a row whose time in due has come, too.
local due = redis.call('ZSCORE', x.due, id)
local called = x.was ~= 'due' or row.fence ~= '' or row.waitKind ~= '' or row.active == '' or due and number(due) <= x.now
if not called and (row.state == 'queued' or row.state == 'running') then
  finding('standstill', 'it waits for nothing, nobody holds it, and no task is to stand for it', 'ZADD', x.due, text(x.now), id)
end
for _, index in ipairs({ 'due', 'handoff', 'purge' }) do
  local there = redis.call('ZSCORE', x[index], id)
  if index == x.was and not there and called then
    finding('not_indexed', 'it is not in ' .. index, 'ZADD', x[index], text(place()), id)
  elseif index ~= x.was and there then
    finding('indexed_twice', 'it is in ' .. index .. ' and belongs into ' .. x.was, 'ZREM', x[index], id)
  end
end

for _, of in ipairs(LISTS) do
  local all = listing(x, of, '')
  if not redis.call('ZSCORE', all, name) then
    finding('not_listed', 'it is not in ' .. all, 'ZADD', all, created, name)
  end
  for state in string.gmatch(states, '[^,]+') do
    local list = listing(x, of, state)
    local there, belongs = redis.call('ZSCORE', list, name), state == row.state and state ~= 'completed'
    if belongs and not there then
      finding('not_listed', 'it is not in ' .. list, 'ZADD', list, created, name)
    elseif there and not belongs then
      finding('listed_elsewhere', 'it is ' .. row.state .. ' and in ' .. list, 'ZREM', list, name)
    end
  end
end

local index, talk = named(partition(x), key)
if index ~= '' and not redis.call('ZSCORE', index, talk) then
  finding('not_listed', 'its conversation is not in ' .. index, 'ZADD', index, '0', talk)
end

local active = redis.call('HGET', key, 'active') or ''
if row.active ~= '' and active == '' then
  finding('conversation_lost', 'it is active, and its conversation has nobody', 'HSET', key, 'active', id)
elseif row.active ~= '' and active ~= id then
  finding('conversation_lost', 'it is active, and its conversation says that ' .. active .. ' is')
elseif row.active == '' and active == id then
  finding('conversation_held', 'it is not active, and its conversation says that it is')
end
if row.active == '' and not is_terminal(row.state) and not redis.call('ZSCORE', key .. ':waiting', id) then
  finding('not_in_line', 'it is not active and not in the line of its conversation')
end

local cleanup = partition(x) .. 'cleanup'
local listed = redis.call('ZSCORE', cleanup, id)
local to_clean = row.state == 'finalizing' or is_terminal(row.state) and unclean(x)
if to_clean and not listed then
  finding('not_cleaned', 'nobody would clean up after it', 'ZADD', cleanup, text(x.now), id)
elseif listed and not to_clean then
  finding('nothing_to_clean', 'it is in cleanup and has nothing to clean up', 'ZREM', cleanup, id)
end

local outside = partition(x) .. 'outside'
local owing = redis.call('ZSCORE', outside, id)
if row.cleanup ~= '' and not owing then
  finding('not_listed', 'it is not in ' .. outside, 'ZADD', outside, t.stamp, id)
elseif row.cleanup == '' and owing then
  finding('nothing_to_clean', 'it is in outside and has nothing to undo', 'ZREM', outside, id)
end

-- A child that is open is among the open children of its parent, as long as that is there; one that has ended is not.
local parent, call = string.match(row.parent, '^(%S+) (.+)$')
parent = parent and partition(x) .. 'x:' .. parent
if parent and redis.call('TYPE', parent)['ok'] == 'hash' then
  local open_child, over = redis.call('ZSCORE', parent .. ':open', name), is_terminal(row.state)
  local place = redis.call('ZSCORE', parent .. ':children', name .. ' ' .. call)
  if not place then
    finding('child_lost', 'its parent does not know it')
  elseif not over and not open_child then
    finding('child_lost', 'its parent takes it for ended', 'ZADD', parent .. ':open', place, name)
  elseif over and open_child then
    finding('child_ended', 'its parent takes it for open', 'ZREM', parent .. ':open', name)
  end
  if not over and row.cancelAtMs == '' and row.state ~= 'finalizing' and is_terminal(redis.call('HGET', parent, 'state')) then
    finding('child_left', 'its parent has ended, and it was not asked to')
  end
end
if m.arrived(x) and row.state == 'running' and row.fence == '' and row.runnableAtMs == '' then
  finding('standstill', 'all that it waits for is there, and no task is to stand for it')
end

if #x.commands > 0 then save(x, true) end
return { row.state, found }
