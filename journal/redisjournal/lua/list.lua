-- Purpose: reads a page of a listing index, newest first.
-- KEYS: 1 the index (zset), or 2 keys: a conversation (hash) and its :executions (zset).
-- ARGV: 1 instant of the mark in ms (empty: from the newest on), 2 entries of that very instant that stand behind the mark:
--   the tail below which they begin (empty: none, +: all), 3 limit, 4 the tenant whose conversation it has to be (empty: any;
--   another one's is answered as one that is not there), then the tail.
-- Returns: tails of ids and instants in ms, flat.
-- Refuses: nothing.
-- Invariant: writes nothing; the cost grows with the limit and the logarithm of the index.
local at, below, limit, tenant = ARGV[1], ARGV[2], number(ARGV[3]), ARGV[4]

-- behind is the rank of the first entry behind the mark. Entries of one instant stand in descending order.
local function behind(key)
  if at == '' then return 0 end
  local first = redis.call('ZCOUNT', key, '(' .. at, '+inf')
  if below == '+' then return first end
  local last = first + redis.call('ZCOUNT', key, at, at)
  if below == '' then return last end
  while first < last do
    local middle = math.floor((first + last) / 2)
    if redis.call('ZREVRANGE', key, middle, middle)[1] < below then last = middle else first = middle + 1 end
  end
  return first
end

-- only is the one execution of a conversation that has no index.
local function only()
  local id = redis.call('HGET', KEYS[1], 'only')
  if not id then return {} end
  local row = string.match(KEYS[1], '^(.-}:)') .. 'x:exec_' .. string.match(KEYS[1], '{p(%d%d)}') .. id
  if redis.call('TYPE', row)['ok'] ~= 'hash' then return {} end
  local created = redis.call('HGET', row, 'createdAtMs')
  if not created then return {} end
  local follows = at == '' or number(created) < number(at) or created == at and (below == '+' or id < below)
  return follows and { id, created } or {}
end

if KEYS[2] then
  if tenant ~= '' and redis.call('HGET', KEYS[1], 'tenant') ~= tenant then return {} end
  local found = only()
  if #found > 0 then return found end
end
local key = KEYS[2] or KEYS[1]
local first = behind(key)
return redis.call('ZREVRANGE', key, first, first + limit - 1, 'WITHSCORES')
