package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Headroom is how many more pods of a kind fit on the nodes there are.
type Headroom struct {
	Pods int `json:"pods"`
	// Nodes are those that take them, in the order in which they fill up.
	Nodes []NodeHeadroom `json:"nodes,omitempty"`
	// More: the search stopped at the number asked for.
	More bool `json:"more,omitempty"`
	// Reason is why the next pod doesn't fit; nil if More.
	Reason *Unschedulable `json:"reason,omitempty"`
}

// NodeHeadroom is how many of the pods one node takes.
type NodeHeadroom struct {
	Node string `json:"node"`
	Pods int    `json:"pods"`
}

// Headroom counts how many copies of pod would fit on the initialised nodes as
// the cluster stands, at most the given number, without opening new ones. The
// copies count against each other's topology constraints. Pods that are pending
// or on nodes being deleted take no room here.
//
// The pod need not exist; where it runs, its name, its status and its ephemeral
// volumes don't matter.
// The error says why it could not be a pending pod.
func (s *Snapshot) Headroom(pod *corev1.Pod, most int) (Headroom, error) {
	if pod == nil {
		return Headroom{}, field.Required(field.NewPath("pod"), "must not be nil")
	}
	asked := pendingCopy(pod)
	with, err := s.With(SetPod(asked))
	if err != nil {
		return Headroom{}, err
	}
	row := with.findPod(asked.Namespace, asked.Name)
	if row == nil {
		return Headroom{}, field.Invalid(field.NewPath("pod"), pod.Name, "a node selector, affinity term or claim of it is unusable")
	}
	return with.headroom(row, most), nil
}

// pendingCopy is the pod as if nobody had scheduled it; its name is nobody's.
func pendingCopy(pod *corev1.Pod) *corev1.Pod {
	asked := pod.DeepCopy()
	asked.Name += " (headroom)"
	asked.UID, asked.DeletionTimestamp, asked.OwnerReferences = "", nil, nil
	asked.Spec.NodeName = ""
	asked.Spec.Volumes = slices.DeleteFunc(asked.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
	asked.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
	return asked
}

func (s *Snapshot) headroom(row *podRow, most int) Headroom {
	w := s.workspaces.Get().(*workspace)
	defer s.workspaces.Put(w)
	defer w.end()
	p := w.alone(row)
	var room Headroom
	for room.Pods < most {
		p.host = -1
		if !w.placeOnHosts(p) || !s.hosts.hosts[p.host].initialized {
			p.host = -1
			room.Reason = w.explain(p)
			return room
		}
		room.add(s.hosts.hosts[p.host].name)
	}
	room.More = true
	return room
}

// placeOnHosts tries every stage of the pod on existing nodes.
func (w *workspace) placeOnHosts(p *movingPod) bool {
	if w.refused(p) != "" {
		return false
	}
	for i := range p.class.stages {
		st := &p.class.stages[i]
		w.topology.register(w, st)
		w.topology.prepare(w, p, st.strict, st.links)
		if w.tryHosts(p, st) {
			return true
		}
	}
	return false
}

func (h *Headroom) add(node string) {
	h.Pods++
	if last := len(h.Nodes) - 1; last >= 0 && h.Nodes[last].Node == node {
		h.Nodes[last].Pods++
		return
	}
	h.Nodes = append(h.Nodes, NodeHeadroom{Node: node, Pods: 1})
}
