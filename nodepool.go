package disruption

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/drift"
)

// NodePool is the part of karpenter.sh/v1 NodePool that disruption reads. It
// decodes from what the API writes; unknown fields are ignored.
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   NodePoolSpec   `json:"spec"`
	Status NodePoolStatus `json:"status,omitzero"`
}

// NodePoolSpec is what the owner of a pool asks for.
type NodePoolSpec struct {
	Template   drift.NodeClaimTemplate `json:"template"`
	Disruption Disruption              `json:"disruption,omitzero"`
	// Limits bounds what all nodes of the pool may have in sum; the key "nodes"
	// bounds their number.
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// Weight orders pools when a new node is needed, heaviest first; nil is 0.
	Weight *int32 `json:"weight,omitempty"`
	// Replicas makes the pool static: it always holds this many nodes.
	Replicas *int64 `json:"replicas,omitempty"`

	// expireAfterSet tells "Never" from an absent field, which [Default] fills.
	expireAfterSet bool
}

// UnmarshalJSON decodes the spec and remembers whether the template says when
// its nodes expire.
func (s *NodePoolSpec) UnmarshalJSON(data []byte) error {
	type plain NodePoolSpec
	if err := json.Unmarshal(data, (*plain)(s)); err != nil {
		return err
	}
	var probe struct {
		Template struct {
			Spec struct {
				ExpireAfter json.RawMessage `json:"expireAfter"`
			} `json:"spec"`
		} `json:"template"`
	}
	err := json.Unmarshal(data, &probe)
	s.expireAfterSet = probe.Template.Spec.ExpireAfter != nil
	return err
}

// Disruption is spec.disruption of a pool. A nil list of budgets and an empty
// one both mean that nothing is limited: the API server writes its default
// (10%) into the object, and [Default] does so for files written by hand.
type Disruption struct {
	// ConsolidateAfter is how long a node must have been quiet; "Never", or nil,
	// means that it is never consolidated.
	ConsolidateAfter    *drift.NillableDuration `json:"consolidateAfter,omitempty"`
	ConsolidationPolicy consolidation.Policy    `json:"consolidationPolicy,omitempty"`
	Budgets             []budget.Budget         `json:"budgets,omitempty"`
}

// consolidateAfter is nil for Never.
func (d *Disruption) consolidateAfter() *time.Duration {
	if d.ConsolidateAfter == nil {
		return nil
	}
	return d.ConsolidateAfter.Duration
}

// NodePoolStatus is what Karpenter reports about a pool.
type NodePoolStatus struct {
	// Resources is what its nodes have in sum; the key "nodes" is their number.
	Resources  corev1.ResourceList `json:"resources,omitempty"`
	Conditions []metav1.Condition  `json:"conditions,omitempty"`
}

// Default returns a copy of pool with the defaults that the API server gives a
// new object: budgets 10%, consolidateAfter 0s, WhenEmptyOrUnderutilized and
// expireAfter 720h, each only where the field is absent. An empty list of
// budgets was set on purpose and stays empty. Objects that come from an API
// server have their defaults already; use this for files written by hand.
func Default(pool *NodePool) *NodePool {
	p := *pool
	d := &p.Spec.Disruption
	if d.ConsolidateAfter == nil {
		d.ConsolidateAfter = &drift.NillableDuration{Duration: new(time.Duration)}
	}
	if d.ConsolidationPolicy == "" {
		d.ConsolidationPolicy = consolidation.WhenEmptyOrUnderutilized
	}
	if d.Budgets == nil {
		d.Budgets = []budget.Budget{{Nodes: "10%"}}
	}
	if life := &p.Spec.Template.Spec.ExpireAfter; life.Duration == nil && !p.Spec.expireAfterSet {
		month := 720 * time.Hour
		life.Duration = &month
	}
	return &p
}

// AssumeReady returns a copy of pool whose condition Ready is True, for pools that
// no controller has seen yet. Without it such a pool opens no new nodes.
func AssumeReady(pool *NodePool) *NodePool {
	p := *pool
	p.Status.Conditions = append(slices.Clone(p.Status.Conditions), metav1.Condition{
		Type: conditionReady, Status: metav1.ConditionTrue, Reason: "Assumed",
	})
	return &p
}
