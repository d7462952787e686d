package repair_test

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/repair"
)

var now = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// node makes a node of pool "default" whose Ready condition has had this status
// for so long.
func node(name string, ready corev1.ConditionStatus, since time.Duration) repair.Node {
	return repair.Node{
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(now.Add(-since)),
			}}},
		},
		Pool:   "default",
		Claims: []repair.Claim{{Name: name + "-claim", Pool: "default"}},
	}
}

func fleet() []repair.Node {
	return []repair.Node{
		node("a", "True", time.Hour), node("b", "False", 45*time.Minute), node("c", "Unknown", 10*time.Minute),
		node("d", "True", time.Hour), node("e", "True", time.Hour), node("f", "True", time.Hour),
	}
}

func Example() {
	o := repair.Options{Settings: repair.Settings{Policies: repair.AWS()}}
	plan := repair.Propose(fleet(), &o, repair.State{}, now)
	for _, a := range plan.Actions {
		fmt.Printf("delete claim %s, drained by %s\n", a.Claim, a.Deadline.Format(time.TimeOnly))
	}
	for _, f := range plan.Findings {
		fmt.Printf("%s: %s\n", f.Node, f)
	}
	fmt.Println("look again at", plan.NextCheck.Format(time.TimeOnly))
	// Output:
	// delete claim b-claim, drained by 12:00:00
	// a: healthy
	// b: to be repaired; Ready is False
	// c: sick, and tolerated for now; Ready is Unknown; until 2026-03-15T12:20:00Z
	// d: healthy
	// e: healthy
	// f: healthy
	// look again at 12:20:00
}

func ExampleEvaluate() {
	sick := node("b", "False", 45*time.Minute)
	match, ok := repair.Evaluate(sick.Node, repair.AWS(), now)
	fmt.Println(ok, match.Type, match.Due.Format(time.TimeOnly), match.DueAt(now))
	// Output: true Ready 11:45:00 true
}

func ExamplePropose_breaker() {
	nodes := fleet()[1:5] // two of four are sick, of which one is due
	o := repair.Options{Settings: repair.Settings{Policies: repair.AWS()}}
	fmt.Println(repair.Propose(nodes, &o, repair.State{}, now).Findings[0])

	o.Breaker = repair.Breaker{MaxUnhealthy: "50%", RoundDown: true}
	fmt.Println(repair.Propose(nodes, &o, repair.State{}, now).Findings[0])
	// Output:
	// too many nodes are sick: 2 of 4 nodes sick, 1 allowed; Ready is False; until 2026-03-15T12:05:00Z
	// to be repaired; Ready is False
}

// A node is rebooted at most twice a day before it is replaced.
func ExamplePropose_ladder() {
	o := repair.Options{Settings: repair.Settings{Policies: []repair.Policy{{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Toleration: 30 * time.Minute,
		Ladder: []repair.Step{
			{Remedy: repair.Reboot, Timeout: 20 * time.Minute, Limit: 2, Per: 24 * time.Hour},
			{Remedy: repair.Replace},
		},
	}}}}
	var state repair.State
	for at := now; at.Before(now.Add(time.Hour)); at = at.Add(10 * time.Minute) {
		plan := repair.Propose(fleet(), &o, state, at)
		state = plan.State
		for _, a := range plan.Actions {
			fmt.Println(at.Format(time.TimeOnly), cmp.Or(a.Step.Remedy, "replace"))
		}
	}
	// Output:
	// 12:00:00 Reboot
	// 12:20:00 Reboot
	// 12:40:00 replace
	// 12:50:00 replace
}

func ExampleBreaker_Read() {
	for _, b := range []repair.Breaker{
		{},
		{MaxUnhealthy: "40%", RoundDown: true},
		{MaxUnhealthy: "[2-3]"},
	} {
		count := b.Read(5, 2)
		fmt.Println(count.Allowed(), count)
	}
	// Output:
	// false 2 of 5 nodes sick, 1 allowed
	// true 2 of 5 nodes sick, 2 allowed
	// true 2 of 5 nodes sick, repaired only at 2 to 3
}

func ExampleRegistrations() {
	var r repair.Registrations
	for _, registered := range []bool{true, false, true, false} {
		r = r.Record(registered)
		fmt.Print(r.Health(), " ")
	}
	// Output: Healthy Healthy Healthy Unhealthy
}

func ExampleOptions_Validate() {
	o := repair.Options{Settings: repair.Settings{Breaker: repair.Breaker{MaxUnhealthy: "120%"}}}
	fmt.Println(o.Validate(nil).ToAggregate())
	// Output: breaker.maxUnhealthy: Invalid value: "120%": "120%" is neither a number nor a percentage up to 100%
}

func ExampleParse() {
	o, errs := repair.Parse([]byte(`{
		"policies": [{"type": "Ready", "status": "Unknown", "toleration": "10m", "ending": "Graceful"}],
		"breaker": {"maxUnhealthy": "2"}
	}`))
	fmt.Println(errs.ToAggregate(), o.Policies[0].Toleration, o.Breaker.MaxUnhealthy)

	_, errs = repair.Parse([]byte(`{"policies": [{"type": "Ready", "status": "Gone"}]}`))
	fmt.Println(errs.ToAggregate())
	// Output:
	// <nil> 10m0s 2
	// policies[0].status: Unsupported value: "Gone": supported values: "False", "True", "Unknown"
}
