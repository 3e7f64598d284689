-- Purpose: takes a running execution from its holder at an operator's wish, and makes its step runnable again.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 states of the move, 2 terminal states, 3 released event, then the tail.
-- Returns: {changed, pending, row, tasks}; unchanged, the task that should be standing.
-- Refuses: NOTFOUND, STATE (terminal).
-- Invariant: the fence is raised, so that the holder writes nothing any more; no reclaim is counted; a cancel or a pause
--   that was recorded is carried out.
local states, terminal, released_event = unpack(ARGV, 1, 3)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists then return refuse('NOTFOUND', 'execution') end
if contains(terminal, row.state) then return refuse('STATE', row.state) end
if not contains(states, row.state) or row.fence == '' then return { '0', '0', whole(x), standing(x) } end

released_event = naming(released_event, { FROM = row.worker })
x.channel = prefix(x) .. ':requests:' .. row.worker
m.take(x)
if row.cancelAtMs ~= '' then
  m.finish(x, 'canceled', CANCELED_EVENT)
elseif row.pauseAtMs ~= '' then
  event(x, released_event)
  m.suspend(x, 'paused', '', PAUSED_EVENT)
else
  event(x, released_event)
  runnable(x, GRACE)
end
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
