package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// relax gives up one preference of the pod, in a fixed order, and reports
// whether there was any left.
func (r *run) relax(p *corev1.Pod) bool {
	return dropRequiredTerm(p) || dropPodPreference(p) || dropPodAversion(p) || dropNodePreference(p) || dropSoftSpread(p) ||
		r.toleratePreferNoSchedule(p)
}

func dropRequiredTerm(p *corev1.Pod) bool {
	terms := requiredTerms(p)
	if len(terms) < 2 {
		return false
	}
	p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = terms[1:]
	return true
}

func dropPodPreference(p *corev1.Pod) bool {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAffinity == nil {
		return false
	}
	return dropHeaviest(&p.Spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
}

func dropPodAversion(p *corev1.Pod) bool {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	return dropHeaviest(&p.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
}

func dropHeaviest(terms *[]corev1.WeightedPodAffinityTerm) bool {
	i := heaviest(len(*terms), func(i int) int32 { return (*terms)[i].Weight })
	if i < 0 {
		return false
	}
	*terms = slices.Delete(*terms, i, i+1)
	return true
}

func dropNodePreference(p *corev1.Pod) bool {
	i := heaviestNodePreference(p)
	if i < 0 {
		return false
	}
	terms := &p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*terms = slices.Delete(*terms, i, i+1)
	return true
}

// dropSoftSpread removes the first soft constraint; the last one takes its place.
func dropSoftSpread(p *corev1.Pod) bool {
	spread := p.Spec.TopologySpreadConstraints
	for i := range spread {
		if spread[i].WhenUnsatisfiable == corev1.ScheduleAnyway {
			spread[i] = spread[len(spread)-1]
			p.Spec.TopologySpreadConstraints = spread[:len(spread)-1]
			return true
		}
	}
	return false
}

func (r *run) toleratePreferNoSchedule(p *corev1.Pod) bool {
	if !r.anyPreferNoSchedule() {
		return false
	}
	all := corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule}
	if slices.Contains(p.Spec.Tolerations, all) {
		return false
	}
	p.Spec.Tolerations = append(p.Spec.Tolerations, all)
	return true
}

func (r *run) anyPreferNoSchedule() bool {
	for _, pool := range r.pools {
		for _, taint := range pool.Taints {
			if taint.Effect == corev1.TaintEffectPreferNoSchedule {
				return true
			}
		}
	}
	return false
}
