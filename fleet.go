package disruption

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// machine is one node as disruption sees it: the Kubernetes node, the claim that
// asked for it, or both.
type machine struct {
	name  string // the node's name; the claim's where there is no node
	node  *corev1.Node
	claim *NodeClaim
	pool  *NodePool // nil if the pool is unknown or there is none
	pods  []*corev1.Pod

	poolName          string
	nominated, inMove bool
}

// fleet is the cluster, paired and indexed: what every question starts from.
type fleet struct {
	cluster  *Cluster
	keys     annotations.Keys
	machines []machine // by name
	pools    []*NodePool
	// unlaunched claims have no provider id yet.
	unlaunched []*NodeClaim
	// unreadable objects: those that were given as such, and those found so.
	unreadable []Unreadable
	// shared holds the provider ids that more than one claim bears, sorted.
	shared []string
	// clashing are claims without a node that bear the name of another node; they
	// are left out, sorted.
	clashing []string
}

// newFleet pairs nodes with claims by provider id and pods with nodes by name.
func newFleet(c *Cluster, domain string) *fleet {
	f := &fleet{cluster: c, keys: annotations.For(domain), pools: slices.Clone(c.NodePools), unreadable: slices.Clone(c.Unreadable)}
	slices.SortFunc(f.pools, func(a, b *NodePool) int { return strings.Compare(a.Name, b.Name) })
	claims := f.claimsByProviderID()
	for _, node := range c.Nodes {
		m := machine{name: node.Name, node: node}
		if node.Spec.ProviderID != "" {
			m.claim = claims[node.Spec.ProviderID]
			delete(claims, node.Spec.ProviderID)
		}
		f.machines = append(f.machines, m)
	}
	names := f.nodeNames()
	for _, claim := range claims {
		if names[claim.Name] {
			f.clashing = append(f.clashing, claim.Name)
			continue
		}
		f.machines = append(f.machines, machine{name: claim.Name, claim: claim})
	}
	slices.Sort(f.clashing)
	slices.SortFunc(f.machines, func(a, b machine) int { return strings.Compare(a.name, b.name) })
	f.checkPools()
	f.attach()
	return f
}

func (f *fleet) nodeNames() map[string]bool {
	names := make(map[string]bool, len(f.cluster.Nodes))
	for _, node := range f.cluster.Nodes {
		names[node.Name] = true
	}
	return names
}

// claimsByProviderID indexes the launched claims. Of several claims with one id
// the first by name counts.
func (f *fleet) claimsByProviderID() map[string]*NodeClaim {
	sorted := slices.Clone(f.cluster.NodeClaims)
	slices.SortFunc(sorted, func(a, b *NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	byID := make(map[string]*NodeClaim, len(sorted))
	for _, claim := range sorted {
		switch id := claim.Status.ProviderID; {
		case id == "":
			f.unlaunched = append(f.unlaunched, claim)
		case byID[id] != nil:
			f.shared = append(f.shared, id)
		default:
			byID[id] = claim
		}
	}
	slices.Sort(f.shared)
	f.shared = slices.Compact(f.shared)
	return byID
}

// attach gives each machine its pool, its pods and the caller's marks.
func (f *fleet) attach() {
	pools := make(map[string]*NodePool, len(f.pools))
	for _, p := range f.pools {
		pools[p.Name] = p
	}
	pods := f.podsByNode()
	nominated, inMove := set(f.cluster.Nominated), set(f.cluster.InMove)
	for i := range f.machines {
		m := &f.machines[i]
		m.poolName = m.labels(f.keys)[f.keys.NodePool]
		m.pool = pools[m.poolName]
		m.nominated, m.inMove = nominated[m.name], inMove[m.name]
		if m.node != nil {
			m.pods = pods[m.name]
		}
	}
}

// podsByNode indexes the bound pods, each node's by namespace and name.
func (f *fleet) podsByNode() map[string][]*corev1.Pod {
	byNode := make(map[string][]*corev1.Pod, len(f.cluster.Nodes))
	for _, pod := range f.cluster.Pods {
		if pod.Spec.NodeName != "" {
			byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], pod)
		}
	}
	for _, pods := range byNode {
		slices.SortFunc(pods, comparePods)
	}
	return byNode
}

func comparePods(a, b *corev1.Pod) int {
	if byNamespace := strings.Compare(a.Namespace, b.Namespace); byNamespace != 0 {
		return byNamespace
	}
	return strings.Compare(a.Name, b.Name)
}

// labels are the node's once it is registered, the claim's before.
func (m *machine) labels(keys annotations.Keys) map[string]string {
	if m.registered(keys) {
		return m.node.Labels
	}
	return m.claim.Labels
}

// registered: the node has joined and bears its claim's labels and taints. A
// node without a claim counts as registered.
func (m *machine) registered(keys annotations.Keys) bool {
	return m.node != nil && (m.claim == nil || m.node.Labels[keys.Registered] == "true")
}

// initialized: the node is ready for pods. A node without a claim counts as
// initialised.
func (m *machine) initialized(keys annotations.Keys) bool {
	return m.node != nil && (m.claim == nil || m.node.Labels[keys.Initialized] == "true")
}

// deleting: the claim is on its way out, or a node without a claim is.
func (m *machine) deleting() bool {
	if m.claim != nil {
		return m.claim.deleting()
	}
	return !m.node.DeletionTimestamp.IsZero()
}

// ready: the node's Ready condition is True.
func (m *machine) ready() bool {
	if m.node == nil {
		return false
	}
	for _, c := range m.node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// scheduling returns the facts that a simulation needs.
func (f *fleet) scheduling() scheduling.Cluster {
	c := f.cluster
	s := scheduling.Cluster{
		Now: c.Now, Pods: c.Pods, DaemonSets: c.DaemonSets,
		PersistentVolumeClaims: c.PersistentVolumeClaims, PersistentVolumes: c.PersistentVolumes,
		StorageClasses: c.StorageClasses, CSINodes: c.CSINodes, Namespaces: c.Namespaces,
		Pools: make([]scheduling.Pool, len(f.pools)), Nodes: make([]scheduling.Node, len(f.machines)),
	}
	for i, p := range f.pools {
		s.Pools[i] = f.schedulingPool(p)
	}
	for i := range f.machines {
		s.Nodes[i] = f.machines[i].scheduling()
	}
	return s
}

func (f *fleet) schedulingPool(p *NodePool) scheduling.Pool {
	pool := scheduling.Pool{
		Name:             p.Name,
		Requirements:     p.Spec.Template.Spec.Requirements,
		Labels:           p.Spec.Template.Labels,
		Taints:           p.Spec.Template.Spec.Taints,
		Limits:           p.Spec.Limits,
		Static:           p.Spec.Replicas != nil,
		NotReady:         !isTrue(p.Status.Conditions, conditionReady),
		Deleting:         !p.DeletionTimestamp.IsZero(),
		ConsolidateAfter: p.Spec.Disruption.consolidateAfter(),
		InstanceTypes:    f.cluster.Catalog.For(p.Name),
	}
	if p.Spec.Weight != nil {
		pool.Weight = *p.Spec.Weight
	}
	if ref := p.Spec.Template.Spec.NodeClassRef; ref != nil {
		pool.NodeClass = scheduling.NodeClassRef{Group: ref.Group, Kind: ref.Kind, Name: ref.Name}
	}
	return pool
}

func (m *machine) scheduling() scheduling.Node {
	n := scheduling.Node{Node: m.node, InMove: m.inMove}
	if c := m.claim; c != nil {
		n.Claim = &scheduling.Claim{
			Name: c.Name, Labels: c.Labels, Annotations: c.Annotations,
			Taints: c.Spec.Taints, StartupTaints: c.Spec.StartupTaints,
			Capacity: c.Status.Capacity, Allocatable: c.Status.Allocatable,
			Deleting: c.deleting(), QuietSince: c.quietSince(),
		}
	}
	return n
}
