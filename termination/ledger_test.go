package termination_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/termination"
)

var web = map[string]string{"app": "web"}

// minAvailable and maxUnavailable set the spec of a PDB from a number or "50%".
func minAvailable(v string) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) { n := intstr.Parse(v); p.Spec.MinAvailable = &n }
}

func maxUnavailable(v string) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) { n := intstr.Parse(v); p.Spec.MaxUnavailable = &n }
}

// healthOf sets the status that the eviction API computes with.
func healthOf(current, desired, expected int32) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) {
		p.Status.CurrentHealthy, p.Status.DesiredHealthy, p.Status.ExpectedPods = current, desired, expected
	}
}

func policy(v policyv1.UnhealthyPodEvictionPolicyType) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) { p.Spec.UnhealthyPodEvictionPolicy = &v }
}

func phase(p corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = p }
}

// ready sets the Ready condition; "" takes it away.
func ready(s corev1.ConditionStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = nil
		if s != "" {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: s}}
		}
	}
}

func terminatingUntil(t time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: t} }
}

// ownedBy makes a controller the pod's owner.
func ownedBy(uid types.UID) func(*corev1.Pod) {
	yes := true
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: uid, Controller: &yes}}
	}
}

func grace(seconds int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
}

func noGrace(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = nil }

func doNotDisrupt(value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": value} }
}

func daemon(pod *corev1.Pod) {
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}}
}

func critical(pod *corev1.Pod) { pod.Spec.PriorityClassName = "system-cluster-critical" }

func ledgerOf(t testing.TB, pdbs ...*policyv1.PodDisruptionBudget) *termination.Ledger {
	ledger, errs := termination.CompileLedger(pdbs, nil, termination.LedgerOptions{})
	require.Empty(t, errs)
	return ledger
}

// The rules of the eviction API, in its order, and how Karpenter answers.
func TestLedgerAnswersAsTheEvictionAPI(t *testing.T) {
	unobserved := func(p *policyv1.PodDisruptionBudget) { p.Generation, p.Status.ObservedGeneration = 2, 1 }
	crowded := func(p *policyv1.PodDisruptionBudget) {
		p.Status.DisruptedPods = map[string]metav1.Time{}
		for i := range 2001 {
			p.Status.DisruptedPods[fmt.Sprint(i)] = metav1.Time{}
		}
	}
	second := pdbOf("second", nil, 5)
	for _, c := range []struct {
		name     string
		pod      *corev1.Pod
		pdbs     []*policyv1.PodDisruptionBudget
		code     termination.Code // of the ledger
		status   int
		karpener termination.Code
	}{
		{"an allowance lets it go", podOf("p", web), pdbs(pdbOf("a", web, 1)), "", 0, ""},
		{"no allowance blocks", podOf("p", web), pdbs(pdbOf("a", web, 0)), termination.PDBExhausted, 429, termination.PDBExhausted},
		{"two PDBs are an error whatever they allow", podOf("p", web), pdbs(pdbOf("a", web, 5), second), termination.MultiplePDBs, 500, termination.MultiplePDBs},
		{"a pending pod needs no permission; Karpenter thinks it does", podOf("p", web, phase(corev1.PodPending)), pdbs(pdbOf("a", web, 0)), "", 0, termination.PDBExhausted},
		{"a pending pod under two PDBs goes too", podOf("p", web, phase(corev1.PodPending)), pdbs(pdbOf("a", web, 0), second), "", 0, termination.MultiplePDBs},
		{"a failed pod needs no permission", podOf("p", web, phase(corev1.PodFailed)), pdbs(pdbOf("a", web, 0)), "", 0, ""},
		{"a terminating pod needs no permission", podOf("p", web, terminatingUntil(noon)), pdbs(pdbOf("a", web, 0)), "", 0, ""},
		{"AlwaysAllow lets a pod go that isn't ready", podOf("p", web, ready("False")), pdbs(pdbOf("a", web, 0, policy(policyv1.AlwaysAllow))), "", 0, ""},
		{"AlwaysAllow lets a pod of unknown readiness go; Karpenter does not", podOf("p", web, ready("Unknown")), pdbs(pdbOf("a", web, 0, policy(policyv1.AlwaysAllow))), "", 0, termination.PDBExhausted},
		{"no Ready condition is not ready; Karpenter does not think so", podOf("p", web, ready("")), pdbs(pdbOf("a", web, 0, policy(policyv1.AlwaysAllow))), "", 0, termination.PDBExhausted},
		{"AlwaysAllow does nothing for a ready pod", podOf("p", web), pdbs(pdbOf("a", web, 0, policy(policyv1.AlwaysAllow))), termination.PDBExhausted, 429, termination.PDBExhausted},
		{"an unhealthy pod goes when enough others are healthy; Karpenter does not know", podOf("p", web, ready("False")), pdbs(pdbOf("a", web, 0, healthOf(2, 2, 3))), "", 0, termination.PDBExhausted},
		{"an unhealthy pod stays when not enough are healthy", podOf("p", web, ready("False")), pdbs(pdbOf("a", web, 0, healthOf(1, 2, 3))), termination.PDBExhausted, 429, termination.PDBExhausted},
		{"an unhealthy pod stays when none is desired", podOf("p", web, ready("False")), pdbs(pdbOf("a", web, 0, healthOf(0, 0, 1))), termination.PDBExhausted, 429, termination.PDBExhausted},
		{"a PDB whose status is old has to be waited for", podOf("p", web), pdbs(pdbOf("a", web, 5, unobserved)), termination.PDBUnobserved, 429, ""},
		{"a negative allowance is refused; Karpenter lets it pass", podOf("p", web), pdbs(pdbOf("a", web, -1)), termination.PDBRefuses, 403, ""},
		{"too many disrupted pods are refused", podOf("p", web), pdbs(pdbOf("a", web, 5, crowded)), termination.PDBRefuses, 403, ""},
		{"another namespace's PDB doesn't matter", podOf("p", web, func(p *corev1.Pod) { p.Namespace = "other" }), pdbs(pdbOf("a", web, 0)), "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := ledgerOf(t, c.pdbs...)
			answer := ledger.Ask(c.pod)
			assert.Equal(t, c.code, answer.Code)
			assert.Equal(t, c.status, answer.Status)
			assert.Equal(t, c.code == "", answer.Allowed)
			assert.Equal(t, c.code == termination.PDBUnobserved, answer.RetryAfter == 10*time.Second, "only an old status is worth a wait of its own")
			limits, _ := termination.CompileLimits(c.pdbs, termination.LimitsOptions{})
			assert.Equal(t, c.karpener, limits.CanEvict(noon, c.pod).Code)
		})
	}
}

func pdbs(list ...*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget { return list }

func TestPodsTakenTogetherCountTogether(t *testing.T) {
	ledger := ledgerOf(t, pdbOf("web", web, 2), pdbOf("db", map[string]string{"app": "db"}, 1))
	a, b, c := podOf("a", web), podOf("b", web), podOf("c", web)
	db := podOf("db", map[string]string{"app": "db"})

	limits, _ := termination.CompileLimits(pdbs(pdbOf("web", web, 2)), termination.LimitsOptions{})
	assert.True(t, limits.CanEvict(noon, a, b, c).Allowed, "each on its own may go")
	refusal := ledger.Take(db, a, b, c)
	assert.Equal(t, termination.PDBExhausted, refusal.Code, "together they may not")
	assert.Same(t, c, refusal.Pod)
	left, _ := ledger.Left(types.NamespacedName{Namespace: "default", Name: "db"})
	assert.Equal(t, 1, left, "all or none")

	assert.True(t, ledger.Take(db, a, b).Allowed)
	assert.False(t, ledger.Take(c).Allowed)
	ledger.Return(a)
	assert.True(t, ledger.Take(c).Allowed)
}

func TestNoMoreComesBackThanWasTaken(t *testing.T) {
	ledger := ledgerOf(t, pdbOf("web", web, 1, healthOf(3, 2, 4)))
	left := func() int {
		n, _ := ledger.Left(keyOf("default", "web"))
		return n
	}
	healthy, sick, pending := podOf("a", web), podOf("b", web, ready("False")), podOf("c", web, phase(corev1.PodPending))
	ledger.Return(healthy)
	assert.Equal(t, 1, left(), "nothing was taken yet")
	require.True(t, ledger.Take(healthy, sick, pending).Allowed)
	assert.Equal(t, 0, left())
	ledger.Return(sick, pending)
	assert.Equal(t, 0, left(), "these two went free")
	ledger.Return(healthy)
	ledger.Return(healthy)
	assert.Equal(t, 1, left())
	clone := ledger.Clone()
	require.True(t, clone.Take(healthy).Allowed)
	assert.Equal(t, 1, left(), "a clone is charged apart")
}

func TestHealthComputedFromTheSpec(t *testing.T) {
	for _, c := range []struct {
		spec              string
		edit              func(*policyv1.PodDisruptionBudget)
		replicas, desired int32
		allowed           int32
	}{
		{"maxUnavailable 30% of 3 rounds up", maxUnavailable("30%"), 3, 2, 1},
		{"maxUnavailable 1 of 1", maxUnavailable("1"), 1, 0, 1},
		{"minAvailable 50% of 3 rounds up", minAvailable("50%"), 3, 2, 1},
		{"minAvailable 51% of 2 leaves none", minAvailable("51%"), 2, 2, 0},
		{"minAvailable 100%", minAvailable("100%"), 4, 4, 0},
		{"minAvailable 1 of 1", minAvailable("1"), 1, 1, 0},
		{"minAvailable 1 of 3", minAvailable("1"), 3, 1, 2},
		{"a chart's n/2-1 at 2 replicas", maxUnavailable("0"), 2, 2, 0},
		{"a chart's n/2-1 at 4 replicas", maxUnavailable("1"), 4, 3, 1},
	} {
		t.Run(c.spec, func(t *testing.T) {
			var pods []*corev1.Pod
			for i := range c.replicas {
				pods = append(pods, podOf(fmt.Sprint("p", i), web, ownedBy("rs")))
			}
			pdb := pdbOf("web", web, 99, c.edit)
			desired, ok := termination.DesiredHealthy(&pdb.Spec, c.replicas)
			assert.True(t, ok)
			assert.Equal(t, c.desired, desired)
			ledger, _ := termination.CompileLedger(pdbs(pdb), pods, termination.LedgerOptions{FromSpec: true})
			left, known := ledger.Left(types.NamespacedName{Namespace: "default", Name: "web"})
			assert.True(t, known)
			assert.EqualValues(t, c.allowed, left)
			_, blocked := ledger.Structural(pods[0])
			assert.Equal(t, c.allowed == 0, blocked, "all are healthy, so what allows none never will")
		})
	}
}

// Which pods the PDB controller counts, and as what.
func TestWhatCountsAsHealthyAndAsExpected(t *testing.T) {
	rs := ownedBy("rs")
	for _, c := range []struct {
		name     string
		spec     func(*policyv1.PodDisruptionBudget)
		pods     []*corev1.Pod
		replicas map[types.UID]int32
		left     int
		never    termination.Code
	}{
		{"all healthy", maxUnavailable("1"), []*corev1.Pod{podOf("a", web, rs), podOf("b", web, rs), podOf("c", web, rs)}, nil, 1, ""},
		{"one that is leaving is no longer healthy", maxUnavailable("1"), []*corev1.Pod{podOf("a", web, rs), podOf("b", web, rs), podOf("c", web, rs, terminatingUntil(noon))}, nil, 0, ""},
		{"one of unknown readiness isn't", maxUnavailable("1"), []*corev1.Pod{podOf("a", web, rs), podOf("b", web, rs), podOf("c", web, rs, ready("Unknown"))}, nil, 0, ""},
		{"ended ones aren't expected", minAvailable("50%"), []*corev1.Pod{podOf("a", web, rs), podOf("b", web, rs), podOf("c", web, rs, phase(corev1.PodSucceeded)), podOf("d", web, rs, phase(corev1.PodFailed))}, nil, 1, ""},
		{"the controller wants one more than there is", maxUnavailable("1"), []*corev1.Pod{podOf("a", web, rs), podOf("b", web, rs), podOf("c", web, rs)}, map[types.UID]int32{"rs": 4}, 0, ""},
		{"the controller wants one less than there is", maxUnavailable("1"), []*corev1.Pod{podOf("a", web, rs), podOf("b", web, rs), podOf("c", web, rs)}, map[types.UID]int32{"rs": 2}, 2, ""},
		{"two controllers add up", minAvailable("50%"), []*corev1.Pod{podOf("a", web, rs), podOf("b", web, ownedBy("rs-2"))}, map[types.UID]int32{"rs": 1, "rs-2": 2}, 0, ""},
		{"none are expected of a workload scaled to nothing", minAvailable("0%"), []*corev1.Pod{podOf("a", web, rs)}, map[types.UID]int32{"rs": 0}, 0, ""},
		{"pods of nobody can't be counted against a percentage", minAvailable("10%"), []*corev1.Pod{podOf("a", web), podOf("b", web)}, nil, 0, termination.PDBSyncFailed},
		{"nor against maxUnavailable", maxUnavailable("1"), []*corev1.Pod{podOf("a", web), podOf("b", web, rs), podOf("c", web, rs)}, nil, 0, termination.PDBSyncFailed},
		{"but against an integer minAvailable", minAvailable("1"), []*corev1.Pod{podOf("a", web), podOf("b", web)}, nil, 1, ""},
		{"what is no number allows none", maxUnavailable("many"), []*corev1.Pod{podOf("a", web, rs), podOf("b", web, rs)}, nil, 0, termination.PDBSyncFailed},
		{"a spec with neither wants none", func(*policyv1.PodDisruptionBudget) {}, []*corev1.Pod{podOf("a", web), podOf("b", web)}, nil, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger, _ := termination.CompileLedger(pdbs(pdbOf("web", web, 99, c.spec)), c.pods, termination.LedgerOptions{FromSpec: true, Replicas: c.replicas})
			left, _ := ledger.Left(keyOf("default", "web"))
			assert.Equal(t, c.left, left)
			assert.Equal(t, c.left > 0, ledger.Ask(c.pods[0]).Allowed)
			why, _ := ledger.Structural(c.pods[0])
			assert.Equal(t, c.never, why.Code)
		})
	}
}

func TestWhoIsNeverStructurallyBlocked(t *testing.T) {
	zero := pdbOf("web", web, 0, maxUnavailable("0"), policy(policyv1.AlwaysAllow))
	unused := pdbOf("unused", map[string]string{"app": "none"}, 0, maxUnavailable("0"))
	counted := pdbOf("counted", map[string]string{"app": "c"}, 0, maxUnavailable("0"), healthOf(1, 1, 1))
	ledger := ledgerOf(t, zero, unused, counted)
	for name, edit := range map[string]func(*corev1.Pod){
		"pending": phase(corev1.PodPending), "ended": phase(corev1.PodFailed), "leaving": terminatingUntil(noon), "unhealthy and let go": ready("False"),
	} {
		_, blocked := ledger.Structural(podOf("p", web, edit))
		assert.False(t, blocked, name)
	}
	_, blocked := ledger.Structural(podOf("p", web))
	assert.True(t, blocked)
	all := ledger.StructuralPDBs()
	require.Len(t, all, 1, "PDBs that select no pod are nobody's trouble")
	assert.Equal(t, "counted", all[0].PDBs[0].Name)
}

func TestHealthUnderAScaleThatTheControllerHasNotReached(t *testing.T) {
	pods := []*corev1.Pod{podOf("a", web, ownedBy("rs")), podOf("b", web, ownedBy("rs")), podOf("c", web, ownedBy("rs"), ready("False"))}
	ledger, _ := termination.CompileLedger(pdbs(pdbOf("web", web, 0, maxUnavailable("1"))), pods, termination.LedgerOptions{
		FromSpec: true, Replicas: map[types.UID]int32{"rs": 4},
	})
	assert.Equal(t, termination.PDBExhausted, ledger.Ask(pods[0]).Code, "2 of 4 are healthy and 3 must be")
	_, blocked := ledger.Structural(pods[0])
	assert.False(t, blocked, "it resolves once the others are healthy")
}

// Evictions in flight are counted once, whichever way the numbers come: a status
// has been charged for them, and a computed one leaves them out of the healthy.
func TestEvictionsInFlight(t *testing.T) {
	granted := func(ago time.Duration) func(*policyv1.PodDisruptionBudget) {
		return func(p *policyv1.PodDisruptionBudget) {
			p.Status.DisruptedPods = map[string]metav1.Time{"a": metav1.NewTime(noon.Add(-ago))}
		}
	}
	pods := []*corev1.Pod{podOf("a", web, ownedBy("rs")), podOf("b", web, ownedBy("rs")), podOf("c", web, ownedBy("rs"))}
	for _, c := range []struct {
		name string
		pdb  *policyv1.PodDisruptionBudget
		opts termination.LedgerOptions
		left int
	}{
		{"by the status", pdbOf("web", web, 0, maxUnavailable("1"), granted(0)), termination.LedgerOptions{}, 0},
		{"by the spec, a minute ago", pdbOf("web", web, 9, maxUnavailable("1"), granted(time.Minute)), termination.LedgerOptions{FromSpec: true, Now: noon}, 0},
		{"by the spec, two minutes ago", pdbOf("web", web, 9, maxUnavailable("1"), granted(2*time.Minute)), termination.LedgerOptions{FromSpec: true, Now: noon}, 0},
		{"by the spec, longer ago: the deletion never came", pdbOf("web", web, 9, maxUnavailable("1"), granted(2*time.Minute+1)), termination.LedgerOptions{FromSpec: true, Now: noon}, 1},
		{"by the spec, at no known time", pdbOf("web", web, 9, maxUnavailable("1"), granted(time.Hour)), termination.LedgerOptions{FromSpec: true}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			// One that can't be read, before it, must not shift the positions.
			bad := pdbOf("bad", nil, 0, func(p *policyv1.PodDisruptionBudget) {
				p.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
			})
			ledger, errs := termination.CompileLedger(pdbs(bad, nil, c.pdb), pods, c.opts)
			require.Len(t, errs, 2)
			assert.Equal(t, "podDisruptionBudgets[1]", errs[1].Field)
			left, known := ledger.Left(types.NamespacedName{Namespace: "default", Name: "web"})
			assert.True(t, known)
			assert.Equal(t, c.left, left)
		})
	}
}

func TestTooManyEvictionsInFlightAreRefused(t *testing.T) {
	ledger := ledgerOf(t, pdbOf("web", web, 5, func(p *policyv1.PodDisruptionBudget) {
		p.Status.DisruptedPods = map[string]metav1.Time{}
		for i := range 1999 {
			p.Status.DisruptedPods[fmt.Sprint(i)] = metav1.Time{}
		}
	}))
	assert.True(t, ledger.Take(podOf("a", web)).Allowed)
	assert.True(t, ledger.Take(podOf("b", web)).Allowed, "2000 on record are accepted")
	assert.Equal(t, termination.PDBRefuses, ledger.Take(podOf("c", web)).Code, "2001 are not")
}

func TestNumbersBeyondAllMeasure(t *testing.T) {
	for text, want := range map[string]int32{"2147483647": 0, "99999999999%": 0, "9999999999999999999999%": 3, "-5%": 3} {
		n := intstr.FromString(text)
		if text == "2147483647" {
			n = intstr.FromInt32(2147483647)
		}
		desired, _ := termination.DesiredHealthy(&policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &n}, 3)
		assert.Equal(t, want, desired, text)
	}
	_, ok := termination.DesiredHealthy(&policyv1.PodDisruptionBudgetSpec{MinAvailable: &intstr.IntOrString{Type: intstr.String, StrVal: "half"}}, 3)
	assert.False(t, ok)
}

func TestStructuralBlocksSayWhatWouldHelp(t *testing.T) {
	syncFailed := func(p *policyv1.PodDisruptionBudget) {
		p.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Reason: policyv1.SyncFailedReason, Message: "found no controllers"}}
	}
	for _, c := range []struct {
		name string
		pdbs []*policyv1.PodDisruptionBudget
		code termination.Code
		fix  string
	}{
		{"maxUnavailable 0", pdbs(pdbOf("a", web, 0, maxUnavailable("0"))), termination.MaxUnavailableZero, "set maxUnavailable of default/a to 1"},
		{"maxUnavailable 00%", pdbs(pdbOf("a", web, 0, maxUnavailable("00%"))), termination.MaxUnavailableZero, "set maxUnavailable of default/a to 1"},
		{"minAvailable 150%", pdbs(pdbOf("a", web, 0, minAvailable("150%"))), termination.MinAvailableAll, "set maxUnavailable of default/a to 1 in its place"},
		{"minAvailable equals the replicas", pdbs(pdbOf("a", web, 0, minAvailable("1"), healthOf(1, 1, 1))), termination.MinAvailableTooHigh, "scale the workload to 2, or lower minAvailable of default/a to 0"},
		{"a percentage that rounds up", pdbs(pdbOf("a", web, 0, minAvailable("51%"), healthOf(2, 2, 2))), termination.PercentLeavesNone, "scale the workload to 3, or lower minAvailable of default/a to 50%"},
		{"two PDBs", pdbs(pdbOf("a", web, 5), pdbOf("b", nil, 5)), termination.MultiplePDBs, "delete all but one of default/a, default/b, or narrow their selectors"},
		{"a PDB that can't be computed", pdbs(pdbOf("a", web, 0, maxUnavailable("50%"), syncFailed)), termination.PDBSyncFailed, "use an integer minAvailable, or select pods of a controller with a scale"},
		{"one that waits for a pod to be healthy", pdbs(pdbOf("a", web, 0, minAvailable("2"), healthOf(2, 2, 3))), "", ""},
		{"one without a status", pdbs(pdbOf("a", web, 0, minAvailable("2"))), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			why, blocked := ledgerOf(t, c.pdbs...).Structural(podOf("p", web))
			assert.Equal(t, c.code != "", blocked)
			assert.Equal(t, c.code, why.Code)
			assert.Equal(t, c.fix, why.Fix)
		})
	}
}

// What the fix says is true: applied, the PDB lets a pod go, and one less doesn't.
func TestTheFixOfAPercentageIsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percent, replicas := rapid.IntRange(1, 99).Draw(t, "percent"), rapid.IntRange(1, 40).Draw(t, "replicas")
		pdb := pdbOf("a", web, 0, minAvailable(fmt.Sprint(percent, "%")))
		free := func(percent, replicas int) bool {
			n := intstr.FromString(fmt.Sprint(percent, "%"))
			desired, _ := termination.DesiredHealthy(&policyv1.PodDisruptionBudgetSpec{MinAvailable: &n}, int32(replicas))
			return int(desired) < replicas
		}
		desired, _ := termination.DesiredHealthy(&pdb.Spec, int32(replicas))
		pdb.Status.DesiredHealthy, pdb.Status.ExpectedPods = desired, int32(replicas)
		ledger, _ := termination.CompileLedger(pdbs(pdb), nil, termination.LedgerOptions{})
		why, blocked := ledger.Structural(podOf("p", web))
		require.Equal(t, !free(percent, replicas), blocked)
		if !blocked {
			return
		}
		var scale, lower int
		fmt.Sscanf(why.Fix, "scale the workload to %d, or lower minAvailable of default/a to %d%%", &scale, &lower)
		assert.True(t, free(percent, scale) && !free(percent, scale-1), why.Fix)
		if replicas > 1 && lower > 0 {
			assert.True(t, free(lower, replicas) && !free(lower+1, replicas), why.Fix)
		}
	})
}

// The index finds the PDBs that a look at every one of them would find.
func TestIndexFindsWhatAScanFinds(t *testing.T) {
	value := rapid.SampledFrom([]string{"a", "b", "c"})
	key := rapid.SampledFrom([]string{"app", "tier", "zone", "x"})
	labels := rapid.MapOfN(key, value, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		var list []*policyv1.PodDisruptionBudget
		for i := range rapid.IntRange(0, 8).Draw(t, "pdbs") {
			pdb := pdbOf(fmt.Sprint("pdb-", i), labels.Draw(t, "matchLabels"), 0)
			for range rapid.IntRange(0, 2).Draw(t, "expressions") {
				op := rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}).Draw(t, "operator")
				e := metav1.LabelSelectorRequirement{Key: key.Draw(t, "key"), Operator: op}
				if op == "In" || op == "NotIn" {
					e.Values = rapid.SliceOfNDistinct(value, 1, 3, rapid.ID).Draw(t, "values")
				}
				pdb.Spec.Selector.MatchExpressions = append(pdb.Spec.Selector.MatchExpressions, e)
			}
			if rapid.IntRange(0, 9).Draw(t, "nil selector") == 0 {
				pdb.Spec.Selector = nil
			}
			list = append(list, pdb)
		}
		pod := podOf("p", labels.Draw(t, "labels"))
		var want []types.NamespacedName
		for _, pdb := range list {
			selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
			require.NoError(t, err)
			if selector.Matches(labelSet(pod.Labels)) {
				want = append(want, types.NamespacedName{Namespace: pdb.Namespace, Name: pdb.Name})
			}
		}
		ledger, errs := termination.CompileLedger(list, nil, termination.LedgerOptions{})
		require.Empty(t, errs)
		assert.ElementsMatch(t, want, ledger.Ask(pod).PDBs())
	})
}

// labelSet is a pod's labels as selectors want them.
type labelSet map[string]string

func (l labelSet) Has(key string) bool              { _, ok := l[key]; return ok }
func (l labelSet) Get(key string) string            { return l[key] }
func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key]; return v, ok }

func TestWaves(t *testing.T) {
	db := map[string]string{"app": "db"}
	ledger := ledgerOf(t,
		pdbOf("web", web, 1, minAvailable("2"), healthOf(3, 2, 4)), // two at best
		pdbOf("db", db, 0, maxUnavailable("0")),
	)
	node := func(name string, pods ...*corev1.Pod) termination.NodePods {
		return termination.NodePods{Name: name, Pods: pods}
	}
	waves := termination.PlanWaves(ledger, []termination.NodePods{
		node("n5", podOf("a", web), podOf("b", web), podOf("c", web)),
		node("n1", podOf("d", web)),
		node("n2", podOf("e", web)),
		node("n3", podOf("f", web), podOf("free", nil)),
		node("n4", podOf("g", db)),
		node("n6", podOf("protected", nil, doNotDisrupt("true"))),
		node("n7", podOf("protected for a time", nil, doNotDisrupt("1h"), func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: noon} })),
		node("n8", podOf("leaving", web, terminatingUntil(noon), doNotDisrupt("true")), podOf("done", db, phase(corev1.PodSucceeded))),
	}, termination.RulesFor(""), 10*time.Minute, noon)
	assert.Equal(t, [][]string{{"n1", "n2", "n7", "n8"}, {"n3"}, {"n5"}}, waves.Rounds)
	assert.Equal(t, []string{"n5"}, waves.PodByPod, "three tokens of a PDB that never has more than two")
	require.Len(t, waves.Never, 2)
	assert.Equal(t, "n4", waves.Never[0].Node)
	assert.Equal(t, termination.MaxUnavailableZero, waves.Never[0].Why.Code)
	assert.Equal(t, "n6", waves.Never[1].Node)
	assert.Equal(t, termination.DoNotDisrupt, waves.Never[1].Why.Code)
	assert.Equal(t, 2, waves.Refills, "six pods, two at a time")
	assert.Equal(t, 20*time.Minute, waves.LowerBound)
	assert.Equal(t, "3 rounds; default/web must recover 2 times, which takes 20m0s or more; 2 nodes can't be drained", waves.String())

	alone := termination.PlanWaves(nil, []termination.NodePods{node("n1", podOf("a", web)), node("n2")}, termination.RulesFor(""), time.Minute, noon)
	assert.Equal(t, "1 round", alone.String(), "no PDBs, one round")
}

// No round takes more tokens of a PDB than it has at its best, but for a node that
// goes pod by pod, which then shares the PDB with no other; every node is in one
// round or can never go; and the bound is no more than the rounds need.
func TestNoWaveOverdrawsAPDB(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		apps := []string{"a", "b", "c"}
		best := map[string]int{}
		var list []*policyv1.PodDisruptionBudget
		for _, app := range apps {
			best[app] = rapid.IntRange(1, 3).Draw(t, "best")
			list = append(list, pdbOf(app, map[string]string{"app": app}, 0, maxUnavailable(fmt.Sprint(best[app])), healthOf(5, int32(10-best[app]), 10)))
		}
		ledger, _ := termination.CompileLedger(list, nil, termination.LedgerOptions{})
		need := map[string]map[string]int{}
		var nodes []termination.NodePods
		for i := range rapid.IntRange(0, 8).Draw(t, "nodes") {
			node := termination.NodePods{Name: fmt.Sprint("n", i)}
			need[node.Name] = map[string]int{}
			for j := range rapid.IntRange(0, 4).Draw(t, "pods") {
				app := rapid.SampledFrom(apps).Draw(t, "app")
				need[node.Name][app]++
				node.Pods = append(node.Pods, podOf(fmt.Sprint(node.Name, "-", j), map[string]string{"app": app}))
			}
			nodes = append(nodes, node)
		}
		waves := termination.PlanWaves(ledger, nodes, termination.RulesFor(""), time.Minute, noon)
		placed, total, rounds := 0, map[string]int{}, map[string]int{}
		for _, round := range waves.Rounds {
			placed += len(round)
			for _, app := range apps {
				used, users := 0, 0
				for _, name := range round {
					used += need[name][app]
					users += min(1, need[name][app])
				}
				assert.True(t, used <= best[app] || users == 1, "%s in %v", app, round)
				total[app] += used
				rounds[app] += (used + best[app] - 1) / best[app]
			}
		}
		assert.Equal(t, len(nodes), placed)
		for _, app := range apps {
			assert.LessOrEqual(t, (total[app]+best[app]-1)/best[app]-1, waves.Refills)
			if waves.Binding.Name == app {
				assert.Equal(t, (total[app]-1)/best[app], waves.Refills)
				assert.LessOrEqual(t, waves.Refills, rounds[app]-1)
			}
		}
	})
}

// benchmarkLedger is a cluster of many pods under many PDBs in ten namespaces.
func benchmarkLedger(pods, budgets int) ([]*policyv1.PodDisruptionBudget, []*corev1.Pod) {
	var list []*policyv1.PodDisruptionBudget
	for i := range budgets {
		pdb := pdbOf(fmt.Sprint("pdb-", i), map[string]string{"app": fmt.Sprint("app-", i)}, 1, maxUnavailable("10%"))
		pdb.Namespace = fmt.Sprint("ns-", i%10)
		list = append(list, pdb)
	}
	var all []*corev1.Pod
	for i := range pods {
		app := i % budgets
		pod := podOf(fmt.Sprint("pod-", i), map[string]string{"app": fmt.Sprint("app-", app), "hash": fmt.Sprint(i)}, ownedBy(types.UID(fmt.Sprint("rs-", app))))
		pod.Namespace = fmt.Sprint("ns-", app%10)
		all = append(all, pod)
	}
	return list, all
}

var ledgerSizes = []struct{ pods, pdbs int }{{300, 10}, {15000, 500}, {150000, 5000}}

func BenchmarkCompileLedger(b *testing.B) {
	for _, size := range ledgerSizes {
		list, pods := benchmarkLedger(size.pods, size.pdbs)
		b.Run(fmt.Sprintf("%d pods %d PDBs", size.pods, size.pdbs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				termination.CompileLedger(list, pods, termination.LedgerOptions{FromSpec: true})
			}
		})
	}
}

func BenchmarkAskLedger(b *testing.B) {
	for _, size := range ledgerSizes {
		list, pods := benchmarkLedger(size.pods, size.pdbs)
		ledger, _ := termination.CompileLedger(list, pods, termination.LedgerOptions{FromSpec: true})
		b.Run(fmt.Sprintf("%d pods %d PDBs", size.pods, size.pdbs), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ledger.Ask(pods[i%len(pods)])
			}
		})
	}
}
