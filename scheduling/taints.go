package scheduling

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
)

// Untolerated returns the first taint that no toleration covers, if there is
// one. Karpenter wants every taint tolerated, PreferNoSchedule as well.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) (corev1.Taint, bool) {
	for i := range taints {
		if !tolerated(&taints[i], tolerations) {
			return taints[i], true
		}
	}
	return corev1.Taint{}, false
}

func tolerated(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	for i := range tolerations {
		if Tolerates(&tolerations[i], taint) {
			return true
		}
	}
	return false
}

// Tolerates reports whether the toleration covers the taint. An empty effect
// covers all effects, an empty key all keys, whatever the operator. Gt and Lt
// compare the taint's value with the toleration's; both must be integers in
// their canonical form, so "05" matches nothing.
func Tolerates(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect {
		return false
	}
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	switch toleration.Operator {
	case "", corev1.TolerationOpEqual:
		return toleration.Value == taint.Value
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpGt, corev1.TolerationOpLt:
		have, ok := canonicalInteger(taint.Value)
		than, also := canonicalInteger(toleration.Value)
		return ok && also && have != than && (have > than) == (toleration.Operator == corev1.TolerationOpGt)
	}
	return false
}

func canonicalInteger(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

// The taints that vanish by themselves while a node starts.
const (
	cloudUninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	readinessTaintPrefix    = "readiness.k8s.io/"
)

// EphemeralTaint reports whether the taint is one of those that come and go
// while a node starts, and so don't count on a managed node that is not yet
// initialised: not-ready (NoSchedule and NoExecute), unreachable (NoSchedule
// only), the cloud provider's uninitialized, unregistered, and every key that
// begins with readiness.k8s.io/. Values don't matter.
func EphemeralTaint(taint corev1.Taint, keys annotations.Keys) bool {
	switch taint.Key {
	case corev1.TaintNodeNotReady:
		return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
	case corev1.TaintNodeUnreachable, cloudUninitializedTaint:
		return taint.Effect == corev1.TaintEffectNoSchedule
	case keys.UnregisteredTaint:
		return taint.Effect == corev1.TaintEffectNoExecute
	}
	return strings.HasPrefix(taint.Key, readinessTaintPrefix)
}
