-- Purpose: grants the right to run the next node, with what the node needs, in one reply; of a long history its beginning.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 step (empty: any), 2 worker, 3 nonce, 4 TTL in ms, 5 reclaims allowed (0: no bound), 6 messages the caller knows,
--   7 states of the move, 8 started event, 9 reclaimed event, 10 quarantine detail and 11 event with @NODE@ and @WORKERS@,
--   12 bytes of the history that are enough for one reply, then the tail.
-- Returns: {granted, fence, reclaimed, now in ms, row, checkpoint, calls, ledger, inbox, messages or nil, their number in
--   all} or
--   {refused, reason, ms until it may be tried again, tasks}.
-- Refuses: NOTFOUND. Every other refusal is a reply.
-- Invariant: at most one live claim; the fence grows; a recorded cancel or pause, or one reclaim too many, is carried out
--   here and never claimed over. The same nonce gets the same answer.
local step, worker, nonce, ttl, allowed_reclaims, known, states = unpack(ARGV, 1, 7)
local started_event, reclaimed_event, quarantine_detail, quarantine_event, enough = unpack(ARGV, 8, 12)
local t = tail()
local x = open(t)
local row = x.row

-- first_page reads the history from the message that the caller does not know, until it is enough for one reply.
local function first_page()
  local key = conversation(x) .. ':messages'
  local length, page, bytes, at = redis.call('LLEN', key), {}, 0, number(known)
  while at < length and bytes < number(enough) do
    for _, message in ipairs(redis.call('LRANGE', key, at, at + 15)) do
      if bytes >= number(enough) then break end
      page[#page + 1] = message
      bytes = bytes + #message
    end
    at = at + 16
  end
  return page, length
end

local function granted()
  local names, ledger = {}, {}
  for call in string.gmatch(row.batch, '[^\n]+') do
    names[#names + 1] = call
    ledger[#ledger + 1] = redis.call('HMGET', x.tools, call .. ':intent', call .. ':started', call .. ':receipt')
  end
  local messages, length = false, 0
  if row.readsHistory == '1' then messages, length = first_page() end
  return {
    'granted', row.fence, row.claimAnswer, text(x.now), whole(x), redis.call('LINDEX', x.checkpoints, -1), names, ledger,
    redis.call('HGETALL', x.inbox), messages, text(length),
  }
end

local function escape(value)
  local escaped = string.gsub(value, '[%c"\\<>&]', function(c) return string.format('\\u%04x', string.byte(c)) end)
  return escaped
end

local function fill(template, node, names)
  local filled = string.gsub(template, '@NODE@', function() return node end)
  filled = string.gsub(filled, '@WORKERS@', function() return names end)
  return filled
end

local function refused(reason, after) return { 'refused', reason, text(after or 0), tasks(x) } end

if not x.exists then return refuse('NOTFOUND', 'execution') end
if row.claimNonce == nonce then
  local reason, lines = string.match(row.claimAnswer, '^(%a+)\n(.*)$')
  if reason then return { 'refused', reason, '0', lines } end
end
if not contains(states, row.state) then return refused('state') end
if step ~= '' and number(step) < number(row.step) then return refused('stale') end
if step ~= '' and number(step) > number(row.step) then return refused('ahead') end
if live(x) then
  if row.claimNonce == nonce then return granted() end
  return refused('busy')
end
if number(row.notBeforeMs) > x.now then return refused('early', number(row.notBeforeMs) - x.now) end
if row.active == '' then return refused('turn') end

local reclaimed = ran_out(x)
local workers = row.worker
if row.reclaimWorkers ~= '' then workers = row.reclaimWorkers .. '\n' .. row.worker end
local reclaims = number(row.reclaims) + 1
local refusal
if row.cancelAtMs ~= '' then
  take(x)
  finish(x, 'canceled', t.canceled)
  refusal = 'ended'
elseif row.pauseAtMs ~= '' then
  take(x)
  suspend(x, 'paused', '', t.paused)
  refusal = 'paused'
elseif reclaimed and number(allowed_reclaims) > 0 and reclaims > number(allowed_reclaims) then
  put(x, 'reclaims', text(reclaims))
  put(x, 'reclaimWorkers', workers)
  take(x)
  local names = string.gsub(workers, '\n', ', ')
  suspend(x, 'quarantined', fill(quarantine_detail, row.node, names),
    fill(quarantine_event, escape(row.node), escape(names)))
  refusal = 'quarantined'
end
if refusal then
  put(x, 'claimNonce', nonce)
  put(x, 'claimAnswer', refusal .. '\n' .. tasks(x))
  touch(x)
  save(x)
  return refused(refusal)
end

if reclaimed then
  put(x, 'reclaims', text(reclaims))
  put(x, 'reclaimWorkers', workers)
  event(x, reclaimed_event)
end
put(x, 'fenceCounter', text(number(row.fenceCounter) + 1))
put(x, 'fence', row.fenceCounter .. '-' .. nonce)
put(x, 'claimNonce', nonce)
put(x, 'claimAnswer', reclaimed and '1' or '0')
put(x, 'worker', worker)
put(x, 'expiresAtMs', text(x.now + number(ttl)))
put(x, 'state', 'running')
clear(x, 'waitKind', 'waitUntilMs')
if row.startedAtMs == '' then
  put(x, 'startedAtMs', text(x.now))
  if number(row.deadlineMs) > 0 then put(x, 'deadlineAtMs', text(x.now + number(row.deadlineMs))) end
  event(x, started_event)
  touch(x)
end
move(x, 'due', number(row.expiresAtMs))
save(x)
return granted()
