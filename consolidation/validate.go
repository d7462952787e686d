package consolidation

import (
	"slices"
	"time"

	"github.com/node-disruption/disruption/scheduling"
)

// Check is what a validation needs beside the newer cluster.
type Check struct {
	// Allowed by the budgets as they are now, for the reason of the move's method.
	Allowed Allowed
	// Now, and how old the cluster may be by then; a MaxAge of 0 is no limit.
	Now    time.Time
	MaxAge time.Duration
}

// Validation says whether a move may still be carried out.
type Validation struct {
	Valid bool `json:"valid"`
	// Nodes still to be removed, in order: all of the move's, but for Empty those
	// that are left.
	Nodes []string `json:"nodes,omitempty"`
	// Reasons why not: the code of the first is one of Churn, BudgetChanged,
	// SchedulingChanged, NoPools and SnapshotTooOld.
	Reasons []Reason `json:"reasons,omitempty"`
}

func invalid(reasons ...Reason) Validation { return Validation{Reasons: reasons} }

// Validate judges a move again on the planner's cluster, which is newer than the
// one it was decided on. Karpenter v1.14 waits 15 seconds in between.
//
// Of an Empty move those nodes remain that are still candidates, as far as the
// budgets go; the others are dropped. Of a Multi, Single or Best move all nodes
// must still be candidates and within the budgets, and a simulation must again
// give no new node where none was expected, or nodes whose instance types contain
// the move's. Prices and scores are not judged again. Moves of Drift and
// StaticDrift are not validated: they are valid.
func (p *Planner) Validate(m *Move, check Check) Validation {
	if age := check.Now.Sub(p.fleet.cluster.Now); check.MaxAge > 0 && age > check.MaxAge {
		return invalid(reason(SnapshotTooOld, nil, "the cluster was seen %v ago, the limit is %v", age, check.MaxAge))
	}
	switch m.Method {
	case MethodEmpty:
		return p.validateEmpty(m, check)
	case MethodDrift, MethodStaticDrift:
		return Validation{Valid: true, Nodes: slices.Clone(m.Nodes)}
	}
	return p.validateAll(m, check)
}

func (p *Planner) validateEmpty(m *Move, check Check) Validation {
	s := p.search(MethodEmpty, check.Allowed)
	candidates, churned := s.stillCandidates(m)
	slices.SortFunc(candidates, func(a, b *Candidate) int { return compareNames(a.Name, b.Name) })
	left := s.spend(candidates)
	v := Validation{Valid: len(left) > 0, Nodes: names(left), Reasons: churned}
	for _, c := range candidates {
		for _, r := range s.why[c.Name] {
			r.Code = BudgetChanged
			v.Reasons = append(v.Reasons, r)
		}
	}
	if !v.Valid && len(candidates) > 0 {
		slices.SortStableFunc(v.Reasons, func(a, b Reason) int { return budgetFirst(a) - budgetFirst(b) })
	}
	return v
}

func budgetFirst(r Reason) int {
	if r.Code == BudgetChanged {
		return 0
	}
	return 1
}

// stillCandidates splits the nodes of a move into those that are candidates of
// its method and reasons of the others.
func (s *search) stillCandidates(m *Move) (still []*Candidate, churned []Reason) {
	for _, name := range m.Nodes {
		c, ok := s.fleet.Candidate(name)
		if !ok {
			churned = append(churned, reason(Churn, []string{object("Node", name)}, "node %s is gone", name))
			continue
		}
		if refusals := s.fleet.refusals(c, m.Method, true); len(refusals) > 0 {
			r := refusals[0]
			churned = append(churned, Reason{
				Code:    Churn,
				Message: "node " + name + " is no longer a candidate: " + r.String(),
				Objects: r.Objects,
				Until:   r.Until,
			})
			continue
		}
		still = append(still, c)
	}
	return still, churned
}

func (p *Planner) validateAll(m *Move, check Check) Validation {
	s := p.search(m.Method, check.Allowed)
	candidates, churned := s.stillCandidates(m)
	if len(churned) > 0 {
		return invalid(churned...)
	}
	if within := s.spend(candidates); len(within) < len(candidates) {
		var reasons []Reason
		for _, c := range candidates {
			for _, r := range s.why[c.Name] {
				r.Code = BudgetChanged
				reasons = append(reasons, r)
			}
		}
		return invalid(reasons...)
	}
	if r := p.resimulate(m); r != nil {
		return invalid(*r)
	}
	return Validation{Valid: true, Nodes: slices.Clone(m.Nodes)}
}

// resimulate compares where the pods would go now with what the move promised.
func (p *Planner) resimulate(m *Move) *Reason {
	result := p.simulate(m.Nodes, scheduling.Request{SkipSettling: true})
	var r Reason
	switch {
	case result.NoPools:
		r = reason(NoPools, nil, "no node pool can open a node")
	case !result.AllRunningPlaced():
		r = unplaced(result.Placements)
		r.Code = SchedulingChanged
	case len(result.NewNodes) != len(m.Replacements):
		r = reason(SchedulingChanged, nodeObjects(m), "%d new nodes would be needed now, the move has %d", len(result.NewNodes), len(m.Replacements))
	case !covers(result.NewNodes, m.Replacements):
		r = reason(SchedulingChanged, nodeObjects(m), "the pods no longer fit on every instance type that the move may launch")
	default:
		return nil
	}
	return &r
}

// covers reports whether each replacement has a new node of its own that could
// be any of its instance types.
func covers(nodes []scheduling.NewNode, replacements []Replacement) bool {
	if len(replacements) == 0 {
		return true
	}
	for i := range nodes {
		if contains(nodes[i].InstanceTypes, replacements[0].InstanceTypes) &&
			covers(slices.Delete(slices.Clone(nodes), i, i+1), replacements[1:]) {
			return true
		}
	}
	return false
}

func contains(all, some []*scheduling.InstanceType) bool {
	names := make(map[string]bool, len(all))
	for _, t := range all {
		names[t.Name] = true
	}
	return !slices.ContainsFunc(some, func(t *scheduling.InstanceType) bool { return !names[t.Name] })
}
