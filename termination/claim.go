package termination

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Claim is what this package needs of a node claim.
type Claim struct {
	metav1.ObjectMeta
	// Pool that the claim belongs to; "" if to none.
	Pool string
	// ExpireAfter is how long the node may live; nil is for ever ("Never").
	ExpireAfter *time.Duration
	// TerminationGracePeriod is how long its end may take; nil is for ever.
	TerminationGracePeriod *time.Duration
	// ProviderID of the instance; "" until it is launched.
	ProviderID string
	// Conditions of status.
	Conditions []metav1.Condition
}

// clone is a copy that shares nothing with c.
func (c *Claim) clone() *Claim {
	d := *c
	c.ObjectMeta.DeepCopyInto(&d.ObjectMeta)
	d.Conditions = append([]metav1.Condition(nil), c.Conditions...)
	return &d
}

// Types of the conditions that are read and written on a claim.
const (
	ConditionRegistered          = "Registered"
	ConditionDrained             = "Drained"
	ConditionVolumesDetached     = "VolumesDetached"
	ConditionInstanceTerminating = "InstanceTerminating"
)

// Reasons of those conditions.
const (
	ReasonDraining           = "Draining"
	ReasonAwaitingDetachment = "AwaitingVolumeDetachment"
	ReasonGracePeriodElapsed = "TerminationGracePeriodElapsed"
)
