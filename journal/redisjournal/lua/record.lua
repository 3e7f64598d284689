-- Purpose: writes started marks or receipts into the ledger.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 states of the move, 3 started or done, 4 usage (empty: unchanged), 5 number of calls, 6 number of
--   events, 7 number of blobs, then the calls, the receipts (when done; as many), for each event its call (empty: of the
--   whole record) and its payload, and for each blob its hash and its content, then the tail.
-- Returns: {replayed, cancel recorded, for each call its intent, mark and receipt}.
-- Refuses: NOTFOUND, FENCED, CONFLICT (another claim's mark, a call never planned), STATE (also started after a cancel),
--   LIMIT (the log is full, and there are events of no call).
-- Invariant: a call that has its receipt keeps it; an event is written with its call's entry, and once. What has happened
--   is written however full the log is: each call is told of once, so that its plan bounds it. A receipt that names a blob is
--   never there without it.
local fence, states, kind, usage, calls_count, events_count, blobs_count = unpack(ARGV, 1, 7)
local t = tail()
local x = open(t, { 'id', 'state', 'version', 'runnableAtMs', 'fence', 'cancelAtMs' })
local row = x.row

local refusal = guard(x, fence)
if refusal then return refusal end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if kind == 'started' and row.cancelAtMs ~= '' then return refuse('STATE', 'a cancel is recorded') end

local count = number(calls_count)
local calls, fresh, changes = {}, {}, {}
for i = 1, count do
  local call = ARGV[7 + i]
  local entry = redis.call('HMGET', x.tools, call .. ':intent', call .. ':started', call .. ':receipt')
  calls[i] = call
  if not entry[1] then return refuse('CONFLICT', 'call ' .. call .. ' was never planned') end
  if not entry[3] and not fresh[call] then
    if kind == 'done' or not entry[2] then
      fresh[call] = true
      changes[#changes + 1] = i
    elseif entry[2] ~= fence then
      return refuse('CONFLICT', 'call ' .. call .. ' was started under another claim')
    end
  end
end
local at, events, others = 7 + count, {}, 0
if kind == 'done' then at = at + count end
for i = 1, number(events_count) do
  local call = ARGV[at + 2 * i - 1]
  if #changes > 0 and (call == '' or fresh[call]) then
    events[#events + 1] = ARGV[at + 2 * i]
    if call == '' then others = others + 1 end
  end
end
if #changes > 0 and not room(x, others) then return refuse('LIMIT', 'events') end

local function recorded(replayed)
  local reply = { replayed, row.cancelAtMs ~= '' and '1' or '0' }
  for _, call in ipairs(calls) do
    reply[#reply + 1] = redis.call('HMGET', x.tools, call .. ':intent', call .. ':started', call .. ':receipt')
  end
  return reply
end

if #changes == 0 then return recorded('1') end
for _, i in ipairs(changes) do
  if kind == 'done' then
    later(x, 'HSET', x.tools, calls[i] .. ':receipt', ARGV[7 + count + i])
  else
    later(x, 'HSET', x.tools, calls[i] .. ':started', fence)
  end
end
at = at + 2 * number(events_count)
for i = 1, number(blobs_count) do later(x, 'HSETNX', x.key .. ':results', ARGV[at + 2 * i - 1], ARGV[at + 2 * i]) end
for _, payload in ipairs(events) do event(x, payload) end
if usage ~= '' then put(x, 'usage', usage) end
if kind == 'done' then touch(x) end
save(x, kind ~= 'done' and #events == 0)
return recorded('0')
