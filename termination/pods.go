package termination

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
)

// stuckAfter is how long past its deletionTimestamp a pod may be before a drain
// no longer waits for it.
const stuckAfter = time.Minute

// IsTerminal reports whether the pod has run to its end: phase Failed or
// Succeeded.
func IsTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// IsTerminating reports whether the pod is being deleted.
func IsTerminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// IsActive reports whether the pod is neither terminal nor terminating.
func IsActive(pod *corev1.Pod) bool { return !IsTerminal(pod) && !IsTerminating(pod) }

// IsStuckTerminating reports whether the pod should be gone: now is more than
// one minute after its deletionTimestamp, at which its grace period ends. At
// exactly one minute it isn't stuck yet.
func IsStuckTerminating(pod *corev1.Pod, now time.Time) bool {
	return IsTerminating(pod) && now.Sub(pod.DeletionTimestamp.Time) > stuckAfter
}

// IsReschedulable reports whether the pod will need a place elsewhere once its
// node is gone: it is active, or it is a terminating pod of a StatefulSet (which
// comes back under the same name, even if it has failed); and it belongs neither
// to a DaemonSet nor to a Node.
func IsReschedulable(pod *corev1.Pod) bool {
	return (IsActive(pod) || IsTerminating(pod) && isOwnedBy(pod, "apps/v1", "StatefulSet")) && !IsDaemon(pod) && !IsMirror(pod)
}

// IsDaemon reports whether a DaemonSet of apps/v1 owns the pod.
func IsDaemon(pod *corev1.Pod) bool { return isOwnedBy(pod, "apps/v1", "DaemonSet") }

// IsMirror reports whether a Node owns the pod: it is the image of a static pod
// that only the kubelet can stop.
func IsMirror(pod *corev1.Pod) bool { return isOwnedBy(pod, "v1", "Node") }

// isOwnedBy compares apiVersion and kind exactly. Any owner counts, the
// controlling one or not.
func isOwnedBy(pod *corev1.Pod, apiVersion, kind string) bool {
	for i := range pod.OwnerReferences {
		if o := &pod.OwnerReferences[i]; o.Kind == kind && o.APIVersion == apiVersion {
			return true
		}
	}
	return false
}

// Rules answers what may be done with a pod, under the vocabulary of one domain.
// It never changes and may be shared. The methods don't allocate, except for a
// pod whose do-not-disrupt annotation holds a duration or a wrong value.
type Rules struct{ keys annotations.Keys }

// RulesFor returns the rules that read the annotations and taints of domain; ""
// means [annotations.DefaultDomain].
func RulesFor(domain string) *Rules { return &Rules{keys: annotations.For(domain)} }

// orDefault are the rules, or those of Karpenter's own domain for nil.
func (r *Rules) orDefault() *Rules {
	if r == nil {
		return RulesFor("")
	}
	return r
}

// DoNotDisrupt reports whether the pod's do-not-disrupt annotation protects it
// at now, whatever its phase.
func (r *Rules) DoNotDisrupt(pod *corev1.Pod, now time.Time) bool {
	_, ok := pod.Annotations[r.keys.DoNotDisrupt]
	return ok && r.keys.PodProtection(pod, now).Active()
}

// IsEvictable reports whether one may call the eviction API for the pod: it is
// active, it doesn't tolerate the disrupted taint, it isn't a mirror pod, and
// do-not-disrupt doesn't protect it. DaemonSet pods are evictable.
func (r *Rules) IsEvictable(pod *corev1.Pod, now time.Time) bool {
	return IsActive(pod) && !r.Tolerates(pod) && !IsMirror(pod) && !r.DoNotDisrupt(pod, now)
}

// IsDrainable reports whether a drain has to do with the pod: it doesn't
// tolerate the disrupted taint, it isn't stuck terminating, and it isn't a
// mirror pod. A pod protected by do-not-disrupt is drainable: the drain stalls
// on it. So is a terminal pod, whose volumes may still be attached.
func (r *Rules) IsDrainable(pod *corev1.Pod, now time.Time) bool {
	return !r.Tolerates(pod) && !IsStuckTerminating(pod, now) && !IsMirror(pod)
}

// IsWaitingEviction reports whether a drain waits for the pod to go: it is
// drainable and not terminal.
func (r *Rules) IsWaitingEviction(pod *corev1.Pod, now time.Time) bool {
	return !IsTerminal(pod) && r.IsDrainable(pod, now)
}

// IsDisruptable reports whether the pod permits its node to be disrupted: it
// isn't active, or do-not-disrupt doesn't protect it.
func (r *Rules) IsDisruptable(pod *corev1.Pod, now time.Time) bool {
	return !IsActive(pod) || !r.DoNotDisrupt(pod, now)
}

// Tolerates reports whether the pod tolerates the disrupted:NoSchedule taint,
// and so means to stay through a drain. An empty toleration key matches any key,
// whatever the operator; Gt and Lt never match, for the taint has no value.
func (r *Rules) Tolerates(pod *corev1.Pod) bool {
	for i := range pod.Spec.Tolerations {
		if r.toleratesTaint(&pod.Spec.Tolerations[i]) {
			return true
		}
	}
	return false
}

func (r *Rules) toleratesTaint(t *corev1.Toleration) bool {
	if t.Effect != "" && t.Effect != corev1.TaintEffectNoSchedule || t.Key != "" && t.Key != r.keys.DisruptedTaint {
		return false
	}
	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		return t.Value == ""
	case corev1.TolerationOpExists:
		return true
	}
	return false
}

// IsPastDeadline reports whether the pod, already terminating, would outlive the
// deadline of its node: its deletionTimestamp is after it. Such a pod is deleted
// again with the grace that is left.
func IsPastDeadline(pod *corev1.Pod, deadline *time.Time) bool {
	return deadline != nil && IsTerminating(pod) && pod.DeletionTimestamp.After(*deadline)
}
