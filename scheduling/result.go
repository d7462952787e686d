package scheduling

import (
	corev1 "k8s.io/api/core/v1"
)

// Request is one what-if question.
type Request struct {
	// Remove names the nodes that would be gone. Their order matters only where
	// Karpenter pools topology constraints by whoever registers first.
	Remove []string
	// SkipSettling leaves out destinations whose consolidateAfter has not
	// elapsed, but for pending pods and pods of nodes being deleted. Karpenter
	// sets it for consolidation, not for drift.
	SkipSettling bool
	// StrictReserved fails a pod rather than fall back from reserved capacity.
	// Disruption never sets it.
	StrictReserved bool
	// MaxNewNodes ends the simulation early, with Result.Truncated, as soon as
	// more nodes than this are opened; 0 means no bound.
	MaxNewNodes int
	// Explain asks for [Placement.Reason] of each unschedulable pod, and for
	// [Placement.Preferences].
	Explain bool
}

// Result says where the pods went. It belongs to the caller.
type Result struct {
	// Placements holds every pod that had to be placed, by namespace and name.
	Placements []Placement `json:"placements"`
	// NewNodes are the nodes that would have to be launched, in Karpenter's
	// final order (fewest pods first at the last sort).
	NewNodes []NewNode `json:"newNodes,omitempty"`
	// NoPools: no pool can open a node, which Karpenter reports as an error
	// without placing anything.
	NoPools bool `json:"noPools,omitempty"`
	// Truncated: the simulation ended early because of Request.MaxNewNodes;
	// pods not reached yet are missing from Placements.
	Truncated bool `json:"truncated,omitempty"`
}

// Origin says why a pod had to be placed. As text it is Removed, Deleting or
// Pending.
type Origin uint8

// The origins of a pod.
const (
	FromRemoved  Origin = iota // it runs on a node of Request.Remove
	FromDeleting               // it runs on a node that is being deleted
	FromPending                // the scheduler found no node for it
)

// Placement is where one pod went: to an existing node, to a new one, or nowhere.
// As JSON it names the pod by namespace and name.
type Placement struct {
	Pod    *corev1.Pod
	Origin Origin
	// Node is the existing node that took the pod, "" if none did.
	Node string
	// NewNode is an index into Result.NewNodes, or -1.
	NewNode int
	// Uninitialized: Node took the pod but is not initialised yet. That counts
	// as a failure, unless the pod is FromDeleting.
	Uninitialized bool
	// VolumesUnknown: a claim, volume or class that the pod needs isn't there. Its
	// place says nothing of whether it could start, or its topology held.
	VolumesUnknown bool
	// Reason is nil for a placed pod, and unless Request.Explain was set.
	Reason *Unschedulable
	// Preferences of the pod, in the order in which they are given up, and which
	// of them it gave up; nil unless Request.Explain was set.
	Preferences []Preference
}

// Placed reports whether the pod has a place that counts.
func (p *Placement) Placed() bool {
	return (p.Node != "" || p.NewNode >= 0) && !(p.Uninitialized && p.Origin != FromDeleting)
}

// AllRunningPlaced reports whether every pod that runs today has a place;
// pending pods may fail.
func (r *Result) AllRunningPlaced() bool {
	if r.NoPools || r.Truncated {
		return false
	}
	for i := range r.Placements {
		if p := &r.Placements[i]; p.Origin != FromPending && !p.Placed() {
			return false
		}
	}
	return true
}

// NewNode is a node that would be launched. As JSON it names its instance types.
type NewNode struct {
	Pool string
	// Requirements of the node claim, without registered, initialized and
	// hostname.
	Requirements Requirements
	// InstanceTypes that would do, by the price of their cheapest available
	// compatible offering, ties by name. The last Unpriced of them have none
	// under the final requirements; they stand in name order.
	InstanceTypes []*InstanceType
	Unpriced      int
	// Requests is the sum of the pods' requests and the least daemon overhead.
	Requests corev1.ResourceList
	// Pods are indexes into Result.Placements.
	Pods []int
	// MinValuesRelaxed: best effort lowered a requirement's minValues.
	MinValuesRelaxed bool
}
