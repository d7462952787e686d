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

// Types of the conditions that are read and written on a claim.
const (
	ConditionRegistered          = "Registered"
	ConditionDrained             = "Drained"
	ConditionVolumesDetached     = "VolumesDetached"
	ConditionInstanceTerminating = "InstanceTerminating"
)

// Reasons of those conditions. A condition that is True has its type as reason.
const (
	ReasonDraining           = "Draining"
	ReasonAwaitingDetachment = "AwaitingVolumeDetachment"
	ReasonGracePeriodElapsed = "TerminationGracePeriodElapsed"
)

// clone is a copy that shares nothing that either side changes.
func (c *Claim) clone() *Claim {
	d := *c
	c.ObjectMeta.DeepCopyInto(&d.ObjectMeta)
	d.Conditions = append([]metav1.Condition(nil), c.Conditions...)
	return &d
}

// deleted is a copy of the claim that is being deleted since now.
func (c *Claim) deleted(now time.Time) *Claim {
	d := c.clone()
	since := metav1.NewTime(now)
	d.DeletionTimestamp = &since
	return d
}

func (c *Claim) condition(kind string) *metav1.Condition {
	for i := range c.Conditions {
		if c.Conditions[i].Type == kind {
			return &c.Conditions[i]
		}
	}
	return nil
}

// setCondition writes a condition and reports whether that changed anything.
// The time of transition is that of the last change of status.
func (c *Claim) setCondition(kind string, status metav1.ConditionStatus, reason, message string, now time.Time) bool {
	if message == "" {
		message = kind
	}
	next := metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: c.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	old := c.condition(kind)
	if old == nil {
		c.Conditions = append(c.Conditions, next)
		return true
	}
	if old.Status == status {
		next.LastTransitionTime = old.LastTransitionTime
	}
	if *old == next {
		return false
	}
	*old = next
	return true
}
