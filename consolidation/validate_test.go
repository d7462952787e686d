package consolidation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

func TestAMoveIsJudgedAgainOnANewerCluster(t *testing.T) {
	a, b := onDemandAt("a", 0.2), onDemandAt("b", 0.3)
	replaced := needs(capacity(onDemand), []*scheduling.InstanceType{a, b})
	decided := planner(t, nodesAt(1, 2), replaced, consolidation.Options{})
	move := decided.Evaluate(consolidation.MethodMulti, decided.Fleet().Candidates()...)
	require.True(t, move.Allowed())

	all := consolidation.Allowed{"general": 2}
	for _, c := range []struct {
		name      string
		change    func(*consolidation.Cluster)
		simulator consolidation.Simulator
		check     consolidation.Check
		want      []consolidation.Code
	}{
		{"nothing changed", nil, replaced, consolidation.Check{Allowed: all}, nil},
		{"a node is gone", func(c *consolidation.Cluster) { c.Nodes = c.Nodes[:1] }, replaced, consolidation.Check{Allowed: all}, []consolidation.Code{consolidation.Churn}},
		{"both nodes got a pod that must not be disrupted", func(c *consolidation.Cluster) {
			for i := range c.Nodes {
				c.Nodes[i].Pods[0].Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
			}
		}, replaced, consolidation.Check{Allowed: all}, []consolidation.Code{consolidation.Churn, consolidation.Churn}},
		{"a node has become empty", func(c *consolidation.Cluster) { c.Nodes[0].Pods = nil }, replaced, consolidation.Check{Allowed: all}, []consolidation.Code{consolidation.Churn}},
		{"the budget now allows one", nil, replaced, consolidation.Check{Allowed: consolidation.Allowed{"general": 1}}, []consolidation.Code{consolidation.BudgetChanged}},
		{"there is room elsewhere", nil, fits, consolidation.Check{Allowed: all}, []consolidation.Code{consolidation.SchedulingChanged}},
		{"a pod has no place", nil, goesUpTo(1), consolidation.Check{Allowed: all}, []consolidation.Code{consolidation.SchedulingChanged}},
		{"a type of the move is too small now", nil, needs(capacity(onDemand), []*scheduling.InstanceType{b}), consolidation.Check{Allowed: all}, []consolidation.Code{consolidation.SchedulingChanged}},
		{"more types would do, at any price", nil, needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("dear", 9), b, a}), consolidation.Check{Allowed: all}, nil},
		{"no pool opens nodes any more", nil, simulated(func([]string) scheduling.Result { return scheduling.Result{NoPools: true} }), consolidation.Check{Allowed: all}, []consolidation.Code{consolidation.NoPools}},
		{"the cluster was seen too long ago", nil, replaced, consolidation.Check{Allowed: all, Now: noon.Add(time.Minute + 1), MaxAge: time.Minute}, []consolidation.Code{consolidation.SnapshotTooOld}},
		{"the cluster is just young enough", nil, replaced, consolidation.Check{Allowed: all, Now: noon.Add(time.Minute), MaxAge: time.Minute}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := nodesAt(1, 2)
			if c.change != nil {
				c.change(&cluster)
			}
			v := planner(t, cluster, c.simulator, consolidation.Options{}).Validate(move, c.check)
			assert.Equal(t, c.want, codes(v.Reasons))
			assert.Equal(t, len(c.want) == 0, v.Valid)
			if v.Valid {
				assert.Equal(t, move.Nodes, v.Nodes)
			}
		})
	}
}

func TestAnEmptyMoveGoesOnWithTheNodesThatAreLeft(t *testing.T) {
	decided := planner(t, without(priced(1, 2, 3)), nil, consolidation.Options{})
	move := decided.Empty(decided.Fleet().Unlimited()).Moves[0]

	now := without(priced(1, 2, 3))
	now.Nodes[1].Pods = replicas("web", 1)
	p := planner(t, now, nil, consolidation.Options{})
	v := p.Validate(move, consolidation.Check{Allowed: consolidation.Allowed{"general": 3}})
	assert.True(t, v.Valid)
	assert.Equal(t, []string{"n000", "n002"}, v.Nodes)
	assert.Equal(t, []consolidation.Code{consolidation.Churn}, codes(v.Reasons), "why a node was dropped")

	v = p.Validate(move, consolidation.Check{})
	assert.False(t, v.Valid)
	assert.Equal(t, consolidation.BudgetChanged, v.Reasons[0].Code)

	for i := range now.Nodes {
		now.Nodes[i].Nominated = true
	}
	v = planner(t, now, nil, consolidation.Options{}).Validate(move, consolidation.Check{Allowed: consolidation.Allowed{"general": 3}})
	assert.False(t, v.Valid)
	assert.Equal(t, consolidation.Churn, v.Reasons[0].Code)
}

func TestDriftIsNotValidated(t *testing.T) {
	p := planner(t, nodesAt(1, 1), nil, consolidation.Options{})
	assert.True(t, p.Validate(&consolidation.Move{Method: consolidation.MethodDrift, Nodes: []string{"gone"}}, consolidation.Check{}).Valid)
}

// Every replacement needs a new node of its own, whichever way round they come.
func TestSeveralReplacementsAreMatchedOneToOne(t *testing.T) {
	a, b := onDemandAt("a", 0.1), onDemandAt("b", 0.1)
	both, onlyA, onlyB := []*scheduling.InstanceType{a, b}, []*scheduling.InstanceType{a}, []*scheduling.InstanceType{b}
	decide := func(lists ...[]*scheduling.InstanceType) *consolidation.Move {
		p := planner(t, nodesAt(1, 2), needs(capacity(onDemand), lists...), consolidation.Options{})
		m := p.Evaluate(consolidation.MethodBest, p.Fleet().Candidates()...)
		require.True(t, m.Allowed())
		return m
	}
	valid := func(m *consolidation.Move, lists ...[]*scheduling.InstanceType) bool {
		p := planner(t, nodesAt(1, 2), needs(capacity(onDemand), lists...), consolidation.Options{})
		return p.Validate(m, consolidation.Check{Allowed: p.Fleet().Unlimited()}).Valid
	}
	assert.True(t, valid(decide(onlyB, onlyA), onlyA, onlyB))
	assert.True(t, valid(decide(onlyA, onlyB), both, onlyA), "the first comes in the second's stead")
	assert.False(t, valid(decide(onlyA, onlyA), both, onlyB))
}
