package drift_test

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/scheduling"
)

var (
	now  = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	keys = annotations.For("")
)

// template decodes spec.template of a NodePool.
func template(text string) *drift.NodeClaimTemplate {
	t := &drift.NodeClaimTemplate{}
	if err := json.Unmarshal([]byte(text), t); err != nil {
		panic(err)
	}
	return t
}

// stamped are the annotations that Karpenter writes for a template.
func stamped(t *drift.NodeClaimTemplate) map[string]string {
	return map[string]string{keys.NodePoolHash: drift.NodePoolHash(t), keys.NodePoolHashVersion: drift.HashVersion}
}

func Example() {
	was := template(`{"metadata": {"labels": {"team": "a"}}, "spec": {"expireAfter": "720h"}}`)
	is := template(`{"metadata": {"labels": {"team": "a"}}, "spec": {"expireAfter": "336h"}}`)

	checker := drift.Compile(&drift.Pool{Name: "default", Annotations: stamped(is)}, drift.Options{})
	claim := drift.Claim{Name: "default-abc", Annotations: stamped(was), Launched: true}
	verdict, err := checker.Evaluate(&claim, now)
	if err != nil {
		panic(err)
	}
	fmt.Println(verdict.Outcome, verdict.Reason)

	change, condition := verdict.Condition(claim.Drifted, now)
	fmt.Println(change, condition.Type, condition.Status, condition.Reason)
	// Output:
	// Replace NodePoolDrifted
	// Set Drifted True NodePoolDrifted
}

func ExampleNodePoolHash() {
	a := template(`{"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}}`)
	b := template(`{"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
		"requirements": [{"key": "kubernetes.io/arch", "operator": "Exists"}]}}`)
	fmt.Println(drift.NodePoolHash(a))
	fmt.Println(drift.NodePoolHash(b), "(requirements take no part)")
	// Output:
	// 17369979337536258260
	// 17369979337536258260 (requirements take no part)
}

// instance is what a cloud says about a machine.
type instance struct {
	image, subnet, reservation, placementGroup string
	securityGroups                             []string
}

// nodeClass is what an EC2NodeClass was resolved to.
type nodeClass struct {
	annotations                                   map[string]string
	images, subnets, securityGroups, reservations []string
	placementGroup                                string
}

// aws answers as Karpenter's AWS provider does, in its order.
type aws struct {
	class     nodeClass
	instances map[string]instance
}

func (a aws) Drifted(claim *drift.Claim, _ time.Time) (drift.Difference, error) {
	class, vm := &a.class, a.instances[claim.Name]
	return drift.First(
		drift.StaticHash("NodeClassDrift", class.annotations, claim.Annotations,
			"karpenter.k8s.aws/ec2nodeclass-hash", "karpenter.k8s.aws/ec2nodeclass-hash-version"),
		drift.OneOf("AMIDrift", vm.image, class.images),
		drift.SameSet("SecurityGroupDrift", vm.securityGroups, class.securityGroups),
		drift.OneOf("SubnetDrift", vm.subnet, class.subnets),
		reservationDrift(vm, class),
		drift.Equal("PlacementGroupDrift", vm.placementGroup, class.placementGroup),
	)
}

// reservationDrift asks only instances that run in a reservation.
func reservationDrift(vm instance, class *nodeClass) drift.Difference {
	if vm.reservation == "" {
		return drift.Difference{}
	}
	return drift.OneOf("CapacityReservationDrift", vm.reservation, class.reservations)
}

// A provider's own drift in a few lines: what the AWS provider asks, in its order.
func ExampleCloud() {
	cloud := aws{
		class: nodeClass{images: []string{"ami-2"}, subnets: []string{"subnet-a", "subnet-b"}, securityGroups: []string{"sg-1", "sg-2"}},
		instances: map[string]instance{
			"fine":     {image: "ami-2", subnet: "subnet-a", securityGroups: []string{"sg-2", "sg-1"}},
			"outdated": {image: "ami-1", subnet: "subnet-a", securityGroups: []string{"sg-1"}},
			"exposed":  {image: "ami-2", subnet: "subnet-a", securityGroups: []string{"sg-1", "sg-9"}},
			"unknown":  {},
		},
	}
	checker := drift.Compile(&drift.Pool{Name: "default"}, drift.Options{Cloud: cloud})
	for _, name := range []string{"fine", "outdated", "exposed", "unknown"} {
		v, err := checker.Evaluate(&drift.Claim{Name: name, Launched: true}, now)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s: %s\n", name, v)
	}
	// Output:
	// fine: matches
	// outdated: AMIDrift, ami-1 is not one of ami-2
	// exposed: SecurityGroupDrift, sg-2 missing, sg-9 not wanted
	// claim unknown: AMIDrift: the node has none: not known yet
}

// roomy is a simulator for which every pod but those of "stuck" finds a place.
type roomy struct{}

func (roomy) Simulate(r scheduling.Request) scheduling.Result {
	if r.Remove[0] == "stuck" {
		return scheduling.Result{Placements: []scheduling.Placement{{Pod: &corev1.Pod{}, NewNode: -1}}}
	}
	return scheduling.Result{}
}

func ExamplePropose() {
	hour := func(n int) time.Time { return now.Add(-time.Duration(n) * time.Hour) }
	candidates := []drift.Candidate{
		{Node: "young", Pool: "default", DriftedSince: hour(1), ReschedulablePods: 3},
		{Node: "guarded", Pool: "default", DriftedSince: hour(9), ReschedulablePods: 1, PodsBlock: "pod web-0 has do-not-disrupt"},
		{Node: "stuck", Pool: "default", DriftedSince: hour(5), ReschedulablePods: 2},
		{Node: "old", Pool: "default", DriftedSince: hour(4), ReschedulablePods: 2},
	}
	plan := drift.Propose(candidates, map[string]int{"default": 1}, roomy{}, drift.MoveOptions{})
	fmt.Println("replace", plan.Moves[0].Candidate.Node)
	for _, s := range plan.Skipped {
		fmt.Printf("%s: %s, %s\n", s.Node, s.Code, s.Detail)
	}
	// Output:
	// replace old
	// guarded: PodsBlock, pod web-0 has do-not-disrupt
	// stuck: Unplaced, 1 pod found no place, the first is /
	// young: NotReached, node old goes first
}

// A static pool whose node limit leaves no room can't roll with the replacement
// first.
func ExampleProposeStatic() {
	limit := 3
	pools := []drift.StaticPool{{
		Name: "gpu", Replicas: 3, NodeLimit: &limit, Running: 3, Allowed: 1,
		Drifted: []drift.Candidate{{Node: "gpu-1", Pool: "gpu"}},
	}}
	plan := drift.ProposeStatic(pools, drift.StaticOptions{})
	fmt.Println(plan.Skipped[0].Code, plan.Skipped[0].Detail)

	plan = drift.ProposeStatic(pools, drift.StaticOptions{TerminateFirst: true})
	fmt.Println(plan.Moves[0].Candidate.Node, plan.Moves[0].TerminateFirst)
	// Output:
	// NoHeadroom no headroom: 3 + 1 > 3
	// gpu-1 true
}

func ExampleWouldDrift() {
	before := template(`{"spec": {"expireAfter": "720h"}}`)
	after := template(`{"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}, "spec": {"expireAfter": "720h"}}`)
	nodes := []drift.Subject{
		{Node: "a", Claim: drift.Claim{Name: "claim-a", Annotations: stamped(before)}, ReschedulablePods: 4},
		{Node: "b", Claim: drift.Claim{Name: "claim-b", Annotations: stamped(before)}, ReschedulablePods: 2},
	}
	preflight := drift.WouldDrift(&drift.Edit{Pool: "default", Before: before, After: after}, nodes, drift.Options{}, now)
	fmt.Printf("%d nodes would drift, %d pods would move\n", preflight.Drifting, preflight.Pods)
	for _, c := range preflight.Changes {
		fmt.Println(c)
	}
	one, _ := budget.Compile([]budget.Budget{{Nodes: "1"}}, nil)
	line, _ := preflight.Forecast(one, budget.Usage{Total: 2}, drift.Pace{PerNode: 15 * time.Minute}, now, now.AddDate(0, 0, 1))
	fmt.Println("done at", line.Done.Format(time.TimeOnly))
	// Output:
	// 2 nodes would drift, 6 pods would move
	// metadata.annotations[karpenter.sh/do-not-disrupt]: absent → "true"
	// done at 12:30:00
}

// Closed from 6 to 22 o'clock, and one at a time in between.
func ExampleForecast() {
	schedule, duration := "0 6 * * *", metav1.Duration{Duration: 16 * time.Hour}
	nights, _ := budget.Compile([]budget.Budget{{Nodes: "1"}, {Nodes: "0", Schedule: &schedule, Duration: &duration}}, nil)
	line := drift.Forecast([]string{"a", "b", "c"}, nights, budget.Usage{Total: 3}, drift.Pace{PerNode: 50 * time.Minute}, now, now.AddDate(0, 0, 7))
	for _, s := range line.Slots {
		fmt.Println(s.Node, s.Start.Format(time.TimeOnly), "to", s.End.Format(time.TimeOnly))
	}
	// Output:
	// a 22:00:00 to 22:50:00
	// b 22:50:00 to 23:40:00
	// c 23:40:00 to 00:30:00
}

func ExampleRollout_Evaluate() {
	care := drift.Rollout{Canary: 1, Soak: 10 * time.Minute, MaxFailures: 2, Window: time.Hour, Backoff: drift.DefaultBackoff()}
	progress := drift.Progress{}.Towards("hash of the new template")
	fmt.Println(care.Evaluate(progress, now))

	progress = progress.Start("a", now).MarkFailed("a", now.Add(5*time.Minute))
	fmt.Println(care.Evaluate(progress, now.Add(5*time.Minute)))

	progress = progress.Start("b", now.Add(6*time.Minute)).MarkHealthy("b", now.Add(9*time.Minute))
	fmt.Println(care.Evaluate(progress, now.Add(10*time.Minute)))
	fmt.Println(care.Evaluate(progress, now.Add(19*time.Minute)))
	// Output:
	// canaries first: 0 healthy, 0 under way, 1 more now
	// 1 replacement failed in a row, until 2026-03-15T12:06:00Z
	// canaries first: 0 healthy, 1 under way, 0 more now, until 2026-03-15T12:19:00Z
	// nothing holds the roll-out back
}

func ExampleMigrate() {
	tmpl := template(`{"spec": {"expireAfter": "720h"}}`)
	old := map[string]string{keys.NodePoolHash: "42", keys.NodePoolHashVersion: "v2"}
	claims := []drift.Claim{{Name: "claim-a", Annotations: old}}
	pool, patches := drift.Migrate(&drift.Pool{Name: "default", Annotations: old}, tmpl, claims, drift.Options{})
	for _, p := range append(patches, *pool) {
		fmt.Println(p.Name, p.Annotations[keys.NodePoolHashVersion], p.Annotations[keys.NodePoolHash] == drift.NodePoolHash(tmpl))
	}
	// Output:
	// claim-a v3 true
	// default v3 true
}

func ExampleReportStorm() {
	daily, _ := budget.Compile([]budget.Budget{{Nodes: "10%"}}, nil)
	pools := []drift.PoolStatus{{
		Name: "default", Nodes: 8, Budgets: daily, Usage: budget.Usage{Total: 8},
		Drifted: []drift.Candidate{
			{Node: "a", Reason: "AMIDrift", DriftedSince: now.Add(-time.Hour)},
			{Node: "b", Reason: "AMIDrift", DriftedSince: now.Add(-time.Minute)},
		},
	}}
	for _, storm := range drift.ReportStorm(pools, drift.Pace{}, now, now.AddDate(0, 0, 1)) {
		fmt.Printf("%s\n%v, since %s\n", storm.String(), storm.Reasons, storm.Since.Format(time.TimeOnly))
	}
	// Output:
	// pool default: 2 of 8 nodes drifted, done 2026-03-15T12:20:00Z
	// [{AMIDrift 2}], since 11:00:00
}
