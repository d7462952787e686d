package consolidation

import (
	"math"
	"slices"

	"github.com/node-disruption/disruption/scheduling"
)

// Drift replaces the first drifted node whose pods can all be placed: nodes
// without pods that must move come first, then the oldest drift, ties by name.
//
// Karpenter v1.14 asks for no price here, takes as many new nodes as it needs,
// and puts pods on nodes that have not settled yet. A node stays if the budgets
// of its pool for reason Drifted allow nothing.
func (p *Planner) Drift(allowed Allowed) Outcome {
	s := p.search(MethodDrift, allowed)
	for _, c := range byDrift(p.fleet.Eligible(MethodDrift)) {
		switch {
		case len(s.Moves) > 0:
			s.stay(c, notFirst(c, s.Moves[0]))
		case s.Failure != nil || s.tired():
			s.stay(c, notReached(c, "the search ended early"))
		case s.left[c.Pool] <= 0:
			s.stay(c, budgetSpent(s.Method, c))
		default:
			s.drift(c)
		}
	}
	return s.done()
}

func byDrift(candidates []*Candidate) []*Candidate {
	pods := func(c *Candidate) int { return min(1, len(c.Reschedulable)) }
	slices.SortFunc(candidates, func(a, b *Candidate) int {
		if d := pods(a) - pods(b); d != 0 {
			return d
		}
		if d := a.facts.Claim.Drifted.Compare(*b.facts.Claim.Drifted); d != 0 {
			return d
		}
		return compareNames(a.Name, b.Name)
	})
	return candidates
}

// drift takes the candidate if its pods can be placed.
func (s *search) drift(c *Candidate) {
	m := newMove(s.Method, []*Candidate{c})
	result := s.simulate(m.Nodes, scheduling.Request{})
	s.Simulations++
	m.Placements = result.Placements
	switch {
	case result.NoPools:
		m.refuse(reason(NoPools, nil, "no node pool can open a node"))
		s.Failure = &m.Reasons[0]
	case !result.AllRunningPlaced():
		m.refuse(unplaced(&result))
	default:
		s.substitute(m, result.NewNodes)
		if s.guard(m); m.Allowed() {
			s.Moves = []*Move{m}
			return
		}
	}
	s.Rejected = append(s.Rejected, m)
	s.stay(c, m.Reasons...)
}

// substitute makes m a move with these new nodes, whatever they cost.
func (p *Planner) substitute(m *Move, nodes []scheduling.NewNode) {
	m.Decision, m.Savings = Delete, m.Price
	for _, node := range nodes {
		r := p.replacement(node)
		m.Decision = Replace
		m.Replacements = append(m.Replacements, r)
		m.Savings -= r.Price
	}
}

// StaticDrift replaces drifted nodes of static pools one for one, each by a move
// of its own and by a node of the same template; nothing is simulated and no
// instance type is chosen.
//
// A pool gives as many as its budgets and its node limit allow: the limit counts
// the claims it has, those that are going included. It gives none while more of
// them are active or on their way out by a move than it has replicas.
func (p *Planner) StaticDrift(allowed Allowed) Outcome {
	s := p.search(MethodStaticDrift, allowed)
	headroom := map[string]int{}
	for _, c := range p.fleet.candidates {
		if !p.fleet.eligible(c, MethodStaticDrift) {
			continue
		}
		if _, known := headroom[c.Pool]; !known {
			headroom[c.Pool] = c.pool.headroom()
		}
		switch pool := []string{object("NodePool", c.Pool)}; {
		case c.pool.active+c.pool.inMove > *c.pool.Replicas:
			s.stay(c, reason(ReplicasExceeded, pool, "node pool %s has %d nodes for %d replicas, so replacements are still under way", c.Pool, c.pool.active+c.pool.inMove, *c.pool.Replicas))
		case s.left[c.Pool] <= 0:
			s.stay(c, budgetSpent(s.Method, c))
		case headroom[c.Pool] <= 0:
			s.stay(c, reason(NodeLimit, pool, "the limit of node pool %s leaves no room for another node", c.Pool))
		default:
			if m := s.replaceStatic(c); m.Allowed() {
				s.left[c.Pool]--
				headroom[c.Pool]--
				s.Moves = append(s.Moves, m)
			} else {
				s.stay(c, m.Reasons...)
			}
		}
	}
	return s.done()
}

// headroom is how many claims the node limit leaves.
func (p *pool) headroom() int {
	if p.NodeLimit == nil {
		return math.MaxInt
	}
	return *p.NodeLimit - p.active - p.deleting - p.inMove
}

func (s *search) replaceStatic(c *Candidate) *Move {
	m := newMove(s.Method, []*Candidate{c})
	s.substitute(m, []scheduling.NewNode{{Pool: c.Pool, Requirements: c.pool.Requirements}})
	s.guard(m)
	return m
}
