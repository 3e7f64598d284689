package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
	Key           []keyed
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
	Kind       string // queued, running, waiting, suspended, node, pause, model, tool, failed
	Label      string
	Short      string // the label of a narrow one; empty: as much of the label as there is room for
	Name       string // what the title calls it; empty: as the label
	Title      string
	TextX      float64
	TextY      int
	Open       bool
	start, end int64
	from, took int64 // as a whole, where the picture shows a part; 0: it shows the whole
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

// shown is what a picture is made of.
type shown struct {
	events []execution.Event
	steps  []execution.Checkpoint // in their order, none missing between them
	more   bool                   // the log goes on behind the events
	state  execution.State
	step   execution.Step // the newest one
	held   bool           // a worker is at it
	nowMs  int64
	// children are the calls that started executions of their own.
	children map[execution.CallID]bool
}

// draw makes the picture; nil when there is nothing to see.
func draw(s shown) *timeline {
	if len(s.events) < 2 {
		return nil
	}
	s.events, s.steps = inOrder(s.events), stepsInOrder(s.steps)
	first, end := s.events[0].OccurredAtMs, s.events[len(s.events)-1].OccurredAtMs
	open := !s.state.Terminal() && !s.more
	if open {
		end = (&forward{last: end}).at(s.nowMs)
	}
	d := drawing{
		end: end, models: calls{kind: "model", node: "before_model_request", known: map[string]int{}},
		tools: calls{kind: "tool", node: "tool_call", known: map[string]int{}, children: s.children},
	}
	d.nodes = nodes(s.steps)
	if n := len(s.steps); open && n > 0 && s.steps[n-1].Step == s.step && s.steps[n-1].CommittedAtMs > 0 {
		d.nodes = append(d.nodes, openNode(s.steps[n-1], s.held))
	}
	d.nodes = clip(d.nodes, first, end)
	instants := []int64{end}
	for _, event := range s.events {
		d.event(event)
		instants = append(instants, event.OccurredAtMs)
	}
	d.close(open)
	for _, b := range slices.Concat(d.nodes, d.models.bars(), d.tools.bars()) {
		instants = append(instants, b.start, b.end)
	}
	slices.Sort(instants)
	return d.picture(newScale(instants))
}

// drawing collects what lasted and what happened.
type drawing struct {
	end    int64
	state  *bar
	states []bar
	nodes  []bar
	marks  []mark
	at     []int64
	models calls
	tools  calls
}

func (d *drawing) event(event execution.Event) {
	now := event.OccurredAtMs
	switch e := event.Payload.(type) {
	case *execution.ModelStarted:
		d.models.started(e.InvocationID, fmt.Sprintf("turn %d", e.Turn), now)
	case *execution.ModelCompleted:
		d.models.done(e.InvocationID, false, now)
	case *execution.ToolStarted:
		d.tools.started(string(e.CallID), e.Name, now)
	case *execution.ToolCompleted:
		d.tools.done(string(e.CallID), e.Failed, now)
	case *execution.Warning:
		kind := warningKind(e.Code)
		if kind == "reclaim" {
			d.tools.reclaimed = now
		}
		d.mark(kind, now, e.Code+": "+e.Message)
	case *execution.RetryScheduled:
		d.models.retried(e, now)
		d.tools.retried(e, now)
		d.mark("retry", now, fmt.Sprintf("attempt %d at %s follows: %s", e.Attempt, e.Node, e.Code))
	case *execution.CancelRequested:
		d.mark("suspended", now, "cancel requested")
	case *execution.UnreadableEvent:
		d.mark("warning", now, "an event that cannot be read")
	default:
		d.changed(event.Payload, now)
	}
}

// changed notes another state, and what it means for the tool calls.
func (d *drawing) changed(payload execution.Payload, now int64) {
	switch e := payload.(type) {
	case *execution.ExecutionQueued:
		d.become("queued", "queued", now)
	case *execution.ExecutionStarted:
		d.become("running", "running", now)
	case *execution.ExecutionResumed:
		d.tools.resumed(now)
		d.models.resumed(now)
		if d.tools.question != "" { // it goes back to where it was
			d.become("waiting", "waiting for input", now)
		} else {
			d.become("running", "running", now)
		}
	case *execution.InteractionRequired:
		d.become("waiting", "waiting for input", now)
		d.tools.asked(e.Kind, now)
	case *execution.InteractionReceived:
		d.become("running", "running", now)
		d.tools.answered(now)
	case *execution.ExecutionSuspended:
		d.become("suspended", "suspended", now)
		d.mark("suspended", now, "suspended: "+words(e.Reason))
		d.tools.suspended(now)
		d.models.suspended(now)
	case *execution.ExecutionCompleted, *execution.ExecutionFailed, *execution.ExecutionCanceled:
		d.become("", "", now)
		kind := string(payload.EventType())
		d.mark(kind, now, words(kind))
	}
}

func warningKind(code string) string {
	if code == execution.WarningReclaimed || code == execution.WarningReleased {
		return "reclaim"
	}
	return "warning"
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

// close ends what nobody has ended, which goes on only while the execution is open.
func (d *drawing) close(open bool) {
	lasts := d.state != nil
	d.become("", "", d.end)
	if lasts {
		d.states[len(d.states)-1].Open = true
	}
	d.models.close(d.end, open)
	d.tools.close(d.end, open)
}

// lanes are the names of the rows.
func (d *drawing) lanes() []string {
	labels := []string{"state"}
	if len(d.nodes) > 0 {
		labels = append(labels, "nodes")
	}
	labels = append(labels, "model")
	for i := range d.tools.busy {
		label := ""
		if i == 0 {
			label = "tools"
		}
		labels = append(labels, label)
	}
	return labels
}

// picture gives everything its place.
func (d *drawing) picture(s scale) *timeline {
	labels := d.lanes()
	bottom := 12 + len(labels)*laneHeight
	t := &timeline{Width: pictureWidth, AxisY: bottom, Height: bottom + 24}
	for i, label := range labels {
		t.Lanes = append(t.Lanes, lane{Y: 12 + i*laneHeight + 19, Label: label})
	}
	for _, b := range d.states {
		t.Bars = append(t.Bars, place(b, s, 0))
	}
	for _, b := range d.nodes {
		if b = place(b, s, 1); b.W > 0 {
			t.Bars = append(t.Bars, b)
		}
	}
	calls := slices.Index(labels, "model")
	for _, b := range append(d.models.bars(), d.tools.bars()...) {
		t.Bars = append(t.Bars, place(b, s, calls+b.row))
	}
	for i, m := range d.marks {
		m.X, m.Y = s.x(d.at[i]), 8
		m.Title = at(d.at[i]) + " " + m.Title
		t.Marks = append(t.Marks, m)
	}
	t.Ticks = ticks(s)
	t.Key = keyOf(t.Bars)
	t.Summary = fmt.Sprintf("%s and %s in %s%s",
		many(len(d.models.all), "model request"), many(len(d.tools.all), "tool call"), duration(d.end-s.instants[0]), d.tools.waited())
	return t
}

// letter is about how wide a letter of a label is.
const letter = 7.6

func place(b bar, s scale, row int) bar {
	b.X, b.Y, b.H = s.x(b.start), 12+row*laneHeight+4, barHeight
	width := math.Round((s.x(b.end)-b.X-1)*10) / 10
	switch b.Kind {
	case "node": // there are many of them, side by side
		b.W = math.Max(1, width)
	case "pause":
		b.W, b.Y, b.H = math.Max(0, width), b.Y+barHeight/2, 2
	default:
		b.W = math.Max(3, width)
	}
	b.TextX, b.TextY = b.X+5, b.Y+15
	if b.from == 0 {
		b.from, b.took = b.start, b.end-b.start
	}
	took := duration(b.took)
	if b.Open {
		took += " so far"
	}
	b.Title = strings.Join(strings.Fields(fmt.Sprintf("%s %s", cmp.Or(b.Name, b.Label), b.Title)), " ")
	b.Title += fmt.Sprintf(", %s, from %s", took, at(b.from))
	b.Label = fitting(b, int((b.W-8)/letter))
	return b
}

// fitting is the label of a bar that has room for so many letters.
func fitting(b bar, letters int) string {
	if len([]rune(b.Label)) <= letters {
		return b.Label
	}
	switch label := []rune(cmp.Or(b.Short, b.Label)); {
	case len(label) <= letters:
		return string(label)
	case letters < 3:
		return ""
	default:
		return string(label[:letters-1]) + "…"
	}
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
