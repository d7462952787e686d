package consolidation_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// nodesAt are n on-demand nodes of one type and price, each with a pod.
func nodesAt(price float64, n int) consolidation.Cluster {
	c := consolidation.Cluster{Pools: []consolidation.Pool{pool("general", onDemandAt("old", price))}}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		c.Nodes = append(c.Nodes, nodeOf(name, "general", "old", podOf("pod-"+name, "app-"+name)))
	}
	return c
}

// spotNodes are n spot nodes at 1.
func spotNodes(n int) consolidation.Cluster {
	c := nodesAt(1, n)
	c.Pools[0].InstanceTypes = []*scheduling.InstanceType{typeAt("old", map[string]float64{spot: 1})}
	for i := range c.Nodes {
		c.Nodes[i].Node.Labels["karpenter.sh/capacity-type"] = spot
	}
	return c
}

func evaluateAll(t *testing.T, c consolidation.Cluster, s consolidation.Simulator, o consolidation.Options) *consolidation.Move {
	t.Helper()
	p := planner(t, c, s, o)
	method := consolidation.MethodSingle
	if len(c.Nodes) > 1 {
		method = consolidation.MethodMulti
	}
	return p.Evaluate(method, p.Fleet().Candidates()...)
}

func TestReplacementsMustBeStrictlyCheaper(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes consolidation.Cluster
		price float64
		want  consolidation.Decision
	}{
		{"one node by a cheaper one", nodesAt(1, 1), 0.99, consolidation.Replace},
		{"one node by one of its price", nodesAt(1, 1), 1, consolidation.NoOp},
		{"one node at 0.3 by one at the next lower float", nodesAt(0.30000000000000004, 1), 0.3, consolidation.Replace},
		{"two nodes at 0.3492 by one at 0.6984, which is no saving", nodesAt(0.3492, 2), 0.6984, consolidation.NoOp},
		{"three nodes at 0.1 by one at 0.3, though the sum of floats is larger", nodesAt(0.1, 3), 0.3, consolidation.NoOp},
		{"three nodes at 0.1 by one at 0.299", nodesAt(0.1, 3), 0.299, consolidation.Replace},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := evaluateAll(t, c.nodes, needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("new", c.price)}), consolidation.Options{})
			assert.Equal(t, c.want, m.Decision)
			assert.Equal(t, c.want == consolidation.Replace, m.Allowed())
			if c.want == consolidation.NoOp {
				assert.Equal(t, []consolidation.Code{consolidation.NotCheaper}, codes(m.Reasons))
			}
		})
	}
}

func TestNothingToRemoveIsNoMove(t *testing.T) {
	m := planner(t, nodesAt(1, 1), fits, consolidation.Options{}).Evaluate(consolidation.MethodMulti)
	assert.Equal(t, consolidation.NoOp, m.Decision)
	assert.Equal(t, []consolidation.Code{consolidation.TooFewCandidates}, codes(m.Reasons))
}

func TestWhyAMoveIsNoMove(t *testing.T) {
	types := []*scheduling.InstanceType{onDemandAt("new", 0.5)}
	pods := simulated(func([]string) scheduling.Result {
		return scheduling.Result{Placements: []scheduling.Placement{
			{Pod: podOf("web-0", "web"), NewNode: -1, Reason: &scheduling.Unschedulable{Code: "X", Message: "no node has the CPU"}},
			{Pod: podOf("pending", "web"), NewNode: -1, Origin: scheduling.FromPending},
		}}
	})
	for _, c := range []struct {
		name      string
		simulator simulated
		options   consolidation.Options
		want      consolidation.Reason
	}{
		{"a pod without a place is named, a pending one isn't", pods, consolidation.Options{}, consolidation.Reason{
			Code: consolidation.PodsUnplaced, Message: "a pod would find no place: no node has the CPU", Objects: []string{"Pod/default/web-0"}}},
		{"two new nodes", needs(capacity(onDemand), types, types), consolidation.Options{}, consolidation.Reason{
			Code: consolidation.TooManyNewNodes, Message: "the pods would need 2 new nodes, one is the most", Objects: []string{"Node/n0"}}},
		{"no pool that opens nodes", func([]string) scheduling.Result { return scheduling.Result{NoPools: true} }, consolidation.Options{}, consolidation.Reason{
			Code: consolidation.NoPools, Message: "no node pool can open a node"}},
		{"only deletes are wanted", needs(capacity(onDemand), types), consolidation.Options{DeleteOnly: true}, consolidation.Reason{
			Code: consolidation.ReplaceOff, Message: "the pods would need a new node, and only deletes are wanted", Objects: []string{"Node/n0"}}},
		{"the nearest type is named when asked", needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("dear", 3), onDemandAt("near", 1.5)}), consolidation.Options{Explain: true}, consolidation.Reason{
			Code: consolidation.NotCheaper, Message: "no instance type that would hold the pods is cheaper than 1 an hour: near costs 1.5", Objects: []string{"Node/n0"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := evaluateAll(t, nodesAt(1, 1), c.simulator, c.options)
			assert.Equal(t, []consolidation.Reason{c.want}, m.Reasons)
			assert.Equal(t, consolidation.NoOp, m.Decision)
			assert.Zero(t, m.Savings)
			assert.Equal(t, 1.0, m.Price)
		})
	}
}

func TestSpotIsPinnedWhereItsPriceWasAssumed(t *testing.T) {
	both := typeAt("new", map[string]float64{onDemand: 2, spot: 0.4})
	m := evaluateAll(t, nodesAt(1, 1), needs(capacity(onDemand, spot), []*scheduling.InstanceType{both}), consolidation.Options{})
	require.True(t, m.Allowed())
	assert.Equal(t, []string{spot}, m.Replacements[0].Requirements.Get("karpenter.sh/capacity-type").Values())
	assert.InDelta(t, 0.6, m.Savings, 1e-12)

	m = evaluateAll(t, nodesAt(1, 1), needs(capacity(onDemand), []*scheduling.InstanceType{both}), consolidation.Options{})
	assert.False(t, m.Allowed(), "on demand alone it costs more")
}

func TestSpotToSpot(t *testing.T) {
	withMin := capacity(spot).Add(scheduling.Exists("node.kubernetes.io/instance-type").WithMinValues(17))
	on := consolidation.Options{SpotToSpot: true}
	for _, c := range []struct {
		name      string
		nodes     int
		types     int
		allowed   scheduling.Requirements
		options   consolidation.Options
		wantTypes int
		wantCode  consolidation.Code
	}{
		{"is off by default", 1, 30, capacity(spot), consolidation.Options{}, 0, consolidation.SpotToSpotOff},
		{"needs 15 cheaper types for one node", 1, 14, capacity(spot), on, 0, consolidation.TooFewSpotTypes},
		{"launches the 15 cheapest", 1, 30, capacity(spot), on, 15, ""},
		{"launches more if minValues needs them", 1, 30, withMin, on, 17, ""},
		{"several nodes need no number of types", 2, 3, capacity(spot), on, 3, ""},
		{"several nodes launch any of them", 2, 30, capacity(spot), on, 30, ""},
		{"is not what happens where only on demand is allowed", 1, 3, capacity(onDemand), consolidation.Options{}, 0, consolidation.NotCheaper},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := evaluateAll(t, spotNodes(c.nodes), needs(c.allowed, spotTypes(c.types, 0.2)), c.options)
			if c.wantCode != "" {
				assert.Equal(t, []consolidation.Code{c.wantCode}, codes(m.Reasons))
				return
			}
			require.True(t, m.Allowed(), "%v", m.Reasons)
			assert.Len(t, m.Replacements[0].InstanceTypes, c.wantTypes)
			assert.Equal(t, []string{spot}, m.Replacements[0].Requirements.Get("karpenter.sh/capacity-type").Values())
		})
	}
}

func TestAMixedMoveIsNoSpotToSpot(t *testing.T) {
	c := spotNodes(2)
	c.Nodes[1].Node.Labels["karpenter.sh/capacity-type"] = onDemand
	c.Pools[0].InstanceTypes = []*scheduling.InstanceType{typeAt("old", map[string]float64{spot: 0.5, onDemand: 1})}
	m := evaluateAll(t, c, needs(capacity(spot), spotTypes(2, 0.2)), consolidation.Options{})
	assert.True(t, m.Allowed(), "%v", m.Reasons)
}

func TestMinValuesMustHoldAmongTheCheaperTypes(t *testing.T) {
	need := capacity(onDemand).Add(scheduling.Exists("node.kubernetes.io/instance-type").WithMinValues(2))
	m := evaluateAll(t, nodesAt(1, 1), needs(need, []*scheduling.InstanceType{onDemandAt("cheap", 0.5), onDemandAt("dear", 2)}), consolidation.Options{})
	assert.Equal(t, []consolidation.Code{consolidation.MinValues}, codes(m.Reasons))
}

// Two nodes replaced by one of their own type is a delete of the other; so is one
// by any type that is no cheaper than it.
func TestSeveralNodesAreNotReplacedByTheirOwnType(t *testing.T) {
	old := onDemandAt("old", 1)
	replace := func(types ...*scheduling.InstanceType) *consolidation.Move {
		return evaluateAll(t, nodesAt(1, 2), needs(capacity(onDemand), types), consolidation.Options{})
	}
	assert.Equal(t, []consolidation.Code{consolidation.SameInstanceType}, codes(replace(old, onDemandAt("other", 1.5)).Reasons))
	assert.True(t, replace(onDemandAt("other", 1.5)).Allowed(), "without the type itself among them, dearer ones may stay")
	m := replace(onDemandAt("small", 0.7), old)
	require.True(t, m.Allowed())
	assert.Len(t, m.Replacements[0].InstanceTypes, 1)
}

func TestOnlyTheCheapest600TypesCount(t *testing.T) {
	types := make([]*scheduling.InstanceType, 700)
	for i := range types {
		types[i] = onDemandAt(fmt.Sprintf("t%03d", i), 0.1+float64(i)/10000)
	}
	m := evaluateAll(t, nodesAt(1, 1), needs(capacity(onDemand), types), consolidation.Options{})
	require.True(t, m.Allowed())
	assert.Len(t, m.Replacements[0].InstanceTypes, consolidation.MaxInstanceTypes)

	many := capacity(onDemand).Add(scheduling.Exists("node.kubernetes.io/instance-type").WithMinValues(650))
	m = evaluateAll(t, nodesAt(1, 1), needs(many, types), consolidation.Options{})
	assert.Equal(t, consolidation.Delete, m.Decision, "the new node was given up, and no pod was on it")
}

func TestBalancedPoolsVote(t *testing.T) {
	c := nodesAt(1, 4)
	c.Pools[0].Policy = consolidation.Balanced
	replace := func(price, k float64) *consolidation.Move {
		c.Pools[0].BalancedK = k
		p := planner(t, c, needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("new", price)}), consolidation.Options{})
		return p.Evaluate(consolidation.MethodSingle, chosen(t, p, "n0")...)
	}
	m := replace(0.4, 0) // saves 0.6/4 of the cost for 1/4 of the disruption
	assert.True(t, m.Allowed())
	assert.InDelta(t, 0.6, m.Score.Pools[0].Score, 1e-12)

	m = replace(0.6, 0)
	assert.Equal(t, consolidation.Replace, m.Decision)
	assert.False(t, m.Allowed())
	assert.Equal(t, []consolidation.Reason{{
		Code:    consolidation.ScoreTooLow,
		Message: "node pool general scores the move 0.4, below its threshold 0.5: 10% of its cost saved for 25% of its disruption",
		Objects: []string{"NodePool/general"},
	}}, m.Reasons)
	assert.True(t, replace(0.6, 10).Allowed(), "a larger k accepts less")
}

func TestAMoveAcrossPoolsNeedsEveryBalancedPool(t *testing.T) {
	c := nodesAt(1, 1)
	other := nodeOf("other", "tight", "old", replicas("many", 9)...)
	idle := nodeOf("idle", "tight", "old", podOf("x", "x"))
	idle.Claim.Consolidatable = false
	c.Nodes = append(c.Nodes, other, idle)
	c.Pools = append(c.Pools, pool("tight", c.Pools[0].InstanceTypes...))
	c.Pools[1].Policy = consolidation.Balanced
	p := planner(t, c, needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("new", 1.8)}), consolidation.Options{})
	m := p.Evaluate(consolidation.MethodMulti, chosen(t, p, "n0", "other")...)
	require.Len(t, m.Score.Pools, 1, "only Balanced pools vote")
	assert.Equal(t, "tight", m.Score.Pools[0].Pool)
	assert.InDelta(t, 0.1/2, m.Score.Pools[0].SavingsFraction, 1e-12, "half of the savings of 0.2, over a cost of 2")
	assert.False(t, m.Allowed())
}
