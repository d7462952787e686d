package scheduling

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// podDemand is what a pod asks of a node, as far as it has not been relaxed yet.
// Preferences count as demands until they are dropped.
type podDemand struct {
	selector    map[string]string
	required    []corev1.NodeSelectorTerm // alternatives: the first counts
	preferred   []corev1.PreferredSchedulingTerm
	affinity    []corev1.PodAffinityTerm
	anti        []corev1.PodAffinityTerm
	softNear    []corev1.WeightedPodAffinityTerm
	softApart   []corev1.WeightedPodAffinityTerm
	spreads     []corev1.TopologySpreadConstraint
	tolerations []corev1.Toleration
}

// newPodDemand reads the pod's spec; spreads are its own or the default ones.
func newPodDemand(pod *corev1.Pod, spreads []corev1.TopologySpreadConstraint) podDemand {
	d := podDemand{selector: pod.Spec.NodeSelector, spreads: spreads, tolerations: pod.Spec.Tolerations}
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return d
	}
	if n := affinity.NodeAffinity; n != nil {
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			d.required = n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		}
		d.preferred = heaviestFirst(n.PreferredDuringSchedulingIgnoredDuringExecution,
			func(t corev1.PreferredSchedulingTerm) int32 { return t.Weight })
	}
	if p := affinity.PodAffinity; p != nil {
		d.affinity = p.RequiredDuringSchedulingIgnoredDuringExecution
		d.softNear = heaviestFirst(p.PreferredDuringSchedulingIgnoredDuringExecution, termWeight)
	}
	if p := affinity.PodAntiAffinity; p != nil {
		d.anti = p.RequiredDuringSchedulingIgnoredDuringExecution
		d.softApart = heaviestFirst(p.PreferredDuringSchedulingIgnoredDuringExecution, termWeight)
	}
	return d
}

func termWeight(t corev1.WeightedPodAffinityTerm) int32 { return t.Weight }

func heaviestFirst[T any](terms []T, weight func(T) int32) []T {
	sorted := slices.Clone(terms)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(weight(b), weight(a)) })
	return sorted
}

// strict is what no relaxation can drop: the node selector and the first
// required term. It decides which topology domains the pod may be in.
func (d *podDemand) strict() Requirements {
	reqs := LabelRequirements(d.selector)
	if len(d.required) > 0 {
		reqs = reqs.And(ExpressionRequirements(d.required[0].MatchExpressions))
	}
	return reqs
}

// requirements adds the heaviest preferred node affinity to strict.
func (d *podDemand) requirements() Requirements {
	reqs := d.strict()
	if len(d.preferred) > 0 {
		reqs = reqs.And(ExpressionRequirements(d.preferred[0].Preference.MatchExpressions))
	}
	return reqs
}

// relax drops one demand, in Karpenter's order, and reports whether there was
// one to drop. The last step, a toleration for PreferNoSchedule, is taken only
// where some pool has such a taint.
func (d *podDemand) relax(preferNoSchedule bool) (dropped, bool) {
	switch {
	case len(d.required) > 1:
		return dropped{kind: RequiredTerm, labels: dropFirst(&d.required).MatchExpressions}, true
	case len(d.softNear) > 0:
		return droppedTerm(PreferredPodAffinity, dropFirst(&d.softNear)), true
	case len(d.softApart) > 0:
		return droppedTerm(PreferredPodAntiAffinity, dropFirst(&d.softApart)), true
	case len(d.preferred) > 0:
		term := dropFirst(&d.preferred)
		return dropped{kind: PreferredNodeAffinity, labels: term.Preference.MatchExpressions, weight: term.Weight}, true
	}
	if key, ok := d.dropSoftSpread(); ok {
		return dropped{kind: ScheduleAnyway, key: key}, true
	}
	if preferNoSchedule && !slices.Contains(d.tolerations, toleratePreferences()) {
		d.tolerations = append(slices.Clip(d.tolerations), toleratePreferences())
		return dropped{kind: AvoidedTaints}, true
	}
	return dropped{}, false
}

func dropFirst[T any](list *[]T) T {
	first := (*list)[0]
	*list = (*list)[1:]
	return first
}

// dropSoftSpread drops the first constraint that is not DoNotSchedule, and
// returns its topology key; the last constraint takes its place.
func (d *podDemand) dropSoftSpread() (key string, ok bool) {
	i := slices.IndexFunc(d.spreads, isSoft)
	if i < 0 {
		return "", false
	}
	key = d.spreads[i].TopologyKey
	last := len(d.spreads) - 1
	left := slices.Clone(d.spreads[:last])
	if i < last {
		left[i] = d.spreads[last]
	}
	d.spreads = left
	return key, true
}

func isSoft(c corev1.TopologySpreadConstraint) bool {
	return c.WhenUnsatisfiable == corev1.ScheduleAnyway
}

// dropPreferences leaves only what is required.
func (d *podDemand) dropPreferences() {
	d.softNear, d.softApart, d.preferred = nil, nil, nil
	d.spreads = slices.DeleteFunc(slices.Clone(d.spreads), isSoft)
}

func toleratePreferences() corev1.Toleration {
	return corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule}
}
