package oracle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/scheduling"
)

// existing is a node of the cluster that can take pods.
type existing struct {
	source      *scheduling.Node
	name        string
	labels      map[string]string
	taints      []corev1.Taint
	initialized bool
	capacity    corev1.ResourceList

	free        corev1.ResourceList
	ports       []hostPort
	attached    map[string]map[string]bool // claims by driver
	attachLimit map[string]int
	settling    bool
}

func (e *existing) requirements() scheduling.Requirements {
	q := scheduling.LabelRequirements(e.labels)
	if !q.Has(corev1.LabelHostname) {
		q = q.Add(scheduling.In(corev1.LabelHostname, e.name))
	}
	return q
}

func (e *existing) hostname() string { return e.requirements().Get(corev1.LabelHostname).Values()[0] }

func isDeleting(n *scheduling.Node) bool {
	switch {
	case n.InMove:
		return true
	case n.Claim != nil:
		return n.Claim.Deleting
	}
	return n.Node.DeletionTimestamp != nil
}

// isCalled reports whether the name means the node: its own, or its claim's
// until it is registered.
func (r *run) isCalled(n *scheduling.Node, name string) bool {
	return n.Node != nil && n.Node.Name == name || r.identity(n).name == name
}

func (r *run) isRemoved(n *scheduling.Node) bool {
	return slices.ContainsFunc(r.request.Remove, func(name string) bool { return r.isCalled(n, name) })
}

// inOrder sorts initialised nodes before others, then by name.
func inOrder(a, b *existing) int {
	if a.initialized != b.initialized {
		if a.initialized {
			return -1
		}
		return 1
	}
	return strings.Compare(a.name, b.name)
}

// prepareNodes lists the destinations in the order in which they are tried.
func (r *run) prepareNodes() {
	for i := range r.cluster.Nodes {
		if n := &r.cluster.Nodes[i]; !r.isRemoved(n) && !isDeleting(n) {
			r.nodes = append(r.nodes, r.existing(n))
		}
	}
	slices.SortFunc(r.nodes, inOrder)
	for _, e := range r.nodes {
		r.chargePool(e)
	}
}

func (r *run) existing(n *scheduling.Node) *existing {
	e := r.identity(n)
	allocatable := e.capacityOf(n, func(s *corev1.NodeStatus) corev1.ResourceList { return s.Allocatable },
		func(c *scheduling.Claim) corev1.ResourceList { return c.Allocatable })
	e.capacity = e.capacityOf(n, func(s *corev1.NodeStatus) corev1.ResourceList { return s.Capacity },
		func(c *scheduling.Claim) corev1.ResourceList { return c.Capacity })
	var used, usedByDaemons []corev1.ResourceList
	e.attached, e.attachLimit = map[string]map[string]bool{}, r.attachLimits(n.Node)
	for _, p := range r.podsOn(n) {
		used = append(used, scheduling.PodRequests(p))
		if ownedBy(p, "apps/v1", "DaemonSet") {
			usedByDaemons = append(usedByDaemons, scheduling.PodRequests(p))
		}
		e.ports = append(e.ports, hostPorts(p)...)
		e.attach(r.attachments(p))
	}
	toCome := notBelowZero(minus(r.daemonsOn(e), sum(usedByDaemons...)))
	e.free = minus(minus(allocatable, sum(used...)), toCome)
	e.settling = r.isSettling(e)
	return e
}

// podsOn returns the pods that use the node.
func (r *run) podsOn(n *scheduling.Node) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range r.sortedPods() {
		if n.Node != nil && p.Spec.NodeName == n.Node.Name && !terminal(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// identity tells name, labels, taints and state. Until a managed node is
// registered they are its claim's; until it is initialised, taints that vanish
// by themselves don't count.
func (r *run) identity(n *scheduling.Node) *existing {
	e := &existing{source: n, initialized: true}
	registered := n.Claim == nil || n.Node != nil && n.Node.Labels[r.keys.Registered] == "true"
	if n.Claim != nil {
		e.initialized = n.Node != nil && n.Node.Labels[r.keys.Initialized] == "true"
	}
	if registered {
		e.name, e.labels, e.taints = n.Node.Name, n.Node.Labels, n.Node.Spec.Taints
	} else {
		e.name, e.labels, e.taints = n.Claim.Name, n.Claim.Labels, n.Claim.Taints
	}
	if !e.initialized {
		e.taints = r.lasting(e.taints, n.Claim.StartupTaints)
	}
	return e
}

func (r *run) lasting(taints, startup []corev1.Taint) []corev1.Taint {
	var kept []corev1.Taint
	for _, t := range taints {
		isStartup := slices.ContainsFunc(startup, func(s corev1.Taint) bool { return s.Key == t.Key && s.Effect == t.Effect })
		if !isStartup && !scheduling.EphemeralTaint(t, r.keys) {
			kept = append(kept, t)
		}
	}
	return kept
}

// capacityOf reads the node's amounts; until it is initialised, those that are
// missing or zero are the claim's.
func (e *existing) capacityOf(n *scheduling.Node, ofNode func(*corev1.NodeStatus) corev1.ResourceList, ofClaim func(*scheduling.Claim) corev1.ResourceList) corev1.ResourceList {
	list := corev1.ResourceList{}
	if n.Node != nil {
		list = sum(ofNode(&n.Node.Status))
	}
	if e.initialized {
		return list
	}
	for name, q := range ofClaim(n.Claim) {
		if have := list[name]; have.IsZero() {
			list[name] = q
		}
	}
	return list
}

// isSettling reports whether the node's consolidateAfter has not elapsed.
func (r *run) isSettling(e *existing) bool {
	claim := e.source.Claim
	if claim == nil || claim.QuietSince.IsZero() {
		return false
	}
	for _, p := range r.pools {
		if p.Name == e.labels[r.keys.NodePool] && p.ConsolidateAfter != nil {
			return r.cluster.Now.Sub(claim.QuietSince) < *p.ConsolidateAfter
		}
	}
	return false
}

// mayUse leaves out settling destinations, but not for pods that are pending and
// not for those of deleting nodes.
func (r *run) mayUse(m *moving, e *existing) bool {
	if !r.request.SkipSettling || !e.settling || m.original.Status.Phase == corev1.PodPending {
		return true
	}
	return slices.ContainsFunc(r.cluster.Nodes, func(n scheduling.Node) bool {
		return n.Node != nil && n.Node.Name == m.original.Spec.NodeName && isDeleting(&n)
	})
}

// addToExisting puts the pod on the node if it fits.
func (r *run) addToExisting(m *moving, e *existing) bool {
	if _, blocked := scheduling.Untolerated(e.taints, m.pod.Spec.Tolerations); blocked {
		return false
	}
	attached := r.attachments(m.original)
	ports := hostPorts(m.pod)
	requests := scheduling.PodRequests(m.pod)
	if m.volumes.newNodesOnly || !e.canAttach(attached) || anyClash(ports, e.ports) || !holds(e.free, requests) {
		return false
	}
	node, pod := e.requirements(), podRequirements(m.pod)
	if node.Compatible(pod, nil) != nil || !r.topology.definedOn(m.pod, node) {
		return false
	}
	// What the pod excludes doesn't give the node a label: volumes ask for it.
	suitable := m.volumes.on(node, nil)
	narrowed, ok := r.narrow(m, suitable, node.And(pod), nil)
	if !ok {
		return false
	}
	m.node = e
	e.free = minus(e.free, requests)
	e.ports = append(e.ports, ports...)
	e.attach(attached)
	r.topology.record(m.pod, e.taints, node, narrowed)
	return true
}

// narrow applies one volume alternative and the topology to a node: the first
// alternative that works.
func (r *run) narrow(m *moving, alternatives []scheduling.Requirements, node scheduling.Requirements, allow []string) (scheduling.Requirements, bool) {
	for _, alternative := range alternatives {
		if node.Compatible(alternative, allow) != nil {
			continue
		}
		withVolumes := node.And(alternative)
		narrowed, ok := r.topology.narrow(m.pod, withVolumes)
		if ok && withVolumes.Compatible(narrowed, allow) == nil {
			return withVolumes.And(narrowed), true
		}
	}
	return scheduling.Requirements{}, false
}
