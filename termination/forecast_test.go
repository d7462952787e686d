package termination_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/termination"
)

// courses shows a forecast pod by pod: told and gone in the fast, then in the
// slow course, in time from noon.
func courses(f termination.Forecast) []string {
	since := func(t *time.Time) string {
		if t == nil {
			return "never"
		}
		return t.Sub(noon).Truncate(time.Second).String()
	}
	var lines []string
	for _, node := range f.Nodes {
		for _, p := range node.Pods {
			lines = append(lines, fmt.Sprintf("%s %s-%s %s-%s", p.Pod.Name, since(p.Fast.Told), since(p.Fast.Gone), since(p.Slow.Told), since(p.Slow.Gone)))
		}
		lines = append(lines, fmt.Sprintf("%s %s-%s", node.Name, since(node.Earliest), since(node.Latest)))
	}
	return lines
}

func TestForecasts(t *testing.T) {
	minutes := func(n int) *time.Duration { d := time.Duration(n) * time.Minute; return &d }
	started := func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: noon} }
	for _, c := range []struct {
		name string
		node termination.DrainNode
		pdbs []*policyv1.PodDisruptionBudget
		want []string
	}{
		{"an empty node takes five seconds", termination.DrainNode{}, nil, []string{"n 5s-5s"}},
		{"a pod takes up to its grace", termination.DrainNode{Pods: []*corev1.Pod{podOf("p", nil, grace(60))}}, nil, []string{"p 0s-0s 0s-1m0s", "n 5s-1m0s"}},
		{"a PDB serialises, each with grace and recovery", termination.DrainNode{Pods: []*corev1.Pod{podOf("a", web, grace(300)), podOf("b", web, grace(300)), podOf("c", web, grace(300))}},
			pdbs(pdbOf("web", web, 1, maxUnavailable("1"), healthOf(3, 2, 3))),
			[]string{"a 0s-0s 0s-5m0s", "b 1m0s-1m0s 6m0s-11m0s", "c 2m0s-2m0s 12m0s-17m0s", "n 2m0s-17m0s"}},
		{"a PDB that waits for a pod to be healthy may never allow", termination.DrainNode{Pods: []*corev1.Pod{podOf("a", web)}},
			pdbs(pdbOf("web", web, 0, maxUnavailable("1"), healthOf(2, 2, 3))), []string{"a 0s-0s never-never", "n 5s-never"}},
		{"one that can never allow never does", termination.DrainNode{Pods: []*corev1.Pod{podOf("a", web)}},
			pdbs(pdbOf("web", web, 0, minAvailable("1"), healthOf(1, 1, 1))), []string{"a never-never never-never", "n never-never"}},
		{"but for the deadline", termination.DrainNode{Pods: []*corev1.Pod{podOf("a", web)}, GracePeriod: minutes(10)},
			pdbs(pdbOf("web", web, 0, minAvailable("1"), healthOf(1, 1, 1))), []string{"a 9m30s-9m30s 9m30s-9m59s", "n 9m30s-9m59s"}},
		{"do-not-disrupt ends, or the deadline comes", termination.DrainNode{Pods: []*corev1.Pod{podOf("a", nil, doNotDisrupt("3m"), started), podOf("b", nil, doNotDisrupt("true"), started)}, GracePeriod: minutes(5)}, nil,
			[]string{"a 3m0s-3m0s 3m0s-3m30s", "b 4m30s-4m30s 4m30s-4m59s", "n 4m30s-4m59s"}},
		{"tiers go one after the other", termination.DrainNode{Pods: []*corev1.Pod{podOf("d", nil, daemon, grace(10)), podOf("p", nil, grace(60))}}, nil,
			[]string{"p 0s-0s 0s-1m0s", "d 0s-0s 1m0s-1m10s", "n 5s-1m10s"}},
		{"a terminating pod has its time", termination.DrainNode{Pods: []*corev1.Pod{podOf("p", nil, terminatingUntil(noon.Add(20*time.Second)))}}, nil, []string{"p 0s-0s 0s-20s", "n 5s-20s"}},
		{"one that is late is disregarded in a minute", termination.DrainNode{Pods: []*corev1.Pod{podOf("p", nil, terminatingUntil(noon.Add(-20*time.Second)))}}, nil, []string{"p 0s-0s 0s-40s", "n 5s-40s"}},
		{"a pod of long grace loses some", termination.DrainNode{Pods: []*corev1.Pod{podOf("p", nil, grace(7200))}, GracePeriod: minutes(60)}, nil, []string{"p 0s-0s 0s-1h0m0s", "n 5s-1h0m0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.node.Name = "n"
			ledger, _ := termination.CompileLedger(c.pdbs, nil, termination.LedgerOptions{})
			f := termination.ForecastDrain([]termination.DrainNode{c.node}, noon, termination.ForecastOptions{Ledger: ledger, Recovery: time.Minute})
			assert.Equal(t, c.want, courses(f))
		})
	}
}

func TestWhatADeadlineTakesOfTheGrace(t *testing.T) {
	minute := time.Minute
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		lost time.Duration
	}{
		"half of two minutes":                      {podOf("p", nil, grace(120)), time.Minute},
		"what exceeds it of a pod already leaving": {podOf("p", nil, grace(5), terminatingUntil(noon.Add(100*time.Second))), 40 * time.Second},
		"nothing of a minute, but for an instant":  {podOf("p", nil, grace(60), doNotDisrupt("true")), 0},
		"nothing of a pod that is evicted":         {podOf("p", nil, grace(30)), 0},
		"nothing of a pod that leaves by itself":   {podOf("p", nil, grace(30), terminatingUntil(noon.Add(20*time.Second))), 0},
	} {
		f := termination.ForecastDrain([]termination.DrainNode{{Name: "n", Pods: []*corev1.Pod{c.pod}, GracePeriod: &minute}}, noon, termination.ForecastOptions{})
		assert.Equal(t, c.lost, f.Nodes[0].Pods[0].Slow.Lost, name)
	}
}

func TestNodesShareTheTokensOfAPDB(t *testing.T) {
	ledger := ledgerOf(t, pdbOf("web", web, 1, maxUnavailable("1"), healthOf(2, 1, 2)))
	f := termination.ForecastDrain([]termination.DrainNode{
		{Name: "n2", Pods: []*corev1.Pod{podOf("b", web)}}, {Name: "n1", Pods: []*corev1.Pod{podOf("a", web)}},
	}, noon, termination.ForecastOptions{Ledger: ledger, Recovery: time.Minute})
	assert.Equal(t, []string{"a 0s-0s 0s-30s", "n1 5s-30s", "b 1m0s-1m0s 1m30s-2m0s", "n2 1m0s-2m0s"}, courses(f))
	left, _ := ledger.Left(f.Nodes[1].Pods[0].Slow.Held.Blocking[0])
	assert.Equal(t, 1, left, "a forecast charges nothing")
}

func TestWhetherADrainEndsInTime(t *testing.T) {
	pod := podOf("x", web, grace(2400))
	ledger := ledgerOf(t, pdbOf("y", web, 0, minAvailable("1"), healthOf(1, 1, 1)))
	hour := time.Hour
	f := termination.ForecastDrain([]termination.DrainNode{{Name: "n", Pods: []*corev1.Pod{pod}, GracePeriod: &hour}}, noon, termination.ForecastOptions{Ledger: ledger})

	assert.Equal(t, "cannot finish by 2026-03-15T12:15:00Z\n  default/x is deleted by force at 2026-03-15T12:20:00Z with 39m59s of grace, gone by 2026-03-15T12:20:00Z; is held (PDBExhausted) by default/y",
		f.By(noon.Add(15*time.Minute)).String())
	assert.Equal(t, termination.Possible, f.By(noon.Add(30*time.Minute)).Certainty)
	assert.Equal(t, termination.Certain, f.By(noon.Add(time.Hour)).Certainty)
	assert.Equal(t, termination.Certain, f.By(*f.Latest).Certainty, "at the very instant")
	assert.Equal(t, termination.Possible, f.By(f.Latest.Add(-1)).Certainty)
	assert.Equal(t, termination.Possible, f.By(*f.Earliest).Certainty)
	assert.Equal(t, termination.Impossible, f.By(f.Earliest.Add(-1)).Certainty)
	assert.Equal(t, termination.Impossible, termination.ForecastDrain([]termination.DrainNode{{Name: "n"}}, noon, termination.ForecastOptions{}).By(noon).Certainty, "even an empty node takes five seconds")
}

// The bounds hold: the earliest end is never after the latest; with a deadline
// every pod that has a grace of its own is gone by it,
// or a second and an instant later; nothing of the input changes, and its order plays no part.
func TestForecastBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawDrain(t)
		node := termination.DrainNode{Name: "n", Pods: c.pods}
		if c.deadline != nil {
			left := max(0, c.deadline.Sub(noon))
			node.GracePeriod = &left
		}
		ledger, _ := termination.CompileLedger(c.pdbs, nil, termination.LedgerOptions{})
		opts := termination.ForecastOptions{Ledger: ledger, Recovery: time.Duration(rapid.IntRange(0, 60).Draw(t, "recovery")) * time.Second}
		before := clonePods(c.pods)
		f := termination.ForecastDrain([]termination.DrainNode{node}, noon, opts)
		for _, p := range f.Nodes[0].Pods {
			slow := p.Slow.Gone
			if node.GracePeriod != nil && p.Pod.Spec.TerminationGracePeriodSeconds != nil && p.Pod.DeletionTimestamp == nil {
				require.NotNil(t, slow)
				assert.False(t, slow.After(noon.Add(*node.GracePeriod+time.Second+1)), "%s", p.Pod.Name)
			}
		}
		if latest := f.Nodes[0].Latest; latest != nil {
			require.NotNil(t, f.Nodes[0].Earliest)
			assert.False(t, f.Nodes[0].Earliest.After(*latest))
		}
		assert.Equal(t, before, clonePods(c.pods))
		node.Pods = slices.Clone(c.pods)
		slices.Reverse(node.Pods)
		assert.Equal(t, courses(f), courses(termination.ForecastDrain([]termination.DrainNode{node}, noon, opts)))
	})
}

func TestLints(t *testing.T) {
	hour, day, window := time.Hour, 24*time.Hour, 30*time.Minute
	protected, temporary := podOf("b", nil, doNotDisrupt("true")), podOf("c", nil, doNotDisrupt("1h"), func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: noon} })
	zero := pdbOf("web", web, 0, maxUnavailable("0"), healthOf(1, 1, 1))
	for _, c := range []struct {
		name string
		s    termination.Settings
		want []termination.Code
	}{
		{"nothing is wrong", termination.Settings{TerminationGracePeriod: &hour, Window: &day, Pods: []*corev1.Pod{podOf("a", nil), protected}}, nil},
		{"grace beyond the window", termination.Settings{TerminationGracePeriod: &hour, Window: &window}, []termination.Code{termination.LintGraceExceedsWindow}},
		{"grace as long as the window", termination.Settings{TerminationGracePeriod: &hour, Window: &hour}, nil},
		{"a pod that is leaving already", termination.Settings{TerminationGracePeriod: &hour, Pods: []*corev1.Pod{podOf("a", nil, grace(7200), terminatingUntil(noon.Add(time.Minute)))}}, nil},
		{"grace not beyond the pod's", termination.Settings{TerminationGracePeriod: &hour, Pods: []*corev1.Pod{podOf("a", nil, grace(3600)), podOf("b", nil, grace(3599))}}, []termination.Code{termination.LintGraceLeqPodGrace}},
		{"a pod that the deadline never forces", termination.Settings{TerminationGracePeriod: &hour, Pods: []*corev1.Pod{podOf("a", nil, noGrace)}}, []termination.Code{termination.LintUnboundedPod}},
		{"expiry that may never end", termination.Settings{ExpireAfter: &day, Pods: []*corev1.Pod{podOf("a", web), protected, temporary}, Ledger: ledgerOf(t, zero)},
			[]termination.Code{termination.LintExpiryWithoutGrace, termination.LintExpiryWithoutGrace, termination.LintPDBNeverAllows}},
		{"no expiry, no finding", termination.Settings{Pods: []*corev1.Pod{protected}}, nil},
		{"overlapping PDBs", termination.Settings{Pods: []*corev1.Pod{podOf("a", web)}, Ledger: ledgerOf(t, pdbOf("x", web, 1), pdbOf("y", nil, 1))}, []termination.Code{termination.LintPDBOverlap}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var codes []termination.Code
			for _, f := range termination.Lint(c.s, noon) {
				codes = append(codes, f.Code)
				assert.NotEmpty(t, f.Message)
				assert.NotEmpty(t, f.Fix)
			}
			assert.Equal(t, c.want, codes)
		})
	}
}

// claimsMadeTogether are n claims created at noon that live a day.
func claimsMadeTogether(n int) []*termination.Claim {
	day := 24 * time.Hour
	var claims []*termination.Claim
	for i := range n {
		c := &termination.Claim{Pool: fmt.Sprint("pool-", i%2), ExpireAfter: &day}
		c.Name, c.UID, c.CreationTimestamp = fmt.Sprint("c", i), "", metav1.NewTime(noon)
		c.UID = podOf(c.Name, nil).UID
		claims = append(claims, c)
	}
	return claims
}

func TestExpirySpread(t *testing.T) {
	claims := claimsMadeTogether(3)
	claims[1].CreationTimestamp = metav1.NewTime(noon.Add(-48 * time.Hour))
	claims[2].ExpireAfter = nil
	leaving := claimsMadeTogether(4)[3]
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	spread := termination.ExpirySpread(append(claims, leaving), noon, 3)
	require.Len(t, spread, 3)
	assert.Equal(t, []string{"c1"}, spread[0].Names, "overdue")
	assert.Equal(t, []string{"c0"}, spread[1].Names, "a day from now, to the second")
	assert.Empty(t, spread[2].Names)
	assert.Equal(t, noon.Add(48*time.Hour), spread[2].Start)

	hour := time.Hour
	claims[0].TerminationGracePeriod = &hour
	assert.Equal(t, noon.Add(25*time.Hour), *termination.ExpiryOf(claims[0], noon).GoneBy, "the longest possible life")
}

func TestExpirationsUnderABudgetAndARamp(t *testing.T) {
	claims := claimsMadeTogether(6)
	due := noon.Add(24 * time.Hour)
	going := func(now time.Time, opts termination.ExpiryOptions) (names []string, held map[termination.Code]int) {
		held = map[termination.Code]int{}
		for _, e := range termination.PlanExpirations(claims, now, opts) {
			if e.Held == "" {
				names = append(names, e.Claim.Name)
			} else {
				held[e.Held]++
			}
		}
		return names, held
	}
	names, _ := going(due.Add(-1), termination.ExpiryOptions{})
	assert.Empty(t, names)
	names, _ = going(due, termination.ExpiryOptions{})
	assert.Equal(t, []string{"c0", "c1", "c2", "c3", "c4", "c5"}, names, "all at once, as in Karpenter")
	names, held := going(due, termination.ExpiryOptions{Allowed: map[string]int{"pool-0": 2}})
	assert.Equal(t, []string{"c0", "c2"}, names)
	assert.Equal(t, 4, held[termination.BudgetExhausted])

	claims[5].DeletionTimestamp = &metav1.Time{Time: noon}
	names, _ = going(due, termination.ExpiryOptions{})
	assert.Len(t, names, 5, "one that is going already isn't due again")
	claims[5].DeletionTimestamp = nil

	jittered := termination.PlanExpirations(claims, due, termination.ExpiryOptions{Jitter: time.Hour})
	require.Len(t, jittered, 6)
	for i, e := range jittered {
		assert.Equal(t, due.Add(-termination.Jitter(e.Claim.UID, time.Hour)), e.At, "jitter brings it forward")
		assert.True(t, i == 0 || !e.At.Before(jittered[i-1].At))
	}
	for _, e := range termination.PlanExpirations(claims, due.Add(-time.Hour), termination.ExpiryOptions{Jitter: time.Hour}) {
		assert.Equal(t, due.Add(-time.Hour), e.At, "none by an hour or more")
	}

	ramp := termination.ExpiryOptions{Ramp: time.Hour, WindowStart: due}
	var before []string
	for minutes := range 61 {
		names, held := going(due.Add(time.Duration(minutes)*time.Minute), ramp)
		for _, name := range before {
			assert.Contains(t, names, name, "who may go once may go later")
		}
		assert.Equal(t, 6, len(names)+held[termination.RampPending])
		before = names
	}
	assert.Len(t, before, 6)

	turn := due.Add(termination.Jitter(claims[0].UID, time.Hour))
	names, _ = going(turn.Add(-1), ramp)
	assert.NotContains(t, names, "c0")
	names, _ = going(turn, ramp)
	assert.Contains(t, names, "c0", "at the very instant of its turn")
}

// Jitter is within its span, the same each time, and spreads UIDs that look alike
// evenly: no tenth of the span has more than twice its share.
func TestJitter(t *testing.T) {
	const n, span = 10000, 24 * time.Hour
	var tenths [10]int
	for _, c := range claimsMadeTogether(n) {
		j := termination.Jitter(c.UID, span)
		require.True(t, j >= 0 && j < span)
		require.Equal(t, j, termination.Jitter(c.UID, span))
		tenths[j*10/span]++
	}
	for _, count := range tenths {
		assert.Less(t, count, n/5)
		assert.Greater(t, count, n/20)
	}
	assert.Zero(t, termination.Jitter("x", 0))
}

func TestAnotherDomain(t *testing.T) {
	rules := termination.RulesFor("autoscaler.example.com")
	pod := podOf("p", nil, doNotDisrupt("true"), func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "karpenter.sh/disrupted", Operator: corev1.TolerationOpExists}}
	})
	assert.True(t, rules.IsEvictable(pod, noon), "the keys of Karpenter's domain mean nothing here")
	pod.Annotations["autoscaler.example.com/do-not-disrupt"] = "true"
	assert.False(t, rules.IsEvictable(pod, noon))
	node := deletedNode(func(n *corev1.Node) { n.Finalizers = []string{"autoscaler.example.com/termination"} })
	step := termination.Next(termination.NodeState{Node: node, Domain: "autoscaler.example.com"}, noon)
	assert.True(t, strings.HasPrefix(step.Actions[0].Node.Spec.Taints[0].Key, "autoscaler.example.com/"))
}

func BenchmarkForecast(b *testing.B) {
	for _, nodes := range []int{1, 10, 100} {
		list, pods := benchmarkLedger(nodes*30, 20)
		for _, pdb := range list {
			pdb.Status.DisruptionsAllowed = 3
		}
		ledger, _ := termination.CompileLedger(list, nil, termination.LedgerOptions{})
		var drains []termination.DrainNode
		for i := range nodes {
			drains = append(drains, termination.DrainNode{Name: fmt.Sprint("n", i), Pods: pods[i*30 : (i+1)*30]})
		}
		b.Run(fmt.Sprintf("%d nodes of 30 pods", nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				termination.ForecastDrain(drains, noon, termination.ForecastOptions{Ledger: ledger, Recovery: time.Minute})
			}
		})
	}
}
