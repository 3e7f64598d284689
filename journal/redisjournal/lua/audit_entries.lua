-- Purpose: finds, and removes, entries of an index whose row, or idempotency key, does not exist.
-- KEYS: 1 the index (zset). Exception: what its entries stand for is derived, in the same hash tag.
-- ARGV: 1 what they are (ids, tails of ids, or names of conversations), 2 rank of the first, 3 limit, 4 repair (1 or empty), then the tail.
-- Returns: {how many were looked at, how many were removed, those without a row}.
-- Refuses: nothing.
-- Invariant: bounded; without repair nothing is written.
local members, from, limit, repair = unpack(ARGV, 1, 4)
local partition, number_of = string.match(KEYS[1], '^(.-{p(%d%d)}:)')
local page = redis.call('ZRANGE', KEYS[1], from, text(number(from) + number(limit) - 1))
local gone = {}
for _, member in ipairs(page) do
  local key = partition .. 'x:' .. member
  if members == 'tails' then key = partition .. 'x:exec_' .. number_of .. member end
  if members == 'names' then key = partition .. 'conv:' .. member end
  if members == 'ids' and string.sub(member, 1, 5) == 'idem:' then key = partition .. member end
  if redis.call('EXISTS', key) == 0 then gone[#gone + 1] = member end
end
if repair == '' then return { text(#page), '0', gone } end
for _, member in ipairs(gone) do redis.call('ZREM', KEYS[1], member) end
return { text(#page), text(#gone), gone }
