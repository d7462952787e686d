package budget

import (
	"maps"
	"slices"
	"time"
)

// Scope applies budgets across pools: to the whole cluster, or to each group of
// nodes that share the value of a label, such as a zone or rack. Karpenter has
// no such thing; it stands beside the budgets of the pools, and the smallest
// answer counts.
type Scope struct {
	// Label whose values make the groups, each with the limits of its own. "" makes
	// one group of all nodes. Nodes without the label are a group as well.
	Label string
	// Budgets limit each group. Percentages are of the group's nodes.
	Budgets *Set
}

// Key names the group of a node with the given labels, for a [Ledger]: "*" for
// the whole cluster, else "label=value".
func (s Scope) Key(labels map[string]string) string {
	if s.Label == "" {
		return "*"
	}
	return s.Label + "=" + labels[s.Label]
}

// GroupVerdict is the answer for one group of a scope.
type GroupVerdict struct {
	Key   string `json:"key"`
	Tally Tally  `json:"tally"`
	Verdict
}

// Evaluate reports how many more nodes of each group may be disrupted for a
// reason at now, in order of the keys.
func (s Scope) Evaluate(now time.Time, reason Reason, nodes []Node, accounting Accounting) []GroupVerdict {
	groups := map[string][]Node{}
	for _, n := range nodes {
		key := s.Key(n.Labels)
		groups[key] = append(groups[key], n)
	}
	verdicts := make([]GroupVerdict, 0, len(groups))
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		tally := Count(groups[key])
		verdicts = append(verdicts, GroupVerdict{Key: key, Tally: tally, Verdict: s.Budgets.Evaluate(now, reason, tally.Usage(reason, accounting))})
	}
	return verdicts
}
