package scheduling

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Change is one difference between a cluster and a hypothetical one; see
// [Snapshot.With].
type Change struct {
	apply func(*draft) *field.Error
}

// draft is a cluster being changed.
type draft struct {
	cluster Cluster
	// pods are those that were set, or nil for removed, by name.
	pods map[nsName]*corev1.Pod
	// nodes are the Kubernetes names of nodes that were set.
	nodes map[string]bool
}

// SetNode adds a node, or replaces the one of that name.
func SetNode(n Node) Change {
	return Change{func(d *draft) *field.Error {
		name := nodeName(&n)
		if name == "" {
			return field.Required(field.NewPath("node"), "a node, a claim or both")
		}
		if n.Node != nil {
			d.nodes[n.Node.Name] = true
		}
		if i := d.node(name); i >= 0 {
			d.cluster.Nodes[i] = n
		} else {
			d.cluster.Nodes = append(d.cluster.Nodes, n)
		}
		return nil
	}}
}

// RemoveNode takes a node away, with all pods on it. To learn where those would
// go, ask [Request.Remove] in place of this.
func RemoveNode(name string) Change {
	return Change{func(d *draft) *field.Error {
		i := d.node(name)
		if i < 0 {
			return field.NotFound(field.NewPath("node"), name)
		}
		d.cluster.Nodes = slices.Delete(d.cluster.Nodes, i, i+1)
		return nil
	}}
}

// Cordon gives a node the taint of an unschedulable one. Its pods stay.
func Cordon(name string) Change {
	return Change{func(d *draft) *field.Error {
		i := d.node(name)
		if i < 0 || d.cluster.Nodes[i].Node == nil {
			return field.NotFound(field.NewPath("node"), name)
		}
		node := *d.cluster.Nodes[i].Node
		node.Spec.Unschedulable = true
		node.Spec.Taints = append(slices.Clone(node.Spec.Taints), corev1.Taint{
			Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		d.cluster.Nodes[i].Node = &node
		return nil
	}}
}

// SetPod adds a pod, or replaces the one of that name: bound elsewhere, for one.
// The pod must not change afterwards.
func SetPod(pod *corev1.Pod) Change {
	return Change{func(d *draft) *field.Error {
		if pod == nil {
			return field.Required(field.NewPath("pod"), "must not be nil")
		}
		d.pods[nsName{pod.Namespace, pod.Name}] = pod
		return nil
	}}
}

// RemovePod takes a pod away.
func RemovePod(namespace, name string) Change {
	return Change{func(d *draft) *field.Error {
		d.pods[nsName{namespace, name}] = nil
		return nil
	}}
}

// SetPool adds a pool, or replaces the one of that name.
func SetPool(p Pool) Change {
	return Change{func(d *draft) *field.Error {
		i := slices.IndexFunc(d.cluster.Pools, func(o Pool) bool { return o.Name == p.Name })
		if i >= 0 {
			d.cluster.Pools[i] = p
		} else {
			d.cluster.Pools = append(d.cluster.Pools, p)
		}
		return nil
	}}
}

// RemovePool takes a pool away; its nodes stay.
func RemovePool(name string) Change {
	return Change{func(d *draft) *field.Error {
		before := len(d.cluster.Pools)
		d.cluster.Pools = slices.DeleteFunc(d.cluster.Pools, func(p Pool) bool { return p.Name == name })
		if len(d.cluster.Pools) == before {
			return field.NotFound(field.NewPath("pool"), name)
		}
		return nil
	}}
}

// NodeOf makes a node as the pool would launch it: registered, initialised and
// empty, of the given type, bought by the given offering. Give it to [SetNode].
// None of the pointers may be nil.
func (s *Snapshot) NodeOf(name string, p *Pool, t *InstanceType, o *Offering) Node {
	reqs := s.templateRequirements(p).And(t.Requirements).And(o.Requirements).Add(In(corev1.LabelHostname, name))
	labels := map[string]string{corev1.LabelHostname: name}
	for q := range reqs.All() {
		if values := q.Values(); !q.Complement() && len(values) == 1 {
			labels[q.Key()] = values[0]
		}
	}
	allocatable := t.AllocatableOf(o)
	return Node{
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.NodeSpec{Taints: slices.Clone(p.Taints)},
			Status:     corev1.NodeStatus{Capacity: t.Capacity, Allocatable: allocatable},
		},
		Claim: &Claim{Name: name, Labels: labels, Capacity: t.Capacity, Allocatable: allocatable},
	}
}

// node is the index of a node by its own name or its claim's, -1 if unknown.
func (d *draft) node(name string) int {
	return slices.IndexFunc(d.cluster.Nodes, func(n Node) bool {
		return n.Node != nil && n.Node.Name == name || n.Claim != nil && n.Claim.Name == name
	})
}

func nodeName(n *Node) string {
	switch {
	case n.Node != nil:
		return n.Node.Name
	case n.Claim != nil:
		return n.Claim.Name
	}
	return ""
}

// With returns a snapshot of the cluster after the changes, which apply in
// order. It answers exactly as one compiled anew would, but shares what didn't
// change: above all, pods that stay as they are aren't looked at again, nor is
// [Options.Moves] asked about them. This snapshot is not affected.
//
// The error names what a change couldn't find, or what [NewSnapshot] would
// refuse.
func (s *Snapshot) With(changes ...Change) (*Snapshot, error) {
	d := &draft{cluster: *s.cluster, pods: map[nsName]*corev1.Pod{}, nodes: map[string]bool{}}
	d.cluster.Nodes, d.cluster.Pools = slices.Clone(d.cluster.Nodes), slices.Clone(d.cluster.Pools)
	for i, c := range changes {
		if c.apply == nil {
			return nil, field.Required(field.NewPath("changes").Index(i), "must be made by SetNode and the like")
		}
		if err := c.apply(d); err != nil {
			err.Field = field.NewPath("changes").Index(i).Child(err.Field).String()
			return nil, err
		}
	}
	d.settlePods(s.cluster.Pods)
	if prefersNoSchedule(orderPools(&d.cluster)) != s.book.preferNoSchedule {
		return NewSnapshot(d.cluster, s.opts) // every pod may relax differently
	}
	next := &Snapshot{opts: s.opts, keys: s.keys, wellKnown: s.wellKnown, cluster: &d.cluster}
	if err := next.begin(&d.cluster); err != nil {
		return nil, err
	}
	next.inherit(s, d)
	if err := next.unreadablePods(); err != nil {
		return nil, err
	}
	next.compileHosts(&d.cluster)
	return next, nil
}

// Without returns a snapshot of the cluster less some nodes and their pods.
func (s *Snapshot) Without(nodes ...string) (*Snapshot, error) {
	changes := make([]Change, len(nodes))
	for i, name := range nodes {
		changes[i] = RemoveNode(name)
	}
	return s.With(changes...)
}

// settlePods applies the changes of pods to the cluster's list.
func (d *draft) settlePods(before []*corev1.Pod) {
	if len(d.pods) == 0 {
		return
	}
	pods := make([]*corev1.Pod, 0, len(before)+len(d.pods))
	for _, pod := range before {
		if _, changed := d.pods[nsName{pod.Namespace, pod.Name}]; !changed {
			pods = append(pods, pod)
		}
	}
	for _, pod := range d.pods {
		if pod != nil {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods[len(pods)-countSet(d.pods):], func(a, b *corev1.Pod) int {
		return comparePodNames(podRow{pod: a}, podRow{pod: b})
	})
	d.cluster.Pods = pods
}

func countSet(pods map[nsName]*corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if pod != nil {
			n++
		}
	}
	return n
}

// inherit takes the rows of pods that stay as they are from the snapshot before,
// and makes new ones for pods that were set or whose node was.
func (s *Snapshot) inherit(before *Snapshot, d *draft) {
	s.book, s.volumes = before.book, before.volumes
	rows := make([]podRow, 0, len(before.pods.rows)+len(d.pods))
	for _, row := range before.pods.rows {
		if _, changed := d.pods[nsName{row.pod.Namespace, row.pod.Name}]; changed || d.nodes[row.pod.Spec.NodeName] {
			continue
		}
		if row.host >= 0 {
			host, known := s.hosts.byKube[row.pod.Spec.NodeName]
			if !known {
				continue
			}
			row.host = host
		}
		rows = append(rows, row)
	}
	inherited := len(rows)
	for _, pod := range d.cluster.Pods {
		if set := d.pods[nsName{pod.Namespace, pod.Name}]; set == nil && !d.nodes[pod.Spec.NodeName] {
			continue
		}
		if row, ok := s.rowOf(pod); ok && (row.host >= 0 || s.placeable(pod)) {
			rows = append(rows, row)
		}
	}
	if len(rows) > inherited {
		s.adopt(rows[inherited:])
	} else {
		s.topology.labels = before.topology.labels
	}
	s.arrange(rows)
}

// adopt gives new rows their class and volumes, in copies of the tables that
// grow by it.
func (s *Snapshot) adopt(rows []podRow) {
	s.book = s.book.clone()
	s.volumes.sets, s.volumes.ids = slices.Clone(s.volumes.sets), maps.Clone(s.volumes.ids)
	for i := range rows {
		s.describe(&rows[i])
	}
}
