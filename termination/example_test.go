package termination_test

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/node-disruption/disruption/termination"
)

// The whole story: what to do with a node's pods now, and what is in the way.
func Example() {
	pods := []*corev1.Pod{
		podOf("web-1", web), podOf("web-2", web),
		podOf("report", nil, doNotDisrupt("true"), grace(600)),
		podOf("logs", nil, daemon),
	}
	ledger, _ := termination.CompileLedger([]*policyv1.PodDisruptionBudget{pdbOf("web", web, 1)}, nil, termination.LedgerOptions{})
	deadline := noon.Add(time.Hour)

	plan := termination.PlanDrain(termination.Drain{Pods: pods, Deadline: &deadline, Ledger: ledger}, noon)
	for _, pod := range plan.Evict {
		fmt.Println("evict", pod.Name)
	}
	for _, wait := range plan.Waiting {
		fmt.Println(wait)
	}
	fmt.Println("look again at", plan.NextChange.Format(time.TimeOnly))
	// Output:
	// evict web-1
	// default/web-1 is being evicted
	// default/web-2 is held (PDBExhausted) by default/web; next change at 2026-03-15T12:59:30Z
	// default/report is protected by do-not-disrupt; next change at 2026-03-15T12:50:00Z
	// default/logs waits for the tiers before its own (daemon); next change at 2026-03-15T12:59:30Z
	// look again at 12:50:00
}

func ExampleCompileLimits() {
	limits, errs := termination.CompileLimits([]*policyv1.PodDisruptionBudget{
		pdbOf("by-app", map[string]string{"app": "web"}, 1),
		pdbOf("by-tier", map[string]string{"tier": "front"}, 1),
	}, termination.LimitsOptions{})
	if len(errs) > 0 {
		panic(errs.ToAggregate())
	}
	permission := limits.CanEvict(noon, podOf("a", map[string]string{"app": "web"}), podOf("b", map[string]string{"app": "web", "tier": "front"}))
	fmt.Println(permission.Allowed, permission.Code, permission.Pod.Name, permission.Blocking)
	// Output: false MultiplePDBs b [default/by-app default/by-tier]
}

func ExampleLedger_Take() {
	ledger, _ := termination.CompileLedger([]*policyv1.PodDisruptionBudget{pdbOf("web", web, 2)}, nil, termination.LedgerOptions{})
	first := []*corev1.Pod{podOf("a", web)}
	second := []*corev1.Pod{podOf("b", web), podOf("c", web)}
	fmt.Println("first node: ", ledger.Take(first...).Allowed)
	answer := ledger.Take(second...)
	fmt.Println("second node:", answer.Allowed, answer.Code, answer.Status, answer.PDBs())
	// Output:
	// first node:  true
	// second node: false PDBExhausted 429 [default/web]
}

func ExampleLedger_Structural() {
	ledger, _ := termination.CompileLedger([]*policyv1.PodDisruptionBudget{
		pdbOf("web", web, 0, minAvailable("51%"), healthOf(2, 2, 2)),
	}, nil, termination.LedgerOptions{})
	why, _ := ledger.Structural(podOf("a", web))
	fmt.Println(why.Message)
	fmt.Println("fix:", why.Fix)
	// Output:
	// default/web wants 2 of 2 pods healthy (minAvailable 51%), which leaves none to go
	// fix: scale the workload to 3, or lower minAvailable of default/web to 50%
}

func ExampleNext() {
	state := termination.NodeState{Node: deletedNode(), NodeClaims: []*termination.Claim{deletedClaim()}, Pods: []*corev1.Pod{podOf("web-1", web)}}
	step := termination.Next(state, noon)
	fmt.Println(step.Stage)
	for _, action := range step.Actions {
		fmt.Println(action.Kind)
	}
	fmt.Println("again in", step.RequeueAfter)
	// Output:
	// Drain
	// PatchNode
	// PatchClaim
	// EvictPod
	// again in 1s
}

func ExampleScheduleOf() {
	pods := []*corev1.Pod{podOf("web", nil, grace(300)), podOf("render", nil, grace(7200))}
	for _, d := range termination.ScheduleOf(pods, noon, time.Hour, termination.RulesFor("")).Deletions {
		fmt.Printf("%s after %s with %s, loses %s\n", d.Pod.Name, d.After.Format(time.TimeOnly), d.Grace, d.Lost)
	}
	// Output:
	// render after 12:00:00 with 1h0m0s, loses 1h0m0s
	// web after 12:55:00 with 4m59s, loses 0s
}

func ExampleForecastDrain() {
	ledger, _ := termination.CompileLedger([]*policyv1.PodDisruptionBudget{
		pdbOf("web", web, 1, maxUnavailable("1"), healthOf(3, 2, 3)),
	}, nil, termination.LedgerOptions{})
	nodes := []termination.DrainNode{
		{Name: "node-1", Pods: []*corev1.Pod{podOf("web-1", web, grace(300)), podOf("web-2", web, grace(300))}},
	}
	forecast := termination.ForecastDrain(nodes, noon, termination.ForecastOptions{Ledger: ledger, Recovery: time.Minute})
	fmt.Println("between", forecast.Earliest.Format(time.TimeOnly), "and", forecast.Latest.Format(time.TimeOnly))
	fmt.Println(forecast.By(noon.Add(10 * time.Minute)))
	// Output:
	// between 12:01:00 and 12:11:00
	// may not finish by 2026-03-15T12:10:00Z
	//   default/web-2 is evicted at 2026-03-15T12:06:00Z with 5m0s of grace, gone by 2026-03-15T12:11:00Z; is held (PDBExhausted) by default/web
}

func ExampleProgress() {
	drain := termination.Drain{Pods: []*corev1.Pod{podOf("report", nil, doNotDisrupt("true"))}}
	progress := termination.Progress{}.Observe(termination.PlanDrain(drain, noon), noon)
	stored, _ := json.Marshal(progress)

	// After a restart:
	later := noon.Add(2 * time.Hour)
	restored, _ := termination.ParseProgress(stored)
	fmt.Println(restored.Observe(termination.PlanDrain(drain, later), later))
	// Output:
	// 0 pods gone, 1 to go since 2026-03-15T12:00:00Z
	//   default/report: DoNotDisrupt for 2h0m0s; to lift it: remove the do-not-disrupt annotation
}

func ExamplePlanExpirations() {
	claims := claimsMadeTogether(4) // of two pools, all due after a day
	opts := termination.ExpiryOptions{Allowed: map[string]int{"pool-0": 1, "pool-1": 2}}
	for _, e := range termination.PlanExpirations(claims, noon.Add(24*time.Hour), opts) {
		fmt.Printf("%s of %s: %q\n", e.Claim.Name, e.Claim.Pool, e.Held)
	}
	// Output:
	// c0 of pool-0: ""
	// c1 of pool-1: ""
	// c2 of pool-0: "BudgetExhausted"
	// c3 of pool-1: ""
}

func ExampleLint() {
	grace := 30 * time.Second
	for _, finding := range termination.Lint(termination.Settings{TerminationGracePeriod: &grace, Pods: []*corev1.Pod{podOf("web-1", web)}}, noon) {
		fmt.Println(finding)
	}
	// Output: grace-leq-pod-grace: the node's grace period of 30s isn't longer than the 30s of default/web-1, which is deleted at once: neither PDBs nor do-not-disrupt are consulted; make terminationGracePeriod longer than that of every pod, and by as much as evictions need
}
