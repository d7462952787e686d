package termination

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
)

// ClaimState is all that decides the next step of a claim's end.
type ClaimState struct {
	Claim *Claim
	// Nodes that belong to the claim.
	Nodes []*corev1.Node
	// Instance is the answer to the step before, if it asked the cloud.
	Instance InstanceState
	// Domain of the vocabulary; "" is karpenter.sh.
	Domain string
}

// NextClaim reports the next step from a deleted claim to none, after Karpenter
// v1.14.
//
// In order: the deadline (deletion + terminationGracePeriod) is written down,
// unless there is one, which may be that of a repair; a registered claim has its
// nodes deleted and waits till they are gone, each by its own steps; one that
// has never registered skips that, and its node isn't drained; the instance is
// deleted until the cloud doesn't find it, if it was ever launched; the finalizer
// goes.
func NextClaim(s ClaimState, now time.Time) Step {
	keys := annotations.For(s.Domain)
	if s.Claim == nil || s.Claim.DeletionTimestamp == nil || !slices.Contains(s.Claim.Finalizers, keys.TerminationFinalizer) {
		return Step{Stage: StageNone}
	}
	c := &claimStep{ClaimState: s, keys: keys, now: now, next: s.Claim.clone()}
	c.writeDeadline()
	if c.deleteNodes() && c.terminate() {
		c.next.Finalizers = without(c.next.Finalizers, keys.TerminationFinalizer)
		c.changed = true
		c.step.Stage = StageDone
	}
	if c.changed {
		c.step.Actions = append(c.step.Actions, Action{Kind: PatchClaim, Claim: c.next})
	}
	c.step.Actions = append(c.step.Actions, c.rest...)
	return c.step
}

// claimStep builds a Step.
type claimStep struct {
	ClaimState
	keys    annotations.Keys
	now     time.Time
	next    *Claim
	changed bool
	rest    []Action // after the claim is written
	step    Step
}

func (c *claimStep) writeDeadline() {
	key := c.keys.NodeClaimTerminationTimestamp
	if _, ok := c.Claim.Annotations[key]; ok || c.Claim.TerminationGracePeriod == nil {
		return
	}
	deadline := c.Claim.DeletionTimestamp.Add(*c.Claim.TerminationGracePeriod)
	c.next.Annotations = maps.Clone(c.Claim.Annotations)
	if c.next.Annotations == nil {
		c.next.Annotations = map[string]string{}
	}
	c.next.Annotations[key] = annotations.FormatDeadline(deadline)
	c.changed = true
}

// deleteNodes reports whether the claim has no nodes left that matter.
func (c *claimStep) deleteNodes() bool {
	registered := c.Claim.condition(ConditionRegistered)
	if registered == nil || registered.Status != metav1.ConditionTrue || len(c.Nodes) == 0 {
		return true
	}
	for _, node := range c.Nodes {
		if node.DeletionTimestamp == nil {
			c.rest = append(c.rest, Action{Kind: DeleteNode, Node: node})
		}
	}
	c.step.Stage, c.step.RequeueAfter = StageNodes, drainPoll
	return false
}

// terminate reports whether the instance is gone, or was never there.
func (c *claimStep) terminate() bool {
	if c.Claim.ProviderID == "" {
		return true
	}
	c.changed = c.next.setCondition(ConditionInstanceTerminating, metav1.ConditionTrue, ConditionInstanceTerminating, "", c.now) || c.changed
	if c.Instance == InstanceGone {
		return true
	}
	c.rest = append(c.rest, Action{Kind: DeleteInstance, ProviderID: c.Claim.ProviderID})
	c.step.Stage, c.step.RequeueAfter = StageInstance, instancePoll
	return false
}
