package oracle

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/scheduling"
)

// daemon is the pod that a DaemonSet would put on a node. A required node
// affinity term that was tried in vain on a template is gone for good.
type daemon struct {
	pod      *corev1.Pod
	requests corev1.ResourceList
	ports    []hostPort
}

func (r *run) prepareDaemons() {
	for _, set := range r.cluster.DaemonSets {
		pod := r.daemonPod(set)
		if len(pod.Spec.ResourceClaims) > 0 && !r.options.AllowResourceClaims {
			continue
		}
		r.daemons = append(r.daemons, &daemon{pod: pod, requests: scheduling.PodRequests(pod), ports: hostPorts(pod)})
	}
	slices.SortStableFunc(r.daemons, func(a, b *daemon) int { return comparePods(a.pod, b.pod) })
}

// daemonPod is the newest pod that the set controls, with the required node
// affinity of the set's template; without one, the template.
func (r *run) daemonPod(set *appsv1.DaemonSet) *corev1.Pod {
	template := templatePod(set)
	var newest *corev1.Pod
	for _, p := range r.sortedPods() {
		owner := metav1.GetControllerOf(p)
		if p.Namespace != set.Namespace || owner == nil || owner.UID != set.UID {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&p.CreationTimestamp) {
			newest = p
		}
	}
	if newest == nil {
		return template
	}
	pod := newest.DeepCopy()
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	if terms := requiredTerms(template); len(terms) > 0 {
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	pod.Name = set.Name
	return pod
}

// templatePod is the set's template as the API server would complete it: missing
// requests are the limits.
func templatePod(set *appsv1.DaemonSet) *corev1.Pod {
	t := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	pod.Namespace, pod.Name = set.Namespace, set.Name
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			resources := &list[i].Resources
			for name, limit := range resources.Limits {
				if _, ok := resources.Requests[name]; ok {
					continue
				}
				if resources.Requests == nil {
					resources.Requests = corev1.ResourceList{}
				}
				resources.Requests[name] = limit
			}
		}
	}
	return pod
}

// runsOn reports whether the daemon would run on a node of that template and
// type, dropping required terms that don't match.
func (d *daemon) runsOn(t *template, it *scheduling.InstanceType, allow []string) bool {
	if _, blocked := scheduling.Untolerated(hard(t.pool.Taints), d.pod.Spec.Tolerations); blocked {
		return false
	}
	for {
		q := strictRequirements(d.pod)
		if t.requirements.Compatible(q, allow) == nil && it.Requirements.Intersects(q) == nil {
			return true
		}
		if !dropRequiredTerm(d.pod) {
			return false
		}
	}
}

// hard leaves out PreferNoSchedule, which daemons always tolerate.
func hard(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
}

// daemonsOn sums what the daemons that should run on an existing node request.
// PreferNoSchedule is tolerated as soon as some template exists.
func (r *run) daemonsOn(e *existing) corev1.ResourceList {
	taints := e.taints
	if len(r.templates) > 0 {
		taints = hard(taints)
	}
	total := corev1.ResourceList{}
	for _, d := range r.daemons {
		if _, blocked := scheduling.Untolerated(taints, d.pod.Spec.Tolerations); blocked {
			continue
		}
		if e.requirements().Compatible(strictRequirements(d.pod), nil) == nil {
			total = sum(total, d.requests)
		}
	}
	return total
}

// daemonGroup is the types of a template on which the same daemons run.
type daemonGroup struct {
	types    []*scheduling.InstanceType
	overhead corev1.ResourceList
	ports    []hostPort
}

func (r *run) groupByDaemons(t *template) []*daemonGroup {
	var groups []*daemonGroup
	byNames := map[string]*daemonGroup{}
	for _, it := range t.types {
		var names []string
		g := &daemonGroup{overhead: corev1.ResourceList{}}
		for _, d := range r.daemons {
			if d.runsOn(t, it, r.allow) {
				names = append(names, d.pod.Namespace+"/"+d.pod.Name)
				g.overhead = sum(g.overhead, d.requests)
				g.ports = append(g.ports, d.ports...)
			}
		}
		id := strings.Join(names, " ")
		if byNames[id] == nil {
			byNames[id] = g
			groups = append(groups, g)
		}
		byNames[id].types = append(byNames[id].types, it)
	}
	return groups
}
