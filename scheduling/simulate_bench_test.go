package scheduling_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/internal/clustergen"
	"github.com/node-disruption/disruption/scheduling"
)

var sizes = []int{10, 500, 5000}

func compiled(b *testing.B, c clustergen.Config) (*clustergen.Fleet, *scheduling.Snapshot) {
	b.Helper()
	fleet := clustergen.New(c)
	snapshot, err := scheduling.NewSnapshot(fleet.Cluster(), scheduling.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return fleet, snapshot
}

// One node removed, its 15 pods placed elsewhere.
func BenchmarkSimulateOne(b *testing.B) {
	for _, nodes := range sizes {
		for _, topology := range []float64{0, 1. / 3} {
			b.Run(fmt.Sprintf("nodes=%d/topology=%.2f", nodes, topology), func(b *testing.B) {
				fleet, snapshot := compiled(b, clustergen.Config{Nodes: nodes, Seed: 1, Topology: topology})
				i, opened := 0, 0
				remove := []string{""}
				b.ReportAllocs()
				for b.Loop() {
					remove[0] = fleet.Nodes[(i*7)%nodes].Name
					r := snapshot.Simulate(scheduling.Request{Remove: remove, SkipSettling: true, MaxNewNodes: 1})
					opened += len(r.NewNodes)
					i++
				}
				b.ReportMetric(float64(opened)/float64(i), "newnodes/op")
			})
		}
	}
}

// The worst case of a pass: every node is tried, on all cores.
func BenchmarkSimulateEvery(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		for _, topology := range []float64{0, 1. / 3} {
			b.Run(fmt.Sprintf("nodes=%d/topology=%.2f", nodes, topology), func(b *testing.B) {
				fleet := clustergen.New(clustergen.Config{Nodes: nodes, Seed: 1, WellPacked: true, Topology: topology})
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer() // each pass starts with a snapshot that knows nothing yet
					snapshot, err := scheduling.NewSnapshot(fleet.Cluster(), scheduling.Options{})
					if err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					simulateEvery(fleet, snapshot)
				}
			})
		}
	}
}

func simulateEvery(fleet *clustergen.Fleet, snapshot *scheduling.Snapshot) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(fleet.Nodes); i = next.Add(1) - 1 {
				snapshot.Simulate(scheduling.Request{Remove: []string{fleet.Nodes[i].Name}, SkipSettling: true, MaxNewNodes: 1})
			}
		})
	}
	wg.Wait()
}

// The limit: reading each pod's requests once, which is the least that compiling
// must do.
func BenchmarkLinearPass(b *testing.B) {
	for _, nodes := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			pods := clustergen.New(clustergen.Config{Nodes: nodes, Seed: 1}).Pods
			total := int64(0)
			for b.Loop() {
				for _, pod := range pods {
					for i := range pod.Spec.Containers {
						requests := pod.Spec.Containers[i].Resources.Requests
						cpu, memory := requests[corev1.ResourceCPU], requests[corev1.ResourceMemory]
						total += cpu.MilliValue() + memory.MilliValue()
					}
				}
			}
			runtime.KeepAlive(total)
		})
	}
}

// Deriving a snapshot: a node cordoned, which leaves all pods as they are.
func BenchmarkWith(b *testing.B) {
	for _, nodes := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			fleet, snapshot := compiled(b, clustergen.Config{Nodes: nodes, Seed: 1, Topology: 1. / 3})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := snapshot.With(scheduling.Cordon(fleet.Nodes[0].Name)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Compiling a cluster; bytes/pod is what the snapshot keeps beside the objects.
func BenchmarkNewSnapshot(b *testing.B) {
	for _, nodes := range sizes {
		for _, topology := range []float64{0, 1. / 3} {
			b.Run(fmt.Sprintf("nodes=%d/topology=%.2f", nodes, topology), func(b *testing.B) {
				fleet := clustergen.New(clustergen.Config{Nodes: nodes, Seed: 1, Topology: topology})
				cluster := fleet.Cluster()
				before := liveHeap()
				kept, _ := scheduling.NewSnapshot(cluster, scheduling.Options{})
				after := liveHeap()
				runtime.KeepAlive(kept)
				kept = nil
				b.ReportAllocs()
				for b.Loop() {
					if _, err := scheduling.NewSnapshot(cluster, scheduling.Options{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(after-before)/float64(len(fleet.Pods)), "bytes/pod")
				b.ReportMetric(float64(len(fleet.Pods)), "pods")
			})
		}
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
