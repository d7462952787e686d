package scheduling

import corev1 "k8s.io/api/core/v1"

// RequirementSpec is one requirement as karpenter.sh/v1 writes it: the values
// that a label may have.
type RequirementSpec struct {
	Key      string                      `json:"key"`
	Operator corev1.NodeSelectorOperator `json:"operator"`
	Values   []string                    `json:"values,omitempty"`
	// MinValues is how many distinct values the instance types chosen must offer.
	MinValues *int `json:"minValues,omitempty"`
}
