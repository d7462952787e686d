package consolidation

import (
	"cmp"
	"slices"
)

// DefaultMaxReplacements is how many new nodes Best considers for one move.
const DefaultMaxReplacements = 8

// patience is how many candidates in a row may fail to join a set before Best
// gives up growing it: the room is then used up.
const patience = 24

// DefaultMaxPlacements bounds the work of Best: as many pods are placed in all its
// simulations of sets of nodes.
const DefaultMaxPlacements = 100_000

// Best looks for the set of nodes that saves most, with less disruption where two
// save the same. It is not Karpenter's search, and never worse than it: by
// savings, then disruption, the move is at least as good as that of [Planner.Multi]
// and that of [Planner.Single] under the same budgets and without a bound.
//
// It starts with Multi's search. Then it evaluates every candidate alone, leaves
// out those whose pods would find no place, and grows a set by the candidates'
// savings per disruption, several at a time, keeping what still fits. The best set
// is improved by leaving out, by swapping and by adding nodes. A move may have
// several replacements, up to [Options.MaxReplacements]. A move with replacements
// is finally tried on [Options.Variants].
//
// Every step ends when MaxSimulations or Stop says so, with the best move so far;
// Interrupted then says so. The last steps also end at MaxPlacements. Bound tells
// how much more than the best move saves any other could.
func (p *Planner) Best(allowed Allowed) Outcome {
	s := &bestSearch{search: p.search(MethodBest, allowed)}
	s.effort = cmp.Or(p.options.MaxPlacements, DefaultMaxPlacements)
	candidates := s.affordable()
	s.Bound = p.upperBound(candidates)
	s.startWithPrefixes(allowed)
	s.prepare(candidates)
	prefix := s.best
	s.grow(nil)
	if prefix != nil {
		s.grow(prefix)
	}
	for s.leaveOut() || s.swap() {
		s.grow(s.best)
	}
	s.tryVariants()
	if s.best != nil {
		s.Moves = []*Move{s.best}
	}
	s.explainAlone()
	return s.done()
}

// bestSearch is Best at work.
type bestSearch struct {
	*search
	best   *Move
	order  []*Candidate // those that may join a set, most promising first
	alone  []*Move      // each candidate's move by itself
	effort int          // placements that are left
}

// affordable are the candidates of pools whose budgets allow anything.
func (s *bestSearch) affordable() []*Candidate {
	var list []*Candidate
	for _, c := range s.underutilized {
		if s.left[c.Pool] > 0 {
			list = append(list, c)
		} else {
			s.stay(c, s.budgetSpent(c))
		}
	}
	return list
}

// startWithPrefixes makes the best of the prefixes that Multi finds the move to
// beat. Its own is the longest, which may save less than one before it.
func (s *bestSearch) startWithPrefixes(allowed Allowed) {
	multi := s.Planner.search(MethodMulti, allowed)
	for _, m := range multi.prefixes(multi.spend(s.underutilized)) {
		m.Method = MethodBest
		s.guard(m) // some may be for Best only
		s.consider(m)
	}
	s.Simulations += multi.Simulations
}

// prepare evaluates each candidate alone, and orders those that may join a set:
// first by what they save for their disruption alone, then, those that save
// nothing alone, by their savings ratio.
func (s *bestSearch) prepare(candidates []*Candidate) {
	for at := 0; at < len(candidates) && !s.tired(); {
		n := min(s.batch(), len(candidates)-at)
		moves := s.evaluateEach(candidates[at : at+n])
		s.Simulations += n
		for _, m := range moves {
			s.alone = append(s.alone, m)
			s.consider(m)
		}
		at += n
	}
	var joining []*Move
	for _, m := range s.alone {
		if !slices.ContainsFunc(m.Reasons, hopeless) {
			joining = append(joining, m)
		}
	}
	slices.SortStableFunc(joining, func(a, b *Move) int { return cmp.Compare(b.Savings/b.Disruption, a.Savings/a.Disruption) })
	for _, m := range joining {
		s.order = append(s.order, m.candidates[0])
	}
}

// hopeless tells the reasons that more nodes to remove don't lift. Savings that are
// too small for a guard may be large enough together.
func hopeless(r Reason) bool {
	switch r.Code {
	case PodsUnplaced, NoPools, TooBusy, TooYoung, PoolCooling, PodCooling, Looping, SingleReplica, AllReplicas, ChurnLimited, PDBExceeded, NoHeadroom:
		return true
	}
	return false
}

// consider makes m the best move if it is one.
func (s *bestSearch) consider(m *Move) bool {
	if !m.Allowed() || s.best != nil && !better(m, s.best) {
		return false
	}
	s.best = m
	return true
}

// better compares by savings, then disruption, then the number of nodes.
func better(a, b *Move) bool {
	const tolerance = 1e-9
	if d := a.Savings - b.Savings; d > tolerance*b.Price || d < -tolerance*b.Price {
		return d > 0
	}
	if d := a.Disruption - b.Disruption; d > tolerance*b.Disruption || d < -tolerance*b.Disruption {
		return d < 0
	}
	return len(a.candidates) < len(b.candidates)
}

// try evaluates a set; nil if the search has to end, or the budgets don't allow
// the set.
func (s *bestSearch) try(candidates []*Candidate) *Move {
	if len(candidates) == 0 || !s.within(candidates) || s.effort <= 0 || s.tired() {
		return nil
	}
	for _, c := range candidates {
		s.effort -= len(c.Reschedulable)
	}
	s.Simulations++
	return s.evaluate(MethodBest, candidates, true)
}

// within reports whether the budgets allow all of these nodes at once.
func (s *bestSearch) within(candidates []*Candidate) bool {
	count := map[string]int{}
	for _, c := range candidates {
		if count[c.Pool]++; count[c.Pool] > s.left[c.Pool] {
			return false
		}
	}
	return true
}

// grow adds candidates to the set of a move, nil for none, as long as that saves
// more: one, then two, then four at a time until it fails, then half as many after
// each failure.
func (s *bestSearch) grow(from *Move) {
	var set []*Candidate
	if from != nil {
		set = from.candidates
	}
	rest := without(s.order, set)
	step, faster := 1, true
	for failures := 0; len(rest) > 0 && failures < patience && s.effort > 0 && !s.tired(); {
		step = min(step, len(rest))
		m := s.try(append(slices.Clip(set), rest[:step]...))
		switch {
		case m != nil && s.leads(m) && (from == nil || better(m, from)):
			set, from, rest, failures = m.candidates, m, rest[step:], 0
			s.consider(m)
			if faster {
				step *= 2
			}
		case step > 1:
			step, faster = step/2, false
		default:
			rest, failures = rest[1:], failures+1
		}
	}
}

// leads reports whether a set is worth growing: it may be done, or nothing else may
// and it only saves too little for a guard so far.
func (s *bestSearch) leads(m *Move) bool {
	if m.Allowed() {
		return true
	}
	return s.best == nil && m.Decision != NoOp &&
		!slices.ContainsFunc(m.Reasons, func(r Reason) bool { return r.Code != SavingsTooSmall })
}

// without lists the candidates that are not in the set.
func without(candidates, set []*Candidate) []*Candidate {
	in := make(map[*Candidate]bool, len(set))
	for _, c := range set {
		in[c] = true
	}
	var rest []*Candidate
	for _, c := range candidates {
		if !in[c] {
			rest = append(rest, c)
		}
	}
	return rest
}

// leaveOut drops the first node whose absence is better, the least promising
// tried first: it may be the one for which a new node is needed.
func (s *bestSearch) leaveOut() bool {
	if s.best == nil || len(s.best.Replacements) == 0 {
		return false
	}
	set := s.best.candidates
	for i := len(set) - 1; i >= max(0, len(set)-patience); i-- {
		if m := s.try(slices.Delete(slices.Clone(set), i, i+1)); m != nil && s.consider(m) {
			return true
		}
	}
	return false
}

// swap exchanges one node of the set for one outside it, the least promising
// inside and the most promising outside tried first.
func (s *bestSearch) swap() bool {
	if s.best == nil {
		return false
	}
	set := s.best.candidates
	const width = 5
	outside := without(s.order, set)
	for _, c := range outside[:min(width, len(outside))] {
		for i := len(set) - 1; i >= max(0, len(set)-width); i-- {
			changed := slices.Clone(set)
			changed[i] = c
			if m := s.try(changed); m != nil && s.consider(m) {
				return true
			}
		}
	}
	return false
}

// tryVariants judges the best move again where new nodes may only be smaller.
func (s *bestSearch) tryVariants() {
	if s.best == nil || len(s.best.Replacements) == 0 {
		return
	}
	set := s.best.candidates
	for _, simulator := range s.options.Variants {
		if s.tired() {
			return
		}
		variant := *s.Planner
		variant.simulator = simulator
		s.Simulations++
		s.consider(variant.evaluate(MethodBest, set, true))
	}
}

// explainAlone: why a candidate can't go alone is why it isn't in the set, and else
// it may be that the set has all that the budgets allow.
func (s *bestSearch) explainAlone() {
	taken := map[string]int{}
	if s.best != nil {
		for _, c := range s.best.candidates {
			taken[c.Pool]++
		}
	}
	for _, m := range s.alone {
		c := m.candidates[0]
		switch {
		case !m.Allowed():
			s.Rejected = append(s.Rejected, m)
			s.stay(c, m.Reasons...)
		case s.best != nil && taken[c.Pool] >= s.left[c.Pool]:
			s.stay(c, s.budgetSpent(c))
		}
	}
	for _, c := range s.underutilized[min(len(s.alone), len(s.underutilized)):] {
		if s.Interrupted && len(s.why[c.Name]) == 0 {
			s.stay(c, notReached(c, "the search was interrupted"))
		}
	}
}
