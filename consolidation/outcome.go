package consolidation

import (
	"maps"
	"slices"
)

// Outcome is what a method found, and why everything else stays.
type Outcome struct {
	Method Method `json:"method"`
	// Moves to make; only StaticDrift finds more than one.
	Moves []*Move `json:"moves,omitempty"`
	// Rejected are the moves that were looked at and not taken, in that order.
	Rejected []*Move `json:"rejected,omitempty"`
	// Stays has every node that is in none of Moves, by name, and why: first the
	// reason that Karpenter would give, then, with [Options.Explain], all others.
	Stays []Stay `json:"stays,omitempty"`
	// Failure ended the method before it was through.
	Failure *Reason `json:"failure,omitempty"`
	// Simulations that were needed, a number that doesn't depend on ForEach.
	Simulations int `json:"simulations"`
	// Interrupted: MaxSimulations or Stop ended the search. NotReached are the
	// pools of which Single then saw no candidate: hand them to its next call.
	Interrupted bool     `json:"interrupted,omitempty"`
	NotReached  []string `json:"notReached,omitempty"`
	// Bound is an upper bound on the savings of any move, +Inf if prices don't give
	// one: only Best has it.
	Bound float64 `json:"bound,omitempty"`
}

// Stay is one node that a method leaves alone.
type Stay struct {
	Node    string   `json:"node"`
	Reasons []Reason `json:"reasons"`
}

// Allowed is how many nodes of each pool a method may still take by the budgets
// of its reason; a pool that is missing allows none. Methods don't write to it.
type Allowed map[string]int

// Unlimited allows everything in each of the pools.
func (f *Fleet) Unlimited() Allowed {
	allowed := Allowed{}
	for name := range f.pools {
		allowed[name] = len(f.candidates)
	}
	return allowed
}

// search is a method at work.
type search struct {
	*Planner
	Outcome
	// allowed by the budgets, and what is left of that.
	allowed, left Allowed
	why           map[string][]Reason // of the candidates that stay
}

func (p *Planner) search(m Method, allowed Allowed) *search {
	return &search{Planner: p, Outcome: Outcome{Method: m}, allowed: allowed, left: maps.Clone(allowed), why: map[string][]Reason{}}
}

// stay notes why a candidate is not taken. What was noted first counts first.
func (s *search) stay(c *Candidate, reasons ...Reason) {
	s.why[c.Name] = append(s.why[c.Name], reasons...)
}

// spend takes the candidates that the budgets still allow, and charges them.
func (s *search) spend(candidates []*Candidate) []*Candidate {
	var taken []*Candidate
	for _, c := range candidates {
		if s.left[c.Pool] <= 0 {
			s.stay(c, s.budgetSpent(c))
			continue
		}
		s.left[c.Pool]--
		taken = append(taken, c)
	}
	return taken
}

func (s *search) budgetSpent(c *Candidate) Reason {
	return noBudget(s.Method, c.Pool, s.allowed[c.Pool])
}

// noBudget says that a pool has no budget left of what it was allowed.
func noBudget(m Method, pool string, allowed int) Reason {
	objects := []string{object("NodePool", pool)}
	if allowed > 0 {
		return reason(BudgetSpent, objects, "the budgets of node pool %s allow %d more for reason %s, and other nodes come first", pool, allowed, m.BudgetReason())
	}
	return reason(BudgetSpent, objects, "the budgets of node pool %s allow no more nodes for reason %s", pool, m.BudgetReason())
}

// tired reports whether the search has to end.
func (s *search) tired() bool {
	if s.options.MaxSimulations > 0 && s.Simulations >= s.options.MaxSimulations {
		s.Interrupted = true
	}
	if s.options.Stop != nil && s.options.Stop() {
		s.Interrupted = true
	}
	return s.Interrupted
}

// done fills in why each node stays.
func (s *search) done() Outcome {
	moving := map[string]bool{}
	for _, m := range s.Moves {
		for _, name := range m.Nodes {
			moving[name] = true
		}
	}
	for _, c := range s.fleet.candidates {
		if moving[c.Name] {
			continue
		}
		reasons := s.fleet.refusals(c, s.Method, !s.options.Explain)
		if len(reasons) == 0 {
			reasons = slices.Clone(s.why[c.Name])
		}
		if len(reasons) == 0 {
			reasons = []Reason{onNode("the search ended with a move that does not need this node")(s.fleet, c)}
			reasons[0].Code = NotChosen
		}
		if !s.options.Explain {
			reasons = reasons[:1:1]
		}
		s.Stays = append(s.Stays, Stay{Node: c.Name, Reasons: reasons})
	}
	return s.Outcome
}
