package repair

import (
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Policy says which node condition is a sickness, how long it is tolerated, and
// what is done about it then. A policy of type, status and toleration alone is
// one of Karpenter v1.14; the other fields go further.
type Policy struct {
	Type       corev1.NodeConditionType
	Status     corev1.ConditionStatus
	Toleration time.Duration

	// Reason, if set, must match the condition's reason.
	Reason *regexp.Regexp
	// Priority, 0 to 100, decides among the due policies of one node, and which
	// node goes first. At equal priority the longest overdue one does.
	Priority int
	// Ending says how a replaced node goes; the zero value is [Forceful].
	Ending Ending
	// GracePeriod is how long a node may drain if Ending is [Within].
	GracePeriod time.Duration
	// Ladder holds what to try, in order. Nil means to replace the node.
	Ladder []Step
}

// Ending is how a replaced node goes.
type Ending string

// The endings.
const (
	// Forceful sets the deadline of the node's drain to now, so that no pod, PDB
	// or do-not-disrupt holds it up. It is what Karpenter v1.14 does.
	Forceful Ending = ""
	// Graceful deletes the claim and leaves its own grace period as it is.
	Graceful Ending = "Graceful"
	// Within gives the drain Policy.GracePeriod, or less if an earlier deadline
	// stands already.
	Within Ending = "Within"
)

// Settings hold for the nodes of one pool.
type Settings struct {
	// Policies in order of preference among ties. None means that no node is sick.
	Policies []Policy
	// Breaker stops repair when too many nodes of the pool are sick.
	Breaker Breaker
	// MaxInFlight, unless 0, is how many nodes of the pool may be under repair at
	// once. A breaker that lets two sick nodes pass does not say that both should
	// go in the same minute.
	MaxInFlight int
	// Paused holds back every repair of the pool.
	Paused bool
}

// Options of a [Propose]. The zero value, but for Policies, is Karpenter v1.14.
type Options struct {
	// Settings of every pool that Pools doesn't name.
	Settings
	// Pools replaces the settings, as a whole, for the pools that it names.
	Pools map[string]Settings

	// Strict also counts, against the breaker, nodes that are leaving for any
	// other reason and those that this pass is about to take, so that repair and
	// a roll-out never add up to more than the breaker allows.
	Strict bool
	// MaxInFlightTotal, unless 0, is how many nodes of the whole fleet may be
	// under repair at once.
	MaxInFlightTotal int
	// Storm keeps a tripped breaker open for longer.
	Storm Storm
	// HealthyDelay is how long a node must have been healthy again before it
	// counts as healthy and its ladder begins anew. Negative means until the
	// caller takes it out of State.Nodes.
	HealthyDelay time.Duration
	// FailureDomain, if set, is a node label: breakers, storms and
	// MaxInFlight then count by pool and by the value of this label.
	FailureDomain string
	// VetoAnnotation, if set, is a node annotation that forbids repair while its
	// value is "true".
	VetoAnnotation string
	// Hold, if set, is asked before a node is touched. A reason other than ""
	// holds it back: somebody else has a lease on it, or a quorum needs it.
	Hold func(*Node) (reason string)
	// Since, if set, says when a condition began, in place of its
	// lastTransitionTime, so that one that flaps can be judged by its history.
	Since func(*corev1.Node, corev1.NodeCondition) time.Time
}

// Node is a node of the fleet and the claims that name it.
type Node struct {
	// Node is read for its name, labels, annotations and conditions.
	Node *corev1.Node
	// Pool is the value of the node's own pool label, "" if it has none. It tells
	// whose breaker the node counts in.
	Pool string
	// Claims that have this node. A node without a claim, or with two, counts
	// but is never repaired.
	Claims []Claim
	// Requested asks to repair the node whatever its conditions say, through the
	// same gates as any other.
	Requested bool
}

// Claim is what repair needs to know of a node claim.
type Claim struct {
	Name string
	// Pool is the value of the claim's pool label, "" for a claim of its own.
	Pool string
	// Deleting: the claim has a deletion timestamp.
	Deleting bool
	// Deadline is the claim's termination timestamp, nil if it has none.
	Deadline *time.Time
}

// settings returns what holds for a pool.
func (o *Options) settings(pool string) *Settings {
	if s, ok := o.Pools[pool]; ok && pool != "" {
		return &s
	}
	return &o.Settings
}
