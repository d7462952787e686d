package consolidation

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/scheduling"
	"github.com/node-disruption/disruption/termination"
)

// Cluster is the facts that decide which nodes may be disrupted and what that
// saves. It is read, never written, and must not change while a [Fleet] made
// from it is in use.
type Cluster struct {
	Now   time.Time
	Pools []Pool
	Nodes []Node
	// Limits are the compiled PodDisruptionBudgets; nil means that there are none.
	Limits *termination.Limits
}

// Pool is what consolidation needs to know of a node pool.
type Pool struct {
	Name string
	// Policy of consolidation; "" acts like [WhenEmptyOrUnderutilized].
	Policy Policy
	// BalancedK is the k of a [Balanced] pool, 1 to 10; 0 means [DefaultBalancedK].
	BalancedK float64
	// ConsolidateAfter is how long a node must have been quiet; nil means Never.
	ConsolidateAfter *time.Duration
	// Replicas of a static pool; nil for a dynamic one. Static pools are not
	// consolidated, and drift has a method of its own for them.
	Replicas *int
	// NodeLimit is the limit on the number of the pool's claims, nil for none. It
	// bounds how many static nodes are replaced at once.
	NodeLimit *int
	// Requirements of the claims that a static pool's new nodes are made from.
	Requirements scheduling.Requirements
	// InstanceTypes of the pool with their offerings. A pool without any has no
	// candidates.
	InstanceTypes []*scheduling.InstanceType
}

// Node is one machine: a Kubernetes node, the claim that asked for it, or both.
type Node struct {
	// Node is nil for a claim that no node has joined for yet.
	Node *corev1.Node
	// Claim is nil for a node that nobody's pool manages.
	Claim *Claim
	// Pods that are bound to the node, in the order in which costs are summed.
	Pods []*corev1.Pod
	// Nominated: the scheduler was promised this node for a pending pod.
	Nominated bool
	// InMove: a move that is under way already takes this node.
	InMove bool
	// Vetoes of the caller: with any, no method takes the node.
	Vetoes []Reason
	// Buffered: the node holds spare capacity on purpose, so it is never empty.
	Buffered bool
}

// name is the node's name, or else that of its claim.
func (n *Node) name() string {
	switch {
	case n.Node != nil:
		return n.Node.Name
	case n.Claim != nil:
		return n.Claim.Name
	}
	return ""
}

// Claim is what consolidation needs to know of a node claim.
type Claim struct {
	Name   string
	Labels map[string]string
	// Created and ExpireAfter (nil for Never) give the lifetime that remains.
	Created     time.Time
	ExpireAfter *time.Duration
	// TerminationGracePeriod of the claim, nil for none: with one, drift may take
	// the node although pods on it can't be evicted.
	TerminationGracePeriod *time.Duration
	// Deleting: the claim has a deletion timestamp or its condition
	// InstanceTerminating is True.
	Deleting bool
	// Consolidatable is the claim's condition of that name; whoever has none uses
	// the function [Consolidatable].
	Consolidatable bool
	// QuietAt is when the node will have been quiet for long enough, if that is
	// known: it becomes [Reason.Until] of a node that is not Consolidatable.
	QuietAt *time.Time
	// Drifted is since when the condition Drifted is True, nil if it isn't, and
	// DriftReason its reason.
	Drifted     *time.Time
	DriftReason string
}
