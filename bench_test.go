package disruption_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/internal/clustergen"
	"github.com/node-disruption/disruption/scheduling"
)

var benchmarkSizes = []int{100, 500, 1000, 2000, 5000}

// generated is a cluster of about 15 pods a node. Well packed, no move exists:
// every candidate must be simulated, by every method.
func generated(nodes int, wellPacked bool) *disruption.Cluster {
	f := clustergen.New(clustergen.Config{Nodes: nodes, Seed: 1, WellPacked: wellPacked})
	c := &disruption.Cluster{Now: f.Now, Nodes: f.Nodes, Pods: f.Pods, DaemonSets: f.DaemonSets}
	if wellPacked {
		sellOut(f.InstanceTypes)
	}
	c.Catalog = scheduling.Catalog{InstanceTypes: map[string][]*scheduling.InstanceType{"*": f.InstanceTypes}}
	for i := range f.Pools {
		c.NodePools = append(c.NodePools, generatedPool(&f.Pools[i]))
	}
	for i := range f.Claims {
		c.NodeClaims = append(c.NodeClaims, generatedClaim(&f.Claims[i], f.Nodes[i]))
	}
	return c
}

// sellOut takes every offering off the market at the price that the running nodes
// have, and offers it at a hundred times that: nothing new is ever cheaper.
func sellOut(types []*scheduling.InstanceType) {
	for _, t := range types {
		dear := slices.Clone(t.Offerings)
		for i := range dear {
			t.Offerings[i].Available = false
			dear[i].Price *= 100
		}
		t.Offerings = append(t.Offerings, dear...)
	}
}

func generatedPool(p *scheduling.Pool) *disruption.NodePool {
	pool := &disruption.NodePool{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	pool.Spec.Template.Labels = p.Labels
	pool.Spec.Template.Spec.Requirements = p.Requirements
	pool.Spec.Template.Spec.Taints = p.Taints
	pool.Spec.Template.Spec.NodeClassRef = &drift.NodeClassReference{Group: p.NodeClass.Group, Kind: p.NodeClass.Kind, Name: p.NodeClass.Name}
	pool.Spec.Disruption = disruption.Disruption{
		ConsolidateAfter:    &drift.NillableDuration{Duration: new(time.Duration)},
		ConsolidationPolicy: consolidation.WhenEmptyOrUnderutilized,
		Budgets:             []budget.Budget{{Nodes: "100%"}},
	}
	return disruption.AssumeReady(pool)
}

func generatedClaim(c *clustergen.Claim, node *corev1.Node) *disruption.NodeClaim {
	claim := &disruption.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: c.Labels, CreationTimestamp: metav1.NewTime(c.Created)}}
	claim.Status.ProviderID, claim.Status.NodeName = c.ProviderID, node.Name
	claim.Status.Capacity, claim.Status.Allocatable = c.Capacity, c.Allocatable
	for _, kind := range []string{"Launched", "Registered", "Initialized", "Consolidatable"} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.QuietSince),
		})
	}
	return claim
}

// BenchmarkPropose is the worst case: all methods, every candidate, no move, no
// time limit.
func BenchmarkPropose(b *testing.B) {
	for _, nodes := range benchmarkSizes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			cluster := generated(nodes, true)
			options := disruption.Options{Workers: runtime.GOMAXPROCS(0)}
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			simulations := 0
			for b.Loop() {
				plan, err := disruption.Propose(context.Background(), cluster, options)
				if err != nil || len(plan.Moves) > 0 {
					b.Fatal("the worst case has no move", err, plan.Moves)
				}
				simulations += plan.Totals.Simulations
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(simulations)/float64(b.N), "simulations")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N)/float64(nodes), "allocs/candidate")
		})
	}
}

// BenchmarkSnapshot compiles a cluster for what-if questions.
func BenchmarkSnapshot(b *testing.B) {
	for _, nodes := range benchmarkSizes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			cluster := generated(nodes, true)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cluster.Snapshot(disruption.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
