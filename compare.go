package disruption

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/node-disruption/disruption/consolidation"
)

// Fate is what a plan holds for one node.
type Fate struct {
	// Method that takes the node, "" if it stays; and whether that is a later one
	// (see [Plan.Outlook]), not this pass.
	Method consolidation.Method `json:"method,omitempty"`
	Later  bool                 `json:"later,omitempty"`
	// Reason why the node stays, as [NodeReport.First] has it; nil if it goes, or if
	// no method was asked.
	Reason *consolidation.Reason `json:"reason,omitempty"`
}

// Fate sums up the report.
func (n *NodeReport) Fate() Fate {
	if n.MovedBy != "" {
		return Fate{Method: n.MovedBy}
	}
	for _, v := range n.Verdicts {
		if v.Would {
			return Fate{Method: v.Method, Later: true}
		}
	}
	if reason, _, ok := n.First(); ok {
		return Fate{Reason: &reason}
	}
	return Fate{}
}

// String says which method takes the node, or why it stays.
func (f Fate) String() string {
	switch {
	case f.Later:
		return "later by " + string(f.Method)
	case f.Method != "":
		return "goes by " + string(f.Method)
	case f.Reason != nil:
		return f.Reason.String()
	}
	return "no method was asked"
}

// same: the same method at the same time, or the same kind of reason.
func (f Fate) same(other Fate) bool {
	if f.Reason != nil && other.Reason != nil {
		return f.Reason.Code == other.Reason.Code
	}
	return f.Reason == other.Reason && f.Method == other.Method && f.Later == other.Later
}

// Comparison is what two plans differ in: those of one cluster under two policies,
// say, or of one policy on two days. It belongs to the caller.
type Comparison struct {
	// Nodes whose fate differs, by name. A reason that has only other words, for
	// another pod or price, is no difference.
	Nodes []NodeChange `json:"nodes,omitempty"`
	// Before and After are the totals of the plans.
	Before Totals `json:"before"`
	After  Totals `json:"after"`
	// Findings that only the earlier or only the later plan has.
	Resolved []Finding `json:"resolved,omitempty"`
	New      []Finding `json:"new,omitempty"`
}

// NodeChange is a node whose fate differs; nil where a plan doesn't have the node.
type NodeChange struct {
	Node   string `json:"node"`
	Before *Fate  `json:"before,omitempty"`
	After  *Fate  `json:"after,omitempty"`
}

// String is the node with both fates.
func (c NodeChange) String() string {
	text := func(f *Fate) string {
		if f == nil {
			return "not there"
		}
		return f.String()
	}
	return fmt.Sprintf("%s: %s → %s", c.Node, text(c.Before), text(c.After))
}

// Compare tells two plans apart. To try a policy, propose with it and without it on
// the same cluster, and compare:
//
//	comparison := disruption.Compare(today, tomorrow)
func Compare(before, after *Plan) Comparison {
	c := Comparison{Before: before.Totals, After: after.Totals}
	fates := map[string]*NodeChange{}
	at := func(name string) *NodeChange {
		if fates[name] == nil {
			fates[name] = &NodeChange{Node: name}
		}
		return fates[name]
	}
	for i := range before.Nodes {
		fate := before.Nodes[i].Fate()
		at(before.Nodes[i].Name).Before = &fate
	}
	for i := range after.Nodes {
		fate := after.Nodes[i].Fate()
		at(after.Nodes[i].Name).After = &fate
	}
	for _, change := range fates {
		if change.Before == nil || change.After == nil || !change.Before.same(*change.After) {
			c.Nodes = append(c.Nodes, *change)
		}
	}
	slices.SortFunc(c.Nodes, func(a, b NodeChange) int { return cmp.Compare(a.Node, b.Node) })
	c.Resolved, c.New = without(before.Findings, after.Findings), without(after.Findings, before.Findings)
	return c
}

// without returns the findings of one list that the other doesn't have.
func without(list, other []Finding) []Finding {
	there := make(map[string]bool, len(other))
	for i := range other {
		there[other[i].String()] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(f Finding) bool { return there[f.String()] })
}
