package repair

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// with makes a node of pool "a" with its own claim, and conditions given as type,
// status and age, in threes.
func with(name string, conditions ...any) Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := 0; i < len(conditions); i += 3 {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type:               corev1.NodeConditionType(conditions[i].(string)),
			Status:             corev1.ConditionStatus(conditions[i+1].(string)),
			LastTransitionTime: metav1.NewTime(ago(conditions[i+2].(time.Duration))),
		})
	}
	return Node{Node: node, Pool: "a", Claims: []Claim{{Name: "claim-" + name, Pool: "a"}}}
}

func sick(name string, age time.Duration) Node { return with(name, "Ready", "False", age) }

func well(name string) Node { return with(name, "Ready", "True", time.Hour) }

// fleet has n nodes, of which the first u have been sick for an hour.
func fleet(n, u int) (nodes []Node) {
	for i := range n {
		if name := fmt.Sprintf("n%02d", i); i < u {
			nodes = append(nodes, sick(name, time.Hour))
		} else {
			nodes = append(nodes, well(name))
		}
	}
	return nodes
}

func aws() *Options { return &Options{Settings: Settings{Policies: AWS()}} }

// codes renders findings as "node:Code".
func codes(p Plan) (out []string) {
	for _, f := range p.Findings {
		if f.Code != CodeHealthy {
			out = append(out, f.Node+":"+string(f.Code))
		}
	}
	return out
}

func acted(p Plan) (out []string) {
	for _, a := range p.Actions {
		out = append(out, a.Node)
	}
	return out
}

func find(t *testing.T, p Plan, node string) Finding {
	for _, f := range p.Findings {
		if f.Node == node {
			return f
		}
	}
	t.Fatalf("no finding for %s", node)
	return Finding{}
}

// The breakers of Karpenter, Cluster API, the Node Healthcheck Operator and
// Cluster Autoscaler, at the sizes at which users were surprised.
func TestBreakersAtSmallSizes(t *testing.T) {
	karpenter := Breaker{}
	capi := Breaker{MaxUnhealthy: "40%", RoundDown: true}
	nhc := Breaker{MaxUnhealthy: "49%", RoundDown: true} // minHealthy 51%
	autoscaler := Breaker{MaxUnhealthy: "45%", RoundDown: true, AtLeast: 3}
	tests := []struct {
		nodes, sick                      int
		karpenter, capi, nhc, autoscaler bool
	}{
		{3, 1, true, true, true, true},
		{4, 2, false, false, false, true},
		{5, 1, true, true, true, true},
		{5, 2, false, true, true, true},
		{6, 2, true, true, true, true},
		{1, 1, true, false, false, true},
		{4, 3, false, false, false, true},
		{4, 4, false, false, false, false},
		{9, 4, false, false, true, true},
		{8, 4, false, false, false, false},
		{100, 45, false, false, true, true},
		{100, 46, false, false, true, false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%d of %d", test.sick, test.nodes), func(t *testing.T) {
			assert.Equal(t, test.karpenter, karpenter.Read(test.nodes, test.sick).Allowed(), "Karpenter")
			assert.Equal(t, test.capi, capi.Read(test.nodes, test.sick).Allowed(), "Cluster API")
			assert.Equal(t, test.autoscaler, autoscaler.Read(test.nodes, test.sick).Allowed(), "Cluster Autoscaler")
			assert.Equal(t, test.nhc, nhc.Read(test.nodes, test.sick).Allowed(), "Node Healthcheck Operator")
		})
	}
}

func TestTheDefaultBreakerRoundsUp(t *testing.T) {
	for nodes, most := range map[int]int{0: 0, 1: 1, 5: 1, 6: 2, 10: 2, 11: 3, 15: 3, 16: 4, 20: 4, 21: 5, 100: 20, 101: 21} {
		assert.Equal(t, most, Breaker{}.Read(nodes, 0).Max, "%d nodes", nodes)
	}
}

func TestBreakers(t *testing.T) {
	tests := map[string]struct {
		breaker     Breaker
		nodes, sick int
		allowed     bool
	}{
		"a number":                          {Breaker{MaxUnhealthy: "2"}, 3, 2, true},
		"one more":                          {Breaker{MaxUnhealthy: "2"}, 3, 3, false},
		"none":                              {Breaker{MaxUnhealthy: "0"}, 3, 1, false},
		"all":                               {Breaker{MaxUnhealthy: "100%"}, 3, 3, true},
		"in range":                          {Breaker{MaxUnhealthy: "[3-5]"}, 9, 3, true},
		"below the range":                   {Breaker{MaxUnhealthy: "[3-5]"}, 9, 2, false},
		"above the range":                   {Breaker{MaxUnhealthy: "[3-5]"}, 9, 6, false},
		"a range upside down":               {Breaker{MaxUnhealthy: "[5-3]"}, 9, 4, false},
		"a range that doesn't end":          {Breaker{MaxUnhealthy: "[3-5"}, 9, 4, false},
		"too high a percentage":             {Breaker{MaxUnhealthy: "120%"}, 9, 0, false},
		"no number":                         {Breaker{MaxUnhealthy: "x"}, 9, 0, false},
		"a sign":                            {Breaker{MaxUnhealthy: "+2"}, 9, 0, false},
		"so few that the breaker is silent": {Breaker{MaxUnhealthy: "0", AtLeast: 1}, 9, 1, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.allowed, test.breaker.Read(test.nodes, test.sick).Allowed())
		})
	}
}

// FuzzBreaker reads any text: no panic, what it can't read allows nothing, and
// more sick nodes never open a breaker that isn't a range.
func FuzzBreaker(f *testing.F) {
	f.Add("20%", 10, 2) // the default
	f.Add("[3-5]", 10, 4)
	f.Add("[-]", 1, 0)                      // a range of nothing
	f.Add("18446744073709551616", 1, 1)     // more than any integer
	f.Add("9999999999999999999%", 1<<30, 1) // a product that would overflow
	f.Fuzz(func(t *testing.T, text string, nodes, sick int) {
		nodes, sick = nodes&0xffff, sick&0xffff
		b := Breaker{MaxUnhealthy: text}
		c := b.Read(nodes, sick)
		if c.Err != nil {
			require.False(t, c.Allowed())
			require.NotEmpty(t, (&Options{Settings: Settings{Breaker: b}}).Validate(nil))
		} else if c.Min == 0 && !c.Allowed() {
			require.False(t, b.Read(nodes, sick+1).Allowed())
		}
	})
}

func TestPriorityDecidesAmongDuePolicies(t *testing.T) {
	policies := []Policy{
		{Type: "Ready", Status: "False", Toleration: 30 * time.Minute},
		{Type: "GPU", Status: "False", Toleration: 10 * time.Minute, Priority: 5},
	}
	n := with("n", "Ready", "False", time.Hour, "GPU", "False", 20*time.Minute).Node
	m, _ := Evaluate(n, policies, noon)
	assert.Equal(t, 1, m.Policy, "both are due")
	m, _ = Evaluate(n, policies, noon.Add(-15*time.Minute))
	assert.Equal(t, 0, m.Policy, "only the first is due")
}

func TestAPolicyCanAskForAReason(t *testing.T) {
	policies := []Policy{{Type: "Ready", Status: "False", Reason: regexp.MustCompile("^(OOM|Disk)")}}
	n := sick("n", time.Hour).Node
	n.Status.Conditions[0].Reason = "KubeletNotReady"
	_, ok := Evaluate(n, policies, noon)
	assert.False(t, ok)
	n.Status.Conditions[0].Reason = "DiskFailed"
	_, ok = Evaluate(n, policies, noon)
	assert.True(t, ok)
}

func TestOddPoliciesAreAnsweredAsRecorded(t *testing.T) {
	n := sick("n", time.Hour).Node
	m, ok := Evaluate(n, []Policy{{Type: "Missing"}}, noon)
	assert.True(t, ok, "an empty status matches a condition that is missing")
	assert.Empty(t, m.Type)
	assert.True(t, m.Due.IsZero())

	m, _ = Evaluate(n, []Policy{{Type: "Missing"}, {Type: "Ready", Status: "False"}}, noon)
	assert.Equal(t, 1, m.Policy, "without a toleration it yields to any later one")
	m, _ = Evaluate(n, []Policy{{Type: "Missing", Toleration: 1}, {Type: "Ready", Status: "False"}}, noon)
	assert.Equal(t, 0, m.Policy)
}

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

func TestStormLastsUntilItHasBeenCalm(t *testing.T) {
	o := aws()
	o.Storm = Storm{Clear: "1", Cooldown: 10 * time.Minute}
	p := Propose(fleet(10, 3), o, State{}, noon)
	assert.Equal(t, CodeHeldByBreaker, p.Findings[0].Code)

	state := reload(t, p.State)
	p = Propose(fleet(10, 2), o, state, minutes(5))
	assert.Equal(t, CodeHeldByStorm, p.Findings[0].Code, "the breaker allows two, but the storm is clear at one")
	assert.Equal(t, minutes(10), *p.Findings[0].Until)

	p = Propose(fleet(10, 1), o, reload(t, p.State), minutes(10))
	assert.Equal(t, CodeHeldByStorm, p.Findings[0].Code)
	assert.Equal(t, minutes(20), *p.Findings[0].Until, "calm from now on, for ten minutes")
	calm := reload(t, p.State)

	p = Propose(fleet(10, 2), o, calm, minutes(15))
	assert.Equal(t, CodeHeldByStorm, p.Findings[0].Code)
	p = Propose(fleet(10, 1), o, reload(t, p.State), minutes(20))
	assert.Equal(t, minutes(30), *p.Findings[0].Until, "a gust starts the calm anew")

	p = Propose(fleet(10, 1), o, calm, minutes(20))
	assert.Equal(t, CodeRepair, p.Findings[0].Code)
	assert.Empty(t, p.State.Storms)
	assert.Equal(t, CodeRepair, Propose(fleet(10, 2), o, p.State, minutes(21)).Findings[0].Code)
}

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// reload sends a state through JSON, as a controller that restarts does.
func reload(t *testing.T, s State) State {
	t.Helper()
	data, err := json.Marshal(s)
	require.NoError(t, err)
	var back State
	require.NoError(t, json.Unmarshal(data, &back))
	return back
}

func rebootTwice() *Options {
	return &Options{Settings: Settings{Policies: []Policy{{
		Type: "Ready", Status: "False", Toleration: 30 * time.Minute,
		Ladder: []Step{
			{Remedy: Reboot, Timeout: 20 * time.Minute, Limit: 2, Per: 24 * time.Hour},
			{Remedy: External, Name: "vendor", Timeout: time.Hour},
			{Remedy: Replace},
		},
	}}}}
}

func TestALadderIsClimbedStepByStep(t *testing.T) {
	o, nodes := rebootTwice(), fleet(9, 1)
	var state State
	steps := []struct {
		at     int
		code   Code
		remedy Remedy
		until  int
	}{
		{0, CodeRepair, Reboot, 20},
		{1, CodeInProgress, "", 20},
		{20, CodeRepair, Reboot, 40},
		{40, CodeRepair, External, 100},
		{99, CodeInProgress, "", 100},
		{100, CodeRepair, Replace, 0},
	}
	for _, step := range steps {
		p := Propose(nodes, o, state, minutes(step.at))
		f := p.Findings[0]
		require.Equal(t, step.code, f.Code, "minute %d", step.at)
		if step.until > 0 {
			require.Equal(t, minutes(step.until), *f.Until, "minute %d", step.at)
		}
		if step.code == CodeRepair {
			require.Len(t, p.Actions, 1)
			require.Equal(t, step.remedy, p.Actions[0].Step.Remedy)
			require.Equal(t, step.remedy == Replace, p.Actions[0].Delete)
			require.Equal(t, step.remedy == Replace, p.Actions[0].Deadline != nil)
		}
		state = reload(t, p.State)
	}
}

func TestALadderWithoutReplaceEnds(t *testing.T) {
	o, nodes := rebootTwice(), fleet(9, 1)
	o.Policies[0].Ladder = o.Policies[0].Ladder[:1]
	state := State{Nodes: map[string]NodeState{"n00": {Attempts: []Attempt{{Remedy: Reboot, At: ago(5 * time.Hour)}, {Remedy: Reboot, At: ago(time.Hour)}}}}}
	f := Propose(nodes, o, state, noon).Findings[0]
	assert.Equal(t, CodeExhausted, f.Code)
	assert.Equal(t, noon.Add(19*time.Hour), *f.Until, "when the first of two reboots is a day old")
	assert.Equal(t, CodeRepair, Propose(nodes, o, state, noon.Add(19*time.Hour)).Findings[0].Code)
}

func TestAHealedNodeForgetsWhatHasNoWindow(t *testing.T) {
	o := rebootTwice()
	state := State{Nodes: map[string]NodeState{"n00": {
		LastSick: ptr(ago(time.Minute)),
		Attempts: []Attempt{{Remedy: Reboot, At: ago(time.Hour)}, {Remedy: External, Name: "vendor", At: ago(time.Minute)}, {Remedy: Reboot, At: ago(25 * time.Hour)}},
	}}}
	p := Propose(fleet(9, 0), o, state, noon)
	assert.Equal(t, []Attempt{{Remedy: Reboot, At: ago(time.Hour)}}, p.State.Nodes["n00"].Attempts, "reboots count for a day")
	assert.Nil(t, p.State.Nodes["n00"].LastSick)
	assert.Len(t, state.Nodes["n00"].Attempts, 3, "the old state is as it was")
	assert.Empty(t, Propose(nil, o, state, noon).State.Nodes, "a node that is gone is forgotten")
}

func TestHealthyAgainTakesAWhile(t *testing.T) {
	o := aws()
	o.HealthyDelay = 10 * time.Minute
	p := Propose(fleet(5, 1), o, State{}, noon)
	p = Propose(fleet(5, 0), o, reload(t, p.State), minutes(1))
	assert.Equal(t, []string{"n00:Recovering"}, codes(p))
	assert.Equal(t, minutes(10), *p.NextCheck)
	assert.Equal(t, 1, p.Groups[len(p.Groups)-1].Count.Sick, "it counts against the breaker still")

	other := fleet(5, 0)
	other[1] = sick("n01", time.Hour)
	held := Propose(other, o, p.State, minutes(1))
	assert.Equal(t, []string{"n00:Recovering", "n01:HeldByBreaker"}, codes(held))

	p = Propose(fleet(5, 0), o, p.State, minutes(10))
	assert.Empty(t, codes(p))
	assert.Empty(t, p.State.Nodes)

	o.HealthyDelay = -1
	p = Propose(fleet(5, 1), o, State{}, noon)
	assert.Equal(t, []string{"n00:Recovering"}, codes(Propose(fleet(5, 0), o, p.State, noon.AddDate(1, 0, 0))), "until somebody confirms")
}

func ptr[T any](v T) *T { return &v }

func TestARunningRemedyTakesASlot(t *testing.T) {
	o := rebootTwice()
	o.MaxInFlight = 1
	p := Propose(fleet(9, 2), o, State{}, noon)
	assert.Equal(t, []string{"n00:Repair", "n01:HeldByLimit"}, codes(p))
	p = Propose(fleet(9, 2), o, p.State, minutes(1))
	assert.Equal(t, []string{"n00:InProgress", "n01:HeldByLimit"}, codes(p))
}

func TestRegistrations(t *testing.T) {
	var r Registrations
	assert.Equal(t, HealthUnknown, r.Health())
	r = r.Record(false)
	assert.Equal(t, Healthy, r.Health(), "one failure is not half of four")
	r = r.Record(true).Record(false)
	assert.Equal(t, Unhealthy, r.Health())
	old := r
	r = r.Record(true).Record(true)
	assert.Equal(t, Healthy, r.Health(), "the first failure is forgotten")
	assert.Equal(t, []bool{true, false, true, true}, r.Registered)
	assert.Equal(t, []bool{false, true, false}, old.Registered)
}

func TestValidate(t *testing.T) {
	o := &Options{
		Settings: Settings{
			Policies: []Policy{
				{Status: "Maybe", Toleration: -1, Priority: 101, Ending: "Soon", GracePeriod: -1, Ladder: []Step{{Remedy: "Pray", Timeout: -1, Limit: -1, Per: -1}}},
			},
			Breaker:     Breaker{MaxUnhealthy: "120%", AtLeast: -1},
			MaxInFlight: -1,
		},
		Pools:            map[string]Settings{"a": {Breaker: Breaker{MaxUnhealthy: "x"}}},
		MaxInFlightTotal: -1,
		Storm:            Storm{Clear: "[", Cooldown: -1},
	}
	var paths []string
	for _, err := range o.Validate(nil) {
		paths = append(paths, err.Field)
	}
	assert.Equal(t, []string{
		"policies[0].type", "policies[0].status", "policies[0].toleration", "policies[0].priority", "policies[0].ending", "policies[0].gracePeriod",
		"policies[0].ladder[0].remedy", "policies[0].ladder[0].timeout", "policies[0].ladder[0].limit", "policies[0].ladder[0].per",
		"breaker.maxUnhealthy", "breaker.atLeast", "maxInFlight", "pools[a].breaker.maxUnhealthy", "maxInFlightTotal", "storm.clear", "storm.cooldown",
	}, paths)
	assert.Empty(t, aws().Validate(nil))
	assert.Empty(t, rebootTwice().Validate(nil))
	assert.Empty(t, (&Options{Settings: Settings{Policies: AKS()}}).Validate(nil))
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

func TestStartupTimeouts(t *testing.T) {
	var o StartupTimeouts
	at, ok := o.Deadline(Startup{Created: noon})
	assert.True(t, ok)
	assert.Equal(t, minutes(5), at, "no instance")
	at, ok = o.Deadline(Startup{Created: noon, Launched: true})
	assert.True(t, ok)
	assert.Equal(t, minutes(15), at, "an instance, but no node")
	_, ok = o.Deadline(Startup{Created: noon, Launched: true, Registered: true})
	assert.False(t, ok)
	at, _ = StartupTimeouts{Registration: time.Hour}.Deadline(Startup{Created: noon, Launched: true})
	assert.Equal(t, minutes(60), at)
}
