package repair

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func TestProposeRepairsTheLongestOverdueFirst(t *testing.T) {
	nodes := append(fleet(20, 0), sick("late", 31*time.Minute), sick("later", 3*time.Hour), with("gpu", "AcceleratedHardwareReady", "False", 11*time.Minute), sick("soon", 20*time.Minute))
	p := Propose(nodes, aws(), State{}, noon)
	assert.Equal(t, []string{"later", "gpu", "late"}, acted(p))
	assert.Equal(t, []string{"gpu:Repair", "late:Repair", "later:Repair", "soon:NotYet"}, codes(p))
	assert.Equal(t, noon.Add(10*time.Minute), *p.NextCheck)
	assert.Equal(t, State{}, p.State, "plain policies need no memory")
	for _, a := range p.Actions {
		assert.True(t, a.Delete)
		assert.Equal(t, noon, *a.Deadline, "by force")
		assert.Equal(t, "claim-"+a.Node, a.Claim)
	}
	late := find(t, p, "soon")
	assert.Equal(t, "sick, and tolerated for now; Ready is False; until 2026-03-15T12:10:00Z", late.String())
}

func TestTheBreakerHoldsBackAndSaysSo(t *testing.T) {
	p := Propose(fleet(4, 2), aws(), State{}, noon)
	assert.Empty(t, p.Actions)
	assert.Equal(t, []string{"n00:HeldByBreaker", "n01:HeldByBreaker"}, codes(p))
	assert.Equal(t, noon.Add(RetryAfter), *p.NextCheck)
	assert.Equal(t, "too many nodes are sick: 2 of 4 nodes sick, 1 allowed; Ready is False; until 2026-03-15T12:05:00Z", find(t, p, "n00").String())
}

func TestABreakerIsNoLimit(t *testing.T) {
	o := aws()
	assert.Len(t, Propose(fleet(6, 2), o, State{}, noon).Actions, 2)
	o.MaxInFlight = 1
	p := Propose(fleet(6, 2), o, State{}, noon)
	assert.Equal(t, []string{"n00"}, acted(p))
	assert.Equal(t, "1 under repair, at most 1 may be at once; Ready is False", find(t, p, "n01").String())

	going := fleet(6, 2)
	going[0].Claims[0].Deleting, going[0].Claims[0].Deadline = true, &noon
	p = Propose(going, o, State{}, noon)
	assert.Equal(t, []string{"n00:InProgress", "n01:HeldByLimit"}, codes(p))

	o = aws()
	o.MaxInFlightTotal = 1
	assert.Equal(t, []string{"n00"}, acted(Propose(fleet(6, 2), o, State{}, noon)))
}

func TestWhoIsCountedWhere(t *testing.T) {
	nodes := fleet(4, 1) // pool a
	for i, n := range fleet(3, 3) {
		n.Node.Name = fmt.Sprint("b", i)
		n.Pool, n.Claims[0].Pool = "b", "b"
		nodes = append(nodes, n)
	}
	alone := sick("alone", time.Hour)
	alone.Pool, alone.Claims[0].Pool = "", ""
	nodes = append(nodes, alone)
	p := Propose(nodes, aws(), State{}, noon)
	assert.Equal(t, []string{"n00"}, acted(p))
	assert.Equal(t, CodeHeldByBreaker, find(t, p, "alone").Code)
	assert.Equal(t, "5 of 8 nodes sick, 2 allowed", find(t, p, "alone").Count.String(), "a claim of its own counts everybody")
	assert.Equal(t, "3 of 3 nodes sick, 1 allowed", find(t, p, "b0").Count.String())
}

func TestOnlyNodesWithOneClaimAreRepaired(t *testing.T) {
	nodes := fleet(9, 2)
	nodes[0].Claims = nil
	nodes[1].Claims = append(nodes[1].Claims, Claim{Name: "twin", Pool: "a"})
	p := Propose(nodes, aws(), State{}, noon)
	assert.Equal(t, []string{"n00:NoClaim", "n01:SeveralClaims"}, codes(p))
	assert.Empty(t, p.Actions)
}

func TestADeletingClaimHasItsDeadlinePulledForward(t *testing.T) {
	at := func(deadline *time.Time) []Action {
		nodes := fleet(6, 1)
		nodes[0].Claims[0].Deleting, nodes[0].Claims[0].Deadline = true, deadline
		return Propose(nodes, aws(), State{}, noon).Actions
	}
	later, earlier := noon.Add(time.Hour), ago(time.Minute)
	for _, deadline := range []*time.Time{nil, &later} {
		require.Len(t, at(deadline), 1)
		assert.False(t, at(deadline)[0].Delete)
		assert.Equal(t, noon, *at(deadline)[0].Deadline)
	}
	assert.Empty(t, at(&earlier))
}

func TestEndings(t *testing.T) {
	later, earlier := noon.Add(time.Hour), ago(time.Minute)
	soon := noon.Add(10 * time.Minute)
	tests := map[string]struct {
		ending   Ending
		deadline *time.Time
		want     *time.Time
	}{
		"by force":                            {Forceful, nil, &noon},
		"by force, due later":                 {Forceful, &later, &noon},
		"by force, due already":               {Forceful, &earlier, nil},
		"gracefully":                          {Graceful, nil, nil},
		"within ten minutes":                  {Within, nil, &soon},
		"within ten minutes, due later":       {Within, &later, &soon},
		"within ten minutes, due before that": {Within, &noon, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Policy{Ending: test.ending, GracePeriod: 10 * time.Minute}
			assert.Equal(t, test.want, deadline(&p, &Claim{Deadline: test.deadline}, noon))
		})
	}
}

func TestTheGatesOfACaller(t *testing.T) {
	nodes := fleet(9, 2)
	nodes[0].Node.Annotations = map[string]string{"example.com/do-not-repair": "true"}
	o := aws()
	o.VetoAnnotation = "example.com/do-not-repair"
	o.Hold = func(n *Node) string {
		if n.Node.Name == "n01" {
			return "lease held by fencing"
		}
		return ""
	}
	p := Propose(nodes, o, State{}, noon)
	assert.Equal(t, []string{"n00:Vetoed", "n01:Held"}, codes(p))
	assert.Equal(t, "held back: lease held by fencing; Ready is False", find(t, p, "n01").String())

	o = &Options{Settings: aws().Settings, Pools: map[string]Settings{"a": {Policies: AWS(), Paused: true}}}
	assert.Equal(t, []string{"n00:Paused", "n01:Paused"}, codes(Propose(nodes, o, State{}, noon)))
}

func TestAPoolCanHaveItsOwnSettings(t *testing.T) {
	o := aws()
	o.Pools = map[string]Settings{"a": {Policies: AKS(), Breaker: Breaker{MaxUnhealthy: "2"}}}
	nodes := append(fleet(3, 1), sick("quick", 11*time.Minute))
	assert.Equal(t, []string{"n00", "quick"}, acted(Propose(nodes, o, State{}, noon)))
	assert.Empty(t, acted(Propose(nodes, aws(), State{}, noon)))
}

func TestAFailureDomainHasItsOwnBreaker(t *testing.T) {
	nodes := fleet(6, 3)
	for i := range nodes {
		zone := "a"
		if i == 2 || i > 3 {
			zone = "b"
		}
		nodes[i].Node.Labels = map[string]string{"zone": zone}
	}
	o := aws()
	o.FailureDomain = "zone"
	p := Propose(nodes, o, State{}, noon)
	assert.Equal(t, []string{"n02"}, acted(p), "2 of 3 are sick in zone a, 1 of 3 in zone b")
	assert.Equal(t, Group{"a", "b"}, p.Groups[len(p.Groups)-1].Group)
}

func TestARequestGoesThroughTheSameGates(t *testing.T) {
	nodes := fleet(4, 0)
	nodes[0].Requested = true
	p := Propose(nodes, aws(), State{}, noon)
	require.Equal(t, []string{"n00"}, acted(p))
	assert.Equal(t, "to be repaired; repair was requested", p.Findings[0].String())
	nodes[1].Requested = true
	assert.Equal(t, []string{"n00:HeldByBreaker", "n01:HeldByBreaker"}, codes(Propose(nodes, aws(), State{}, noon)))
}

func TestAConditionThatFlapsCanBeJudgedByHistory(t *testing.T) {
	o := aws()
	nodes := append(fleet(9, 0), sick("flaps", time.Minute))
	assert.Empty(t, Propose(nodes, o, State{}, noon).Actions)
	o.Since = func(n *corev1.Node, c corev1.NodeCondition) time.Time { return ago(time.Hour) }
	assert.Equal(t, []string{"flaps"}, acted(Propose(nodes, o, State{}, noon)))
}

func TestStrictCountsWhoIsLeavingAnyway(t *testing.T) {
	o := aws()
	nodes := fleet(6, 2)
	nodes[5].Claims[0].Deleting = true // consolidated, or drifted
	assert.Len(t, Propose(nodes, o, State{}, noon).Actions, 2)
	o.Strict = true
	p := Propose(nodes, o, State{}, noon)
	assert.Empty(t, p.Actions)
	assert.Equal(t, "2 of 6 nodes sick and 1 leaving, 2 allowed", find(t, p, "n00").Count.String())
	nodes[1] = well("n01")
	assert.Equal(t, []string{"n00"}, acted(Propose(nodes, o, State{}, noon)))
}

// Whatever the fleet, a strict pass keeps the breaker's promise with its own
// actions counted: sick, leaving and taken nodes together are no more than it
// allows.
func TestStrictKeepsTheBreakersPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawFleet(t)
		o := aws()
		o.Strict = true
		o.Pools = map[string]Settings{"b": {Policies: AKS()}}
		p := Propose(nodes, o, State{}, noon)
		gone := map[string]bool{}
		for _, a := range p.Actions {
			gone[a.Node] = true
		}
		acts := map[string]bool{}
		for _, a := range p.Actions {
			acts[a.Pool] = true
		}
		for pool := range acts {
			s, all, out := o.settings(pool), 0, 0
			for _, n := range nodes {
				mine := pool == "" || n.Pool == pool
				_, ill := Evaluate(n.Node, s.Policies, noon)
				leaving := len(n.Claims) == 1 && n.Claims[0].Deleting
				if mine {
					all++
				}
				if mine && (ill || leaving || gone[n.Node.Name]) || gone[n.Node.Name] && n.Claims[0].Pool == pool {
					out++
				}
			}
			require.LessOrEqual(t, out, (all+4)/5, "pool %q", pool)
		}
	})
}

// drawFleet makes nodes of two pools and of none, healthy, tolerated and due, with
// claims in every state; now and then a label and a claim disagree.
func drawFleet(t *rapid.T) (nodes []Node) {
	for i := range rapid.IntRange(0, 12).Draw(t, "nodes") {
		name := fmt.Sprintf("n%02d", i)
		n := well(name)
		if rapid.IntRange(0, 4).Draw(t, "sick") == 0 {
			n = sick(name, time.Duration(rapid.IntRange(5, 90).Draw(t, "age"))*time.Minute)
		}
		n.Pool = rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "pool")
		n.Claims[0].Pool = n.Pool
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			n.Claims[0].Pool = "a"
		}
		n.Claims[0].Deleting = rapid.IntRange(0, 5).Draw(t, "deleting") == 0
		if rapid.IntRange(0, 9).Draw(t, "claims") == 0 {
			n.Claims = nil
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// A plan agrees with Karpenter's rule asked node by node, whatever the order of
// the nodes; it changes neither nodes nor state.
func TestProposeAgreesWithTheRuleNodeByNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawFleet(t)
		o := aws()
		before, _ := json.Marshal(nodes)
		p := Propose(nodes, o, State{}, noon)
		after, _ := json.Marshal(nodes)
		require.Equal(t, string(before), string(after))
		require.Equal(t, p, Propose(rapid.Permutation(nodes).Draw(t, "shuffled"), o, State{}, noon))

		acts := map[string]Action{}
		for _, a := range p.Actions {
			acts[a.Node] = a
		}
		for _, n := range nodes {
			m, ill := Evaluate(n.Node, o.Policies, noon)
			want := ill && m.DueAt(noon) && len(n.Claims) == 1 && o.Count(nodes, n.Claims[0].Pool, noon).Allowed()
			a, got := acts[n.Node.Name]
			require.Equal(t, want, got, n.Node.Name)
			if got {
				require.Equal(t, n.Claims[0].Deleting, !a.Delete)
			}
		}
	})
}

func BenchmarkPropose(b *testing.B) {
	for _, n := range []int{10, 500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			nodes := fleet(n, n/10)
			for i := range nodes {
				for _, c := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure", "StorageReady", "NetworkingReady", "KernelReady"} {
					nodes[i].Node.Status.Conditions = append(nodes[i].Node.Status.Conditions, corev1.NodeCondition{Type: c, Status: "True"})
				}
			}
			o := aws()
			b.ReportAllocs()
			for b.Loop() {
				if p := Propose(nodes, o, State{}, noon); len(p.Actions) != n/10 {
					b.Fatal(len(p.Actions))
				}
			}
		})
	}
}
