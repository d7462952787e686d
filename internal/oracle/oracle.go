package oracle

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// Simulator answers what-if questions about one cluster.
type Simulator struct {
	cluster scheduling.Cluster
	options scheduling.Options
	keys    annotations.Keys
}

// New returns a simulator. It does not change the cluster.
func New(cluster scheduling.Cluster, options scheduling.Options) *Simulator {
	s := &Simulator{cluster: cluster, options: options, keys: annotations.For(options.Domain)}
	s.cluster.Pods = slices.Clone(cluster.Pods)
	for i, p := range s.cluster.Pods {
		p = s.withDefaultSpread(p)
		if options.Preferences == scheduling.PreferencesIgnore {
			p = withoutPreferences(p)
		}
		s.cluster.Pods[i] = p
	}
	return s
}

// withDefaultSpread gives a pod without constraints the default ones.
func (s *Simulator) withDefaultSpread(p *corev1.Pod) *corev1.Pod {
	if len(p.Spec.TopologySpreadConstraints) > 0 || len(s.options.DefaultSpread) == 0 || s.options.SelectorOf == nil {
		return p
	}
	selector := s.options.SelectorOf(p)
	if selector == nil {
		return p
	}
	spread := p.DeepCopy()
	for _, c := range s.options.DefaultSpread {
		c.LabelSelector = selector
		spread.Spec.TopologySpreadConstraints = append(spread.Spec.TopologySpreadConstraints, c)
	}
	return spread
}

func withoutPreferences(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	if a := p.Spec.Affinity; a != nil {
		if a.NodeAffinity != nil {
			a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
		}
		if a.PodAffinity != nil {
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
		}
		if a.PodAntiAffinity != nil {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
		}
	}
	p.Spec.TopologySpreadConstraints = slices.DeleteFunc(p.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.ScheduleAnyway
	})
	return p
}

// Simulate answers one question, from scratch.
func (s *Simulator) Simulate(request scheduling.Request) scheduling.Result {
	pools := s.usablePools()
	if len(pools) == 0 {
		return scheduling.Result{NoPools: true}
	}
	r := &run{
		Simulator: s,
		request:   request,
		pools:     pools,
		allow:     s.options.AllowUndefined(),
		remaining: map[string]corev1.ResourceList{},
		reserved:  map[string]int{},
	}
	r.collectPods()
	r.prepareDaemons()
	r.prepareTemplates()
	r.prepareNodes()
	r.prepareTopology()
	r.solve()
	return r.result()
}

// usablePools returns the pools that may open nodes: heaviest first, equal
// weights by name, descending.
func (s *Simulator) usablePools() []*scheduling.Pool {
	var pools []*scheduling.Pool
	for i := range s.cluster.Pools {
		if p := &s.cluster.Pools[i]; !p.Static && !p.NotReady && !p.Deleting {
			pools = append(pools, p)
		}
	}
	slices.SortFunc(pools, func(a, b *scheduling.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	return pools
}

// run is the state of one simulation.
type run struct {
	*Simulator
	request scheduling.Request
	pools   []*scheduling.Pool
	allow   []string

	pods      []*moving // in the order in which they register their topology
	daemons   []*daemon
	templates []*template
	nodes     []*existing
	opened    []*opened
	truncated bool

	remaining map[string]corev1.ResourceList // what is left of each pool's limits
	reserved  map[string]int                 // what is left of each reservation
	topology  topology
}

// moving is a pod that must find a place.
type moving struct {
	original *corev1.Pod
	pod      *corev1.Pod // a copy, relaxed as far as need be
	origin   scheduling.Origin
	volumes  volumes

	node   *existing
	opened *opened
}

// solve tries pod after pod. One that fails goes to the back of the queue, until
// a whole turn makes no progress.
func (r *run) solve() {
	queue := slices.Clone(r.pods)
	slices.SortStableFunc(queue, byAppetite)
	lengthWhenPushed := map[*moving]int{}
	for len(queue) > 0 {
		m := queue[0]
		if n, ok := lengthWhenPushed[m]; ok && n == len(queue) {
			return
		}
		queue = queue[1:]
		if r.try(m) {
			if r.request.MaxNewNodes > 0 && len(r.opened) > r.request.MaxNewNodes {
				r.truncated = true
				return
			}
			continue
		}
		if !r.refused(m) {
			r.topology.register(m.original)
		}
		queue = append(queue, m)
		lengthWhenPushed[m] = len(queue)
	}
}

// byAppetite orders pods by cpu and memory, descending, then by age and UID.
func byAppetite(a, b *moving) int {
	ra, rb := scheduling.PodRequests(a.original), scheduling.PodRequests(b.original)
	ca, cb := ra[corev1.ResourceCPU], rb[corev1.ResourceCPU]
	ma, mb := ra[corev1.ResourceMemory], rb[corev1.ResourceMemory]
	return cmp.Or(cb.Cmp(ca), mb.Cmp(ma),
		a.original.CreationTimestamp.Compare(b.original.CreationTimestamp.Time),
		strings.Compare(string(a.original.UID), string(b.original.UID)))
}

// try places the pod, giving up one preference after another.
func (r *run) try(m *moving) bool {
	m.pod = m.original.DeepCopy()
	if r.refused(m) {
		return false
	}
	for {
		placed, final := r.place(m)
		if placed {
			return true
		}
		if final || !r.relax(m.pod) {
			return false
		}
		r.topology.register(m.pod)
	}
}

// refused reports whether the pod isn't even tried.
func (r *run) refused(m *moving) bool {
	return len(m.original.Spec.ResourceClaims) > 0 && !r.options.AllowResourceClaims ||
		m.volumes.unreadable && r.options.RefuseUnknownVolumes
}

// place tries the existing nodes, then those opened already, then a new one.
// Final says that relaxing the pod must not be tried.
func (r *run) place(m *moving) (placed, final bool) {
	for _, n := range r.nodes {
		if r.mayUse(m, n) && r.addToExisting(m, n) {
			return true, false
		}
	}
	slices.SortStableFunc(r.opened, func(a, b *opened) int { return cmp.Compare(len(a.pods), len(b.pods)) })
	for _, o := range r.opened {
		if r.addToOpened(m, o, false) == fits {
			return true, false
		}
	}
	for _, t := range r.templates {
		switch r.open(m, t) {
		case fits:
			return true, false
		case fitsLaterAtBest:
			return false, true
		}
	}
	return false, false
}

func (r *run) result() scheduling.Result {
	placed := slices.DeleteFunc(slices.Clone(r.pods), func(m *moving) bool { return r.truncated && m.node == nil && m.opened == nil })
	slices.SortFunc(placed, func(a, b *moving) int { return comparePods(a.original, b.original) })
	result := scheduling.Result{Truncated: r.truncated}
	index := map[*moving]int{}
	for i, m := range placed {
		index[m] = i
		p := scheduling.Placement{Pod: m.original, Origin: m.origin, NewNode: -1}
		switch {
		case m.node != nil:
			p.Node, p.Uninitialized = m.node.name, !m.node.initialized
		case m.opened != nil:
			p.NewNode = slices.Index(r.opened, m.opened)
		}
		result.Placements = append(result.Placements, p)
	}
	for _, o := range r.opened {
		n := r.finalize(o)
		for _, m := range o.pods {
			n.Pods = append(n.Pods, index[m])
		}
		result.NewNodes = append(result.NewNodes, n)
	}
	return result
}
