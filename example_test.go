package disruption_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// A pool with two nodes, as the API writes it: one has a pod that fits on the
// other, and the other one's pod must not be disrupted.
const twoNodeCluster = `
{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"general"},
 "spec":{"disruption":{"consolidateAfter":"30s","consolidationPolicy":"WhenEmptyOrUnderutilized","budgets":[{"nodes":"1"}]}},
 "status":{"conditions":[{"type":"Ready","status":"True"}]}}
{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"claim-a","labels":{"karpenter.sh/nodepool":"general"}},
 "status":{"providerID":"a","conditions":[{"type":"Initialized","status":"True"},{"type":"Consolidatable","status":"True"}]}}
{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"claim-b","labels":{"karpenter.sh/nodepool":"general"}},
 "status":{"providerID":"b","conditions":[{"type":"Initialized","status":"True"},{"type":"Consolidatable","status":"True"}]}}
{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a","labels":{"karpenter.sh/nodepool":"general","karpenter.sh/registered":"true","karpenter.sh/initialized":"true",
 "node.kubernetes.io/instance-type":"large","topology.kubernetes.io/zone":"z","karpenter.sh/capacity-type":"on-demand"}},
 "spec":{"providerID":"a"},"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"58"},"conditions":[{"type":"Ready","status":"True"}]}}
{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-b","labels":{"karpenter.sh/nodepool":"general","karpenter.sh/registered":"true","karpenter.sh/initialized":"true",
 "node.kubernetes.io/instance-type":"large","topology.kubernetes.io/zone":"z","karpenter.sh/capacity-type":"on-demand"}},
 "spec":{"providerID":"b"},"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"58"},"conditions":[{"type":"Ready","status":"True"}]}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"1"}]},
 "spec":{"nodeName":"node-a","containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]},"status":{"phase":"Running"}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"report","namespace":"shop","annotations":{"karpenter.sh/do-not-disrupt":"true"},
 "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"report","uid":"2"}]},
 "spec":{"nodeName":"node-b","containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]},"status":{"phase":"Running"}}
`

const exampleTypes = `{"instanceTypes":{"*":[{"name":"large","capacity":{"cpu":"2","memory":"8Gi","pods":"58"},
 "requirements":[{"key":"node.kubernetes.io/instance-type","operator":"In","values":["large"]}],
 "offerings":[{"zone":"z","capacityType":"on-demand","price":0.1,"available":true}]}]}}`

func exampleCluster() *disruption.Cluster {
	c := &disruption.Cluster{Now: time.Date(2026, 11, 24, 22, 0, 0, 0, time.UTC)}
	if _, err := c.Decode(strings.NewReader(twoNodeCluster)); err != nil {
		panic(err)
	}
	catalog, errs := scheduling.ParseCatalog([]byte(exampleTypes), scheduling.Options{})
	if len(errs) > 0 {
		panic(errs.ToAggregate())
	}
	c.Catalog = *catalog
	return c
}

// What would be disrupted now, and why is everything else left alone?
func Example() {
	plan, err := disruption.Propose(context.Background(), exampleCluster(), disruption.Options{})
	if err != nil {
		panic(err)
	}
	for _, move := range plan.Moves {
		fmt.Printf("%s %v saves $%.2f/h\n", move.Decision, move.Nodes, move.Savings)
		for _, pod := range move.Pods {
			fmt.Printf("  %s: %s -> %s\n", pod.Pod, pod.From, pod.To)
		}
	}
	for _, node := range plan.Nodes {
		if reason, _, ok := node.First(); ok {
			fmt.Printf("%s stays: %s\n", node.Name, reason)
		}
	}
	// Output:
	// delete [node-a] saves $0.10/h
	//   shop/web: node-a -> node-b
	// node-b stays: PodDoNotDisrupt: pod shop/report has annotation karpenter.sh/do-not-disrupt
}

// A file that is partly broken: what is wrong is named, the rest is read.
func ExampleCluster_Decode() {
	var c disruption.Cluster
	decoded, err := c.Decode(strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},
		{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"},"status":{"allocatable":{"cpu":"two"}}},
		{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}]}`))
	fmt.Println(decoded.Kinds, decoded.Ignored, err)
	for _, e := range decoded.Errors {
		fmt.Println(e.Field)
	}
	// Output:
	// [{Node 1}] [{Event 1}] <nil>
	// documents[0].items[1].status.allocatable[cpu]
}

// What would become of one node, whatever budgets and markers say?
func ExamplePass_Planner() {
	pass, err := disruption.Prepare(exampleCluster(), disruption.Options{})
	if err != nil {
		panic(err)
	}
	planner := pass.Planner()
	node, _ := planner.Fleet().Candidate("node-b")
	for _, reason := range planner.Fleet().Refusals(node, consolidation.MethodSingle) {
		fmt.Println(reason)
	}
	fmt.Println(planner.Evaluate(consolidation.MethodSingle, node).Decision)
	// Output:
	// PodDoNotDisrupt: pod shop/report has annotation karpenter.sh/do-not-disrupt
	// delete
}

// Where would the pods go if a node were gone?
func ExampleCluster_Snapshot() {
	snapshot, err := exampleCluster().Snapshot(disruption.Options{})
	if err != nil {
		panic(err)
	}
	result := snapshot.Simulate(scheduling.Request{Remove: []string{"node-a"}})
	for _, p := range result.Placements {
		fmt.Println(p.Pod.Name, "->", p.Node)
	}
	// Output:
	// web -> node-b
}

// A controller's loop: decide, wait 15 seconds, validate, act.
func ExampleLoop() {
	cluster, loop := exampleCluster(), disruption.Loop{}
	for range 2 {
		next, actions, err := loop.Step(context.Background(), cluster, 0, disruption.Options{})
		if err != nil {
			panic(err)
		}
		for _, a := range actions {
			fmt.Println(a.Verb, a.Nodes)
		}
		loop, cluster.Now = next, cluster.Now.Add(disruption.ValidationDelay)
	}
	// Output:
	// Wait [node-a]
	// Taint [node-a]
	// DeleteClaims [node-a]
}

func ExampleDefault() {
	pool := disruption.Default(&disruption.NodePool{})
	d := pool.Spec.Disruption
	fmt.Println(d.ConsolidationPolicy, *d.ConsolidateAfter.Duration, d.Budgets[0].Nodes, *pool.Spec.Template.Spec.ExpireAfter.Duration)
	// Output:
	// WhenEmptyOrUnderutilized 0s 10% 720h0m0s
}

// The plan as text, for a golden file or a log.
func ExamplePlan_String() {
	plan, err := disruption.Propose(context.Background(), exampleCluster(), disruption.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Print(plan)
	// Output:
	// Single at 2026-11-24T22:00:00Z: 1 of 2 nodes go, 0 come, 1 pods move, saves 0.1000 of 0.2000 an hour
	// delete node-a by Single saves 0.1000 an hour for a disruption of 2
	//   shop/web: node-a -> node-b
	// node node-b: PodDoNotDisrupt: pod shop/report has annotation karpenter.sh/do-not-disrupt
	// pool general: Drifted: 1 of 2 nodes may be disrupted: budgets[0] (1)
	// pool general: Empty: 1 of 2 nodes may be disrupted: budgets[0] (1)
	// pool general: Underutilized: 1 of 2 nodes may be disrupted: budgets[0] (1)
	// info eager-consolidation: node pool general consolidates after 30s and runs 1 pods of jobs: every one that ends may move the others; raise consolidateAfter, or give jobs a pool of their own
	// info pool-without-limits: node pool general has no limits: a mistake in a workload may open nodes without end; set spec.limits
}

// What would change if the pool were consolidated only where nodes are empty?
func ExampleCompare() {
	ctx, cluster := context.Background(), exampleCluster()
	before, err := disruption.Propose(ctx, cluster, disruption.Options{})
	if err != nil {
		panic(err)
	}
	pool := *cluster.NodePools[0]
	pool.Spec.Disruption.ConsolidationPolicy = consolidation.WhenEmpty
	cluster.NodePools = []*disruption.NodePool{&pool}
	after, err := disruption.Propose(ctx, cluster, disruption.Options{})
	if err != nil {
		panic(err)
	}
	c := disruption.Compare(before, after)
	fmt.Printf("saves $%.2f/h → $%.2f/h\n", c.Before.Savings, c.After.Savings)
	for _, node := range c.Nodes {
		fmt.Println(node)
	}
	// Output:
	// saves $0.10/h → $0.00/h
	// node-a: goes by Single → WhenEmptyOnly: node pool general is consolidated only where nodes are empty, and this one is not
}
