package consolidation

import (
	"math"
	"slices"
)

// Policy says which nodes of a pool consolidation may touch.
type Policy string

// The policies of a node pool. Karpenter compares the exact string; any other
// one acts like [WhenEmptyOrUnderutilized].
const (
	WhenEmpty                Policy = "WhenEmpty"
	WhenEmptyOrUnderutilized Policy = "WhenEmptyOrUnderutilized"
	Balanced                 Policy = "Balanced"
)

// DefaultBalancedK is the k of Karpenter v1.14: a Balanced pool approves a move
// that saves at least 1/k of its cost for the whole of its disruption.
const DefaultBalancedK = 2.0

// Totals is what a whole pool costs, in the currency of the prices per hour, and
// the sum of its nodes' reschedule disruption costs, candidates or not.
type Totals struct {
	Cost       float64 `json:"cost"`
	Disruption float64 `json:"disruption"`
}

// ScorePool is what a score needs to know of one pool.
type ScorePool struct {
	Policy Policy
	// K is the pool's k, 0 meaning [DefaultBalancedK].
	K float64
	// Totals of the pool; nil if they are not known.
	Totals *Totals
}

// Source is one node that a move removes, as a score sees it.
type Source struct {
	Name, Pool               string
	Price                    float64
	RescheduleDisruptionCost float64
}

// Score is the judgement of the Balanced policy over one move.
type Score struct {
	// Approved: every Balanced pool approves. With no source it is false; with
	// no Balanced pool among the sources' it is true.
	Approved bool `json:"approved"`
	// Savings of the move per hour; negative if it costs more.
	Savings float64 `json:"savings"`
	// Pools has an entry for each Balanced pool of the move, by name.
	Pools []PoolScore `json:"pools,omitempty"`
}

// PoolScore is how one Balanced pool voted.
type PoolScore struct {
	Pool               string  `json:"pool"`
	SavingsFraction    float64 `json:"savingsFraction"`
	DisruptionFraction float64 `json:"disruptionFraction"`
	// Score is savings fraction / disruption fraction, +Inf for a saving without
	// any disruption. The pool approves when it is at least Threshold, 1/k.
	Score     float64 `json:"score"`
	Threshold float64 `json:"threshold"`
	Approved  bool    `json:"approved"`
}

// ScoreMove judges a move by the Balanced policy of Karpenter v1.14.
//
// The savings, the sources' prices less replacementPrice, are shared between the
// pools by their part of the sources' price (each pool is given the whole if that
// is zero). Every Balanced pool must approve; other pools have no vote. A pool
// that the map lacks, or whose totals are not both positive, approves nothing.
func ScoreMove(pools map[string]ScorePool, sources []Source, replacementPrice float64) Score {
	type part struct{ price, disruption float64 }
	parts := map[string]part{}
	total := 0.0
	for _, s := range sources {
		p := parts[s.Pool]
		parts[s.Pool] = part{p.price + s.Price, p.disruption + s.RescheduleDisruptionCost}
		total += s.Price
	}
	score := Score{Approved: len(sources) > 0, Savings: total - replacementPrice}
	for name, p := range parts {
		pool := pools[name]
		if pool.Policy != Balanced {
			continue
		}
		savings := score.Savings
		if len(parts) > 1 && total != 0 {
			savings *= p.price / total
		}
		vote := pool.vote(savings, p.disruption)
		vote.Pool = name
		score.Pools = append(score.Pools, vote)
		score.Approved = score.Approved && vote.Approved
	}
	slices.SortFunc(score.Pools, func(a, b PoolScore) int { return compareNames(a.Pool, b.Pool) })
	return score
}

// vote scores one pool's part of a move.
func (p ScorePool) vote(savings, disruption float64) PoolScore {
	vote := PoolScore{Threshold: p.threshold()}
	if p.Totals == nil || p.Totals.Cost <= 0 || p.Totals.Disruption <= 0 {
		return vote
	}
	vote.SavingsFraction = savings / p.Totals.Cost
	vote.DisruptionFraction = disruption / p.Totals.Disruption
	vote.Score = ratio(vote.SavingsFraction, vote.DisruptionFraction)
	vote.Approved = vote.Score >= vote.Threshold
	return vote
}

func (p ScorePool) threshold() float64 {
	if p.K == 0 {
		return 1 / DefaultBalancedK
	}
	return 1 / p.K
}

// ratio of savings to disruption: no savings score 0 whatever the disruption.
func ratio(savings, disruption float64) float64 {
	switch {
	case savings <= 0:
		return 0
	case disruption <= 0:
		return math.Inf(1)
	}
	return savings / disruption
}

// CanPass reports whether a node's best case, to be deleted without a
// replacement, could be approved by its pool. Karpenter v1.14 asks before it
// simulates a single node.
//
// It is kinder than [ScoreMove] on purpose of the original: a pool whose totals
// are not known, or whose cost is not positive, passes here and is refused there.
func CanPass(pool ScorePool, source Source) bool {
	if pool.Policy != Balanced || pool.Totals == nil || pool.Totals.Cost <= 0 {
		return true
	}
	return pool.vote(source.Price, source.RescheduleDisruptionCost).Approved
}
