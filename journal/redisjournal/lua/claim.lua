-- Purpose: grants the right to run the next node, with what the node needs, in one reply; of a long history its beginning.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 step (empty: any), 2 worker, 3 nonce, 4 TTL in ms, 5 reclaims allowed (0: no bound), 6 messages the caller knows,
--   7 states of the move, 8 history (1: brought whatever the row says), then the tail.
-- Returns: {granted, fence, reclaimed, now in ms, claimed fields, last sequence, worker, expiry in ms, checkpoint, calls, ledger,
--   inbox, messages or nil, their number in all} or
--   {refused, reason, ms until it may be tried again, tasks}.
-- Refuses: NOTFOUND, NEWER. Every other refusal is a reply.
-- Invariant: at most one live claim; the fence grows; a recorded cancel or pause, or one reclaim too many, is carried out
--   here and never claimed over. The same nonce gets the same answer.
local step, worker, nonce, ttl, allowed_reclaims, known, states, history_asked = unpack(ARGV, 1, 8)
local t = tail()
local x = open(t, {
  'v', 'id', 'conversation', 'definition', 'queue', 'state', 'node', 'step', 'usage', 'wake', 'attempts', 'reclaims',
  'version', 'startedAtMs', 'deadlineMs', 'deadlineAtMs', 'active', 'fence', 'fenceCounter', 'expiresAtMs', 'refusedNonce', 'claimAnswer',
  'notBeforeMs', 'cancelAtMs', 'pauseAtMs', 'runnableAtMs', 'waitKind', 'batch', 'readsHistory', 'overrides', 'shift',
  'await', 'cleanup', 'delegated',
})
local row = x.row

-- first_page reads the history from the message that the caller does not know, until it is enough for one reply.
local function first_page()
  local key = conversation(x) .. ':messages'
  local list = row.shift ~= '' and parts(x, '')
  local length, page, bytes, at = list and total(list) or redis.call('LLEN', key), {}, 0, number(known)
  while at < length and bytes < ENOUGH_HISTORY do
    for _, message in ipairs(list and span(list, at, 16) or redis.call('LRANGE', key, at, at + 15)) do
      if bytes >= ENOUGH_HISTORY then break end
      page[#page + 1] = message
      bytes = bytes + #message
    end
    at = at + 16
  end
  return page, length
end

-- brought reads what the node needs beside the row. It comes before the writes: a key of another type ends the script here.
local function brought()
  local names, ledger = {}, {}
  if row.batch ~= '' then
    for call in string.gmatch(row.batch, '[^\n]+') do
      names[#names + 1] = call
      ledger[#ledger + 1] = redis.call('HMGET', x.tools, call .. ':intent', call .. ':started', call .. ':receipt')
    end
  end
  local messages, count = false, 0
  if row.readsHistory == '1' or history_asked == '1' then messages, count = first_page() end
  return {
    checkpoint = redis.call('LINDEX', x.checkpoints, -1), names = names, ledger = ledger,
    inbox = redis.call('HGETALL', x.inbox), messages = messages, count = text(count),
  }
end

local function granted(b)
  return {
    'granted', row.fence, row.claimAnswer, t.stamp, {
      row.conversation, row.definition, row.queue, row.state, row.node, row.step, row.usage, row.wake, row.attempts,
      row.reclaims, row.startedAtMs, row.deadlineAtMs, row.overrides, row.cleanup,
      unpack(row.delegated ~= '' and { row.delegationLease, row.delegationRevision, row.delegationExpiresAtSeconds } or {}),
    }, text(length(x) + #x.log), row.worker, row.expiresAtMs, b.checkpoint, b.names, b.ledger, b.inbox, b.messages, b.count,
  }
end

local function refused(reason, after) return { 'refused', reason, text(after or 0), tasks(x) } end

if not x.exists then return refuse('NOTFOUND', 'execution') end
if row.refusedNonce == nonce then
  local reason, lines = string.match(row.claimAnswer, '^(%a+)\n(.*)$')
  if reason then return { 'refused', reason, '0', lines } end
end
if not contains(states, row.state) then return refused('state') end
if step ~= '' and number(step) < number(row.step) then return refused('stale') end
if step ~= '' and number(step) > number(row.step) then return refused('ahead') end
if live(x) then
  if string.sub(row.fence, -#nonce - 1) == '-' .. nonce then return granted(brought()) end
  return refused('busy')
end
if number(row.notBeforeMs) > x.now then return refused('early', number(row.notBeforeMs) - x.now) end
if row.active == '' then return refused('turn') end
if row.delegated ~= '' and row.delegationLease == '' then return refused('undelegated') end

local reclaimed = ran_out(x)
local reclaims, workers = number(row.reclaims) + 1, ''
if reclaimed then workers = row.reclaimWorkers ~= '' and row.reclaimWorkers .. '\n' .. row.worker or row.worker end
local refusal
if row.cancelAtMs ~= '' then
  local m = moves()
  m.take(x)
  m.finish(x, 'canceled', CANCELED_EVENT)
  refusal = 'ended'
elseif row.pauseAtMs ~= '' then
  local m = moves()
  m.take(x)
  m.suspend(x, 'paused', '', PAUSED_EVENT)
  refusal = 'paused'
elseif reclaimed and number(allowed_reclaims) > 0 and reclaims > number(allowed_reclaims) then
  local m = moves()
  put(x, 'reclaims', text(reclaims))
  put(x, 'reclaimWorkers', workers)
  m.take(x)
  m.quarantine(x, workers)
  refusal = 'quarantined'
end
if refusal then
  put(x, 'refusedNonce', nonce)
  put(x, 'claimAnswer', refusal .. '\n' .. tasks(x))
  touch(x)
  save(x)
  return refused(refusal)
end

local b = brought()
if reclaimed then
  put(x, 'reclaims', text(reclaims))
  put(x, 'reclaimWorkers', workers)
  event(x, naming(RECLAIMED_EVENT, { FROM = row.worker, TO = worker }))
end
local quiet = not reclaimed and row.waitKind == '' and row.state == 'running'
put(x, 'fenceCounter', text(number(row.fenceCounter) + 1))
put(x, 'fence', row.fenceCounter .. '-' .. nonce)
put(x, 'worker', worker)
put(x, 'expiresAtMs', text(x.now + number(ttl)))
local answer = reclaimed and '1' or ''
if row.claimAnswer ~= answer then put(x, 'claimAnswer', answer) end
if row.refusedNonce ~= '' then clear(x, 'refusedNonce') end
if row.state ~= 'running' then put(x, 'state', 'running') end
unwait(x)
if row.startedAtMs == '' then
  put(x, 'startedAtMs', t.stamp)
  if number(row.deadlineMs) > 0 then put(x, 'deadlineAtMs', text(x.now + number(row.deadlineMs))) end
  event(x, STARTED_EVENT)
  touch(x)
end
move(x, 'due', number(row.expiresAtMs))
save(x, quiet)
return granted(b)
