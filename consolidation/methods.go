package consolidation

import (
	"fmt"
	"slices"
)

// Empty deletes, in one move, all empty nodes that the budgets for reason Empty
// allow, those with the most savings per disruption first. Nothing is simulated:
// what runs on an empty node either needs no new place or is worth nothing, as
// Karpenter v1.14 sees it.
func (p *Planner) Empty(allowed Allowed) Outcome {
	s := p.search(MethodEmpty, allowed)
	if taken := s.guardEach(s.spend(p.fleet.Eligible(MethodEmpty))); len(taken) > 0 {
		s.Moves = []*Move{emptyMove(taken)}
	}
	return s.done()
}

func emptyMove(candidates []*Candidate) *Move {
	m := newMove(MethodEmpty, candidates)
	m.Decision, m.Savings = Delete, m.Price
	return m
}

// guardEach leaves out the empty nodes that guards refuse beside those before.
func (s *search) guardEach(candidates []*Candidate) []*Candidate {
	if len(s.options.Guards) == 0 {
		return candidates
	}
	var taken []*Candidate
	for _, c := range candidates {
		m := emptyMove(append(slices.Clip(taken), c))
		if s.guard(m); m.Allowed() {
			taken = append(taken, c)
			continue
		}
		s.stay(c, m.Reasons...)
	}
	return taken
}

// MaxMultiNodes bounds the prefixes that Multi looks at. With more candidates
// than that the largest prefix has one node more, a quirk of Karpenter v1.14.
const MaxMultiNodes = 100

// Multi looks for several nodes that can go together, for at most one new node.
//
// It takes the candidates in order, as many as the budgets allow, and searches
// their prefixes of two or more by bisection, as Karpenter v1.14 does: after a
// prefix that can go it tries a longer one, else a shorter one. Whether a prefix
// can go is not monotone, so the longest that can is not always found.
func (p *Planner) Multi(allowed Allowed) Outcome {
	s := p.search(MethodMulti, allowed)
	if found := s.prefixes(s.spend(p.underutilized)); len(found) > 0 {
		s.Moves = found[len(found)-1:]
	}
	return s.done()
}

// prefixes returns the prefixes that could go, in the order in which they were
// found, so the last is the longest.
func (s *search) prefixes(candidates []*Candidate) (found []*Move) {
	if len(candidates) < 2 {
		for _, c := range candidates {
			s.stay(c, reason(TooFewCandidates, []string{object("Node", c.Name)}, "the node is the only candidate, so there is nothing to combine it with"))
		}
		return nil
	}
	low, high := 1, min(MaxMultiNodes, len(candidates))
	if len(candidates) <= high {
		high = len(candidates) - 1
	}
	for _, c := range candidates[high+1:] {
		s.stay(c, notReached(c, fmt.Sprintf("%d candidates with more savings per disruption come first", high+1)))
	}
	for low <= high && !s.tired() {
		middle := (low + high) / 2
		m := s.evaluate(MethodMulti, candidates[:middle+1], !s.options.Explain)
		s.Simulations++
		if m.Allowed() {
			found, low = append(found, m), middle+1
			continue
		}
		s.Rejected = append(s.Rejected, m)
		if m.Reasons[0].Code == NoPools {
			s.Failure = &m.Reasons[0]
			return nil
		}
		high = middle - 1
	}
	s.explainPrefixes(candidates, len(found) > 0)
	return found
}

// explainPrefixes: of the prefixes that failed, the shortest that has a node says why
// it stays. If none could go, the search never came to the last candidates.
func (s *search) explainPrefixes(candidates []*Candidate, found bool) {
	for i := len(s.Rejected) - 1; i >= 0; i-- {
		m := s.Rejected[i]
		for _, c := range m.candidates {
			s.stay(c, m.Reasons...)
		}
	}
	if s.Interrupted {
		for _, c := range candidates {
			s.stay(c, notReached(c, "the search was interrupted"))
		}
	}
	for _, c := range candidates {
		if !found && len(s.why[c.Name]) == 0 {
			s.stay(c, notReached(c, "those with more savings per disruption can't go together"))
		}
	}
}

func notReached(c *Candidate, why string) Reason {
	return Reason{Code: NotReached, Message: "the node was not looked at: " + why, Objects: []string{object("Node", c.Name)}}
}

// Single looks for one node that can go, for at most one new node; the first
// that is found ends the search.
//
// Candidates are taken in order, but one of each pool in turn. The pools stand in
// the order of their best candidate, those of notReached, the NotReached of the
// last call, first. A candidate is passed over if the budgets of its pool allow
// nothing, and if a Balanced pool could not approve even its best case.
func (p *Planner) Single(allowed Allowed, notReached []string) Outcome {
	s := p.search(MethodSingle, allowed)
	s.NotReached = slices.Clone(notReached)
	s.first(Interleave(p.underutilized, notReached))
	return s.done()
}

// first evaluates the candidates batch by batch until one can go.
func (s *search) first(order []*Candidate) {
	worth := s.worthwhile(order)
	for at := 0; at < len(worth); {
		if s.tired() {
			s.interrupt(order, worth[at:])
			return
		}
		n := min(s.batch(), len(worth)-at)
		if s.take(s.evaluateEach(worth[at : at+n])) {
			for _, c := range worth {
				if len(s.why[c.Name]) == 0 {
					s.stay(c, notFirst(c, s.Moves[0]))
				}
			}
			return
		}
		at += n
	}
	s.NotReached = nil
}

// worthwhile leaves out the candidates that can't go whatever a simulation says.
func (s *search) worthwhile(order []*Candidate) []*Candidate {
	var worth []*Candidate
	for _, c := range order {
		switch {
		case s.left[c.Pool] <= 0:
			s.stay(c, s.budgetSpent(c))
		case !CanPass(s.pools[c.Pool], c.Source()):
			s.stay(c, Reason{
				Code:    CannotPass,
				Message: "even if nothing replaced the node, node pool " + c.Pool + " would score its savings too low for the disruption",
				Objects: []string{object("NodePool", c.Pool)},
			})
		default:
			worth = append(worth, c)
		}
	}
	return worth
}

// batch is how many evaluations may run at once without exceeding the bound.
func (s *search) batch() int {
	n := max(1, s.options.Batch)
	if s.options.MaxSimulations > 0 {
		n = min(n, s.options.MaxSimulations-s.Simulations)
	}
	return n
}

// evaluateEach evaluates each candidate alone.
func (s *search) evaluateEach(candidates []*Candidate) []*Move {
	moves := make([]*Move, len(candidates))
	do := func(i int) { moves[i] = s.evaluate(s.Method, candidates[i:i+1], false) }
	if s.options.ForEach != nil && len(candidates) > 1 {
		s.options.ForEach(len(candidates), do)
		return moves
	}
	for i := range candidates {
		do(i)
	}
	return moves
}

// take takes the first move that may be made. Those after it don't count as
// looked at: without a batch they would not have been.
func (s *search) take(moves []*Move) bool {
	for _, m := range moves {
		s.Simulations++
		if m.Allowed() {
			s.Moves = []*Move{m}
			return true
		}
		s.Rejected = append(s.Rejected, m)
		s.stay(m.candidates[0], m.Reasons...)
	}
	return false
}

// interrupt notes the candidates, and the pools, that were not reached. Pools
// stand in the order of their first candidate.
func (s *search) interrupt(order, rest []*Candidate) {
	next := slices.Index(order, rest[0])
	seen := map[string]bool{}
	for _, c := range order[:next] {
		seen[c.Pool] = true
	}
	s.NotReached = nil
	for _, c := range order[next:] {
		if !seen[c.Pool] {
			seen[c.Pool] = true
			s.NotReached = append(s.NotReached, c.Pool)
		}
	}
	for _, c := range rest {
		s.stay(c, notReached(c, "the search was interrupted"))
	}
}

func notFirst(c *Candidate, first *Move) Reason {
	return notReached(c, "node "+first.Nodes[0]+" came first, and one move ends the search")
}

// Interleave takes one candidate of each pool in turn. Pools stand in the order
// of their first candidate, but those listed in first come before all others.
func Interleave(candidates []*Candidate, first []string) []*Candidate {
	byPool := map[string][]*Candidate{}
	var pools []string
	for _, c := range candidates {
		if byPool[c.Pool] == nil {
			pools = append(pools, c.Pool)
		}
		byPool[c.Pool] = append(byPool[c.Pool], c)
	}
	slices.SortStableFunc(pools, func(a, b string) int { return place(first, a) - place(first, b) })
	order := make([]*Candidate, 0, len(candidates))
	for i := 0; len(order) < len(candidates); i++ {
		for _, pool := range pools {
			if i < len(byPool[pool]) {
				order = append(order, byPool[pool][i])
			}
		}
	}
	return order
}

// place is the index of name in list, or its length.
func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}
