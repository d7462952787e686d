package budget

import (
	"slices"
	"strings"
)

// Node is what counting needs to know of a node of the pool.
type Node struct {
	Name string
	// Unmanaged: no node claim stands behind it.
	Unmanaged bool
	// Uninitialized: it has not become ready for use yet.
	Uninitialized bool
	// InstanceTerminating: its claim says that the instance is going away.
	InstanceTerminating bool
	// Deleting: it is being deleted, or marked for deletion.
	Deleting bool
	// InFlight: a decision to disrupt it is being carried out.
	InFlight bool
	// NotReady: its Ready condition is not True, or missing.
	NotReady bool
	// Reason for which it is Deleting or InFlight, if known.
	Reason Reason
	// Labels of the node; only a [Scope] looks at them.
	Labels map[string]string
}

// Cause is why a node is charged to the budget, or not counted. Its text is API.
type Cause string

// Causes of a charge, the first that fits; then causes to leave a node out.
const (
	CauseDeleting Cause = "Deleting"
	CauseInFlight Cause = "InFlight"
	CauseNotReady Cause = "NotReady"

	CauseUnmanaged           Cause = "Unmanaged"
	CauseUninitialized       Cause = "Uninitialized"
	CauseInstanceTerminating Cause = "InstanceTerminating"
)

// Charge is a node that consumes the budget, or is left out of the count.
type Charge struct {
	Node   string `json:"node"`
	Cause  Cause  `json:"cause"`
	Reason Reason `json:"reason,omitempty"` // of a disruption, if known
}

// Tally is the result of counting, by name.
type Tally struct {
	Total    int      `json:"total"`
	Charged  []Charge `json:"charged,omitempty"`  // nodes that consume the budget, by name
	Excluded []Charge `json:"excluded,omitempty"` // nodes that are not part of Total, by name
}

// Accounting says which nodes are charged to which reason. The zero value is
// Karpenter's: every node that goes or isn't ready is charged to every reason.
type Accounting struct {
	// Buckets decides whether the reasons share one count.
	Buckets Buckets
	// ExemptNotReady lists reasons to which nodes that are merely not ready are
	// not charged: with Empty in it, broken nodes don't keep empty ones alive.
	ExemptNotReady []Reason
}

// Buckets is how disruptions in progress are charged.
type Buckets int

const (
	// Shared: to every reason.
	Shared Buckets = iota
	// PerReason: to the reason they happen for, and to every reason if unknown.
	PerReason
)

// Count sorts out the nodes of a pool, each of which is counted and charged once at
// most. The order of the nodes plays no part.
func Count(nodes []Node) Tally {
	var t Tally
	for _, n := range nodes {
		if cause := n.excluded(); cause != "" {
			t.Excluded = append(t.Excluded, Charge{Node: n.Name, Cause: cause})
			continue
		}
		t.Total++
		if cause := n.charged(); cause == CauseNotReady {
			t.Charged = append(t.Charged, Charge{Node: n.Name, Cause: cause})
		} else if cause != "" {
			t.Charged = append(t.Charged, Charge{Node: n.Name, Cause: cause, Reason: n.Reason})
		}
	}
	byName := func(a, b Charge) int {
		if c := strings.Compare(a.Node, b.Node); c != 0 {
			return c
		}
		return strings.Compare(string(a.Cause)+string(a.Reason), string(b.Cause)+string(b.Reason))
	}
	slices.SortFunc(t.Charged, byName)
	slices.SortFunc(t.Excluded, byName)
	return t
}

func (n Node) excluded() Cause {
	switch {
	case n.Unmanaged:
		return CauseUnmanaged
	case n.Uninitialized:
		return CauseUninitialized
	case n.InstanceTerminating:
		return CauseInstanceTerminating
	}
	return ""
}

func (n Node) charged() Cause {
	switch {
	case n.Deleting:
		return CauseDeleting
	case n.InFlight:
		return CauseInFlight
	case n.NotReady:
		return CauseNotReady
	}
	return ""
}

// Usage is what the tally means for one reason.
func (t Tally) Usage(reason Reason, a Accounting) Usage {
	u := Usage{Total: t.Total}
	for _, c := range t.Charged {
		if a.charges(c, reason) {
			u.Consuming++
		}
	}
	return u
}

// charges reports whether a node that is charged counts against reason.
func (a Accounting) charges(c Charge, reason Reason) bool {
	if c.Cause == CauseNotReady {
		return !slices.Contains(a.ExemptNotReady, reason)
	}
	return a.Buckets == Shared || c.Reason == "" || c.Reason == reason
}
