package consolidation

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/scheduling"
)

// MarshalJSON writes the replacement as a host needs it to make a node claim: the
// instance types by name only, as all else about them is in the catalog.
func (r Replacement) MarshalJSON() ([]byte, error) {
	names := make([]string, len(r.InstanceTypes))
	for i, t := range r.InstanceTypes {
		names[i] = t.Name
	}
	return json.Marshal(struct {
		Pool             string                       `json:"pool"`
		InstanceTypes    []string                     `json:"instanceTypes,omitempty"`
		Price            float64                      `json:"price"`
		Requirements     []scheduling.RequirementSpec `json:"requirements,omitempty"`
		Requests         corev1.ResourceList          `json:"requests,omitempty"`
		MinValuesRelaxed bool                         `json:"minValuesRelaxed,omitempty"`
	}{r.Pool, names, r.Price, r.Requirements.Specs(), r.Requests, r.MinValuesRelaxed})
}
