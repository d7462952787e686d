package consolidation

import (
	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/scheduling"
)

// Drift replaces the first drifted node whose pods can all be placed, by the
// rules of [drift.Propose]: no price is asked, any number of new nodes may come.
func (p *Planner) Drift(allowed Allowed) Outcome {
	s := p.search(MethodDrift, allowed)
	options := p.options.Drift
	options.Explain = options.Explain || p.options.Explain
	s.adopt(drift.Propose(driftCandidates(p.fleet.Eligible(MethodDrift)), s.left, counting{s}, options))
	return s.done()
}

// StaticDrift replaces drifted nodes of static pools one for one, by the rules of
// [drift.ProposeStatic]: nothing is simulated, no instance type is chosen.
func (p *Planner) StaticDrift(allowed Allowed) Outcome {
	s := p.search(MethodStaticDrift, allowed)
	byPool := map[string][]*Candidate{}
	for _, c := range p.fleet.Eligible(MethodStaticDrift) {
		byPool[c.Pool] = append(byPool[c.Pool], c)
	}
	var pools []drift.StaticPool
	for name, candidates := range byPool {
		pool := p.fleet.pools[name]
		pools = append(pools, drift.StaticPool{
			Name: name, Replicas: *pool.Replicas, NodeLimit: pool.NodeLimit,
			Running: pool.active, Deleting: pool.deleting, Pending: pool.inMove,
			Allowed: s.left[name], Drifted: driftCandidates(candidates),
		})
	}
	s.adopt(drift.ProposeStatic(pools, p.options.StaticDrift))
	return s.done()
}

// counting is the search's simulator, as drift asks it.
type counting struct{ *search }

// Simulate implements [drift.Simulator].
func (c counting) Simulate(request scheduling.Request) scheduling.Result {
	if c.tired() {
		return scheduling.Result{Truncated: true}
	}
	c.Simulations++
	return c.simulate(request.Remove, request)
}

func driftCandidates(candidates []*Candidate) []drift.Candidate {
	list := make([]drift.Candidate, len(candidates))
	for i, c := range candidates {
		claim := c.facts.Claim
		list[i] = drift.Candidate{
			Node: c.Name, Claim: claim.Name, Pool: c.Pool,
			Reason: drift.Reason(claim.DriftReason), DriftedSince: *claim.Drifted,
			ReschedulablePods: len(c.Reschedulable),
			HasGracePeriod:    claim.TerminationGracePeriod != nil,
		}
	}
	return list
}

// adopt takes over what drift decided.
func (s *search) adopt(plan drift.Plan) {
	for i := range plan.Moves {
		move := &plan.Moves[i]
		c := s.fleet.byName[move.Candidate.Node]
		m := newMove(s.Method, []*Candidate{c})
		m.Placements, m.TerminateFirst = move.Placements, move.TerminateFirst
		if s.Method == MethodStaticDrift {
			move.Replacements[0].Requirements = c.pool.Requirements
		}
		s.substitute(m, move.Replacements)
		s.Moves = append(s.Moves, m)
	}
	for i := range plan.Skipped {
		s.skip(&plan.Skipped[i])
	}
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

// skip notes why a drifted node is not taken.
func (s *search) skip(skipped *drift.Skipped) {
	c := s.fleet.byName[skipped.Node]
	why := reason(driftCode(skipped.Code), []string{object("NodePool", c.Pool)}, "%s", skipped.Detail)
	switch skipped.Code {
	case drift.CodeNoPools:
		s.Failure = &why
	case drift.CodeUnplaced, drift.CodeTooMany:
		m := newMove(s.Method, []*Candidate{c})
		m.Placements = skipped.Placements
		if len(skipped.Placements) > 0 {
			why = unplaced(&scheduling.Result{Placements: skipped.Placements})
		} else if s.Interrupted {
			why = notReached(c, "the search was interrupted")
		}
		m.refuse(why)
		s.Rejected = append(s.Rejected, m)
	}
	s.stay(c, why)
}

func driftCode(code drift.Code) Code {
	switch code {
	case drift.CodePodsBlock:
		return PodDoNotDisrupt
	case drift.CodeBudget:
		return BudgetSpent
	case drift.CodeGate:
		return RolloutGate
	case drift.CodeUnplaced:
		return PodsUnplaced
	case drift.CodeTooMany:
		return TooManyNewNodes
	case drift.CodeNoPools:
		return NoPools
	case drift.CodeReplicas:
		return ReplicasExceeded
	case drift.CodeNoHeadroom:
		return NodeLimit
	case drift.CodeReplicasMissing:
		return ReplicasMissing
	}
	return NotReached
}
