package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/node-disruption/disruption/drift"
)

const clock = "Mon 2 Jan 15:04"

// print writes one pool's roll-out for the terminal.
func (r *rollout) print(out io.Writer) {
	fmt.Fprintf(out, "NodePool %s: %s\n", r.pool, r.summary())
	for _, line := range r.notes() {
		fmt.Fprintln(out, "  "+line)
	}
	if len(r.preflight.Changes) > 0 {
		fmt.Fprintln(out, "\nCHANGES")
		r.printChanges(out)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tPODS\tREPLACED\tWHY")
	for _, row := range r.rows() {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", row.Node, row.ReschedulablePods, row.when(), row.why())
	}
	w.Flush()
}

func (r *rollout) printChanges(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range r.preflight.Changes {
		effect := "each node is compared with it"
		if c.Hashed {
			effect = "every node drifts"
		}
		fmt.Fprintf(w, "  %s\t%s\t→ %s\t%s\n", c.Path, cmp.Or(c.Old, "absent"), cmp.Or(c.New, "absent"), effect)
	}
	w.Flush()
}

// summary is the answer in one line.
func (r *rollout) summary() string {
	p := &r.preflight
	text := fmt.Sprintf("%d of %d nodes would drift", p.Drifting, len(p.Nodes))
	if p.Already > 0 {
		text += fmt.Sprintf(", %d drifted before", p.Already)
	}
	if p.Healed > 0 {
		text += fmt.Sprintf(", %d match again", p.Healed)
	}
	return text + fmt.Sprintf("; %d pods move", p.Pods)
}

// notes say how long it takes, and what stands in the way.
func (r *rollout) notes() (lines []string) {
	line := &r.timeline
	switch {
	case len(line.Slots) > 0:
		last := line.Slots[len(line.Slots)-1]
		lines = append(lines, fmt.Sprintf("from %s to %s UTC under its budgets, at %s a node", show(line.Slots[0].Start), show(last.End), short(r.pace.PerNode)))
	case len(line.Left) > 0:
		lines = append(lines, "its budgets let no node go")
	}
	if n := len(line.Left); n > 0 {
		lines = append(lines, fmt.Sprintf("%d nodes do not start before %s UTC", n, show(r.horizon)))
	}
	if n := len(r.waiting); n > 0 {
		lines = append(lines, fmt.Sprintf("%d held by a pod, without a terminationGracePeriod to end that", n))
	}
	return append(lines, r.warnings()...)
}

// warnings point at edits that do the opposite of what is meant.
func (r *rollout) warnings() (lines []string) {
	for _, c := range r.preflight.Changes {
		if c.Hashed && strings.HasSuffix(c.Path, "/do-not-disrupt]") && c.New != "" {
			lines = append(lines, `beware: do-not-disrupt in the template drifts every node that lacks it; a budget of nodes "0" holds them`)
		}
	}
	return lines
}

// short leaves out what is zero at the end of a duration: 20m, not 20m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func show(t time.Time) string { return t.UTC().Format(clock) }

// row is a node, and when it is replaced.
type row struct {
	*drift.Prediction
	slot    *drift.Slot
	waiting bool
}

// rows are all nodes: in the order in which they are replaced, then those that
// wait, then the rest.
func (r *rollout) rows() []row {
	byName := map[string]*drift.Prediction{}
	for i := range r.preflight.Nodes {
		byName[r.preflight.Nodes[i].Node] = &r.preflight.Nodes[i]
	}
	var rows []row
	add := func(name string, slot *drift.Slot, waiting bool) {
		rows = append(rows, row{byName[name], slot, waiting})
		delete(byName, name)
	}
	for i := range r.timeline.Slots {
		add(r.timeline.Slots[i].Node, &r.timeline.Slots[i], false)
	}
	for _, name := range r.timeline.Left {
		add(name, nil, false)
	}
	for _, c := range r.waiting {
		add(c.Node, nil, true)
	}
	for i := range r.preflight.Nodes {
		if name := r.preflight.Nodes[i].Node; byName[name] != nil {
			add(name, nil, false)
		}
	}
	return rows
}

func (r row) replaced() bool { return r.After.Outcome == drift.Replace }

func (r row) when() string {
	switch {
	case r.slot != nil:
		return show(r.slot.Start) + " to " + r.slot.End.UTC().Format("15:04")
	case r.waiting:
		return "held by a pod"
	case r.replaced():
		return "not in sight"
	}
	return "stays"
}

func (r row) why() string {
	if !r.replaced() {
		return r.After.String()
	}
	text := string(r.After.Reason)
	switch {
	case r.Already():
		text = "before the edit: " + r.Before.String()
	case r.After.Mismatch != nil:
		text += ", " + r.After.Detail
	}
	if r.PodsBlock != "" && r.waiting {
		text += "; " + r.PodsBlock
	} else if r.PodsBlock != "" {
		text += "; " + r.PodsBlock + " until the grace period ends"
	}
	return text
}
