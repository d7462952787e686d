package annotations

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DeletionCost reads controller.kubernetes.io/pod-deletion-cost of a pod.
//
// It is read as a 64-bit float, as Karpenter does, though the API server's own
// use of the annotation takes an int32: "1.5", "1e9", "+7", "Inf" and "NaN" are
// all values. A missing annotation costs 0. A value that can't be read costs 0
// too, and the error says so; it is a finding, never a reason to stop.
func DeletionCost(pod *corev1.Pod) (float64, *field.Error) {
	value, ok := pod.Annotations[PodDeletionCost]
	if !ok {
		return 0, nil
	}
	cost, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0, field.Invalid(annotationPath(PodDeletionCost), value, "not a number, counted as 0")
	}
	return cost, nil
}

// TerminationDeadline reads the instant at which the grace period of a node
// claim that is being deleted ends. The second result is false when the claim
// has none. A timestamp that isn't RFC3339 is an error, and whoever decides on
// evictions must stop there: neither "no deadline" nor "past it" is safe.
func (k Keys) TerminationDeadline(claim metav1.Object) (time.Time, bool, *field.Error) {
	value, ok := claim.GetAnnotations()[k.NodeClaimTerminationTimestamp]
	if !ok {
		return time.Time{}, false, nil
	}
	deadline, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Time{}, false, field.Invalid(annotationPath(k.NodeClaimTerminationTimestamp), value, "not an RFC3339 timestamp")
	}
	return deadline, true, nil
}

// FormatDeadline is the value that [Keys.TerminationDeadline] reads back: RFC3339, whole
// seconds, in the zone of deadline, as Karpenter writes it.
func FormatDeadline(deadline time.Time) string { return deadline.Format(time.RFC3339) }

// NodeClassLabel is the label that names a node's class: "<group>/<kind in
// lower case>".
func NodeClassLabel(group, kind string) string { return group + "/" + strings.ToLower(kind) }
