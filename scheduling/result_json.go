package scheduling

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// String is "Removed", "Deleting" or "Pending".
func (o Origin) String() string {
	switch o {
	case FromRemoved:
		return "Removed"
	case FromDeleting:
		return "Deleting"
	case FromPending:
		return "Pending"
	}
	return fmt.Sprintf("Origin(%d)", uint8(o))
}

// MarshalText writes [Origin.String].
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// MarshalJSON writes where the pod went; newNode, an index into the result's
// newNodes, is missing unless it went to one.
func (p Placement) MarshalJSON() ([]byte, error) {
	out := struct {
		Namespace      string         `json:"namespace,omitempty"`
		Name           string         `json:"name"`
		Origin         Origin         `json:"origin"`
		Placed         bool           `json:"placed"`
		Node           string         `json:"node,omitempty"`
		NewNode        *int           `json:"newNode,omitempty"`
		Uninitialized  bool           `json:"uninitialized,omitempty"`
		VolumesUnknown bool           `json:"volumesUnknown,omitempty"`
		Reason         *Unschedulable `json:"reason,omitempty"`
		Preferences    []Preference   `json:"preferences,omitempty"`
	}{
		Origin: p.Origin, Placed: p.Placed(), Node: p.Node, Uninitialized: p.Uninitialized,
		VolumesUnknown: p.VolumesUnknown, Reason: p.Reason, Preferences: p.Preferences,
	}
	if p.Pod != nil {
		out.Namespace, out.Name = p.Pod.Namespace, p.Pod.Name
	}
	if p.NewNode >= 0 {
		out.NewNode = &p.NewNode
	}
	return json.Marshal(out)
}

// MarshalJSON writes the node with its instance types by name, cheapest first;
// pods are indexes into the result's placements.
func (n NewNode) MarshalJSON() ([]byte, error) {
	types := make([]string, len(n.InstanceTypes))
	for i, t := range n.InstanceTypes {
		types[i] = t.Name
	}
	return json.Marshal(struct {
		Pool             string              `json:"pool"`
		Requirements     Requirements        `json:"requirements"`
		InstanceTypes    []string            `json:"instanceTypes"`
		Unpriced         int                 `json:"unpriced,omitempty"`
		Requests         corev1.ResourceList `json:"requests,omitempty"`
		Pods             []int               `json:"pods"`
		MinValuesRelaxed bool                `json:"minValuesRelaxed,omitempty"`
	}{n.Pool, n.Requirements, types, n.Unpriced, n.Requests, n.Pods, n.MinValuesRelaxed})
}
