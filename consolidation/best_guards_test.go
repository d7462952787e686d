package consolidation_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// Forty nodes that a guard never lets go come first by savings. The search must not
// lose its patience with them: the four behind them can go.
func TestBestGoesPastNodesThatAGuardKeeps(t *testing.T) {
	c := priced(equal(44)...)
	web := replicas("web", 5)
	for i := range 4 {
		c.Nodes[40+i].Pods = web[i : i+1]
	}
	c.Nodes[0].Pods = append(c.Nodes[0].Pods, web[4])
	p := planner(t, c, fits, consolidation.Options{Guards: []consolidation.Guard{consolidation.KeepSingleReplicas{}}})
	assert.Empty(t, p.Multi(p.Fleet().Unlimited()).Moves)
	o := p.Best(p.Fleet().Unlimited())
	assert.Equal(t, []string{"n040", "n041", "n042", "n043"}, moved(t, o))
	assert.Equal(t, consolidation.SingleReplica, stays(o)["n000"])
}

// No node saves enough alone, and the first has pods that fit nowhere, so that no
// prefix can go: several others together save enough.
func TestBestAddsUpSavingsThatAreTooSmallAlone(t *testing.T) {
	stuck := simulated(func(remove []string) scheduling.Result {
		if slices.Contains(remove, "n000") {
			return goesUpTo(0)(remove)
		}
		return scheduling.Result{}
	})
	p := planner(t, priced(5, 4, 3, 2, 1), stuck, consolidation.Options{Guards: []consolidation.Guard{consolidation.MinSavings{PerHour: 8}}})
	assert.Empty(t, p.Multi(p.Fleet().Unlimited()).Moves)
	assert.Equal(t, []string{"n001", "n002", "n003", "n004"}, moved(t, p.Best(p.Fleet().Unlimited())))

	p = planner(t, priced(5, 4, 3, 2, 1), stuck, consolidation.Options{Guards: []consolidation.Guard{consolidation.MinSavings{PerHour: 11}}})
	assert.Empty(t, p.Best(p.Fleet().Unlimited()).Moves, "all together save ten")
}

// A longer prefix may need a new node that costs more than the last nodes did:
// Karpenter ends with it, the better search doesn't.
func TestBestKeepsTheBestPrefix(t *testing.T) {
	dear := simulated(func(remove []string) scheduling.Result {
		switch n := len(remove); {
		case n == 1:
			return goesUpTo(0)(remove) // nothing goes alone, so nothing can be grown
		case n > 5:
			return needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("dear", 7.5)})(remove)
		}
		return scheduling.Result{}
	})
	p := planner(t, priced(2, 2, 2, 2, 2, 1.5, 1, 1), dear, consolidation.Options{})
	multi, best := p.Multi(p.Fleet().Unlimited()), p.Best(p.Fleet().Unlimited())
	require.Len(t, multi.Moves, 1)
	assert.InDelta(t, 13.5-7.5, multi.Moves[0].Savings, 1e-9)
	assert.Equal(t, 10.0, best.Moves[0].Savings)
	assert.Equal(t, consolidation.Delete, best.Moves[0].Decision)
}

func TestBestSaysThatABudgetIsSpent(t *testing.T) {
	p := planner(t, priced(3, 2, 1), fits, consolidation.Options{})
	o := p.Best(consolidation.Allowed{"general": 2})
	assert.Equal(t, []string{"n000", "n001"}, moved(t, o))
	require.Equal(t, []consolidation.Code{consolidation.BudgetSpent}, codes(o.Stays[0].Reasons))
	assert.Equal(t, "the budgets of node pool general allow 2 more for reason Underutilized, and other nodes come first", o.Stays[0].Reasons[0].Message)

	o = p.Best(nil)
	assert.Equal(t, "the budgets of node pool general allow no more nodes for reason Underutilized", o.Stays[0].Reasons[0].Message)
}

// The search is anytime: more simulations never make its move worse.
func TestMoreSimulationsAreNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fleet, snapshot := drawn(t, small(t, rapid.IntRange(2, 10).Draw(t, "nodes")), consolidation.Balanced)
		before := consolidation.Outcome{Method: "fewer simulations"}
		for n := 1; n < 60; n += rapid.IntRange(1, 9).Draw(t, "more") {
			o := consolidation.NewPlanner(fleet, snapshot, consolidation.Options{MaxSimulations: n}).Best(fleet.Unlimited())
			notWorse(t, o, before)
			before = o
		}
	})
}
