-- Purpose: the usual way of a claim, in front of claim.lua: the next step of a running row that nobody holds, that waits for
--   nothing, and against which nothing is recorded. It does what claim.lua does then, without building what the rarer ways
--   need. Whatever is not as usual it leaves to claim.lua, before anything is written.
-- KEYS: those of claim.lua.
-- ARGV: those of claim.lua.
-- Returns: as claim.lua; what is a number there may be one here.
-- Refuses: nothing.
-- Invariant: answer and writes are those of claim.lua, byte for byte (usual_test.go).
local call, key = redis.call, KEYS[1]
local v = call('HMGET', key, 'state', 'step', 'active', 'fence', 'notBeforeMs', 'cancelAtMs', 'pauseAtMs', 'refusedNonce',
  'claimAnswer', 'waitKind', 'shift', 'runnableAtMs', 'startedAtMs', 'fenceCounter', 'taskQueue', 'batch', 'readsHistory',
  'conversation', 'definition', 'queue', 'node', 'usage', 'wake', 'attempts', 'reclaims', 'deadlineAtMs', 'overrides')
local against = (v[4] or '') .. (v[5] or '') .. (v[6] or '') .. (v[7] or '') .. (v[8] or '') .. (v[9] or '') .. (v[10] or '') ..
  (v[11] or '')
if v[1] == 'running' and v[2] == ARGV[1] and against == '' and (v[3] or '') ~= '' and (v[12] or '') ~= '' and
  (v[13] or '') ~= '' and string.find(ARGV[7], 'running', 1, true) then
  local id, now = string.sub(key, ID_AT), ARGV[#ARGV]
  if now == '' then
    local clock = call('TIME')
    now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  else
    now = tonumber(now)
  end
  local counter, expires = (v[14] or 0) + 1, now + ARGV[4]
  local fence = counter .. '-' .. ARGV[3]
  call('ZREM', KEYS[8], id)
  call('ZADD', KEYS[7], expires, id)
  if (v[15] or '') == '' then
    call('HSET', key, 'fenceCounter', counter, 'fence', fence, 'worker', ARGV[2], 'expiresAtMs', expires, 'runnableAtMs', '')
  else
    call('HSET', key, 'fenceCounter', counter, 'fence', fence, 'worker', ARGV[2], 'expiresAtMs', expires, 'runnableAtMs', '',
      'taskQueue', '')
  end

  local names, ledger, page, length = {}, {}, false, 0
  if (v[16] or '') ~= '' then
    for name in string.gmatch(v[16], '[^\n]+') do
      names[#names + 1] = name
      ledger[#ledger + 1] = call('HMGET', KEYS[4], name .. ':intent', name .. ':started', name .. ':receipt')
    end
  end
  if v[17] == '1' or ARGV[8] == '1' then
    local talk = v[18]
    if string.find(talk, ':', 1, true) then talk = string.gsub(talk, ':', '%%3a') end
    local list = string.sub(key, 1, TAG_END) .. 'conv:' .. talk .. ':messages'
    local at, bytes = tonumber(ARGV[6]), 0
    page, length = {}, call('LLEN', list)
    while at < length and bytes < ENOUGH_HISTORY do
      for _, message in ipairs(call('LRANGE', list, at, at + 15)) do
        if bytes >= ENOUGH_HISTORY then break end
        page[#page + 1] = message
        bytes = bytes + #message
      end
      at = at + 16
    end
  end
  return {
    'granted', fence, '', now, {
      id, v[18], v[19] or '', v[20], v[1], v[21], v[2], v[22] or '', v[23], v[24] or '', v[25] or '', v[13], v[26] or '',
      v[27] or '',
    }, call('LLEN', KEYS[2]), ARGV[2], expires, call('LINDEX', KEYS[3], -1), names, ledger, call('HGETALL', KEYS[5]), page,
    length,
  }
end
