package drift

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionDrifted is the type of the claim's condition.
const ConditionDrifted = "Drifted"

// Change says what to do with the Drifted condition of a claim.
type Change string

// The changes.
const (
	Keep  Change = ""
	Set   Change = "Set"
	Clear Change = "Clear"
)

// Condition returns what to do with a claim's Drifted condition, and the
// condition to set. Only [Replace] sets it; a node that matches, can be put right
// in place, or is not launched has it cleared; an unconfirmed answer keeps it.
// A changed reason keeps the time of transition, by which drifted nodes queue.
func (v Verdict) Condition(old *metav1.Condition, now time.Time) (Change, metav1.Condition) {
	drifted := old != nil && old.Status == metav1.ConditionTrue
	switch v.Outcome {
	case Replace:
		if drifted && old.Reason == string(v.Reason) {
			return Keep, metav1.Condition{}
		}
	case Confirm:
		return Keep, metav1.Condition{}
	default:
		if old == nil {
			return Keep, metav1.Condition{}
		}
		return Clear, metav1.Condition{}
	}
	set := metav1.Condition{
		Type:               ConditionDrifted,
		Status:             metav1.ConditionTrue,
		Reason:             string(v.Reason),
		Message:            v.Detail,
		LastTransitionTime: metav1.NewTime(now),
	}
	if drifted {
		set.LastTransitionTime = old.LastTransitionTime
	}
	return Set, set
}
