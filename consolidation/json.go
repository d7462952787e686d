package consolidation

import (
	"encoding/json"
	"math"

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
		Price            *float64                     `json:"price"`
		Requirements     []scheduling.RequirementSpec `json:"requirements,omitempty"`
		Requests         corev1.ResourceList          `json:"requests,omitempty"`
		MinValuesRelaxed bool                         `json:"minValuesRelaxed,omitempty"`
	}{r.Pool, names, finite(r.Price), r.Requirements.Specs(), r.Requests, r.MinValuesRelaxed})
}

// MarshalJSON writes null for what is no number: a pod-deletion-cost of "NaN" makes
// the disruption of a move NaN.
func (m Move) MarshalJSON() ([]byte, error) {
	type plain Move
	return json.Marshal(struct {
		plain
		Price      *float64 `json:"price"`
		Savings    *float64 `json:"savings"`
		Disruption *float64 `json:"disruption"`
	}{plain(m), finite(m.Price), finite(m.Savings), finite(m.Disruption)})
}

// MarshalJSON writes null for a price below all bounds.
func (n NearType) MarshalJSON() ([]byte, error) {
	type plain NearType
	return json.Marshal(struct {
		plain
		Price *float64 `json:"price"`
	}{plain(n), finite(n.Price)})
}

// MarshalJSON writes no bound if none is known.
func (o Outcome) MarshalJSON() ([]byte, error) {
	type plain Outcome
	bound := finite(o.Bound)
	if o.Method != MethodBest {
		bound = nil
	}
	return json.Marshal(struct {
		plain
		Bound *float64 `json:"bound,omitempty"`
	}{plain(o), bound})
}

// MarshalJSON writes null for what is no number.
func (c *Candidate) MarshalJSON() ([]byte, error) {
	type plain Candidate
	return json.Marshal(struct {
		*plain
		Price                    *float64 `json:"price"`
		RescheduleDisruptionCost *float64 `json:"rescheduleDisruptionCost"`
		DisruptionCost           *float64 `json:"disruptionCost"`
	}{(*plain)(c), finite(c.Price), finite(c.RescheduleDisruptionCost), finite(c.DisruptionCost)})
}

// MarshalJSON writes null for what is no number.
func (t Totals) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Cost       *float64 `json:"cost"`
		Disruption *float64 `json:"disruption"`
	}{finite(t.Cost), finite(t.Disruption)})
}

// MarshalJSON writes null for savings that are no number.
func (s Score) MarshalJSON() ([]byte, error) {
	type plain Score
	return json.Marshal(struct {
		plain
		Savings *float64 `json:"savings"`
	}{plain(s), finite(s.Savings)})
}

// MarshalJSON writes null for what is no number or has no bound.
func (s PoolScore) MarshalJSON() ([]byte, error) {
	type plain PoolScore
	return json.Marshal(struct {
		plain
		SavingsFraction    *float64 `json:"savingsFraction"`
		DisruptionFraction *float64 `json:"disruptionFraction"`
		Score              *float64 `json:"score"`
	}{plain(s), finite(s.SavingsFraction), finite(s.DisruptionFraction), finite(s.Score)})
}

// finite is nil for the values that JSON has no way to write.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
