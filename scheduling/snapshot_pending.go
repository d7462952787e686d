package scheduling

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/node-disruption/disruption/annotations"
)

// placeable reports whether a pending pod takes part. Karpenter leaves one out
// of the whole simulation that no new node could ever suit: because of a label
// that it may not ask for, a malformed expression, or an unusable claim. Pods
// that run already are not checked.
func (s *Snapshot) placeable(pod *corev1.Pod) bool {
	if s.asksForNoPool(pod) || slices.ContainsFunc(s.requiredTerms(pod), func(t []corev1.NodeSelectorRequirement) bool { return !s.validTerm(t) }) {
		return false
	}
	return !usesMatchFields(pod) && s.claimsUsable(pod)
}

// asksForNoPool reports whether the pod, before it is relaxed, wants a node that no
// pool has made. Of several required terms the first counts.
func (s *Snapshot) asksForNoPool(pod *corev1.Pod) bool {
	demand := newPodDemand(pod, nil)
	if s.opts.Preferences == PreferencesIgnore {
		demand.dropPreferences()
	}
	reqs := demand.requirements()
	return reqs.Has(s.keys.NodePool) && reqs.Get(s.keys.NodePool).Operator() == corev1.NodeSelectorOpDoesNotExist
}

// requiredTerms are the node selector and every required node affinity term.
func (s *Snapshot) requiredTerms(pod *corev1.Pod) [][]corev1.NodeSelectorRequirement {
	var selector []corev1.NodeSelectorRequirement
	for key, value := range pod.Spec.NodeSelector {
		selector = append(selector, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
	}
	terms := [][]corev1.NodeSelectorRequirement{selector}
	for _, t := range requiredNodeTerms(pod) {
		terms = append(terms, t.MatchExpressions)
	}
	return terms
}

func requiredNodeTerms(pod *corev1.Pod) []corev1.NodeSelectorTerm {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

func usesMatchFields(pod *corev1.Pod) bool {
	return slices.ContainsFunc(requiredNodeTerms(pod), func(t corev1.NodeSelectorTerm) bool { return len(t.MatchFields) > 0 })
}

func (s *Snapshot) validTerm(term []corev1.NodeSelectorRequirement) bool {
	return !slices.ContainsFunc(term, func(e corev1.NodeSelectorRequirement) bool { return !s.validExpression(e) })
}

func (s *Snapshot) validExpression(e corev1.NodeSelectorRequirement) bool {
	key := annotations.NormalizeLabel(e.Key)
	if s.restricted(key) || len(validation.IsQualifiedName(key)) > 0 {
		return false
	}
	for _, v := range e.Values {
		if len(validation.IsValidLabelValue(v)) > 0 {
			return false
		}
	}
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		return len(e.Values) > 0 && (key != s.keys.CapacityType || slices.ContainsFunc(e.Values, isCapacityType))
	case corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		return true
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, OpGte, OpLte:
		return len(e.Values) == 1 && isNonNegative(e.Values[0])
	}
	return false
}

func isNonNegative(value string) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && n >= 0
}

func isCapacityType(value string) bool {
	return value == annotations.CapacityTypeSpot || value == annotations.CapacityTypeOnDemand || value == annotations.CapacityTypeReserved
}

// restricted reports whether pods may not ask for the label: the hostname, and
// all labels of our domain but the well-known ones.
func (s *Snapshot) restricted(key string) bool {
	if slices.Contains(s.wellKnown, key) {
		return false
	}
	if key == corev1.LabelHostname {
		return true
	}
	domain, _, qualified := strings.Cut(key, "/")
	return qualified && (domain == s.keys.Domain || strings.HasSuffix(domain, "."+s.keys.Domain))
}
