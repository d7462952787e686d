package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report is the state of a pool's budgets at an instant: what a status, a
// dashboard or an incident channel would show.
type Report struct {
	At       time.Time      `json:"at"`
	Total    int            `json:"total"`              // nodes that percentages are taken of
	Excluded []Charge       `json:"excluded,omitempty"` // nodes that are not part of Total, and why
	Reasons  []ReasonReport `json:"reasons,omitempty"`
}

// ReasonReport is the part of a report about one reason.
type ReasonReport struct {
	Verdict
	// Used are the nodes that consume the limit, by name.
	Used []Charge `json:"used,omitempty"`
}

// Report evaluates all reasons at now.
func (s *Set) Report(now time.Time, nodes Tally, accounting Accounting) Report {
	r := Report{At: now, Total: nodes.Total, Excluded: slices.Clone(nodes.Excluded)}
	for _, reason := range Reasons() {
		part := ReasonReport{Verdict: s.Evaluate(now, reason, nodes.Usage(reason, accounting))}
		for _, c := range nodes.Charged {
			if accounting.charges(c, reason) {
				part.Used = append(part.Used, c)
			}
		}
		r.Reasons = append(r.Reasons, part)
	}
	return r
}

// String is the report as text, a line per fact.
func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "at %s, of %d nodes\n", r.At.UTC().Format(time.RFC3339), r.Total)
	for _, part := range r.Reasons {
		fmt.Fprintf(&text, "  %s\n", part.Verdict)
		for _, c := range part.Used {
			fmt.Fprintf(&text, "    used by %s\n", c)
		}
	}
	for _, c := range r.Excluded {
		fmt.Fprintf(&text, "  not counted: %s\n", c)
	}
	return text.String()
}

// String is the charge in words, as in "node-1 (Deleting, Drifted)".
func (c Charge) String() string {
	if c.Reason != "" {
		return fmt.Sprintf("%s (%s, %s)", c.Node, c.Cause, c.Reason)
	}
	return fmt.Sprintf("%s (%s)", c.Node, c.Cause)
}
