package consolidation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
	"github.com/node-disruption/disruption/termination"
)

// guarded judges the removal of a cluster's nodes n0 and on, all together, by a
// history that was stored and read back.
func guarded(t *testing.T, c consolidation.Cluster, s consolidation.Simulator, h consolidation.History, n int, guards ...consolidation.Guard) *consolidation.Move {
	t.Helper()
	stored, err := json.Marshal(h)
	require.NoError(t, err)
	h = consolidation.History{}
	require.NoError(t, json.Unmarshal(stored, &h))
	p := planner(t, c, s, consolidation.Options{Guards: guards, History: h})
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return p.Evaluate(consolidation.MethodMulti, chosen(t, p, names...)...)
}

func refusedBy(t *testing.T, m *consolidation.Move, code consolidation.Code) consolidation.Reason {
	t.Helper()
	require.Equal(t, []consolidation.Code{code}, codes(m.Reasons))
	assert.False(t, m.Allowed())
	assert.NotEqual(t, consolidation.NoOp, m.Decision, "what would be done is still told")
	return m.Reasons[0]
}

// Karpenter issues 1440 and 2883: nodes are replaced all day by others that are
// hardly cheaper, and pulling the images costs more than that saves.
func TestReplacedForAFewCents(t *testing.T) {
	hardly := needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("new", 0.95)})
	clearly := needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("new", 0.7)})
	for _, g := range []consolidation.MinSavings{{PerHour: 0.2}, {Share: 0.2}, {PerDisruption: 0.1}} {
		refusedBy(t, guarded(t, nodesAt(1, 1), hardly, consolidation.History{}, 1, g), consolidation.SavingsTooSmall)
		assert.True(t, guarded(t, nodesAt(1, 1), clearly, consolidation.History{}, 1, g).Allowed(), "%+v", g)
	}
	quarter := needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("new", 0.75)})
	assert.True(t, guarded(t, nodesAt(1, 1), quarter, consolidation.History{}, 1, consolidation.MinSavings{PerHour: 0.25, Share: 0.25}).Allowed(), "what is asked for is enough")
	r := refusedBy(t, guarded(t, nodesAt(1, 1), hardly, consolidation.History{}, 1, consolidation.MinSavings{Share: 0.2}), consolidation.SavingsTooSmall)
	assert.Equal(t, "the move saves 0.05 of the nodes' price, at least 0.2 is asked for", r.Message)
}

// Karpenter issue 2388: a node that is 90% full is replaced again and again.
func TestAFullNodeCalledUnderutilized(t *testing.T) {
	c := nodesAt(1, 1)
	c.Nodes[0] = nodeOf("n0", "general", "old", replicas("web", 7)...) // 7 of 8 cores
	r := refusedBy(t, guarded(t, c, fits, consolidation.History{}, 1, consolidation.UtilizationCeiling{CPU: 0.8}), consolidation.TooBusy)
	assert.Equal(t, "pods request 88% of the CPU of node n0, the ceiling is 80%", r.Message)
	assert.True(t, guarded(t, c, fits, consolidation.History{}, 1, consolidation.UtilizationCeiling{CPU: 0.875, Memory: 0.5}).Allowed(), "a ceiling may be reached")
}

// history has the given pool lose a node, with a pod of app, at each of the times.
func history(app string, ago ...time.Duration) consolidation.History {
	var h consolidation.History
	for i, d := range ago {
		h.Moves = append(h.Moves, consolidation.PastMove{At: noon.Add(-d), Method: consolidation.MethodSingle, Nodes: []consolidation.PastNode{{
			Name: fmt.Sprintf("gone-%d", i), Pool: "general", InstanceType: "old", Owners: []string{"Deployment/default/" + app},
		}}})
	}
	return h
}

// Karpenter issues 1089 and 2909: "at most three nodes a day", however fast the
// controller loops and whatever the budget allows at once.
func TestThreeNodesADay(t *testing.T) {
	limit := consolidation.ChurnLimit{Nodes: 3, Window: 24 * time.Hour}
	h := history("x", 23*time.Hour, 20*time.Hour, 25*time.Hour)
	assert.True(t, guarded(t, nodesAt(1, 1), fits, h, 1, limit).Allowed(), "two in the last day, and one before")
	r := refusedBy(t, guarded(t, nodesAt(1, 2), fits, h, 2, limit), consolidation.ChurnLimited)
	assert.Equal(t, noon.Add(time.Hour), *r.Until, "when the first of the two is a day old")

	p := planner(t, without(nodesAt(1, 4)), nil, consolidation.Options{Guards: []consolidation.Guard{limit}, History: h})
	o := p.Empty(p.Fleet().Unlimited())
	assert.Len(t, moved(t, o), 1, "an Empty move takes as many nodes as the limit leaves")
	assert.Equal(t, consolidation.ChurnLimited, stays(o)["n3"])
}

// Karpenter issue 1019: two nodes by one every four minutes, and back.
func TestAPoolThatNeverRests(t *testing.T) {
	g := consolidation.PoolCooldown{Window: 10 * time.Minute}
	r := refusedBy(t, guarded(t, nodesAt(1, 1), fits, history("x", 4*time.Minute, time.Hour), 1, g), consolidation.PoolCooling)
	assert.Equal(t, noon.Add(6*time.Minute), *r.Until)
	assert.True(t, guarded(t, nodesAt(1, 1), fits, history("x", 10*time.Minute), 1, g).Allowed())
}

// Karpenter's provider issue 7356: a node is replaced two minutes after its pods
// came from another one, while they were still starting.
func TestPodsThatWereJustMoved(t *testing.T) {
	g := consolidation.PodCooldown{Window: 30 * time.Minute}
	c := nodesAt(1, 1)
	pod := podOf("web-1", "web")
	c.Nodes[0] = nodeOf("n0", "general", "old", pod)
	h := history("web", 10*time.Minute)
	assert.True(t, guarded(t, c, fits, h, 1, g).Allowed(), "this pod is older than the move of another")

	pod.CreationTimestamp = metav1.NewTime(noon.Add(-9 * time.Minute))
	r := refusedBy(t, guarded(t, c, fits, h, 1, g), consolidation.PodCooling)
	assert.Equal(t, []string{"Pod/default/web-1"}, r.Objects)
	assert.Equal(t, noon.Add(20*time.Minute), *r.Until)
	assert.True(t, guarded(t, c, fits, history("web", 31*time.Minute), 1, g).Allowed())
}

// Karpenter's provider issues 2468 and 7356: new nodes are consolidated as soon as
// the burst that they came for is placed, one of them two minutes old.
func TestANodeTwoMinutesOld(t *testing.T) {
	g := consolidation.MinAge{Age: 10 * time.Minute}
	c := nodesAt(1, 1)
	c.Nodes[0].Claim.Created = noon.Add(-2 * time.Minute)
	r := refusedBy(t, guarded(t, c, fits, consolidation.History{}, 1, g), consolidation.TooYoung)
	assert.Equal(t, noon.Add(8*time.Minute), *r.Until)
	assert.Equal(t, "node n0 was created less than 10m0s ago", r.Message)

	c.Nodes[0].Claim.Created = noon.Add(-10 * time.Minute)
	assert.True(t, guarded(t, c, fits, consolidation.History{}, 1, g).Allowed(), "exactly as old as it must be")

	c = without(priced(2, 1))
	c.Nodes[0].Claim.Created = noon
	p := planner(t, c, nil, consolidation.Options{Guards: []consolidation.Guard{g}})
	o := p.Empty(p.Fleet().Unlimited())
	assert.Equal(t, []string{"n001"}, moved(t, o), "an Empty move leaves the young node out")
	assert.Equal(t, consolidation.TooYoung, stays(o)["n000"])
}

// No pause is longer than the longest, however it is set.
func TestALoopPausesNoLongerThanAsked(t *testing.T) {
	pause := func(g consolidation.LoopDetector, times int) time.Duration {
		g.Times, g.Window = 1, 1000*time.Hour
		ago := make([]time.Duration, times)
		c := nodesAt(1, 1)
		c.Nodes[0].Pods = replicas("web", 1)
		m := guarded(t, c, fits, history("web", ago...), 1, g)
		return refusedBy(t, m, consolidation.Looping).Until.Sub(noon)
	}
	assert.Equal(t, time.Hour, pause(consolidation.LoopDetector{Backoff: time.Hour}, 1))
	assert.Equal(t, 4*time.Hour, pause(consolidation.LoopDetector{Backoff: time.Hour}, 3))
	assert.Equal(t, 3*time.Hour, pause(consolidation.LoopDetector{Backoff: time.Hour, Longest: 3 * time.Hour}, 3))
	assert.Equal(t, time.Minute, pause(consolidation.LoopDetector{Backoff: time.Hour, Longest: time.Minute}, 1))
	assert.Greater(t, pause(consolidation.LoopDetector{Backoff: time.Hour}, 100), 100*365*24*time.Hour, "no overflow")
}

// Karpenter's provider issue 8536: the same type replaced for fourteen hours, until
// somebody ended it by hand. Replayed: a loop that moves the same Deployment away
// from the same type whenever it may, asked every five minutes for a day.
func TestAFourteenHourLoop(t *testing.T) {
	g := consolidation.LoopDetector{Times: 2, Window: 24 * time.Hour, Backoff: time.Hour, Longest: 8 * time.Hour}
	loop := func(guards ...consolidation.Guard) (moves int, gaps []time.Duration) {
		var h consolidation.History
		var last time.Time
		for now := noon; now.Before(noon.Add(24 * time.Hour)); now = now.Add(5 * time.Minute) {
			c := nodesAt(1, 1)
			c.Now = now
			p := planner(t, c, fits, consolidation.Options{Guards: guards, History: h})
			m := p.Evaluate(consolidation.MethodSingle, p.Fleet().Candidates()...)
			if !m.Allowed() {
				continue
			}
			if moves++; !last.IsZero() {
				gaps = append(gaps, now.Sub(last))
			}
			h, last = h.Record(m, now), now
		}
		return moves, gaps
	}
	without, _ := loop()
	assert.Equal(t, 288, without)
	with, gaps := loop(g)
	assert.Equal(t, 7, with)
	assert.Equal(t, []time.Duration{5 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour}, gaps)
}

// Karpenter's provider issues 5232 and 6129: one replica per app, down at each
// consolidation.
func TestTheOnlyReplicaGoesDown(t *testing.T) {
	c := nodesAt(1, 2)
	refusedBy(t, guarded(t, c, fits, consolidation.History{}, 1, consolidation.KeepSingleReplicas{}), consolidation.SingleReplica)

	two := replicas("web", 2)
	c.Nodes[0], c.Nodes[1] = nodeOf("n0", "general", "old", two[0]), nodeOf("n1", "general", "old", two[1])
	assert.True(t, guarded(t, c, fits, consolidation.History{}, 1, consolidation.KeepSingleReplicas{}).Allowed())

	bare := podOf("bare", "x")
	bare.OwnerReferences = nil
	c.Nodes[0] = nodeOf("n0", "general", "old", bare)
	refusedBy(t, guarded(t, c, fits, consolidation.History{}, 1, consolidation.KeepSingleReplicas{}), consolidation.SingleReplica)
}

// Karpenter issue 3244: several replicas of one app are taken together.
func TestAllReplicasInOneMove(t *testing.T) {
	c := nodesAt(1, 3)
	three := replicas("web", 3)
	for i := range c.Nodes {
		c.Nodes[i] = nodeOf(fmt.Sprintf("n%d", i), "general", "old", three[i])
	}
	g := consolidation.KeepOneReplica{}
	assert.True(t, guarded(t, c, fits, consolidation.History{}, 2, g).Allowed())
	r := refusedBy(t, guarded(t, c, fits, consolidation.History{}, 3, g), consolidation.AllReplicas)
	assert.Equal(t, "all 3 replicas of Deployment/default/web are on the nodes of the move", r.Message)

	three[2].DeletionTimestamp = &metav1.Time{Time: noon}
	refusedBy(t, guarded(t, c, fits, consolidation.History{}, 2, g), consolidation.AllReplicas)
}

// Karpenter's provider issue 2370: a node is removed seconds before the pods of
// the next run need it.
func TestTheNextRunOfTheCronJobFindsNoNode(t *testing.T) {
	c := nodesAt(1, 2)
	c.Nodes[1] = nodeOf("n1", "general", "old", replicas("web", 6)...) // 2 of 8 cores free
	g := consolidation.Headroom{Times: 3, Window: 2 * time.Hour}
	var h consolidation.History
	run := consolidation.PastLoad{Class: "CronJob/default/report", Pods: 3, Requests: corev1.ResourceList{"cpu": resource.MustParse("700m"), "memory": resource.MustParse("1Gi")}}
	for i := range 3 {
		run.At = noon.Add(-time.Duration(30*i+10) * time.Minute)
		h = h.RecordLoad(run)
	}
	r := refusedBy(t, guarded(t, c, fits, h, 1, g), consolidation.NoHeadroom)
	assert.Equal(t, "1 of the 3 pods of CronJob/default/report, which came 3 times or more within 2h0m0s, would find no room", r.Message)

	h.Loads[0].Pods, h.Loads[1].Pods, h.Loads[2].Pods = 2, 2, 2
	assert.True(t, guarded(t, c, fits, h, 1, g).Allowed(), "two pods fit")

	for what, spoil := range map[string]func(n *consolidation.Node){
		"cordoned": func(n *consolidation.Node) { n.Node.Spec.Unschedulable = true },
		"not ready": func(n *consolidation.Node) {
			n.Node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		},
		"leaving": func(n *consolidation.Node) { n.InMove = true },
		"deleted": func(n *consolidation.Node) { n.Claim.Deleting = true },
	} {
		spoiled := c
		spoiled.Nodes = slices.Clone(c.Nodes)
		n := nodeOf("n1", "general", "old", replicas("web", 6)...)
		spoil(&n)
		spoiled.Nodes[1] = n
		r := refusedBy(t, guarded(t, spoiled, fits, h, 1, g), consolidation.NoHeadroom)
		assert.Contains(t, r.Message, "2 of the 2 pods", "a node that is "+what+" has no room")
	}

	moves := simulated(func([]string) scheduling.Result {
		return scheduling.Result{Placements: []scheduling.Placement{{Pod: c.Nodes[0].Pods[0], Node: "n1", NewNode: -1}}}
	})
	refusedBy(t, guarded(t, c, moves, h, 1, g), consolidation.NoHeadroom)

	h.Loads = h.Loads[:2]
	assert.True(t, guarded(t, c, moves, h, 1, g).Allowed(), "twice is not again and again")
}

// Karpenter looks at one pod at a time: a PDB that allows one eviction lets three
// nodes go at once, and the drain of two of them waits.
func TestAMoveThatWouldStallHalfway(t *testing.T) {
	c := nodesAt(1, 3)
	three := replicas("web", 3)
	for i := range c.Nodes {
		c.Nodes[i] = nodeOf(fmt.Sprintf("n%d", i), "general", "old", three[i])
	}
	one := intstr.FromInt32(1)
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2, ExpectedPods: 3},
	}
	limits, errs := termination.CompileLimits([]*policyv1.PodDisruptionBudget{pdb}, termination.LimitsOptions{})
	require.Empty(t, errs)
	c.Limits = limits
	ledger, errs := termination.CompileLedger([]*policyv1.PodDisruptionBudget{pdb}, nil, termination.LedgerOptions{})
	require.Empty(t, errs)

	assert.True(t, guarded(t, c, fits, consolidation.History{}, 3).Allowed(), "as Karpenter does")
	g := consolidation.WholeMovePDBs{Ledger: ledger}
	assert.True(t, guarded(t, c, fits, consolidation.History{}, 1, g).Allowed())
	r := refusedBy(t, guarded(t, c, fits, consolidation.History{}, 2, g), consolidation.PDBExceeded)
	assert.Equal(t, []string{"Pod/default/web-1", "PodDisruptionBudget/default/web"}, r.Objects)
	assert.True(t, guarded(t, c, fits, consolidation.History{}, 1, g).Allowed(), "a question charges nothing")
}

// Karpenter issue 684: deletes alone, "90 to 95% of the saving".
func TestDeleteOnly(t *testing.T) {
	p := planner(t, nodesAt(1, 1), fits, consolidation.Options{DeleteOnly: true})
	assert.True(t, p.Evaluate(consolidation.MethodSingle, p.Fleet().Candidates()...).Allowed())
}

func TestGuardsMayBeForSomeMethodsOnly(t *testing.T) {
	g := consolidation.Only(consolidation.PoolCooldown{Window: time.Hour}, consolidation.MethodSingle)
	c := nodesAt(1, 2)
	p := planner(t, c, fits, consolidation.Options{Guards: []consolidation.Guard{g}, History: history("x", time.Minute)})
	assert.False(t, p.Evaluate(consolidation.MethodSingle, chosen(t, p, "n0")...).Allowed())
	assert.True(t, p.Evaluate(consolidation.MethodMulti, chosen(t, p, "n0", "n1")...).Allowed())
}

func TestAllGuardsAreHeardWhenExplaining(t *testing.T) {
	guards := []consolidation.Guard{consolidation.PoolCooldown{Window: time.Hour}, consolidation.KeepSingleReplicas{}}
	p := planner(t, nodesAt(1, 1), fits, consolidation.Options{Explain: true, Guards: guards, History: history("x", time.Minute)})
	m := p.Evaluate(consolidation.MethodSingle, p.Fleet().Candidates()...)
	assert.Equal(t, []consolidation.Code{consolidation.PoolCooling, consolidation.SingleReplica}, codes(m.Reasons))
}

func TestDriftedNodesAreGuardedToo(t *testing.T) {
	c := nodesAt(1, 2)
	for i := range c.Nodes {
		c.Nodes[i].Claim.Drifted = &noon
	}
	two := replicas("web", 2)
	c.Nodes[1] = nodeOf("n1", "general", "old", two[0], two[1])
	c.Nodes[1].Claim.Drifted = &noon
	p := planner(t, c, fits, consolidation.Options{Guards: []consolidation.Guard{consolidation.KeepSingleReplicas{}}})
	o := p.Drift(p.Fleet().Unlimited())
	assert.Equal(t, []string{"n1"}, moved(t, o))
	assert.Equal(t, consolidation.SingleReplica, stays(o)["n0"])
}

// Static pools have several moves a pass, and what guards count is counted over
// all of them.
func TestStaticDriftIsGuardedAsAWhole(t *testing.T) {
	c, five := nodesAt(1, 5), 5
	c.Pools[0].Replicas = &five
	for i := range c.Nodes {
		c.Nodes[i].Claim.Drifted = &noon
	}
	limit := consolidation.ChurnLimit{Nodes: 3, Window: 24 * time.Hour}
	p := planner(t, c, nil, consolidation.Options{Guards: []consolidation.Guard{limit}, History: history("x", time.Hour)})
	o := p.StaticDrift(p.Fleet().Unlimited())
	require.Len(t, o.Moves, 2, "one of three is gone already")
	assert.Equal(t, []string{"n1"}, o.Moves[1].Nodes)
	assert.Equal(t, map[string]consolidation.Code{
		"n2": consolidation.ChurnLimited, "n3": consolidation.ChurnLimited, "n4": consolidation.ChurnLimited,
	}, stays(o))
}

// Best starts from the move of Multi, which knows nothing of guards for Best only.
func TestBestAsksItsOwnGuardsAboutThePrefix(t *testing.T) {
	g := consolidation.Only(consolidation.ChurnLimit{Nodes: 2, Window: time.Hour}, consolidation.MethodBest)
	p := planner(t, nodesAt(1, 3), fits, consolidation.Options{Guards: []consolidation.Guard{g}})
	assert.Len(t, moved(t, p.Multi(p.Fleet().Unlimited())), 3)
	assert.Len(t, moved(t, p.Best(p.Fleet().Unlimited())), 2)
}

func TestGuardsThatAreNotThereRefuseNothing(t *testing.T) {
	assert.True(t, guarded(t, nodesAt(1, 2), fits, consolidation.History{}, 2, nil, consolidation.WholeMovePDBs{}).Allowed())
}

// A history survives being stored, and recording changes no earlier value.
func TestHistoryIsPlainData(t *testing.T) {
	p := planner(t, nodesAt(1, 1), fits, consolidation.Options{})
	m := p.Evaluate(consolidation.MethodSingle, p.Fleet().Candidates()...)
	first := consolidation.History{}.Record(m, noon)
	second := first.Record(m, noon.Add(time.Hour)).RecordLoad(consolidation.PastLoad{At: noon, Class: "x", Pods: 1})
	assert.Len(t, first.Moves, 1)
	assert.Equal(t, []consolidation.PastNode{{Name: "n0", Pool: "general", InstanceType: "old", Owners: []string{"Deployment/default/app-n0"}}}, first.Moves[0].Nodes)

	data, err := json.Marshal(second)
	require.NoError(t, err)
	var back consolidation.History
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, second, back)
	assert.Equal(t, second.Moves[1:], second.Since(noon.Add(time.Minute)).Moves)
}

func TestOwnerOf(t *testing.T) {
	pod := podOf("web-1", "web")
	assert.Equal(t, "Deployment/default/web", consolidation.OwnerOf(pod))
	pod.Labels["pod-template-hash"] = "other"
	assert.Equal(t, "ReplicaSet/default/web-abc", consolidation.OwnerOf(pod))
	pod.OwnerReferences[0].Controller = nil
	assert.Empty(t, consolidation.OwnerOf(pod))
}
