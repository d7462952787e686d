package drift

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/scheduling"
)

// The names of the types below and of their fields, and the order of the
// fields, are part of the hash: see [Hash]. Renaming or reordering anything
// here rolls every node of every cluster.

// NodeClaimTemplate is spec.template of a karpenter.sh/v1 NodePool: what each
// new node claim of the pool is made from. It decodes from the API's JSON and
// keeps the difference between an absent list or map and an empty one, because
// the hash does.
type NodeClaimTemplate struct {
	ObjectMeta `json:"metadata,omitzero"`
	Spec       NodeClaimTemplateSpec `json:"spec"`
}

// ObjectMeta is the metadata that new node claims get.
type ObjectMeta struct {
	Labels      map[string]string `json:"labels,omitzero"`
	Annotations map[string]string `json:"annotations,omitzero"`
}

// NodeClaimTemplateSpec is the spec that new node claims get.
type NodeClaimTemplateSpec struct {
	Taints        []corev1.Taint `json:"taints,omitzero"`
	StartupTaints []corev1.Taint `json:"startupTaints,omitzero"`
	// Requirements take no part in the hash: they are compared by value.
	Requirements []scheduling.RequirementSpec `json:"requirements,omitzero" hash:"ignore"`
	NodeClassRef *NodeClassReference          `json:"nodeClassRef,omitzero"`
	// TerminationGracePeriod is how long a node may take to drain; nil is for ever.
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitzero"`
	// ExpireAfter is how long a node may live.
	ExpireAfter NillableDuration `json:"expireAfter,omitzero"`
}

// NodeClassReference names the cloud's class of nodes.
type NodeClassReference struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Group string `json:"group"`
}

// never is how a NillableDuration without a duration is written.
const never = "Never"

// NillableDuration is a duration or "Never". The zero value is Never.
type NillableDuration struct {
	*time.Duration
	// Raw is the JSON that was read, so that "24h" is written back as "24h" and
	// not as "24h0m0s". It is nil for Never.
	Raw []byte `hash:"ignore"`
}

// UnmarshalJSON accepts a Go duration as a string, "Never" or null.
func (d *NillableDuration) UnmarshalJSON(data []byte) error {
	var s string
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s == never {
		*d = NillableDuration{}
		return nil
	}
	parsed, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("neither a duration nor %q: %w", never, err)
	}
	*d = NillableDuration{Duration: &parsed, Raw: bytes.Clone(data)}
	return nil
}

// MarshalJSON writes what was read, else the duration, else "Never".
func (d NillableDuration) MarshalJSON() ([]byte, error) {
	switch {
	case d.Raw != nil:
		return d.Raw, nil
	case d.Duration != nil:
		return json.Marshal(d.Duration.String())
	}
	return json.Marshal(never)
}
