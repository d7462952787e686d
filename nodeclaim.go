package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/scheduling"
)

// NodeClaim is the part of karpenter.sh/v1 NodeClaim that disruption reads. It
// decodes from what the API writes; unknown fields are ignored.
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   NodeClaimSpec   `json:"spec"`
	Status NodeClaimStatus `json:"status,omitzero"`
}

// NodeClaimSpec is what the pool asked for when it made the claim.
type NodeClaimSpec struct {
	Taints                 []corev1.Taint               `json:"taints,omitempty"`
	StartupTaints          []corev1.Taint               `json:"startupTaints,omitempty"`
	Requirements           []scheduling.RequirementSpec `json:"requirements,omitempty"`
	NodeClassRef           *drift.NodeClassReference    `json:"nodeClassRef,omitempty"`
	TerminationGracePeriod *metav1.Duration             `json:"terminationGracePeriod,omitempty"`
	ExpireAfter            drift.NillableDuration       `json:"expireAfter,omitzero"`
}

// NodeClaimStatus is what came of the claim.
type NodeClaimStatus struct {
	NodeName         string              `json:"nodeName,omitempty"`
	ProviderID       string              `json:"providerID,omitempty"`
	Capacity         corev1.ResourceList `json:"capacity,omitempty"`
	Allocatable      corev1.ResourceList `json:"allocatable,omitempty"`
	Conditions       []metav1.Condition  `json:"conditions,omitempty"`
	LastPodEventTime metav1.Time         `json:"lastPodEventTime,omitzero"`
}

// Condition types of node claims, as Karpenter v1.14 writes them.
const (
	conditionLaunched            = "Launched"
	conditionInitialized         = "Initialized"
	conditionConsolidatable      = "Consolidatable"
	conditionDrifted             = "Drifted"
	conditionInstanceTerminating = "InstanceTerminating"
	conditionReady               = "Ready"
)

// condition returns the condition of the given type, or nil.
func condition(conditions []metav1.Condition, kind string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// isTrue reports whether the condition of the given type is True.
func isTrue(conditions []metav1.Condition, kind string) bool {
	c := condition(conditions, kind)
	return c != nil && c.Status == metav1.ConditionTrue
}

// deleting reports whether Karpenter counts the claim as marked for deletion.
func (c *NodeClaim) deleting() bool {
	return !c.DeletionTimestamp.IsZero() || isTrue(c.Status.Conditions, conditionInstanceTerminating)
}

// quietSince is the time of the last pod event, or else of initialisation; zero
// while the claim is not initialised.
func (c *NodeClaim) quietSince() time.Time {
	initialized := condition(c.Status.Conditions, conditionInitialized)
	switch {
	case initialized == nil || initialized.Status != metav1.ConditionTrue:
		return time.Time{}
	case !c.Status.LastPodEventTime.IsZero():
		return c.Status.LastPodEventTime.Time
	}
	return initialized.LastTransitionTime.Time
}
