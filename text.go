package disruption

import (
	"fmt"
	"strings"

	"github.com/node-disruption/disruption/consolidation"
)

// String is the whole plan as lines of text, for golden files and logs: the moves
// with the ways of their pods, what the later methods would do, every other node
// with its first reason, the budgets of each pool, and the findings. It is the
// same for equal plans; its wording may change between versions.
func (p *Plan) String() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s at %s: %d of %d nodes go, %d come, %d pods move, saves %.4f of %.4f an hour\n", p.title(),
		p.Now.UTC().Format("2006-01-02T15:04:05Z"), p.Totals.Removed, p.Totals.Nodes, p.Totals.Launched, p.Totals.Moved, p.Totals.Savings, p.Totals.Cost)
	for i := range p.Moves {
		fmt.Fprintf(b, "%s\n", &p.Moves[i])
	}
	for i := range p.Outlook {
		fmt.Fprintf(b, "later %s\n", &p.Outlook[i])
	}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.MovedBy == "" {
			fmt.Fprintf(b, "node %s: %s\n", n.Name, n.Fate())
		}
	}
	for i := range p.Pools {
		for j := range p.Pools[i].Budgets {
			fmt.Fprintf(b, "pool %s: %s\n", p.Pools[i].Name, p.Pools[i].Budgets[j])
		}
	}
	p.Forceful.write(b)
	for i := range p.Findings {
		fmt.Fprintf(b, "%s\n", &p.Findings[i])
	}
	return b.String()
}

// title names the method that found the moves.
func (p *Plan) title() string {
	title := "nothing"
	if p.Method != "" {
		title = string(p.Method)
	}
	if p.Interrupted != "" {
		title += " (" + p.Interrupted + ")"
	}
	return title
}

// String says what goes, what comes, what that saves, and on further lines where
// each pod goes.
func (m *Move) String() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s %s by %s saves %.4f an hour for a disruption of %g", m.Decision, strings.Join(m.Nodes, ", "), m.Method, m.Savings, m.Disruption)
	for i := range m.Replacements {
		fmt.Fprintf(b, "\n  new-%d %s", i, replacementText(&m.Replacements[i]))
	}
	for _, pod := range m.Pods {
		fmt.Fprintf(b, "\n  %s: %s -> %s", pod.Pod, pod.From, pod.To)
	}
	return b.String()
}

func replacementText(r *consolidation.Replacement) string {
	text := "of pool " + r.Pool
	if n := len(r.InstanceTypes); n > 0 {
		text += fmt.Sprintf(": %s at %.4f an hour, the first of %d types", r.InstanceTypes[0].Name, r.Price, n)
	}
	return text
}

func (f *Forceful) write(b *strings.Builder) {
	for _, e := range f.Expired {
		fmt.Fprintf(b, "node %s expired at %s\n", e.Node, e.At.UTC().Format("2006-01-02T15:04:05Z"))
	}
	for _, e := range f.Expiring {
		fmt.Fprintf(b, "node %s expires at %s\n", e.Node, e.At.UTC().Format("2006-01-02T15:04:05Z"))
	}
	for _, r := range f.Repairs {
		fmt.Fprintf(b, "node %s is sick: %s\n", r.Node, r.Message)
	}
	for _, t := range f.Terminating {
		fmt.Fprintf(b, "node %s is terminating%s\n", t.Node, waits(&t))
	}
}

func waits(t *Terminating) string {
	switch {
	case t.Problem != "":
		return ": " + t.Problem
	case len(t.Waiting) > 0:
		return ": " + strings.Join(t.Waiting, "; ")
	}
	return ""
}

// String is the severity, the code, the message and what to do about it.
func (f *Finding) String() string {
	text := fmt.Sprintf("%s %s: %s", f.Severity, f.Code, f.Message)
	if f.Fix != "" {
		text += "; " + f.Fix
	}
	return text
}
