package scheduling

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// daemon is a DaemonSet, as the pod it would put on a node.
type daemon struct {
	demand podDemand
	need   []amount
	ports  []hostPort
}

// daemonGroup is the DaemonSets that fit some instance types of a template.
type daemonGroup struct {
	overhead vector
	ports    []hostPort
}

// collectDaemons models each DaemonSet by the newest pod it controls, with the
// template's required node affinity, or by the template if it has no pod.
// DaemonSets with resource claims are left out, unless such pods may be placed.
func (s *Snapshot) collectDaemons(c *Cluster) []*daemon {
	newest := newestDaemonPods(c)
	sets := slices.Clone(c.DaemonSets)
	slices.SortStableFunc(sets, func(a, b *appsv1.DaemonSet) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	var daemons []*daemon
	for _, set := range sets {
		pod := templatePod(set)
		if live := newest[set]; live != nil {
			pod = withRequiredAffinity(live, pod)
		}
		if len(pod.Spec.ResourceClaims) > 0 && !s.opts.AllowResourceClaims {
			continue
		}
		daemons = append(daemons, &daemon{
			demand: newPodDemand(pod, nil),
			need:   s.resources.needs(PodRequests(pod)).amounts(),
			ports:  hostPortsOf(pod),
		})
	}
	return daemons
}

func newestDaemonPods(c *Cluster) map[*appsv1.DaemonSet]*corev1.Pod {
	newest := map[*appsv1.DaemonSet]*corev1.Pod{}
	byUID := map[string]*appsv1.DaemonSet{}
	for _, set := range c.DaemonSets {
		byUID[string(set.UID)] = set
	}
	for _, pod := range c.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owner.Kind != "DaemonSet" {
			continue
		}
		set := byUID[string(owner.UID)]
		if set == nil || set.Namespace != pod.Namespace {
			continue
		}
		if best := newest[set]; best == nil || newerPod(pod, best) {
			newest[set] = pod
		}
	}
	return newest
}

// newerPod orders by creation; of two created together the first by name counts.
func newerPod(a, b *corev1.Pod) bool {
	if !a.CreationTimestamp.Time.Equal(b.CreationTimestamp.Time) {
		return a.CreationTimestamp.Time.After(b.CreationTimestamp.Time)
	}
	return a.Name < b.Name
}

// templatePod is the pod of the template; a limit without a request is one.
func templatePod(set *appsv1.DaemonSet) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			r := &containers[i].Resources
			for name, limit := range r.Limits {
				if _, ok := r.Requests[name]; !ok {
					if r.Requests == nil {
						r.Requests = corev1.ResourceList{}
					}
					r.Requests[name] = limit
				}
			}
		}
	}
	return pod
}

// withRequiredAffinity puts the required node affinity of the template back
// into a live pod, where the DaemonSet controller replaced it by one node.
func withRequiredAffinity(live, template *corev1.Pod) *corev1.Pod {
	pod := live.DeepCopy()
	var required *corev1.NodeSelector
	if a := template.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		required = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	return pod
}

// fitsTemplate reports whether the daemon would run on a new node of the type.
// It tries the required terms one after another, and drops those that failed
// for good, as Karpenter does: later types and existing nodes see only what is
// left. A toleration for PreferNoSchedule stays as well.
func (d *daemon) fitsTemplate(t *template, reqs Requirements, wellKnown []string) bool {
	if prefer := toleratePreferences(); !slices.Contains(d.demand.tolerations, prefer) {
		d.demand.tolerations = append(slices.Clip(d.demand.tolerations), prefer)
	}
	if _, untolerated := Untolerated(t.pool.Taints, d.demand.tolerations); untolerated {
		return false
	}
	for {
		want := d.demand.strict()
		if t.reqs.accepts(want, wellKnown) && reqs.Intersects(want) == nil {
			return true
		}
		if len(d.demand.required) < 2 {
			return false
		}
		d.demand.required = d.demand.required[1:]
	}
}

// daemonsOnHosts sums what daemons need on each node, whether they run there
// already or not; rows of the result are as wide as the resource table.
func (s *Snapshot) daemonsOnHosts(daemons []*daemon) []int64 {
	width := len(s.resources.names)
	sum := make([]int64, len(s.hosts.hosts)*width)
	for _, d := range daemons {
		on := s.hostsMeeting(d.demand.strict())
		s.keepTolerated(on, d.demand.tolerations)
		for host := range on.each {
			for _, a := range d.need {
				sum[host*width+int(a.resource)] += a.milli
			}
		}
	}
	return sum
}
