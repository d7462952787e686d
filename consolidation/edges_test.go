package consolidation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

func TestAPodMadeInTheInstantOfTheMoveWasMoved(t *testing.T) {
	c := nodesAt(1, 1)
	pod := podOf("web-1", "web")
	pod.CreationTimestamp = metav1.NewTime(noon.Add(-10 * time.Minute))
	c.Nodes[0] = nodeOf("n0", "general", "old", pod)
	refusedBy(t, guarded(t, c, fits, history("web", 10*time.Minute), 1, consolidation.PodCooldown{Window: time.Hour}), consolidation.PodCooling)
}

// A loop is the same owner on the same shape: moved away from another pool or
// another instance type, its pods are no loop.
func TestAnotherShapeIsNoLoop(t *testing.T) {
	c := nodesAt(1, 1)
	c.Nodes[0] = nodeOf("n0", "general", "old", podOf("web-1", "web"))
	g := consolidation.LoopDetector{Times: 2, Window: time.Hour, Backoff: time.Hour}
	again := func(pool, instanceType string) consolidation.History {
		h := history("web", 10*time.Minute, 5*time.Minute)
		for i := range h.Moves {
			h.Moves[i].Nodes[0].Pool, h.Moves[i].Nodes[0].InstanceType = pool, instanceType
		}
		return h
	}
	refusedBy(t, guarded(t, c, fits, again("general", "old"), 1, g), consolidation.Looping)
	assert.True(t, guarded(t, c, fits, again("other", "old"), 1, g).Allowed())
	assert.True(t, guarded(t, c, fits, again("general", "other"), 1, g).Allowed())
}

// Whoever can't join the set is passed over, and those after it are tried.
func TestBestGrowsPastTheNodesThatDoNotFit(t *testing.T) {
	onlyOne := simulated(func(remove []string) scheduling.Result {
		dear := 0
		for _, name := range []string{"n000", "n001", "n002"} {
			if slices.Contains(remove, name) {
				dear++
			}
		}
		if dear > 1 {
			return goesUpTo(0)(remove)
		}
		return scheduling.Result{}
	})
	p := planner(t, priced(10, 9, 8, 7, 6, 5), onlyOne, consolidation.Options{})
	assert.ElementsMatch(t, []string{"n000", "n003", "n004", "n005"}, moved(t, p.Best(p.Fleet().Unlimited())))
	assert.Nil(t, moved(t, p.Multi(p.Fleet().Unlimited())), "all prefixes hold two of the three")
}

// The bound knows of the cheapest offering of a type, though the first is dearer.
func TestTheBoundHoldsWhereSpotIsCheap(t *testing.T) {
	both := typeAt("old", map[string]float64{onDemand: 1, spot: 0.1})
	full := nodeOf("n0", "general", "old", replicas("web", 8)...)
	c := consolidation.Cluster{Pools: []consolidation.Pool{pool("general", both)}, Nodes: []consolidation.Node{full}}
	p := planner(t, c, needs(capacity(onDemand, spot), []*scheduling.InstanceType{both}), consolidation.Options{})
	o := p.Best(p.Fleet().Unlimited())
	require.Len(t, o.Moves, 1)
	assert.InDelta(t, 0.9, o.Moves[0].Savings, 1e-12)
	assert.GreaterOrEqual(t, o.Bound, o.Moves[0].Savings-1e-12)
	assert.Less(t, o.Bound, 1.0, "a full node doesn't go for nothing")
}

func TestFifteenCheaperSpotTypesAreEnough(t *testing.T) {
	m := evaluateAll(t, spotNodes(1), needs(capacity(spot), spotTypes(15, 0.2)), consolidation.Options{SpotToSpot: true})
	require.True(t, m.Allowed(), "%v", m.Reasons)
	assert.Len(t, m.Replacements[0].InstanceTypes, 15)
}

func TestAScoreOfExactlyTheThresholdApproves(t *testing.T) {
	pools := map[string]consolidation.ScorePool{"b": {Policy: consolidation.Balanced, Totals: &consolidation.Totals{Cost: 8, Disruption: 8}}}
	source := consolidation.Source{Name: "n", Pool: "b", Price: 1, RescheduleDisruptionCost: 2}
	score := consolidation.ScoreMove(pools, []consolidation.Source{source}, 0)
	assert.Equal(t, 0.5, score.Pools[0].Score)
	assert.True(t, score.Approved)
	assert.True(t, consolidation.CanPass(pools["b"], source))
	source.RescheduleDisruptionCost = 2.001
	assert.False(t, consolidation.ScoreMove(pools, []consolidation.Source{source}, 0).Approved)
	assert.False(t, consolidation.CanPass(pools["b"], source))
}

func TestQuietForExactlyConsolidateAfterIsEnough(t *testing.T) {
	after, since := time.Minute, noon.Add(-time.Minute)
	a := consolidation.Activity{ConsolidateAfter: &after, Initialized: &since}
	assert.Equal(t, consolidation.Quiet{Consolidatable: true}, consolidation.Consolidatable(a, noon))
	assert.Equal(t, consolidation.Quiet{Settling: true, Until: noon}, consolidation.Consolidatable(a, noon.Add(-time.Nanosecond)))
}

// Several prefixes refuse the first candidates: one reason is told, all when
// explaining.
func TestOneReasonUnlessAllAreAskedFor(t *testing.T) {
	for _, all := range []bool{false, true} {
		p := planner(t, priced(equal(8)...), goesUpTo(0), consolidation.Options{Explain: all})
		o := p.Multi(p.Fleet().Unlimited())
		require.Greater(t, len(o.Rejected), 1)
		require.Len(t, o.Stays, 8)
		assert.Equal(t, all, len(o.Stays[0].Reasons) > 1)
	}
}

func TestANodeGivenTwiceCountsOnce(t *testing.T) {
	p := planner(t, nodesAt(1, 2), fits, consolidation.Options{})
	n := p.Fleet().Candidates()
	m := p.Evaluate(consolidation.MethodMulti, n[0], n[1], n[0])
	assert.Equal(t, []string{"n0", "n1"}, m.Nodes)
	assert.InDelta(t, 2, m.Price, 1e-12)
}
