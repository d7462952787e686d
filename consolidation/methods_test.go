package consolidation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// priced has one node a price, named by its index, each with a pod.
func priced(prices ...float64) consolidation.Cluster {
	var c consolidation.Cluster
	p := pool("general")
	for i, price := range prices {
		name := fmt.Sprintf("n%03d", i)
		p.InstanceTypes = append(p.InstanceTypes, onDemandAt("type-"+name, price))
		c.Nodes = append(c.Nodes, nodeOf(name, "general", "type-"+name, podOf("pod-"+name, "app-"+name)))
	}
	c.Pools = []consolidation.Pool{p}
	return c
}

func without(c consolidation.Cluster) consolidation.Cluster {
	for i := range c.Nodes {
		c.Nodes[i].Pods = nil
	}
	return c
}

func TestEmptyTakesTheDearestThatTheBudgetAllows(t *testing.T) {
	c := without(priced(1, 3, 2))
	c.Nodes[0].Pods = replicas("web", 1)
	c.Pools[0].Policy = consolidation.WhenEmpty
	p := planner(t, c, nil, consolidation.Options{})

	o := p.Empty(consolidation.Allowed{"general": 1})
	assert.Equal(t, []string{"n001"}, moved(t, o))
	assert.Equal(t, map[string]consolidation.Code{"n000": consolidation.NotEmpty, "n002": consolidation.BudgetSpent}, stays(o))

	o = p.Empty(consolidation.Allowed{"general": 5})
	assert.Equal(t, []string{"n001", "n002"}, moved(t, o))
	assert.Equal(t, 5.0, o.Moves[0].Savings)
	assert.Zero(t, o.Simulations)

	assert.Nil(t, moved(t, p.Empty(nil)), "a pool that is missing allows nothing")
}

// goesUpTo is a simulator in which up to n nodes fit elsewhere, and all numbers in
// more do too.
func goesUpTo(n int, more ...int) simulated {
	return func(remove []string) scheduling.Result {
		if len(remove) <= n || slices.Contains(more, len(remove)) {
			return scheduling.Result{}
		}
		return scheduling.Result{Placements: []scheduling.Placement{{Pod: podOf("p", "d"), NewNode: -1}}}
	}
}

func equal(n int) []float64 {
	prices := make([]float64, n)
	for i := range prices {
		prices[i] = float64(n - i)
	}
	return prices
}

func TestMultiBisectsThePrefixes(t *testing.T) {
	for _, c := range []struct {
		name        string
		candidates  int
		simulator   simulated
		want        int
		simulations int
	}{
		{"all go", 10, goesUpTo(10), 10, 4},
		{"the first five go", 10, goesUpTo(5), 5, 4},
		{"none go together", 10, goesUpTo(1), 0, 3},
		{"one candidate is no multi-node move", 1, goesUpTo(1), 0, 0},
		{"a longer prefix that goes may be missed", 10, goesUpTo(2, 9, 10), 2, 3},
		{"with 100 candidates all may go", 100, goesUpTo(1000), 100, 7},
		{"with more, 101 may", 300, goesUpTo(1000), 101, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planner(t, priced(equal(c.candidates)...), c.simulator, consolidation.Options{})
			o := p.Multi(p.Fleet().Unlimited())
			assert.Len(t, moved(t, o), c.want)
			assert.Equal(t, c.simulations, o.Simulations)
			assert.Len(t, o.Stays, c.candidates-c.want, "every other node says why it stays")
		})
	}
}

func TestMultiSaysWhyNothingWentTogether(t *testing.T) {
	p := planner(t, priced(equal(4)...), goesUpTo(1), consolidation.Options{})
	o := p.Multi(consolidation.Allowed{"general": 3})
	assert.Equal(t, map[string]consolidation.Code{
		"n000": consolidation.PodsUnplaced, "n001": consolidation.PodsUnplaced,
		"n002": consolidation.NotReached, "n003": consolidation.BudgetSpent,
	}, stays(o))
	require.NotEmpty(t, o.Rejected)
	assert.Equal(t, []string{"n000", "n001"}, o.Rejected[len(o.Rejected)-1].Nodes)
}

func TestMultiEndsWithTheLastMoveWhenInterrupted(t *testing.T) {
	p := planner(t, priced(equal(50)...), goesUpTo(50), consolidation.Options{MaxSimulations: 2})
	o := p.Multi(p.Fleet().Unlimited())
	assert.True(t, o.Interrupted)
	assert.Len(t, moved(t, o), 38, "25, then 38 of 50")
}

func TestMultiFailsWithoutAPoolThatOpensNodes(t *testing.T) {
	nothing := simulated(func([]string) scheduling.Result { return scheduling.Result{NoPools: true} })
	p := planner(t, priced(1, 2), nothing, consolidation.Options{})
	o := p.Multi(p.Fleet().Unlimited())
	require.NotNil(t, o.Failure)
	assert.Equal(t, consolidation.NoPools, o.Failure.Code)
}

// pools is a cluster of two nodes in each of three pools, dearest first.
func pools() consolidation.Cluster {
	var c consolidation.Cluster
	for i, name := range []string{"a", "b", "c"} {
		p := pool(name)
		for j := range 2 {
			node := fmt.Sprintf("%s%d", name, j)
			p.InstanceTypes = append(p.InstanceTypes, onDemandAt(node, float64(10-i)-float64(j)/10))
			c.Nodes = append(c.Nodes, nodeOf(node, name, node, podOf("pod-"+node, "app-"+node)))
		}
		c.Pools = append(c.Pools, p)
	}
	return c
}

func TestSingleTakesOneOfEachPoolInTurn(t *testing.T) {
	p := planner(t, pools(), fits, consolidation.Options{})
	order := p.Fleet().Eligible(consolidation.MethodSingle)
	names := func(list []*consolidation.Candidate) (names []string) {
		for _, c := range list {
			names = append(names, c.Name)
		}
		return names
	}
	assert.Equal(t, []string{"a0", "b0", "c0", "a1", "b1", "c1"}, names(consolidation.Interleave(order, nil)))
	assert.Equal(t, []string{"c0", "a0", "b0", "c1", "a1", "b1"}, names(consolidation.Interleave(order, []string{"c"})), "not reached last time goes first")
	assert.Equal(t, []string{"a0"}, moved(t, p.Single(p.Fleet().Unlimited(), nil)))
	assert.Equal(t, []string{"c0"}, moved(t, p.Single(p.Fleet().Unlimited(), []string{"c"})))
}

func TestSingleRemembersThePoolsItDidNotReach(t *testing.T) {
	never := goesUpTo(0)
	p := planner(t, pools(), never, consolidation.Options{MaxSimulations: 2})
	o := p.Single(p.Fleet().Unlimited(), nil)
	assert.True(t, o.Interrupted)
	assert.Nil(t, o.Moves, "an interrupted search has no move")
	assert.Equal(t, []string{"c"}, o.NotReached)
	assert.Equal(t, consolidation.NotReached, stays(o)["c0"])

	o = p.Single(p.Fleet().Unlimited(), o.NotReached)
	assert.Equal(t, []string{"b"}, o.NotReached, "c, then a, were seen this time")

	all := planner(t, pools(), never, consolidation.Options{})
	assert.Nil(t, all.Single(all.Fleet().Unlimited(), []string{"b"}).NotReached, "a search that is through has seen every pool")
}

func TestStopEndsASearch(t *testing.T) {
	calls := 0
	p := planner(t, pools(), goesUpTo(0), consolidation.Options{Stop: func() bool { calls++; return calls > 3 }})
	o := p.Single(p.Fleet().Unlimited(), nil)
	assert.True(t, o.Interrupted)
	assert.Equal(t, 3, o.Simulations)
}

func TestSinglePassesOverWhatCanNotPass(t *testing.T) {
	c := pools()
	c.Pools[0].Policy, c.Pools[0].BalancedK = consolidation.Balanced, 1
	busy := &c.Nodes[0]
	busy.Pods = replicas("busy", 30)
	p := planner(t, c, fits, consolidation.Options{})
	o := p.Single(consolidation.Allowed{"a": 1, "c": 1}, nil)
	assert.Equal(t, consolidation.BudgetSpent, stays(o)["b0"])
	assert.Equal(t, 1, o.Simulations)
	assert.Equal(t, []string{"a1"}, moved(t, o), "a0 is half of the cost and nearly all of the disruption")
	assert.Equal(t, consolidation.CannotPass, stays(o)["a0"])
}

// Lending workers changes nothing in the answer.
func TestWorkersDoNotChangeTheAnswer(t *testing.T) {
	only := simulated(func(remove []string) scheduling.Result {
		if remove[0] == "n007" {
			return scheduling.Result{}
		}
		return goesUpTo(0)(remove)
	})
	alone := planner(t, priced(equal(20)...), only, consolidation.Options{})
	helped := planner(t, priced(equal(20)...), only, consolidation.Options{ForEach: twoWorkers, Batch: 6})
	a, b := alone.Single(alone.Fleet().Unlimited(), nil), helped.Single(helped.Fleet().Unlimited(), nil)
	assert.Equal(t, moved(t, a), moved(t, b))
	assert.Equal(t, a.Simulations, b.Simulations)
	assert.Equal(t, a.Stays, b.Stays)
}

func TestDriftReplacesTheOldestThatCanGo(t *testing.T) {
	c := pools()
	for i := range c.Nodes {
		since := noon.Add(-time.Duration(i) * time.Hour)
		c.Nodes[i].Claim.Drifted = &since
	}
	stuck := simulated(func(remove []string) scheduling.Result {
		if remove[0] == "c1" {
			return goesUpTo(0)(remove)
		}
		return needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("dear", 100)}, nil)(remove)
	})
	p := planner(t, c, stuck, consolidation.Options{})
	o := p.Drift(consolidation.Allowed{"a": 1, "c": 1})
	assert.Equal(t, []string{"c0"}, moved(t, o), "c1 drifted first but has no place, b has no budget")
	assert.Len(t, o.Moves[0].Replacements, 2, "drift takes as many new nodes as it needs, at any price")
	assert.Equal(t, map[string]consolidation.Code{
		"a0": consolidation.NotReached, "a1": consolidation.NotReached, "b0": consolidation.NotReached,
		"b1": consolidation.NotReached, "c1": consolidation.PodsUnplaced,
	}, stays(o))
}

func TestStaticDriftReplacesOneForOne(t *testing.T) {
	c := pools()
	for i := range c.Nodes {
		c.Nodes[i].Claim.Drifted = &noon
	}
	two, three := 2, 3
	for i := range c.Pools {
		c.Pools[i].Replicas = &two
	}
	c.Pools[1].NodeLimit = &three
	p := planner(t, c, nil, consolidation.Options{})
	o := p.StaticDrift(consolidation.Allowed{"a": 1, "b": 9})
	require.Len(t, o.Moves, 2)
	assert.Equal(t, []string{"a0"}, o.Moves[0].Nodes)
	assert.Equal(t, []string{"b0"}, o.Moves[1].Nodes)
	assert.Equal(t, "b", o.Moves[1].Replacements[0].Pool)
	assert.Equal(t, map[string]consolidation.Code{
		"a1": consolidation.BudgetSpent, "b1": consolidation.NodeLimit, "c0": consolidation.BudgetSpent, "c1": consolidation.BudgetSpent,
	}, stays(o))
}

func TestTheLargestSavingMissedIsNamed(t *testing.T) {
	c := priced(5, 4, 3)
	c.Nodes[0].Claim.Consolidatable = false
	c.Nodes[1].Node.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
	movable := simulated(func(remove []string) scheduling.Result {
		if remove[0] == "n000" {
			return needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("small", 4.5)})(remove)
		}
		return scheduling.Result{}
	})
	p := planner(t, c, movable, consolidation.Options{})
	missed := p.Missed([]string{"n002"}, p.Fleet().Unlimited())
	require.NotNil(t, missed)
	assert.Equal(t, []string{"n001"}, missed.Move.Nodes, "n000 is dearer, but would save 0.5 only")
	assert.Equal(t, []consolidation.Code{consolidation.NodeDoNotDisrupt}, codes(missed.Reasons))

	missed = p.Missed([]string{"n000", "n001"}, nil)
	require.NotNil(t, missed)
	assert.Equal(t, []consolidation.Code{consolidation.BudgetSpent}, codes(missed.Reasons))
	assert.Nil(t, p.Missed([]string{"n000", "n001"}, p.Fleet().Unlimited()), "what nothing blocks is not missed")
}
