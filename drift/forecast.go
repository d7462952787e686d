package drift

import (
	"slices"
	"time"

	"github.com/node-disruption/disruption/budget"
)

// Pace is how fast nodes are replaced, apart from budgets.
type Pace struct {
	// PerNode is how long it takes from the decision until the old node is gone:
	// launch, readiness and drain. 0 means 10 minutes, which is a guess: measure
	// your own.
	PerNode time.Duration
	// Every is the time between two decisions, since a pass takes one drifted
	// node; 0 means 10 seconds, Karpenter's loop.
	Every time.Duration
}

func (p Pace) perNode() time.Duration { return orDefault(p.PerNode, 10*time.Minute) }
func (p Pace) every() time.Duration   { return orDefault(p.Every, 10*time.Second) }

func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}

// Slot is when one node is replaced.
type Slot struct {
	Node  string    `json:"node"`
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Timeline is how a roll-out goes.
type Timeline struct {
	// Slots in the order in which they start.
	Slots []Slot `json:"slots,omitempty"`
	// Done is when the last node is gone, nil if that isn't within the limit.
	Done *time.Time `json:"done,omitempty"`
	// Left are the nodes that don't start before the limit.
	Left []string `json:"left,omitempty"`
}

// Forecast lays out when each of the nodes, in this order, is replaced under the
// pool's budgets for drift, from an instant on and until limit at the latest. It
// assumes that the pool keeps its size, that the nodes which consume the budget
// today keep doing so, and that nothing else is disrupted. A budget gates only
// the start: a replacement that began in a window goes on after it closed.
func Forecast(nodes []string, budgets *budget.Set, usage budget.Usage, pace Pace, from, limit time.Time) Timeline {
	var line Timeline
	left := slices.Clone(nodes)
	next := from
	for window := range budgets.Forecast(from, limit, budget.Drifted, usage) {
		if window.From.After(next) {
			next = window.From
		}
		for len(left) > 0 && window.Allowed > 0 {
			start := line.freeAt(next, window.Allowed)
			if !start.Before(window.To) {
				break
			}
			line.Slots = append(line.Slots, Slot{left[0], start, start.Add(pace.perNode())})
			left, next = left[1:], start.Add(pace.every())
		}
		if len(left) == 0 {
			break
		}
	}
	if n := len(line.Slots); len(left) == 0 && n > 0 {
		done := line.Slots[n-1].End
		line.Done = &done
	} else if len(left) == 0 {
		line.Done = &from
	}
	line.Left = left
	return line
}

// freeAt returns the first instant from t on at which fewer than n slots run.
// All slots are equally long, so they end in the order in which they start.
func (l *Timeline) freeAt(t time.Time, n int) time.Time {
	if i := len(l.Slots) - n; i >= 0 && l.Slots[i].End.After(t) {
		return l.Slots[i].End
	}
	return t
}
