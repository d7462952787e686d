package consolidation

import (
	"slices"

	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/scheduling"
)

// Drift replaces the first drifted node whose pods can all be placed: nodes
// without pods that must move come first, then the oldest drift, ties by name.
// It is [drift.Propose] for the nodes that may be disrupted at all, with the
// reasons of all others and the savings.
//
// Karpenter v1.14 asks for no price here, takes as many new nodes as it needs,
// and puts pods on nodes that have not settled yet.
func (p *Planner) Drift(allowed Allowed) Outcome {
	s := p.search(MethodDrift, allowed)
	options := s.options.Drift
	options.Explain = options.Explain || s.options.Explain
	s.adopt(drift.Propose(s.driftCandidates(), allowed, counting{s}, options))
	if n := len(s.Rejected); n > 0 && s.Rejected[n-1].Reasons[0].Code == NoPools {
		s.Failure = &s.Rejected[n-1].Reasons[0]
	}
	return s.done()
}

// StaticDrift replaces drifted nodes of static pools one for one, each by a move
// of its own and by a node of the same template; nothing is simulated and no
// instance type is chosen. It is [drift.ProposeStatic]; the claims of a pool are
// counted from the cluster.
func (p *Planner) StaticDrift(allowed Allowed) Outcome {
	s := p.search(MethodStaticDrift, allowed)
	byPool := map[string][]drift.Candidate{}
	for _, c := range s.driftCandidates() {
		byPool[c.Pool] = append(byPool[c.Pool], c)
	}
	var pools []drift.StaticPool
	for name, drifted := range byPool {
		pool := p.fleet.pools[name]
		pools = append(pools, drift.StaticPool{
			Name: name, Replicas: *pool.Replicas, NodeLimit: pool.NodeLimit,
			Running: pool.active, Deleting: pool.deleting, Pending: pool.inMove,
			Allowed: allowed[name], Drifted: drifted,
		})
	}
	s.adopt(drift.ProposeStatic(pools, s.options.StaticDrift))
	return s.done()
}

// driftCandidates are the candidates of the method as package drift takes them,
// without those that a guard refuses.
func (s *search) driftCandidates() []drift.Candidate {
	var list []drift.Candidate
	for _, c := range s.fleet.Eligible(s.Method) {
		m := newMove(s.Method, []*Candidate{c})
		m.Decision = Replace
		if s.guard(m); !m.Allowed() {
			s.stay(c, m.Reasons...)
			continue
		}
		claim := c.facts.Claim
		list = append(list, drift.Candidate{
			Node: c.Name, Claim: claim.Name, Pool: c.Pool,
			Reason: drift.Reason(claim.DriftReason), DriftedSince: *claim.Drifted,
			ReschedulablePods: len(c.Reschedulable), HasGracePeriod: claim.TerminationGracePeriod != nil,
		})
	}
	return list
}

// adopt turns a plan of package drift into the outcome. Its moves happen in one
// pass, so guards judge each together with those before it.
func (s *search) adopt(plan drift.Plan) {
	var taken []*Candidate
	for i := range plan.Moves {
		move := &plan.Moves[i]
		c := s.fleet.byName[move.Candidate.Node]
		if r := s.refusedBeside(taken, c); len(r) > 0 {
			s.stay(c, r...)
			continue
		}
		taken = append(taken, c)
		m := newMove(s.Method, []*Candidate{c})
		m.Placements, m.TerminateFirst = move.Placements, move.TerminateFirst
		if s.Method == MethodStaticDrift {
			move.Replacements[0].Requirements = m.candidates[0].pool.Requirements
		}
		s.substitute(m, move.Replacements)
		s.Moves = append(s.Moves, m)
	}
	for i := range plan.Skipped {
		s.skip(&plan.Skipped[i])
	}
}

// refusedBeside is why guards would not have c go where those taken go. Alone it
// was judged before.
func (s *search) refusedBeside(taken []*Candidate, c *Candidate) []Reason {
	if len(taken) == 0 {
		return nil
	}
	together := newMove(s.Method, append(slices.Clip(taken), c))
	together.Decision = Replace
	s.guard(together)
	return together.Reasons
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

// driftCode is our code for a reason of package drift.
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

// skip notes why a drifted node stays.
func (s *search) skip(skipped *drift.Skipped) {
	c := s.fleet.byName[skipped.Node]
	r := Reason{Code: driftCode(skipped.Code), Message: skipped.Detail, Objects: []string{object("Node", c.Name)}}
	switch r.Code {
	case BudgetSpent:
		r = s.budgetSpent(c)
	case RolloutGate, ReplicasExceeded, ReplicasMissing, NodeLimit:
		r.Objects = []string{object("NodePool", c.Pool)}
	case PodsUnplaced:
		if s.Interrupted && len(skipped.Placements) == 0 {
			s.stay(c, notReached(c, "the search was interrupted"))
			return
		}
		r = unplaced(skipped.Placements)
	}
	s.stay(c, r)
	if skipped.Code == drift.CodeUnplaced || skipped.Code == drift.CodeTooMany || skipped.Code == drift.CodeNoPools {
		m := newMove(s.Method, []*Candidate{c})
		m.Placements = skipped.Placements
		m.refuse(r)
		s.Rejected = append(s.Rejected, m)
	}
}

// counting is the search's simulator, as drift asks it.
type counting struct{ *search }

// Simulate implements [drift.Simulator]. A search that must end answers that
// nothing was placed.
func (c counting) Simulate(request scheduling.Request) scheduling.Result {
	if c.tired() {
		return scheduling.Result{Truncated: true}
	}
	c.Simulations++
	return c.simulate(request.Remove, request)
}
