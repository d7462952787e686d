package repair

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Match is a condition of a node that a policy calls sick.
type Match struct {
	// Policy is an index into the policies, or -1 if the repair was requested.
	Policy int `json:"policy"`
	// Type, Status and Reason of the condition.
	Type   corev1.NodeConditionType `json:"type"`
	Status corev1.ConditionStatus   `json:"status"`
	Reason string                   `json:"reason,omitempty"`
	// Due is the instant from which on the node may be repaired: when the
	// condition began, plus the toleration.
	Due time.Time `json:"due"`
}

// DueAt reports whether the node may be repaired at now: from Due on.
func (m Match) DueAt(now time.Time) bool { return !now.Before(m.Due) }

// Evaluate reports whether a node is sick, and by which policy: the one whose
// toleration ends first, the first of them in order if several end together.
// Among policies that are due already, a higher priority comes first.
//
// It is total, and does what Karpenter v1.14 does on odd input: of several
// conditions of one type only the first is looked at; a policy with an empty
// status matches a node that lacks the condition (the match then has an empty
// type, and is due since the year 1); such a match with toleration 0 yields to
// any later one. [Options.Validate] rejects policies of this kind.
func Evaluate(node *corev1.Node, policies []Policy, now time.Time) (Match, bool) {
	return evaluate(node, policies, nil, now)
}

func evaluate(node *corev1.Node, policies []Policy, since sinceFunc, now time.Time) (best Match, sick bool) {
	for i := range policies {
		m, ok := matchPolicy(node, &policies[i], since)
		if !ok {
			continue
		}
		m.Policy = i
		if !sick || best.Due.IsZero() || before(&m, &best, policies, now) {
			best, sick = m, true
		}
	}
	return best, sick
}

type sinceFunc func(*corev1.Node, corev1.NodeCondition) time.Time

func matchPolicy(node *corev1.Node, p *Policy, since sinceFunc) (Match, bool) {
	c := condition(node, p.Type)
	if c.Status != p.Status || p.Reason != nil && !p.Reason.MatchString(c.Reason) {
		return Match{}, false
	}
	began := c.LastTransitionTime.Time
	if since != nil {
		began = since(node, c)
	}
	return Match{Type: c.Type, Status: c.Status, Reason: c.Reason, Due: began.Add(p.Toleration)}, true
}

// condition returns the node's first condition of a type, or an empty one.
func condition(node *corev1.Node, kind corev1.NodeConditionType) corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return node.Status.Conditions[i]
		}
	}
	return corev1.NodeCondition{}
}

// before orders two matches of one node.
func before(a, b *Match, policies []Policy, now time.Time) bool {
	dueA, dueB := a.DueAt(now), b.DueAt(now)
	if dueA && dueB {
		if pa, pb := policies[a.Policy].Priority, policies[b.Policy].Priority; pa != pb {
			return pa > pb
		}
	}
	return a.Due.Before(b.Due)
}
