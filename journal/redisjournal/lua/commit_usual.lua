-- Purpose: the usual way of a commit, in front of commit.lua: a running row goes on, nothing is recorded against it, no
--   answer of a question is used up, and what is to be cleaned up stays as it is. It does what commit.lua does then, without building what the rarer ways need. Whatever
--   is not as usual it leaves to commit.lua, before anything is written.
-- KEYS: those of commit.lua.
-- ARGV: those of commit.lua.
-- Returns: as commit.lua.
-- Refuses: nothing.
-- Invariant: answer and writes are those of commit.lua, byte for byte (usual_test.go). A repeated call is left to commit.lua:
--   its row is at another step.
local plain, messages, plans, batch, events, earlier = ARGV[4] == 'continue', string.match(ARGV[9],
  '^(%d+) (%d+) (%d+) (%d+) 0 (%d+) %d+ 0$')
while plain and messages do -- once; whatever is not as usual leaves it
  local call, key, fence, keep, claimed = redis.call, KEYS[1], ARGV[1], tonumber(ARGV[10]), tonumber(ARGV[11])
  messages, plans, batch, events, earlier = messages + 0, plans + 0, batch + 0, events + 0, earlier + 0
  local v = call('HMGET', key, 'state', 'step', 'fence', 'cancelAtMs', 'pauseAtMs', 'reclaims', 'attempts', 'waitKind',
    'notBeforeMs', 'runnableAtMs', 'taskQueue', 'shift', 'version', 'wake', 'queue', 'batch', 'readsHistory', 'conversation',
    'historyStart')
  local against = (v[4] or '') .. (v[5] or '') .. (v[6] or '') .. (v[7] or '') .. (v[8] or '') .. (v[9] or '') ..
    (v[10] or '') .. (v[11] or '') .. (v[12] or '')
  if v[1] ~= 'running' or v[2] ~= ARGV[2] or v[3] ~= fence or fence == '' or against ~= '' or
    messages + events + earlier > 500 or not string.find(ARGV[3], 'running', 1, true) then break end
  local sequence = call('LLEN', KEYS[2])
  if events > 0 and sequence + events > MAX_EVENTS - 1 then break end
  call('LLEN', KEYS[5])

  local at, intents = 11 + messages, {}
  for i = 1, plans do
    local marks = call('HMGET', KEYS[6], ARGV[at + 1] .. ':started', ARGV[at + 1] .. ':receipt')
    if marks[1] or marks[2] then break end
    intents[2 * i - 1], intents[2 * i] = ARGV[at + 1] .. ':intent', ARGV[at + 2]
    at = at + 2
  end
  if #intents < 2 * plans then break end
  local list, before
  if messages > 0 then
    local talk = v[18]
    if string.find(talk, ':', 1, true) then talk = string.gsub(talk, ':', '%%3a') end
    list = string.sub(key, 1, TAG_END) .. 'conv:' .. talk .. ':messages'
    before = call('LLEN', list)
  end
  local format, seconds, ms = string.format
  if ARGV[#ARGV] == '' then
    local clock = call('TIME')
    local micros = clock[2] + 0
    seconds, ms = clock[1] + 0, (micros - micros % 1000) / 1000
  else
    ms = ARGV[#ARGV] % 1000
    seconds = (ARGV[#ARGV] - ms) / 1000
  end
  local behind, now = ms + (keep > 0 and keep or GRACE), format('%d%03d', seconds, ms)
  local due = format('%d%03d', seconds + (behind - behind % 1000) / 1000, behind % 1000)

  local id, reached, sum = string.sub(key, ID_AT), format('%d', ARGV[2] + earlier + 1), format('%d', sequence + events)
  local changes, n = { 'step', reached, 'node', ARGV[5], 'usage', ARGV[7], 'updatedAtMs', now, 'version', v[13] + earlier + 1 }
  local answer = reached .. ' running ' .. sum
  if keep > 0 then
    answer = answer .. ' kept\n'
    changes[11], changes[12] = 'expiresAtMs', due
    n = 12
  else
    local wake = format('%d', (v[14] or 0) + 1)
    answer = answer .. '\n' .. id .. '\t' .. reached .. '\t' .. wake .. '\t' .. v[15]
    changes[11], changes[12], changes[13], changes[14], changes[15], changes[16] = 'fence', '', 'worker', '', 'expiresAtMs', ''
    changes[17], changes[18], changes[19], changes[20] = 'wake', wake, 'runnableAtMs', now
    n = 20
  end
  changes[n + 1], changes[n + 2] = 'committed', fence .. ' ' .. answer
  n = n + 2
  if (v[17] or '') ~= ARGV[8] then changes[n + 1], changes[n + 2], n = 'readsHistory', ARGV[8], n + 2 end
  local calls = table.concat(ARGV, '\n', at + 1, at + batch)
  if (v[16] or '') ~= calls then changes[n + 1], changes[n + 2], n = 'batch', calls, n + 2 end
  if before then
    changes[n + 1], changes[n + 2], n = 'historyEnd', before + messages, n + 2
    if (v[19] or '') == '' then changes[n + 1], changes[n + 2] = 'historyStart', before end
  end

  call('ZREM', KEYS[3], id)
  call('ZADD', keep > 0 and KEYS[3] or KEYS[4], due, id)
  at = at + batch
  if events > 0 then
    local head, entries = now .. ' ', {}
    for i = 1, events do entries[i] = head .. ARGV[at + i] end
    call('RPUSH', KEYS[2], unpack(entries))
  end
  call('HSET', key, unpack(changes))
  at = at + events
  local stamp = now .. ' '
  if claimed > 0 then stamp = format('%s+%.0f ', now, math.max(0, now - claimed)) end
  if earlier == 0 then
    call('RPUSH', KEYS[5], stamp .. ARGV[6])
  else
    local checkpoints = { unpack(ARGV, at + 1, at + earlier) }
    checkpoints[earlier + 1] = ARGV[6]
    for i = 1, earlier + 1 do checkpoints[i] = stamp .. checkpoints[i] end
    call('RPUSH', KEYS[5], unpack(checkpoints))
  end
  if before then call('RPUSH', list, unpack(ARGV, 12, 11 + messages)) end
  if plans > 0 then call('HSET', KEYS[6], unpack(intents)) end
  call('PUBLISH', FEED .. id, events > 0 and sum .. ' ' .. events or '0')
  return { '0', answer }
end
