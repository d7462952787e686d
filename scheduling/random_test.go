package scheduling_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/internal/clustergen"
	"github.com/node-disruption/disruption/scheduling"
)

// Each check compiles several clusters; -rapid.checks asks for more of them.
func init() { _ = flag.Set("rapid.checks", "20") }

// drawCluster makes a small cluster with topology constraints, selectors,
// taints, pending pods, limits and a node that is being deleted.
func drawCluster(t *rapid.T) scheduling.Cluster {
	f := clustergen.New(clustergen.Config{
		Nodes: rapid.IntRange(2, 12).Draw(t, "nodes"), PodsPerNode: rapid.IntRange(1, 6).Draw(t, "podsPerNode"),
		Seed: rapid.Uint64().Draw(t, "seed"), Pools: rapid.IntRange(1, 3).Draw(t, "pools"), InstanceTypes: 12,
		WellPacked: rapid.Bool().Draw(t, "wellPacked"), Topology: 0.5, Selectors: 0.3,
	})
	c := f.Cluster()
	dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "dice"), 0))
	for i := range c.Nodes {
		if dice.IntN(5) == 0 {
			c.Nodes[i].Node.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}}
		}
		c.Nodes[i].Claim.Deleting = dice.IntN(10) == 0
		if dice.IntN(5) == 0 {
			c.Nodes[i].Claim.QuietSince = c.Now
		}
	}
	for i, pod := range c.Pods {
		if dice.IntN(20) == 0 {
			pod.Spec.NodeName, pod.Status = "", unscheduled()
		}
		if i%4 == 0 {
			pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
	}
	if dice.IntN(2) == 0 {
		c.Pools[0].Limits = corev1.ResourceList{corev1.ResourceCPU: quantity(fmt.Sprint(1 + dice.IntN(200)))}
	}
	return c
}

func unscheduled() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
}

func mustCompile(t require.TestingT, c scheduling.Cluster) *scheduling.Snapshot {
	s, err := scheduling.NewSnapshot(c, scheduling.Options{})
	require.NoError(t, err)
	return s
}

// answers asks about every node alone, and about all in pairs of neighbours.
func answers(c scheduling.Cluster, s *scheduling.Snapshot) []string {
	var all []string
	for i := range c.Nodes {
		r := s.Simulate(scheduling.Request{Remove: []string{nodeName(c, i)}, SkipSettling: i%2 == 0, Explain: true})
		all = append(all, text(r))
		r = s.Simulate(scheduling.Request{Remove: []string{nodeName(c, i), nodeName(c, (i+1)%len(c.Nodes))}})
		all = append(all, text(r))
	}
	return all
}

func nodeName(c scheduling.Cluster, i int) string { return c.Nodes[i].Node.Name }

// text writes a result down to the byte.
func text(r scheduling.Result) string {
	var b strings.Builder
	for _, p := range r.Placements {
		fmt.Fprintf(&b, "%s/%s from %d -> %q %d %t\n", p.Pod.Namespace, p.Pod.Name, p.Origin, p.Node, p.NewNode, p.Uninitialized)
		if p.Reason != nil {
			fmt.Fprintf(&b, "  %s %s %+v\n", p.Reason.Code, p.Reason.Message, p.Reason.Nearest)
		}
	}
	for _, n := range r.NewNodes {
		fmt.Fprintf(&b, "%s %s %v %d %v:", n.Pool, n.Requirements, n.Pods, n.Unpriced, n.Requests.Cpu())
		for _, it := range n.InstanceTypes {
			b.WriteString(" " + it.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// The order of nodes, pods and pools in the input says nothing.
func TestInputOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		want := answers(c, mustCompile(t, c))
		shuffled := c
		shuffled.Nodes = rapid.Permutation(c.Nodes).Draw(t, "order of nodes")
		shuffled.Pods = rapid.Permutation(c.Pods).Draw(t, "order of pods")
		shuffled.Pools = rapid.Permutation(c.Pools).Draw(t, "order of pools")
		require.Equal(t, want, answers(c, mustCompile(t, shuffled)))
	})
}

// A simulation leaves no trace: asked again, in any order, the answer is the same.
func TestSimulationsLeaveNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		s := mustCompile(t, c)
		first := answers(c, s)
		for i := range c.Nodes {
			s.Simulate(scheduling.Request{Remove: []string{nodeName(c, i), nodeName(c, 0)}, MaxNewNodes: 1, StrictReserved: true})
		}
		require.Equal(t, first, answers(c, s))
	})
}

// Concurrent simulations on one snapshot give the answers that one after
// another gives.
func TestConcurrentSimulationsAgree(t *testing.T) {
	f := clustergen.New(clustergen.Config{Nodes: 40, Seed: 3, Topology: 0.5, Selectors: 0.2, WellPacked: true})
	c := f.Cluster()
	want := answers(c, mustCompile(t, c))
	s := mustCompile(t, c)
	var wg sync.WaitGroup
	got := make([][]string, 4)
	for i := range got {
		wg.Go(func() { got[i] = answers(c, s) })
	}
	wg.Wait()
	for i := range got {
		require.Equal(t, want, got[i])
	}
}

// Neither compiling nor asking writes to the objects given.
func TestInputsAreReadOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		before := copyCluster(c)
		s := mustCompile(t, c)
		answers(c, s)
		_, err := s.With(scheduling.Cordon(nodeName(c, 0)), scheduling.RemoveNode(nodeName(c, 1)))
		require.NoError(t, err)
		if d := cmp.Diff(before, c, cmp.AllowUnexported(scheduling.Requirement{}), cmp.Comparer(func(a, b *scheduling.InstanceType) bool { return a == b })); d != "" {
			t.Fatal(d)
		}
	})
}

func copyCluster(c scheduling.Cluster) scheduling.Cluster {
	out := c
	out.Nodes, out.Pods, out.Pools = slices.Clone(c.Nodes), slices.Clone(c.Pods), slices.Clone(c.Pools)
	for i := range out.Nodes {
		out.Nodes[i].Node = c.Nodes[i].Node.DeepCopy()
		claim := *c.Nodes[i].Claim
		out.Nodes[i].Claim = &claim
	}
	for i := range out.Pods {
		out.Pods[i] = c.Pods[i].DeepCopy()
	}
	return out
}

// Every pod that runs and must move is placed exactly once, and none lands on a
// removed node.
func TestEveryMovingPodIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		s := mustCompile(t, c)
		gone := nodeName(c, rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "removed"))
		r := s.Simulate(scheduling.Request{Remove: []string{gone}})
		seen := map[string]bool{}
		for i, p := range r.Placements {
			name := p.Pod.Namespace + "/" + p.Pod.Name
			require.False(t, seen[name], "%s twice", name)
			seen[name] = true
			require.NotEqual(t, gone, p.Node)
			if p.NewNode >= 0 {
				require.Contains(t, r.NewNodes[p.NewNode].Pods, i)
			}
		}
		for _, pod := range c.Pods {
			if pod.Spec.NodeName == gone && len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].Kind != "DaemonSet" {
				require.True(t, seen[pod.Namespace+"/"+pod.Name], "%s is missing", pod.Name)
			}
		}
	})
}

// drawChanges makes a few changes, and the cluster that they lead to.
func drawChanges(t *rapid.T, c scheduling.Cluster, s *scheduling.Snapshot, serial *int) ([]scheduling.Change, scheduling.Cluster) {
	after := copyCluster(c)
	var changes []scheduling.Change
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		*serial++
		i := rapid.IntRange(0, len(after.Nodes)-1).Draw(t, "node")
		j := rapid.IntRange(0, len(after.Pods)-1).Draw(t, "pod")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			if len(after.Nodes) > 1 {
				changes = append(changes, scheduling.RemoveNode(nodeName(after, i)))
				after.Nodes = slices.Delete(after.Nodes, i, i+1)
			}
		case 1:
			changes = append(changes, scheduling.Cordon(nodeName(after, i)))
			node := after.Nodes[i].Node
			node.Spec.Unschedulable = true
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		case 2:
			pool := &after.Pools[0]
			it := pool.InstanceTypes[rapid.IntRange(0, len(pool.InstanceTypes)-1).Draw(t, "type")]
			node := s.NodeOf(fmt.Sprintf("node-0000%dx", *serial), pool, it, &it.Offerings[0])
			changes = append(changes, scheduling.SetNode(node))
			after.Nodes = append(after.Nodes, node)
		case 3:
			pool := after.Pools[0]
			pool.Taints = []corev1.Taint{{Key: "soft", Effect: rapid.SampledFrom([]corev1.TaintEffect{
				corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule}).Draw(t, "effect")}}
			changes = append(changes, scheduling.SetPool(pool))
			after.Pools[0] = pool
		case 4:
			changes = append(changes, scheduling.RemovePod(after.Pods[j].Namespace, after.Pods[j].Name))
			after.Pods = slices.Delete(after.Pods, j, j+1)
		case 5:
			pod := after.Pods[j].DeepCopy()
			pod.Spec.NodeName, pod.Status = nodeName(after, i), corev1.PodStatus{Phase: corev1.PodRunning}
			changes = append(changes, scheduling.SetPod(pod))
			after.Pods[j] = pod
		case 6:
			pod := after.Pods[j].DeepCopy()
			pod.Name, pod.UID = fmt.Sprintf("new-%d", *serial), ""
			pod.Labels = map[string]string{"app": "another"}
			pod.Spec.NodeName, pod.Status = "", unscheduled()
			changes = append(changes, scheduling.SetPod(pod))
			after.Pods = append(after.Pods, pod)
		}
	}
	return changes, after
}

// A derived snapshot answers as one compiled anew from the changed cluster,
// however long the chain of derivations; the one it came from stays as it was.
func TestDerivedSnapshotEqualsCompilingAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		s := mustCompile(t, c)
		before := answers(c, s)
		derived, after, serial := s, c, 0
		for range rapid.IntRange(1, 3).Draw(t, "steps") {
			changes, next := drawChanges(t, after, derived, &serial)
			var err error
			derived, err = derived.With(changes...)
			require.NoError(t, err)
			after = next
		}
		require.Equal(t, answers(after, mustCompile(t, after)), answers(after, derived))
		require.Equal(t, before, answers(c, s))
	})
}

// Headroom is how many pending copies a simulation would place on the nodes
// there are, one after another.
func TestHeadroomAgreesWithSimulatingCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		for i := range c.Pools {
			c.Pools[i].Limits = corev1.ResourceList{"nodes": quantity("0")}
		}
		c.Pods = slices.DeleteFunc(c.Pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })
		for i := range c.Nodes {
			c.Nodes[i].Claim.Deleting = false
		}
		if len(c.Pods) == 0 {
			return
		}
		pod := c.Pods[rapid.IntRange(0, len(c.Pods)-1).Draw(t, "pod")]
		room, err := mustCompile(t, c).Headroom(pod, 8)
		require.NoError(t, err)
		for i := range 8 {
			asked := pod.DeepCopy()
			asked.Name, asked.Spec.NodeName, asked.Status = fmt.Sprintf("copy-%d", i), "", unscheduled()
			asked.OwnerReferences = nil
			c.Pods = append(c.Pods, asked)
		}
		placed := 0
		for _, p := range mustCompile(t, c).Simulate(scheduling.Request{}).Placements {
			if p.Placed() {
				placed++
			}
		}
		require.Equal(t, placed, room.Pods)
		require.Equal(t, placed < 8, room.Reason != nil)
	})
}

// What one simulation allocates depends on the pods that move, not on the size
// of the cluster.
func TestAllocationsDoNotGrowWithTheCluster(t *testing.T) {
	allocations := func(nodes int) float64 {
		f := clustergen.New(clustergen.Config{Nodes: nodes, Seed: 5, Topology: 0.3})
		s := mustCompile(t, f.Cluster())
		pods := 0
		remove := []string{f.Nodes[nodes/2].Name}
		n := testing.AllocsPerRun(50, func() {
			pods = len(s.Simulate(scheduling.Request{Remove: remove}).Placements)
		})
		require.Equal(t, 15, pods)
		return n
	}
	small, large := allocations(30), allocations(600)
	require.LessOrEqual(t, large, small+4)
}
