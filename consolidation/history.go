package consolidation

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// History is what guards remember: plain data to store, hand in, and take back.
// The zero value is an empty history.
type History struct {
	Moves []PastMove `json:"moves,omitempty"`
	Loads []PastLoad `json:"loads,omitempty"`
}

// PastMove is a move that was carried out.
type PastMove struct {
	At     time.Time  `json:"at"`
	Method Method     `json:"method"`
	Nodes  []PastNode `json:"nodes"`
}

// PastNode is one node that a move removed, and whose pods it evicted.
type PastNode struct {
	Name         string `json:"name"`
	Pool         string `json:"pool"`
	InstanceType string `json:"instanceType"`
	// Owners of the evicted pods, each once, sorted; see [OwnerOf].
	Owners []string `json:"owners,omitempty"`
}

// PastLoad is pods of one class that appeared together and needed room, such as
// the pods of one run of a CronJob.
type PastLoad struct {
	At       time.Time           `json:"at"`
	Class    string              `json:"class"`
	Pods     int                 `json:"pods"`
	Requests corev1.ResourceList `json:"requests"` // of each pod
}

// Record returns the history with a move added that began at that instant. The
// receiver is not changed. The move must come from a planner: one that was read back
// from JSON knows the names of its nodes only.
func (h History) Record(m *Move, at time.Time) History {
	past := PastMove{At: at, Method: m.Method}
	for _, c := range m.candidates {
		past.Nodes = append(past.Nodes, PastNode{Name: c.Name, Pool: c.Pool, InstanceType: c.InstanceType, Owners: owners(c.Reschedulable)})
	}
	h.Moves = append(slices.Clip(h.Moves), past)
	return h
}

// RecordLoad returns the history with the appearance of a load added.
func (h History) RecordLoad(load PastLoad) History {
	h.Loads = append(slices.Clip(h.Loads), load)
	return h
}

// Since returns the part of the history from that instant on. The longest window
// of the guards in use is all that need be kept.
func (h History) Since(t time.Time) History {
	var kept History
	for _, m := range h.Moves {
		if !m.At.Before(t) {
			kept.Moves = append(kept.Moves, m)
		}
	}
	for _, l := range h.Loads {
		if !l.At.Before(t) {
			kept.Loads = append(kept.Loads, l)
		}
	}
	return kept
}

// OwnerOf names what keeps the pod alive, as "kind/namespace/name", "" if nothing
// does. The ReplicaSet of a Deployment counts as the Deployment, so that a
// roll-out doesn't make another owner of it.
func OwnerOf(pod *corev1.Pod) string {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return ""
	}
	kind, name := ref.Kind, ref.Name
	if hash := pod.Labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" && strings.HasSuffix(name, "-"+hash) {
		kind, name = "Deployment", strings.TrimSuffix(name, "-"+hash)
	}
	return object(kind, pod.Namespace, name)
}

// owners lists the owners of the pods, each once, sorted.
func owners(pods []*corev1.Pod) []string {
	var list []string
	for _, pod := range pods {
		if owner := OwnerOf(pod); owner != "" {
			list = append(list, owner)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
