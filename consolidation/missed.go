package consolidation

import (
	"cmp"
	"slices"
)

// Missed is a saving that is not made, and what stands in its way.
type Missed struct {
	// Move is what would be done if nothing did.
	Move *Move `json:"move"`
	// Reasons are all that would have to change.
	Reasons []Reason `json:"reasons"`
}

// Missed returns the largest saving of one node that a pass does not make,
// because of the node's own refusals, of budgets, scores or guards; nil if there
// is none. Nodes of taken are not asked about.
//
// Nodes are simulated dearest first, until no other can save more than the best
// so far: its price is the most that it could. Pods that can't be evicted are not
// part of a simulation, so what blocks them also hides what moving them would
// need. MaxSimulations and Stop bound the search.
func (p *Planner) Missed(taken []string, allowed Allowed) *Missed {
	s := p.search(MethodSingle, allowed)
	var best *Missed
	for _, c := range s.byPrice(taken) {
		if best != nil && c.Price <= best.Move.Savings || s.tired() {
			break
		}
		if m := s.missed(c); m != nil && (best == nil || m.Move.Savings > best.Move.Savings) {
			best = m
		}
	}
	return best
}

// byPrice lists the nodes that a pass could take if someone let it, dearest
// first.
func (s *search) byPrice(taken []string) []*Candidate {
	var list []*Candidate
	for _, c := range s.fleet.candidates {
		if c.Price > 0 && c.pool != nil && !slices.Contains(taken, c.Name) && !s.fleet.going(c) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *Candidate) int { return cmp.Compare(b.Price, a.Price) })
	return list
}

// going: the node is on its way out already, or was never ours to take.
func (f *Fleet) going(c *Candidate) bool {
	return c.facts.InMove || c.facts.Claim == nil || c.facts.Claim.Deleting || f.notInitialized(c) || c.facts.Node == nil
}

// missed is what the node would save, nil if nothing, or if nothing blocks it.
func (s *search) missed(c *Candidate) *Missed {
	method, m := MethodSingle, (*Move)(nil)
	if c.Empty() {
		method = MethodEmpty
		m = emptyMove([]*Candidate{c})
		s.guard(m)
	} else {
		s.Simulations++
		m = s.evaluate(method, []*Candidate{c}, false)
	}
	if m.Decision == NoOp || m.Savings <= 0 {
		return nil
	}
	reasons := append(s.fleet.refusals(c, method, false), m.Reasons...)
	if s.left[c.Pool] <= 0 {
		reasons = append(reasons, noBudget(method, c.Pool, 0))
	}
	if len(reasons) == 0 {
		return nil
	}
	return &Missed{Move: m, Reasons: reasons}
}
