-- Purpose: the usual way of a claim, in front of claim.lua: the next step of a running row that nobody holds, that waits for
--   nothing, and against which nothing is recorded. It does what claim.lua does then, without building what the rarer ways
--   need. Whatever is not as usual it leaves to claim.lua, before anything is written.
-- KEYS: those of claim.lua.
-- ARGV: those of claim.lua.
-- Returns: as claim.lua, but for numbers that are no texts, and nil in place of lists without anything in them.
-- Refuses: nothing.
-- Invariant: answer and writes are those of claim.lua, byte for byte (usual_test.go).
local call, key = redis.call, KEYS[1]
local v = call('HMGET', key, 'state', 'step', 'active', 'fence', 'notBeforeMs', 'cancelAtMs', 'pauseAtMs', 'refusedNonce',
  'claimAnswer', 'waitKind', 'shift', 'runnableAtMs', 'startedAtMs', 'fenceCounter', 'taskQueue', 'batch', 'readsHistory',
  'conversation', 'definition', 'queue', 'node', 'usage', 'wake', 'attempts', 'reclaims', 'deadlineAtMs', 'overrides',
  'cleanup', 'delegated', 'v')
local against = (v[4] or '') .. (v[5] or '') .. (v[6] or '') .. (v[7] or '') .. (v[8] or '') .. (v[9] or '') .. (v[10] or '') ..
  (v[11] or '') .. (v[29] or '')
if v[1] == 'running' and v[2] == ARGV[1] and against == '' and (v[3] or '') ~= '' and (v[12] or '') ~= '' and
  (v[13] or '') ~= '' and string.find(ARGV[7], 'running', 1, true) and (tonumber(v[30]) or 0) <= ROW_VERSION then
  local id, worker, format, seconds, ms = string.sub(key, ID_AT), ARGV[2], string.format
  if ARGV[#ARGV] == '' then
    local clock = call('TIME')
    local micros = clock[2] + 0
    seconds, ms = clock[1] + 0, (micros - micros % 1000) / 1000
  else
    ms = ARGV[#ARGV] % 1000
    seconds = (ARGV[#ARGV] - ms) / 1000
  end
  local behind = ms + ARGV[4]
  local expires = format('%d%03d', seconds + (behind - behind % 1000) / 1000, behind % 1000)
  local counter = format('%d', (v[14] or 0) + 1)
  local fence = counter .. '-' .. ARGV[3]

  -- Read before the writes: a key of another type ends the script here.
  local names, ledger, page, length = false, false, false, 0
  if (v[16] or '') ~= '' then
    names, ledger = {}, {}
    for name in string.gmatch(v[16], '[^\n]+') do
      names[#names + 1] = name
      ledger[#ledger + 1] = call('HMGET', KEYS[6], name .. ':intent', name .. ':started', name .. ':receipt')
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
  local checkpoint, inbox, last = call('LINDEX', KEYS[5], -1), call('HGETALL', KEYS[7]), call('LLEN', KEYS[2])

  call('ZREM', KEYS[4], id)
  call('ZADD', KEYS[3], expires, id)
  if (v[15] or '') == '' then
    call('HSET', key, 'fenceCounter', counter, 'fence', fence, 'worker', worker, 'expiresAtMs', expires, 'runnableAtMs', '')
  else
    call('HSET', key, 'fenceCounter', counter, 'fence', fence, 'worker', worker, 'expiresAtMs', expires, 'runnableAtMs', '',
      'taskQueue', '')
  end
  return {
    'granted', fence, '', seconds * 1000 + ms, {
      v[18], v[19] or '', v[20], v[1], v[21], v[2], v[22] or '', v[23], v[24] or '', v[25] or '', v[13], v[26] or '', v[27] or '',
      v[28] or '',
    }, last, worker, expires, checkpoint, names, ledger, inbox, page, length,
  }
end
