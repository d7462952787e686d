package consolidation

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
)

// EvictionCost is how much it costs to evict one pod: 1 for a plain pod, more
// for one that its owner or its priority makes dear, at most 10 and at least
// -10. The rule is Karpenter v1.14's:
//
//	clamp(1 + podDeletionCost/2^27 + priority/2^25, -10, 10)
//
// An annotation that is not a float64 counts as absent; "NaN" is a float64, and
// makes the cost NaN.
func EvictionCost(pod *corev1.Pod) float64 {
	deletion, _ := annotations.DeletionCost(pod) // unreadable is 0
	cost := 1 + deletion/(1<<27)
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / (1 << 25)
	}
	return clamp(cost, -10, 10)
}

// ReschedulingCost is the sum of the pods' eviction costs. It may be negative.
func ReschedulingCost(pods []*corev1.Pod) float64 {
	sum := 0.0
	for _, pod := range pods {
		sum += EvictionCost(pod)
	}
	return sum
}

// RescheduleDisruptionCost is 1 + the positive eviction costs of the pods, in
// their order. The caller hands in the reschedulable pods of a node only. A node
// where it is at most 1 counts as empty.
func RescheduleDisruptionCost(pods []*corev1.Pod) float64 {
	sum := 1.0
	for _, pod := range pods {
		sum += math.Max(0, EvictionCost(pod))
	}
	return sum
}

// LifetimeRemaining is the share of its life that a node has left at now,
// between 0 and 1: 1 for a node that never expires (expireAfter nil) or that is
// created in the future. With an expireAfter of zero it is 0, or NaN in the
// instant of the creation itself.
func LifetimeRemaining(created time.Time, expireAfter *time.Duration, now time.Time) float64 {
	if expireAfter == nil {
		return 1
	}
	life, age := expireAfter.Seconds(), now.Sub(created).Seconds()
	return clamp((life-age)/life, 0, 1)
}

// DisruptionCost is the older measure of a node's cost: the rescheduling cost of
// all its pods, DaemonSets' too, times the lifetime it has left. Karpenter v1.14
// computes it but orders by [SavingsRatio].
func DisruptionCost(pods []*corev1.Pod, lifetimeRemaining float64) float64 {
	return ReschedulingCost(pods) * lifetimeRemaining
}

// SavingsRatio is what a node's removal saves at best for a unit of disruption:
// its price divided by its reschedule disruption cost.
func SavingsRatio(price, rescheduleDisruptionCost float64) float64 {
	return price / rescheduleDisruptionCost
}

// clamp bounds v, and leaves NaN as it is.
func clamp(v, low, high float64) float64 {
	switch {
	case v < low:
		return low
	case v > high:
		return high
	}
	return v
}
