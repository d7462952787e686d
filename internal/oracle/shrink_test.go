package oracle_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/internal/oracle/random"
	"github.com/node-disruption/disruption/scheduling"
)

// tryFunc keeps a change if the disagreement survives it.
type tryFunc func(change func(*random.Question))

// shrink leaves out of a question whatever the disagreement does not need.
func shrink(q random.Question, disagree func(random.Question) bool) random.Question {
	for again := true; again; {
		again = false
		try := func(change func(*random.Question)) {
			smaller := q
			change(&smaller)
			if disagree(smaller) {
				q, again = smaller, true
			}
		}
		dropEach(&q, try, func(q *random.Question) *[]*corev1.Pod { return &q.Cluster.Pods })
		dropEach(&q, try, func(q *random.Question) *[]scheduling.Node { return &q.Cluster.Nodes })
		dropEach(&q, try, func(q *random.Question) *[]scheduling.Pool { return &q.Cluster.Pools })
		dropEach(&q, try, func(q *random.Question) *[]string { return &q.Request.Remove })
		if len(q.Cluster.DaemonSets) > 0 {
			try(func(q *random.Question) { q.Cluster.DaemonSets = nil })
		}
		if len(q.Cluster.CSINodes) > 0 {
			try(func(q *random.Question) { q.Cluster.CSINodes = nil })
		}
		if len(q.Cluster.PersistentVolumeClaims) > 0 {
			try(func(q *random.Question) { q.Cluster.PersistentVolumeClaims = nil })
		}
		if len(q.Options.DefaultSpread) > 0 {
			try(func(q *random.Question) { q.Options.DefaultSpread = nil })
		}
		shrinkPods(&q, try)
		shrinkPools(&q, try)
	}
	return q
}

func dropEach[T any](q *random.Question, try tryFunc, list func(*random.Question) *[]T) {
	for i := len(*list(q)) - 1; i >= 0; i-- {
		try(func(q *random.Question) {
			l := list(q)
			*l = slices.Delete(slices.Clone(*l), i, i+1)
		})
	}
}

func shrinkPods(q *random.Question, try tryFunc) {
	for i := range q.Cluster.Pods {
		pod := func(change func(*corev1.Pod)) {
			try(func(q *random.Question) {
				before := q.Cluster.Pods[i]
				after := before.DeepCopy()
				change(after)
				q.Cluster.Pods = slices.Clone(q.Cluster.Pods)
				q.Cluster.Pods[i] = after
			})
		}
		s := q.Cluster.Pods[i].Spec
		for j := len(s.TopologySpreadConstraints) - 1; j >= 0; j-- {
			pod(func(p *corev1.Pod) {
				p.Spec.TopologySpreadConstraints = slices.Delete(p.Spec.TopologySpreadConstraints, j, j+1)
			})
		}
		if a := s.Affinity; a != nil {
			if a.NodeAffinity != nil {
				pod(func(p *corev1.Pod) { p.Spec.Affinity.NodeAffinity = nil })
			}
			if a.PodAffinity != nil {
				pod(func(p *corev1.Pod) { p.Spec.Affinity.PodAffinity = nil })
			}
			if a.PodAntiAffinity != nil {
				pod(func(p *corev1.Pod) { p.Spec.Affinity.PodAntiAffinity = nil })
			}
		}
		if s.NodeSelector != nil {
			pod(func(p *corev1.Pod) { p.Spec.NodeSelector = nil })
		}
		if s.Volumes != nil {
			pod(func(p *corev1.Pod) { p.Spec.Volumes = nil })
		}
		if s.Tolerations != nil {
			pod(func(p *corev1.Pod) { p.Spec.Tolerations = nil })
		}
		if s.InitContainers != nil {
			pod(func(p *corev1.Pod) { p.Spec.InitContainers = nil })
		}
		if s.Containers[0].Ports != nil {
			pod(func(p *corev1.Pod) { p.Spec.Containers[0].Ports = nil })
		}
	}
}

func shrinkPools(q *random.Question, try tryFunc) {
	for i := range q.Cluster.Pools {
		pool := func(change func(*scheduling.Pool)) {
			try(func(q *random.Question) {
				q.Cluster.Pools = slices.Clone(q.Cluster.Pools)
				change(&q.Cluster.Pools[i])
			})
		}
		p := q.Cluster.Pools[i]
		for j := len(p.InstanceTypes) - 1; j >= 0; j-- {
			pool(func(p *scheduling.Pool) {
				p.InstanceTypes = slices.Delete(slices.Clone(p.InstanceTypes), j, j+1)
			})
		}
		for j := len(p.Requirements) - 1; j >= 0; j-- {
			pool(func(p *scheduling.Pool) {
				p.Requirements = slices.Delete(slices.Clone(p.Requirements), j, j+1)
			})
		}
		if p.Limits != nil {
			pool(func(p *scheduling.Pool) { p.Limits = nil })
		}
		if p.Taints != nil {
			pool(func(p *scheduling.Pool) { p.Taints = nil })
		}
	}
}
