-- Purpose: the usual way of a record, in front of record.lua: the receipt of one planned call of a running row, nothing large,
--   nothing recorded against the row. It does what record.lua does then, without building what the rarer ways need. Whatever is
--   not as usual it leaves to record.lua, before anything is written.
-- KEYS: those of record.lua.
-- ARGV: those of record.lua.
-- Returns: as record.lua.
-- Refuses: nothing.
-- Invariant: answer and writes are those of record.lua, byte for byte (usual_test.go).
local fence, name = ARGV[1], ARGV[8]
while ARGV[3] == 'done' and ARGV[5] == '1' and ARGV[7] == '0' do -- once; whatever is not as usual leaves it
  local call, key, events = redis.call, KEYS[1], tonumber(ARGV[6])
  local v = call('HMGET', key, 'state', 'fence', 'cancelAtMs', 'runnableAtMs', 'version')
  local entry = call('HMGET', KEYS[6], name .. ':intent', name .. ':started', name .. ':receipt')
  local usual, others = entry[1] and not entry[3], 0
  for i = 1, events do
    if ARGV[8 + 2 * i] == '' then others = others + 1 elseif ARGV[8 + 2 * i] ~= name then usual = false end
  end
  local sequence = call('LLEN', KEYS[2])
  if not usual or v[1] ~= 'running' or v[2] ~= fence or fence == '' or (v[3] or '') .. (v[4] or '') ~= '' or events > 500 or
    others > 0 and sequence + others > MAX_EVENTS - 1 or not string.find(ARGV[2], 'running', 1, true) then break end
  local id, now = string.sub(key, ID_AT), ARGV[#ARGV]
  if now == '' then
    local clock = call('TIME')
    now = string.format('%s%03d', clock[1], (clock[2] - clock[2] % 1000) / 1000)
  end

  call('ZREM', KEYS[3], '')
  if events > 0 then
    local head, entries = now .. ' ', {}
    for i = 1, events do entries[i] = head .. ARGV[9 + 2 * i] end
    call('RPUSH', KEYS[2], unpack(entries))
  end
  if ARGV[4] == '' then
    call('HSET', key, 'version', v[5] + 1, 'updatedAtMs', now)
  else
    call('HSET', key, 'usage', ARGV[4], 'version', v[5] + 1, 'updatedAtMs', now)
  end
  call('HSET', KEYS[6], name .. ':receipt', ARGV[9])
  call('PUBLISH', FEED .. id, events > 0 and sequence + events .. ' ' .. events or '0')
  return { '0', '0', { entry[1], entry[2], ARGV[9] } }
end
