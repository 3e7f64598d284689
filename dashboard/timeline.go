package dashboard

import (
	"fmt"
	"math"

	"github.com/pawl-run/pawl/execution"
)

// The measures of the picture, in its own units.
const (
	pictureWidth = 1000
	laneHeight   = 30
	barHeight    = 21
	pictureLeft  = 64
	maxToolLanes = 6
	tickSpace    = 92
)

// timeline is the picture of a part of a log: what ran when. Time is drawn by the logarithm of each pause, so that a second
// of work beside a night of waiting can be seen.
type timeline struct {
	Width, Height int
	AxisY         int
	Lanes         []lane
	Bars          []bar
	Marks         []mark
	Ticks         []tick
	Summary       string
}

type lane struct {
	Y     int
	Label string
}

// bar is something that lasted.
type bar struct {
	X, W       float64
	Y, H       int
	Kind       string // queued, running, waiting, suspended, model, tool, failed, retry, open
	Label      string
	Title      string
	TextX      float64
	TextY      int
	Open       bool
	start, end int64
	row        int
}

// mark is something that happened at once.
type mark struct {
	X     float64
	Y     int
	Kind  string
	Title string
}

type tick struct {
	X     float64
	Label string
	Last  bool // it stands at the right edge
}

// scale gives an instant its place.
type scale struct {
	instants []int64
	places   []float64
}

// newScale makes a scale of instants in ascending order.
func newScale(instants []int64) scale {
	s := scale{}
	sum := 0.0
	for i, at := range instants {
		if i > 0 {
			if at <= s.instants[len(s.instants)-1] {
				continue
			}
			sum += 0.3 + math.Log1p(float64(at-s.instants[len(s.instants)-1])/50)
		}
		s.instants, s.places = append(s.instants, at), append(s.places, sum)
	}
	for i := range s.places {
		if sum > 0 {
			s.places[i] *= (pictureWidth - pictureLeft - 14) / sum
		}
		s.places[i] += pictureLeft
	}
	return s
}

func (s scale) x(at int64) float64 {
	best := float64(pictureLeft)
	for i, instant := range s.instants {
		if instant > at {
			break
		}
		best = s.places[i]
	}
	return math.Round(best*10) / 10
}

// draw makes the picture; nil when there is nothing to see.
func draw(events []execution.Event, view execution.View, nowMs int64) *timeline {
	if len(events) < 2 {
		return nil
	}
	end := events[len(events)-1].OccurredAtMs
	open := !view.State.Terminal()
	instants := make([]int64, 0, len(events)+1)
	for _, event := range events {
		instants = append(instants, event.OccurredAtMs)
	}
	if open && nowMs > end {
		end = nowMs
		instants = append(instants, nowMs)
	}
	d := drawing{end: end, models: map[string]int{}, tools: map[execution.CallID]int{}}
	for _, event := range events {
		d.event(event)
	}
	d.close(open)
	return d.picture(newScale(instants))
}

// drawing collects what lasted and what happened.
type drawing struct {
	end    int64
	state  *bar
	states []bar
	calls  []bar // of models, row 0, and of tools, rows from 1 on
	marks  []mark
	at     []int64
	models map[string]int
	tools  map[execution.CallID]int
	busy   []int64 // until when each row of tools is taken
}

func (d *drawing) event(event execution.Event) {
	now := event.OccurredAtMs
	switch e := event.Payload.(type) {
	case *execution.ExecutionQueued:
		d.become("queued", "queued", now)
	case *execution.ExecutionStarted, *execution.ExecutionResumed, *execution.InteractionReceived:
		d.become("running", "running", now)
	case *execution.InteractionRequired:
		d.become("waiting", "waiting for input", now)
	case *execution.ExecutionSuspended:
		d.become("suspended", "suspended", now)
		d.mark("suspended", now, "suspended: "+words(e.Reason))
	case *execution.ModelStarted:
		d.models[e.InvocationID] = len(d.calls)
		d.calls = append(d.calls, bar{Kind: "model", Label: fmt.Sprintf("turn %d", e.Turn), start: now, end: -1})
	case *execution.ModelCompleted:
		if i, known := d.models[e.InvocationID]; known {
			d.calls[i].end = now
		}
	case *execution.ToolStarted:
		if _, known := d.tools[e.CallID]; !known {
			d.tools[e.CallID] = len(d.calls)
			d.calls = append(d.calls, bar{Kind: "tool", Label: e.Name, Title: string(e.CallID), start: now, end: -1, row: 1})
		}
	case *execution.ToolCompleted:
		d.toolDone(e, now)
	case *execution.Warning:
		d.mark(warningKind(e.Code), now, e.Code+": "+e.Message)
	case *execution.RetryScheduled:
		d.mark("retry", now, fmt.Sprintf("attempt %d at %s follows: %s", e.Attempt, e.Node, e.Code))
	case *execution.CancelRequested:
		d.mark("suspended", now, "cancel requested")
	case *execution.ExecutionCompleted, *execution.ExecutionFailed, *execution.ExecutionCanceled:
		d.become("", "", now)
		kind := string(event.Payload.EventType())
		d.mark(kind, now, words(kind))
	}
}

func warningKind(code string) string {
	if code == execution.WarningReclaimed || code == execution.WarningReleased {
		return "reclaim"
	}
	return "warning"
}

func (d *drawing) toolDone(e *execution.ToolCompleted, now int64) {
	if i, known := d.tools[e.CallID]; known {
		d.calls[i].end = now
		if e.Failed {
			d.calls[i].Kind = "failed"
		}
	}
}

// become ends the state that lasts and begins another; none for an empty kind.
func (d *drawing) become(kind, label string, now int64) {
	if d.state != nil {
		if d.state.Kind == kind {
			return
		}
		d.state.end = now
		d.states = append(d.states, *d.state)
		d.state = nil
	}
	if kind != "" {
		d.state = &bar{Kind: kind, Label: label, start: now}
	}
}

func (d *drawing) mark(kind string, now int64, title string) {
	d.marks, d.at = append(d.marks, mark{Kind: kind, Title: title}), append(d.at, now)
}

// close ends what nobody has ended, which goes on only while the execution is open, and gives each tool call a row of its own
// while others run.
func (d *drawing) close(open bool) {
	lasts := d.state != nil
	d.become("", "", d.end)
	if lasts {
		d.states[len(d.states)-1].Open = true
	}
	for i := range d.calls {
		call := &d.calls[i]
		if call.end < 0 {
			call.end, call.Open = d.end, open
		}
		if call.row == 0 {
			continue
		}
		row := 0
		for row < len(d.busy) && d.busy[row] > call.start && row < maxToolLanes-1 {
			row++
		}
		if row == len(d.busy) {
			d.busy = append(d.busy, 0)
		}
		d.busy[row] = call.end
		call.row = row + 1
	}
}

// picture gives everything its place.
func (d *drawing) picture(s scale) *timeline {
	rows := 2 + len(d.busy)
	t := &timeline{Width: pictureWidth, AxisY: 12 + rows*laneHeight, Height: 12 + rows*laneHeight + 24}
	labels := []string{"state", "model"}
	for i := range d.busy {
		label := ""
		if i == 0 {
			label = "tools"
		}
		labels = append(labels, label)
	}
	for i, label := range labels {
		t.Lanes = append(t.Lanes, lane{Y: 12 + i*laneHeight + 19, Label: label})
	}
	for _, b := range d.states {
		t.Bars = append(t.Bars, place(b, s, 0))
	}
	for _, b := range d.calls {
		t.Bars = append(t.Bars, place(b, s, b.row+1))
	}
	for i, m := range d.marks {
		m.X, m.Y = s.x(d.at[i]), 8
		m.Title = at(d.at[i]) + " " + m.Title
		t.Marks = append(t.Marks, m)
	}
	t.Ticks = ticks(s)
	t.Summary = fmt.Sprintf("%s and %s in %s",
		many(len(d.models), "model request"), many(len(d.tools), "tool call"), duration(d.end-s.instants[0]))
	return t
}

// letter is about how wide a letter of a label is.
const letter = 7.6

func place(b bar, s scale, row int) bar {
	b.X, b.Y, b.H = s.x(b.start), 12+row*laneHeight+4, barHeight
	b.W = math.Max(3, math.Round((s.x(b.end)-b.X-1)*10)/10)
	b.TextX, b.TextY = b.X+5, b.Y+15
	took := duration(b.end - b.start)
	if b.Open {
		took += " so far"
	}
	b.Title = fmt.Sprintf("%s %s, %s, from %s", b.Label, b.Title, took, at(b.start))
	letters := int((b.W - 8) / letter)
	switch label := []rune(b.Label); {
	case len(label) <= letters:
	case letters < 3:
		b.Label = ""
	default:
		b.Label = string(label[:letters-1]) + "…"
	}
	return b
}

// ticks say how long after the first event something happened, where there is room.
func ticks(s scale) []tick {
	var all []tick
	last := -math.MaxFloat64
	for i, at := range s.instants {
		if s.places[i]-last < tickSpace || i > 0 && i < len(s.instants)-1 && s.places[len(s.places)-1]-s.places[i] < tickSpace {
			continue
		}
		last = s.places[i]
		all = append(all, tick{
			X: math.Round(last*10) / 10, Label: "+" + duration(at-s.instants[0]), Last: i > 0 && i == len(s.instants)-1,
		})
	}
	return all
}

// many is a number of things.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
