-- Purpose: carries out what was to happen at an entry's time, or moves on a wait that is merely looked at.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 index, 2 score seen in ms, then blob and event of four failures: 3 and 4 deadline, 5 and 6 suspension, 7 and 8
--   interaction, 9 and 10 unfinished; 11 reason, 12 detail and 13 event of the suspension of an interaction that expired,
--   14 clean-up warning, 15 and 16 blob and event of the failure of a delegation that did not come, then the tail.
-- Returns: {moved, state, tasks}.
-- Refuses: nothing: an entry that has moved on is left alone.
-- Invariant: what is decided again here is decided from the row and the clock, never from what the sweep saw.
local index, at, deadline_blob, deadline_event, suspension_blob, suspension_event = unpack(ARGV, 1, 6)
local interaction_blob, interaction_event, unfinished_blob, unfinished_event = unpack(ARGV, 7, 10)
local expired_reason, expired_detail, expired_event, cleanup_warning = unpack(ARGV, 11, 14)
local undelegated_blob, undelegated_event = unpack(ARGV, 15, 16)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists or not m.due_entry(x, index, at) or m.action(x, index) ~= 'expire' then return { '0', '', '' } end

local function fail(blob, payload)
  put(x, 'failure', blob)
  m.finish(x, 'failed', payload)
end

local function passed(ms) return ms > 0 and ms <= x.now end

local acted = true
if row.cancelAtMs ~= '' and row.fence == '' and row.state ~= 'finalizing' then -- its parent has ended
  m.finish(x, 'canceled', CANCELED_EVENT)
elseif passed(number(row.deadlineAtMs)) and row.state ~= 'finalizing' then
  fail(deadline_blob, deadline_event)
elseif row.state == 'waiting_for_input' and passed(number(row.interactionExpiresAtMs)) then
  if row.interactionOnExpiry == 'fail' then
    fail(interaction_blob, interaction_event)
  elseif row.interactionOnExpiry == 'suspend' then
    put(x, 'interactionExpiresAtMs', '') -- whoever resumes it has all the time
    put(x, 'waitUntilMs', '')
    m.suspend(x, expired_reason, expired_detail, expired_event)
  else
    event(x, row.interactionReceived)
    m.answer_interaction(x, row.interactionExpired)
  end
elseif row.state == 'queued' and intended(x) and number(row.createdAtMs) + DELEGATE <= x.now then
  fail(undelegated_blob, undelegated_event)
elseif row.state == 'suspended' and m.suspended_until(x) <= x.now then
  fail(suspension_blob, suspension_event)
elseif row.state == 'finalizing' and number(row.restAtMs) + CLEANUP <= x.now then
  m.take(x)
  event(x, cleanup_warning)
  if row.finalState ~= '' then
    m.finish(x, row.finalState, row.finalEvent)
  elseif row.cancelAtMs ~= '' then
    m.finish(x, 'canceled', CANCELED_EVENT)
  else
    fail(unfinished_blob, unfinished_event)
  end
else
  acted = false
  m.rest(x)
end
if acted then touch(x) end
save(x)
return { '1', row.state, tasks(x) }
