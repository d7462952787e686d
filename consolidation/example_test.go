package consolidation_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// office is a pool with a large node that is hardly used, a small one, and an
// empty one.
func office() consolidation.Cluster {
	p := pool("office", onDemandAt("m5.large", 0.096), onDemandAt("m5.2xlarge", 0.384))
	return consolidation.Cluster{
		Now:   time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC),
		Pools: []consolidation.Pool{p},
		Nodes: []consolidation.Node{
			nodeOf("large", "office", "m5.2xlarge", podOf("web-0", "web")),
			nodeOf("small", "office", "m5.large", podOf("web-1", "web"), podOf("web-2", "web")),
			nodeOf("spare", "office", "m5.large"),
		},
	}
}

// smallNode is a simulator by which the pods of any node need a small new one;
// others use *scheduling.Snapshot.
var smallNode = needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("m5.large", 0.096)})

func Example() {
	fleet, err := consolidation.Compile(office(), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	planner := consolidation.NewPlanner(fleet, smallNode, consolidation.Options{})
	allowed := consolidation.Allowed{"office": 1} // what the budgets say
	outcome := planner.Single(allowed, nil)
	for _, m := range outcome.Moves {
		fmt.Printf("%s %v: %.3f saved per hour\n", m.Decision, m.Nodes, m.Savings)
	}
	for _, s := range outcome.Stays {
		fmt.Printf("%s stays: %s\n", s.Node, s.Reasons[0].Message)
	}
	// Output:
	// replace [large]: 0.288 saved per hour
	// small stays: the node was not looked at: node large came first, and one move ends the search
	// spare stays: the node is empty, so another method deletes it
}

func ExamplePlanner_Empty() {
	fleet, _ := consolidation.Compile(office(), "")
	planner := consolidation.NewPlanner(fleet, smallNode, consolidation.Options{})
	for _, m := range planner.Empty(fleet.Unlimited()).Moves {
		fmt.Println(m.Decision, m.Nodes)
	}
	// Output: delete [spare]
}

func ExamplePlanner_Evaluate() {
	fleet, _ := consolidation.Compile(office(), "")
	planner := consolidation.NewPlanner(fleet, smallNode, consolidation.Options{Explain: true})
	small, _ := fleet.Candidate("small")
	m := planner.Evaluate(consolidation.MethodSingle, small)
	fmt.Println(m.Decision, m.Reasons[0])
	// Output: no-op NotCheaper: no instance type that would hold the pods is cheaper than 0.096 an hour: m5.large costs 0.096
}

func ExamplePlanner_Best() {
	fleet, _ := consolidation.Compile(office(), "")
	planner := consolidation.NewPlanner(fleet, smallNode, consolidation.Options{})
	outcome := planner.Best(fleet.Unlimited())
	m := outcome.Moves[0]
	fmt.Printf("%s %v saves %.3f, no move saves more than %.3f\n", m.Decision, m.Nodes, m.Savings, outcome.Bound)
	// Output: replace [large] saves 0.288, no move saves more than 0.480
}

func ExamplePlanner_Validate() {
	fleet, _ := consolidation.Compile(office(), "")
	move := consolidation.NewPlanner(fleet, smallNode, consolidation.Options{}).Single(fleet.Unlimited(), nil).Moves[0]

	later := office() // fifteen seconds later somebody has protected the node
	later.Nodes[0].Node.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
	fleet, _ = consolidation.Compile(later, "")
	planner := consolidation.NewPlanner(fleet, smallNode, consolidation.Options{})
	fmt.Println(planner.Validate(move, consolidation.Check{Allowed: fleet.Unlimited()}).Reasons[0])
	// Output: Churn: node large is no longer a candidate: NodeDoNotDisrupt: annotation do-not-disrupt is set on the node
}

func ExamplePlanner_Missed() {
	cluster := office()
	cluster.Nodes[0].Node.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
	fleet, _ := consolidation.Compile(cluster, "")
	missed := consolidation.NewPlanner(fleet, smallNode, consolidation.Options{}).Missed(nil, fleet.Unlimited())
	fmt.Printf("%.3f per hour: %s\n", missed.Move.Savings, missed.Reasons[0])
	// Output: 0.288 per hour: NodeDoNotDisrupt: annotation do-not-disrupt is set on the node
}

func ExampleGuard() {
	fleet, _ := consolidation.Compile(office(), "")
	planner := consolidation.NewPlanner(fleet, smallNode, consolidation.Options{
		Guards: []consolidation.Guard{consolidation.MinSavings{Share: 0.8}},
	})
	for _, s := range planner.Single(fleet.Unlimited(), nil).Stays {
		fmt.Println(s.Node, s.Reasons[0].Code)
	}
	// Output:
	// large SavingsTooSmall
	// small NotCheaper
	// spare Empty
}

func ExampleScoreMove() {
	pools := map[string]consolidation.ScorePool{
		"a": {Policy: consolidation.Balanced, Totals: &consolidation.Totals{Cost: 58.08, Disruption: 90}},
	}
	node := consolidation.Source{Name: "n1", Pool: "a", Price: 9.68, RescheduleDisruptionCost: 4}
	score := consolidation.ScoreMove(pools, []consolidation.Source{node}, 2.42)
	fmt.Printf("saves %.2f, scores %.2f, approved %v\n", score.Savings, score.Pools[0].Score, score.Approved)
	// Output: saves 7.26, scores 2.81, approved true
}

func ExampleConsolidatable() {
	fiveMinutes := 5 * time.Minute
	initialized := time.Date(2026, 8, 20, 11, 0, 0, 0, time.UTC)
	quiet := consolidation.Consolidatable(consolidation.Activity{
		ConsolidateAfter: &fiveMinutes,
		Initialized:      &initialized,
		LastPodEvent:     initialized.Add(58 * time.Minute),
	}, initialized.Add(time.Hour))
	fmt.Println(quiet.Consolidatable, quiet.Until.Format(time.TimeOnly))
	// Output: false 12:03:00
}

func ExampleEvictionCost() {
	priority := int32(1 << 24)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"controller.kubernetes.io/pod-deletion-cost": "134217728"}},
		Spec:       corev1.PodSpec{Priority: &priority},
	}
	fmt.Println(consolidation.EvictionCost(pod), consolidation.EvictionCost(&corev1.Pod{}))
	// Output: 2.5 1
}
