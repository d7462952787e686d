package termination_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/termination"
)

func clock(text string) time.Time {
	t, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		panic(err)
	}
	return noon.Truncate(24 * time.Hour).Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second)
}

// summary is a plan in one line: what is done, then what waits.
func summary(plan termination.DrainPlan) string {
	var parts []string
	for _, f := range plan.ForceDelete {
		parts = append(parts, fmt.Sprintf("delete %s %s", f.Pod.Name, f.Grace))
	}
	for _, pod := range plan.Evict {
		parts = append(parts, "evict "+pod.Name)
	}
	for _, w := range plan.Waiting {
		if w.Code != termination.Evicting && w.Code != termination.DeadlineReached {
			parts = append(parts, fmt.Sprintf("%s %s", w.Pod.Name, w.Code))
		}
	}
	return strings.Join(parts, ", ")
}

// A drain with one hour of grace from 12:00:00, after the questions of those who
// misread it.
func TestGraceTimeline(t *testing.T) {
	deadline := clock("13:00:00")
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		now  string
		want string
	}{
		{"300 s and protected: not at 12:55:00", podOf("p", nil, grace(300), doNotDisrupt("true")), "12:55:00", "p DoNotDisrupt"},
		{"300 s and protected: at the next look, with what remains", podOf("p", nil, grace(300), doNotDisrupt("true")), "12:55:01", "delete p 4m59s"},
		{"7200 s: at once, with 3600 and not 7200", podOf("p", nil, grace(7200)), "12:00:00", "delete p 1h0m0s"},
		{"30 s and evictable: at once, by eviction", podOf("p", nil, grace(30)), "12:00:00", "evict p"},
		{"any that is still there after the deadline: one second, never none", podOf("p", nil, grace(30)), "13:00:01", "delete p 1s"},
		{"tiers go together after the deadline", podOf("p", nil, grace(30), daemon, critical), "13:10:00", "delete p 1s"},
		{"no terminationGracePeriodSeconds: never by force", podOf("p", nil, noGrace), "13:10:00", "evict p"},
		{"terminating beyond the deadline: again, with less", podOf("p", nil, terminatingUntil(clock("14:00:00"))), "12:30:00", "delete p 30m0s"},
		{"terminating until the deadline: left alone", podOf("p", nil, terminatingUntil(clock("13:00:00"))), "12:30:00", "p Terminating"},
		{"terminating one minute past its time: still waited for", podOf("p", nil, terminatingUntil(clock("12:00:00"))), "12:01:00", "p Terminating"},
		{"terminating longer than that: not waited for", podOf("p", nil, terminatingUntil(clock("12:00:00"))), "12:01:01", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{c.pod}, Deadline: &deadline}, clock(c.now))
			assert.Equal(t, c.want, summary(plan))
			assert.Equal(t, c.want == "", plan.Done())
		})
	}
}

func TestScheduleOfAGracePeriod(t *testing.T) {
	pods := []*corev1.Pod{
		podOf("short", nil, grace(300), doNotDisrupt("true")), podOf("long", nil, grace(7200)), podOf("exact", nil, grace(3600)),
		podOf("unbounded", nil, noGrace), podOf("done", nil, phase(corev1.PodSucceeded)),
		podOf("leaving", nil, terminatingUntil(clock("15:00:00"))), podOf("left", nil, terminatingUntil(clock("12:30:00"))),
	}
	s := termination.ScheduleOf(pods, noon, time.Hour, termination.RulesFor(""))
	var got []string
	for _, d := range s.Deletions {
		got = append(got, fmt.Sprintf("%s after %s with %s, loses %s, at once %v", d.Pod.Name, d.After.Format(time.TimeOnly), d.Grace, d.Lost, d.Immediately))
	}
	assert.Equal(t, []string{
		"exact after 12:00:00 with 59m59s, loses 0s, at once true",
		"leaving after 12:00:00 with 1h0m0s, loses 2h0m0s, at once true",
		"long after 12:00:00 with 1h0m0s, loses 1h0m0s, at once true",
		"short after 12:55:00 with 4m59s, loses 0s, at once false",
	}, got)
	require.Len(t, s.Unbounded, 1)
	assert.Equal(t, "unbounded", s.Unbounded[0].Name)
}

// A vendor's sample: a grace period of 30 s, as long as that of the pods.
func TestGraceNotLongerThanThePods(t *testing.T) {
	pod := podOf("p", web)
	pdb := pdbOf("web", web, 0, maxUnavailable("0"), healthOf(1, 1, 1))
	ledger := ledgerOf(t, pdb)
	deadline, grace := noon.Add(30*time.Second), 30*time.Second

	atStart := termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{pod}, Deadline: &deadline, Ledger: ledger}, noon)
	assert.Equal(t, "p PDBExhausted", summary(atStart))
	next := termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{pod}, Deadline: &deadline, Ledger: ledger}, *atStart.NextChange)
	assert.Equal(t, "delete p 29s", summary(next), "the first look after the start")
	assert.Equal(t, []types.NamespacedName{{Namespace: "default", Name: "web"}}, next.ForceDelete[0].Breaks, "and it says what it breaks")

	findings := termination.Lint(termination.Settings{TerminationGracePeriod: &grace, Pods: []*corev1.Pod{pod}, Ledger: ledger}, noon)
	require.Len(t, findings, 2)
	assert.Equal(t, termination.LintGraceLeqPodGrace, findings[0].Code)
	assert.Equal(t, termination.LintPDBNeverAllows, findings[1].Code)
}

// Two PDBs on one pod, each of which allows one eviction.
func TestTwoPDBsOnOnePod(t *testing.T) {
	pod := podOf("p", map[string]string{"app": "a", "tier": "b"}, grace(300))
	list := pdbs(pdbOf("pdb-1", map[string]string{"app": "a"}, 1), pdbOf("pdb-2", map[string]string{"tier": "b"}, 1))
	limits, _ := termination.CompileLimits(list, termination.LimitsOptions{})
	both := []types.NamespacedName{{Namespace: "default", Name: "pdb-1"}, {Namespace: "default", Name: "pdb-2"}}

	permission := limits.CanEvict(noon, pod)
	assert.False(t, permission.Allowed, "its node is not eligible for graceful methods")
	assert.Equal(t, termination.MultiplePDBs, permission.Code)
	assert.Equal(t, both, permission.Blocking)
	assert.True(t, limits.IsFullyBlocked(pod, noon))
	assert.False(t, limits.IsCurrentlyReschedulable(pod, noon))

	deadline := noon.Add(time.Hour)
	karpenter := termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{pod}, Deadline: &deadline, Limits: limits}, noon)
	assert.Equal(t, "evict p, p MultiplePDBs", summary(karpenter), "Karpenter asks all the same")
	drain := termination.Drain{Pods: []*corev1.Pod{pod}, Deadline: &deadline, Ledger: ledgerOf(t, list...)}
	exact := termination.PlanDrain(drain, noon)
	assert.Equal(t, "p MultiplePDBs", summary(exact), "the exact plan knows better")
	assert.Equal(t, both, exact.Waiting[0].Blocking)
	assert.Equal(t, noon.Add(55*time.Minute+1), *exact.NextChange)
	assert.Equal(t, "delete p 4m59s", summary(termination.PlanDrain(drain, *exact.NextChange)), "with a grace period it is deleted at deadline − its own")
}

func TestTiers(t *testing.T) {
	plain, ds := podOf("plain", nil), podOf("daemon", nil, daemon)
	crit, critDaemon := podOf("critical", nil, critical), podOf("critical-daemon", nil, critical, daemon)
	all := []*corev1.Pod{critDaemon, crit, ds, plain}
	for len(all) > 0 {
		plan := termination.PlanDrain(termination.Drain{Pods: all}, noon)
		require.Len(t, plan.Evict, 1)
		assert.Same(t, all[len(all)-1], plan.Evict[0])
		all = all[:len(all)-1]
	}
	high := podOf("high", nil, func(p *corev1.Pod) { n := int32(2000001000); p.Spec.Priority = &n })
	assert.Equal(t, termination.TierPlain, termination.TierOf(high), "a number doesn't make a pod critical")
	protected := podOf("protected", nil, doNotDisrupt("30m"), func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: noon} })
	stalled := termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{protected, ds}}, noon)
	assert.Equal(t, "protected DoNotDisrupt, daemon EarlierTier", summary(stalled), "a protected pod holds the later tiers")
	assert.Equal(t, noon.Add(30*time.Minute), *stalled.NextChange)
	assert.Equal(t, "default/protected is protected by do-not-disrupt; next change at 2026-03-15T12:30:00Z", stalled.Waiting[0].String())
	assert.Equal(t, "remove the do-not-disrupt annotation", stalled.Waiting[0].Lift())
}

func TestSeveralPodsOfAPDBThatAllowsOne(t *testing.T) {
	pods := []*corev1.Pod{podOf("c", web), podOf("a", web), podOf("b", web, ready("False"))}
	list := pdbs(pdbOf("web", web, 1, healthOf(2, 1, 3)))
	limits, _ := termination.CompileLimits(list, termination.LimitsOptions{})
	assert.Equal(t, "evict c, evict a, evict b", summary(termination.PlanDrain(termination.Drain{Pods: pods, Limits: limits}, noon)))
	exact := termination.PlanDrain(termination.Drain{Pods: pods, Ledger: ledgerOf(t, list...)}, noon)
	assert.Equal(t, "evict a, evict b, c PDBExhausted", summary(exact), "one token, and the unhealthy pod goes free")
}

// drainCase is a random node with PDBs and a deadline or none.
type drainCase struct {
	pods     []*corev1.Pod
	pdbs     []*policyv1.PodDisruptionBudget
	deadline *time.Time
}

func drawDrain(t *rapid.T) drainCase {
	var c drainCase
	app := rapid.SampledFrom([]string{"web", "db", "none"})
	for i := range rapid.IntRange(0, 3).Draw(t, "pdbs") {
		allowed := rapid.Int32Range(0, 2).Draw(t, "allowed")
		current, desired := rapid.Int32Range(0, 3).Draw(t, "current"), rapid.Int32Range(0, 3).Draw(t, "desired")
		c.pdbs = append(c.pdbs, pdbOf(fmt.Sprint("pdb-", i), map[string]string{"app": app.Draw(t, "selects")}, allowed, healthOf(current, desired, 4)))
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "pods") {
		pod := podOf(fmt.Sprint("p", i), map[string]string{"app": app.Draw(t, "app")}, grace(rapid.Int64Range(0, 200).Draw(t, "grace")))
		for _, edit := range []func(*corev1.Pod){
			ready("False"), phase(corev1.PodPending), phase(corev1.PodSucceeded), doNotDisrupt("true"), doNotDisrupt("90s"),
			terminatingUntil(noon.Add(time.Duration(rapid.IntRange(-80, 200).Draw(t, "until")) * time.Second)), daemon, critical, noGrace,
		} {
			if rapid.IntRange(0, 5).Draw(t, "edit") == 0 {
				edit(pod)
			}
		}
		pod.Status.StartTime = &metav1.Time{Time: noon.Add(-time.Minute)}
		c.pods = append(c.pods, pod)
	}
	if rapid.Bool().Draw(t, "has a deadline") {
		at := noon.Add(time.Duration(rapid.IntRange(-10, 300).Draw(t, "deadline")) * time.Second)
		c.deadline = &at
	}
	return c
}

// No exact plan ever breaks a PDB, all its evictions taken together, unless the
// deadline forces it; and then it names the PDB.
func TestNoExactPlanBreaksAPDB(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawDrain(t)
		ledger, _ := termination.CompileLedger(c.pdbs, nil, termination.LedgerOptions{})
		plan := termination.PlanDrain(termination.Drain{Pods: c.pods, Deadline: c.deadline, Ledger: ledger}, noon)
		for _, f := range plan.ForceDelete {
			assert.NotNil(t, c.deadline)
			assert.GreaterOrEqual(t, f.Grace, time.Second)
			assert.Equal(t, !ledger.Ask(f.Pod).Allowed, len(f.Breaks) > 0)
		}
		counted := map[*policyv1.PodDisruptionBudget]int32{}
		for _, pod := range plan.Evict {
			charge(t, c.pdbs, pod, counted)
		}
		for pdb, n := range counted {
			assert.LessOrEqual(t, n, pdb.Status.DisruptionsAllowed)
		}
	})
}

// charge counts an eviction against the one PDB it is charged to, the slow way.
func charge(t *rapid.T, list []*policyv1.PodDisruptionBudget, pod *corev1.Pod, counted map[*policyv1.PodDisruptionBudget]int32) {
	if pod.Status.Phase == corev1.PodPending {
		return
	}
	var matching []*policyv1.PodDisruptionBudget
	for _, pdb := range list {
		if pdb.Spec.Selector.MatchLabels["app"] == pod.Labels["app"] {
			matching = append(matching, pdb)
		}
	}
	require.LessOrEqual(t, len(matching), 1, "%s is under two PDBs", pod.Name)
	unready := pod.Status.Conditions[0].Status != corev1.ConditionTrue
	if len(matching) == 1 {
		s := matching[0].Status
		if !(unready && s.CurrentHealthy >= s.DesiredHealthy && s.DesiredHealthy > 0) {
			counted[matching[0]]++
		}
	}
}

// Between now and NextChange the plan stays the same, but for the grace of what
// is forced; the plan neither changes nor keeps what it is given.
func TestPlanStaysUntilItsNextChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawDrain(t)
		before := clonePods(c.pods)
		drain := termination.Drain{Pods: c.pods, Deadline: c.deadline}
		plan := termination.PlanDrain(drain, noon)
		until := noon.Add(10 * time.Minute)
		if plan.NextChange != nil {
			require.True(t, plan.NextChange.After(noon))
			until = *plan.NextChange
		}
		at := noon.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(noon))-1).Draw(t, "later")))
		assert.Equal(t, acts(plan), acts(termination.PlanDrain(drain, at)))
		assert.Equal(t, before, clonePods(c.pods))
	})
}

func acts(plan termination.DrainPlan) []string {
	var list []string
	for _, f := range plan.ForceDelete {
		list = append(list, "delete "+f.Pod.Name)
	}
	for _, pod := range plan.Evict {
		list = append(list, "evict "+pod.Name)
	}
	for _, w := range plan.Waiting {
		list = append(list, w.Pod.Name+" "+string(w.Code))
	}
	return list
}

func clonePods(pods []*corev1.Pod) []corev1.Pod {
	var list []corev1.Pod
	for _, pod := range pods {
		list = append(list, *pod.DeepCopy())
	}
	return list
}

func BenchmarkPlanDrain(b *testing.B) {
	for _, n := range []int{10, 250} {
		list, pods := benchmarkLedger(n, 20)
		limits, _ := termination.CompileLimits(list, termination.LimitsOptions{})
		ledger, _ := termination.CompileLedger(list, pods, termination.LedgerOptions{})
		deadline := noon.Add(time.Hour)
		for name, drain := range map[string]termination.Drain{
			"plain": {Pods: pods, Deadline: &deadline}, "limits": {Pods: pods, Deadline: &deadline, Limits: limits}, "exact": {Pods: pods, Deadline: &deadline, Ledger: ledger},
		} {
			b.Run(fmt.Sprintf("%d pods %s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					termination.PlanDrain(drain, noon)
				}
			})
		}
	}
}
