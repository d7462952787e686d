package main

import (
	"errors"
	"fmt"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/internal/conformance"
)

// maxPasses is more than any cluster needs, unless a search goes in circles.
const maxPasses = 200

// settle runs passes on a recorded cluster until nothing moves.
func settle(file *conformance.File, c *conformance.Case, with search) (sum, error) {
	cluster, options, err := file.Cluster(c)
	if err != nil {
		return sum{}, err
	}
	s := sum{clusters: 1}
	for s.passes = 0; s.passes < maxPasses; s.passes++ {
		pass, err := disruption.Prepare(cluster, options)
		if err != nil {
			return s, err
		}
		s.after = cost(pass.Planner().Fleet())
		if s.passes == 0 {
			s.before = s.after
		}
		moves := movesOf(pass, with)
		if len(moves) == 0 {
			return s, nil
		}
		for _, m := range moves {
			s.count(m)
			cluster = apply(cluster, m, fmt.Sprintf("pass-%d", s.passes))
		}
	}
	return s, errors.New("the search does not come to an end")
}

// movesOf asks for empty nodes first, as Karpenter does.
func movesOf(pass *disruption.Pass, with search) []*consolidation.Move {
	planner := pass.Planner()
	if o := planner.Empty(pass.Allowed(consolidation.MethodEmpty)); len(o.Moves) > 0 {
		return o.Moves
	}
	return with.find(planner, pass.Allowed(consolidation.MethodMulti))
}

// cost of all nodes per hour.
func cost(fleet *consolidation.Fleet) float64 {
	total := 0.0
	for _, c := range fleet.Candidates() {
		total += c.Price
	}
	return total
}

func (s *sum) count(m *consolidation.Move) {
	s.removed += len(m.Nodes)
	s.added += len(m.Replacements)
	s.disruption += m.Disruption
	for _, c := range m.Candidates() {
		s.moved += len(c.Reschedulable)
	}
}
