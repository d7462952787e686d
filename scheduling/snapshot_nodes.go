package scheduling

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/annotations"
)

// hostView is one node as a simulation sees it.
type hostView struct {
	source *Node
	// name is how placements call it: the Kubernetes node's name once that is
	// registered, before that the claim's.
	name string
	// kube is the name that pods are bound to, "" for a claim without a node.
	kube     string
	labels   map[string]string
	taints   []corev1.Taint
	taintSet int32
	pool     string

	managed, initialized bool
	deleting             bool // marked for deletion: no destination
	settling             bool // consolidateAfter has not elapsed

	pods span // its rows in Snapshot.pods
}

// span is a half-open range of rows.
type span struct{ from, to int32 }

// hostTable holds all nodes: first the destinations, in scheduling order, then
// those being deleted.
type hostTable struct {
	hosts []hostView
	// dests is the number of destinations.
	dests  int
	byKube map[string]int32
	byName map[string]int32
	// taintSets are the distinct sets of taints; hostView.taintSet counts here.
	taintSets [][]corev1.Taint
	// quiet has the destinations that are not settling.
	quiet bitset
}

func listHosts(c *Cluster, keys annotations.Keys, pools map[string]*Pool) (hostTable, field.ErrorList) {
	t := hostTable{hosts: make([]hostView, 0, len(c.Nodes))}
	var errs field.ErrorList
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Node == nil && n.Claim == nil {
			errs = append(errs, field.Required(field.NewPath("nodes").Index(i), "a node, a claim or both"))
			continue
		}
		if nodeName(n) == "" {
			errs = append(errs, field.Required(field.NewPath("nodes").Index(i).Child("name"), "pods are bound to nodes by name"))
			continue
		}
		h := viewOf(n, keys)
		h.settling = isSettling(c, n, pools[h.pool])
		t.hosts = append(t.hosts, h)
	}
	slices.SortStableFunc(t.hosts, schedulingOrder)
	errs = append(errs, t.index(c)...)
	t.internTaints()
	return t, errs
}

// schedulingOrder: destinations before nodes being deleted, initialised ones
// before others, then by name.
func schedulingOrder(a, b hostView) int {
	return cmp.Or(
		compareBool(a.deleting, b.deleting),
		compareBool(b.initialized, a.initialized),
		strings.Compare(a.name, b.name),
	)
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// index fills the look-ups by name and refuses two nodes of one name.
func (t *hostTable) index(c *Cluster) field.ErrorList {
	t.byKube = make(map[string]int32, len(t.hosts))
	t.byName = make(map[string]int32, len(t.hosts))
	t.quiet = newBitset(len(t.hosts))
	var errs field.ErrorList
	for i := range t.hosts {
		h := &t.hosts[i]
		if _, twice := t.byName[h.name]; twice {
			errs = append(errs, field.Duplicate(field.NewPath("nodes"), h.name))
		}
		t.byName[h.name] = int32(i)
		if h.kube != "" {
			if _, twice := t.byKube[h.kube]; twice && h.kube != h.name {
				errs = append(errs, field.Duplicate(field.NewPath("nodes"), h.kube))
			}
			t.byKube[h.kube] = int32(i)
		}
		if !h.deleting {
			t.dests = i + 1
			if !h.settling {
				t.quiet.set(i)
			}
		}
	}
	return errs
}

// find looks a node up by the name of the Kubernetes node or of its claim.
func (t *hostTable) find(name string) (int, bool) {
	if i, ok := t.byKube[name]; ok {
		return int(i), true
	}
	i, ok := t.byName[name]
	return int(i), ok
}

func (t *hostTable) internTaints() {
	known := map[string]int32{}
	var key []byte
	for i := range t.hosts {
		h := &t.hosts[i]
		key = key[:0]
		for _, taint := range h.taints {
			key = appendParts(key, taint.Key, taint.Value, string(taint.Effect))
		}
		id, ok := known[string(key)]
		if !ok {
			id = int32(len(t.taintSets))
			known[string(key)] = id
			t.taintSets = append(t.taintSets, h.taints)
		}
		h.taintSet = id
	}
}

// viewOf applies the rules on who counts as what: until a managed node is
// registered it is what its claim says, and until it is initialised its
// startup taints and the taints of a booting node don't count.
func viewOf(n *Node, keys annotations.Keys) hostView {
	h := hostView{source: n, managed: n.Claim != nil, initialized: true}
	registered := true
	if h.managed {
		registered = n.Node != nil && n.Node.Labels[keys.Registered] == "true"
		h.initialized = n.Node != nil && n.Node.Labels[keys.Initialized] == "true"
	}
	if n.Node != nil {
		h.kube = n.Node.Name
	}
	if registered {
		h.name, h.labels, h.taints = n.Node.Name, n.Node.Labels, n.Node.Spec.Taints
	} else {
		h.name, h.labels, h.taints = n.Claim.Name, n.Claim.Labels, n.Claim.Taints
	}
	if h.managed && !h.initialized {
		h.taints = lastingTaints(h.taints, n.Claim.StartupTaints, keys)
	}
	h.pool = h.labels[keys.NodePool]
	h.deleting = n.InMove || n.Claim != nil && n.Claim.Deleting ||
		n.Claim == nil && n.Node.DeletionTimestamp != nil
	return h
}

// lastingTaints leaves out the startup taints and those of a booting node.
func lastingTaints(taints, startup []corev1.Taint, keys annotations.Keys) []corev1.Taint {
	var lasting []corev1.Taint
	for _, t := range taints {
		same := func(s corev1.Taint) bool { return s.Key == t.Key && s.Effect == t.Effect }
		if !EphemeralTaint(t, keys) && !slices.ContainsFunc(startup, same) {
			lasting = append(lasting, t)
		}
	}
	return lasting
}

// isSettling reports whether the node's consolidateAfter has not elapsed. Only
// pools that can open nodes are asked: nodes of others never settle.
func isSettling(c *Cluster, n *Node, pool *Pool) bool {
	if n.Claim == nil || n.Claim.QuietSince.IsZero() || pool == nil || !pool.opens() {
		return false
	}
	after := pool.ConsolidateAfter
	return after != nil && *after != 0 && c.Now.Sub(n.Claim.QuietSince) < *after
}

// opens reports whether the pool may open nodes at all.
func (p *Pool) opens() bool { return !p.Static && !p.NotReady && !p.Deleting }

// hostname of a node: the label, or without it the node's name.
func (h *hostView) hostname() string {
	if v, ok := h.labels[corev1.LabelHostname]; ok {
		return v
	}
	return h.name
}

// allocatable and capacity of a node; until it is initialised the claim's
// values stand in where the node's are zero or missing.
func (h *hostView) allocatable() corev1.ResourceList {
	return h.resources(
		func(n *corev1.Node) corev1.ResourceList { return n.Status.Allocatable },
		func(c *Claim) corev1.ResourceList { return c.Allocatable })
}

func (h *hostView) capacity() corev1.ResourceList {
	return h.resources(
		func(n *corev1.Node) corev1.ResourceList { return n.Status.Capacity },
		func(c *Claim) corev1.ResourceList { return c.Capacity })
}

func (h *hostView) resources(node func(*corev1.Node) corev1.ResourceList, claim func(*Claim) corev1.ResourceList) corev1.ResourceList {
	n := h.source
	switch {
	case n.Node == nil:
		return claim(n.Claim)
	case h.initialized:
		return node(n.Node)
	}
	merged := node(n.Node).DeepCopy()
	for name, q := range claim(n.Claim) {
		if have, ok := merged[name]; !ok || have.IsZero() {
			if merged == nil {
				merged = corev1.ResourceList{}
			}
			merged[name] = q
		}
	}
	return merged
}

// appendParts appends the parts so that different lists give different bytes.
func appendParts(key []byte, parts ...string) []byte {
	for _, p := range parts {
		key = appendInt(key, int64(len(p)))
		key = append(key, p...)
	}
	return key
}

// appendInt appends a fixed-width number.
func appendInt(key []byte, n int64) []byte {
	return append(key, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32), byte(n>>40), byte(n>>48), byte(n>>56))
}
