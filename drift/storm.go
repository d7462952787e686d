package drift

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/node-disruption/disruption/budget"
)

// PoolStatus is a pool and its drifted nodes, for [ReportStorm].
type PoolStatus struct {
	Name string
	// Nodes is how many the pool has.
	Nodes   int
	Drifted []Candidate
	// Budgets of the pool, and what uses them up today.
	Budgets *budget.Set
	Usage   budget.Usage
}

// Storm is how much of a pool has drifted, and how long it will take to roll.
type Storm struct {
	Pool    string `json:"pool"`
	Nodes   int    `json:"nodes"`
	Drifted int    `json:"drifted"`
	// Reasons, most frequent first, then by name.
	Reasons []ReasonCount `json:"reasons,omitempty"`
	// Since is when the first of the nodes drifted, nil if none has.
	Since *time.Time `json:"since,omitempty"`
	// Pods that will move.
	Pods int `json:"pods"`
	// Timeline of the roll-out, as [Forecast] sees it.
	Timeline Timeline `json:"timeline"`
}

// ReasonCount is how many nodes drifted for one reason.
type ReasonCount struct {
	Reason Reason `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// Share of the pool that has drifted, from 0 to 1.
func (s *Storm) Share() float64 {
	if s.Nodes == 0 {
		return 0
	}
	return float64(s.Drifted) / float64(s.Nodes)
}

// String reads "pool default: 7 of 10 nodes drifted, done 2026-03-15T12:00:00Z".
func (s *Storm) String() string {
	text := fmt.Sprintf("pool %s: %d of %d nodes drifted", s.Pool, s.Drifted, s.Nodes)
	switch done := s.Timeline.Done; {
	case s.Drifted == 0:
		return text
	case done == nil:
		return fmt.Sprintf("%s, %d of them beyond the forecast", text, len(s.Timeline.Left))
	default:
		return text + ", done " + done.UTC().Format(time.RFC3339)
	}
}

// ReportStorm reports for each pool what share of it has drifted, since when and
// why, and how the roll-out goes under its budgets until limit. Pools come by
// name; one without drifted nodes has its report too.
func ReportStorm(pools []PoolStatus, pace Pace, now, limit time.Time) []Storm {
	out := make([]Storm, 0, len(pools))
	for i := range pools {
		out = append(out, pools[i].report(pace, now, limit))
	}
	slices.SortFunc(out, func(a, b Storm) int { return cmp.Compare(a.Pool, b.Pool) })
	return out
}

func (p *PoolStatus) report(pace Pace, now, limit time.Time) Storm {
	s := Storm{Pool: p.Name, Nodes: p.Nodes, Drifted: len(p.Drifted), Reasons: countReasons(p.Drifted)}
	var names []string
	for _, c := range Sort(p.Drifted) {
		names = append(names, c.Node)
		s.Pods += c.ReschedulablePods
		if since := c.DriftedSince; s.Since == nil || since.Before(*s.Since) {
			s.Since = &since
		}
	}
	s.Timeline = Forecast(names, p.Budgets, p.Usage, pace, now, limit)
	return s
}

func countReasons(drifted []Candidate) []ReasonCount {
	var counts []ReasonCount
	for i := range drifted {
		at := slices.IndexFunc(counts, func(c ReasonCount) bool { return c.Reason == drifted[i].Reason })
		if at < 0 {
			counts, at = append(counts, ReasonCount{Reason: drifted[i].Reason}), len(counts)
		}
		counts[at].Nodes++
	}
	slices.SortFunc(counts, func(a, b ReasonCount) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Reason, b.Reason))
	})
	return counts
}
