package disruption

import (
	"encoding/json"
	"math"

	"github.com/node-disruption/disruption/budget"
)

// MarshalJSON writes the fields of the embedded move beside its own.
func (m Move) MarshalJSON() ([]byte, error) {
	found, err := json.Marshal(m.Move)
	if err != nil || m.Move == nil {
		return found, err
	}
	own, err := json.Marshal(struct {
		Reason budget.Reason `json:"reason"`
		Pods   []PodMove     `json:"pods,omitempty"`
	}{m.Reason, m.Pods})
	if err != nil {
		return nil, err
	}
	return append(append(found[:len(found)-1], ','), own[1:]...), nil
}

// MarshalJSON writes null for a disruption that is no number: a pod-deletion-cost
// of "NaN" makes it so.
func (r PoolReport) MarshalJSON() ([]byte, error) {
	type plain PoolReport
	disruption := &r.Disruption
	if math.IsNaN(r.Disruption) || math.IsInf(r.Disruption, 0) {
		disruption = nil
	}
	return json.Marshal(struct {
		plain
		Disruption *float64 `json:"disruption"`
	}{plain(r), disruption})
}
