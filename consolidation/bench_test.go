package consolidation_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/internal/clustergen"
)

var sizes = []int{10, 500, 5000}

func BenchmarkCompile(b *testing.B) {
	for _, nodes := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			cluster := facts(clustergen.New(clustergen.Config{Nodes: nodes, Seed: 1}))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := consolidation.Compile(cluster, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEmpty(b *testing.B) {
	for _, nodes := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			fleet, snapshot := generated(b, clustergen.Config{Nodes: nodes, Seed: 1})
			planner := consolidation.NewPlanner(fleet, snapshot, consolidation.Options{})
			allowed := fleet.Unlimited()
			b.ReportAllocs()
			for b.Loop() {
				planner.Empty(allowed)
			}
		})
	}
}

// The prefix search over its 100 candidates.
func BenchmarkMulti(b *testing.B) {
	for _, nodes := range []int{10, 500, 2000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			fleet, snapshot := generated(b, clustergen.Config{Nodes: nodes, Seed: 1})
			planner := consolidation.NewPlanner(fleet, snapshot, consolidation.Options{})
			allowed := fleet.Unlimited()
			simulations, moved := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				outcome := planner.Multi(allowed)
				simulations = outcome.Simulations
				if len(outcome.Moves) > 0 {
					moved = len(outcome.Moves[0].Nodes)
				}
			}
			b.ReportMetric(float64(simulations), "simulations")
			b.ReportMetric(float64(moved), "nodes")
		})
	}
}

// The worst case of the single-node search: every candidate is judged, most with a
// new node, and none is taken.
func BenchmarkSingleWithoutMove(b *testing.B) {
	for _, nodes := range sizes {
		for _, types := range []int{60, 700} {
			if nodes*types > 500*700 && types == 700 {
				continue // minutes
			}
			b.Run(fmt.Sprintf("nodes=%d/types=%d", nodes, types), func(b *testing.B) {
				fleet, snapshot := generated(b, clustergen.Config{Nodes: nodes, Seed: 1, WellPacked: true, InstanceTypes: types})
				planner := consolidation.NewPlanner(fleet, snapshot, consolidation.Options{
					Guards: []consolidation.Guard{consolidation.MinSavings{PerHour: 1000}},
				})
				allowed := fleet.Unlimited()
				simulations := 0
				b.ReportAllocs()
				for b.Loop() {
					simulations = planner.Single(allowed, nil).Simulations
				}
				b.ReportMetric(float64(simulations), "simulations")
			})
		}
	}
}

// The better search over all candidates, on two workers.
func BenchmarkBest(b *testing.B) {
	for _, nodes := range []int{10, 500, 2000} {
		for _, packed := range []bool{false, true} {
			b.Run(fmt.Sprintf("nodes=%d/packed=%v", nodes, packed), func(b *testing.B) {
				fleet, snapshot := generated(b, clustergen.Config{Nodes: nodes, Seed: 1, WellPacked: packed})
				planner := consolidation.NewPlanner(fleet, snapshot, consolidation.Options{ForEach: twoWorkers, Batch: 64})
				allowed := fleet.Unlimited()
				var outcome consolidation.Outcome
				b.ReportAllocs()
				for b.Loop() {
					outcome = planner.Best(allowed)
				}
				b.ReportMetric(float64(outcome.Simulations), "simulations")
				if len(outcome.Moves) > 0 {
					m := outcome.Moves[0]
					b.ReportMetric(float64(len(m.Nodes)), "nodes")
					b.ReportMetric(m.Savings, "saved")
					b.ReportMetric(outcome.Bound, "bound")
				}
			})
		}
	}
}

// twoWorkers shares the calls out between two goroutines.
func twoWorkers(n int, do func(int)) {
	var done sync.WaitGroup
	for worker := range 2 {
		done.Go(func() {
			for i := worker; i < n; i += 2 {
				do(i)
			}
		})
	}
	done.Wait()
}
