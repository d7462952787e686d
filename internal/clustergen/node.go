package clustergen

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/node-disruption/disruption/scheduling"
)

// node makes a node, its claim and its pods.
func (g *generator) node(i int) {
	zone := zones[i%len(zones)]
	it := g.machine()
	name := fmt.Sprintf("node-%05d", i)
	labels := map[string]string{
		"karpenter.sh/nodepool":        g.fleet.Pools[i%len(g.fleet.Pools)].Name,
		"karpenter.sh/capacity-type":   "on-demand",
		"karpenter.sh/registered":      "true",
		"karpenter.sh/initialized":     "true",
		corev1.LabelInstanceTypeStable: it.Name,
		corev1.LabelTopologyZone:       zone,
		corev1.LabelArchStable:         "amd64",
		corev1.LabelOSStable:           "linux",
	}
	created := g.fleet.Now.Add(-time.Duration(24+g.rand.IntN(400)) * time.Hour)
	claim := Claim{
		Name: "claim-" + name, ProviderID: "cloud:///" + name, Pool: labels["karpenter.sh/nodepool"], InstanceType: it,
		Labels: maps.Clone(labels), Capacity: it.Capacity, Allocatable: it.Allocatable(),
		Created: created, QuietSince: created.Add(time.Hour),
	}
	labels[corev1.LabelHostname] = name
	g.fleet.Claims = append(g.fleet.Claims, claim)
	g.fleet.Nodes = append(g.fleet.Nodes, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: labels, CreationTimestamp: metav1.Time{Time: created}},
		Spec:       corev1.NodeSpec{ProviderID: claim.ProviderID},
		Status: corev1.NodeStatus{
			Capacity: it.Capacity, Allocatable: claim.Allocatable,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	})
	g.fill(i, name, zone, claim.Allocatable)
}

// machine picks a type that holds about PodsPerNode pods.
func (g *generator) machine() *scheduling.InstanceType {
	want := int64(g.PodsPerNode) * 550 // milli-cores
	if !g.WellPacked {
		want = want * 3 / 2
	}
	types := g.fleet.InstanceTypes
	for range 40 {
		it := types[g.rand.IntN(len(types))]
		if cpu := it.Capacity.Cpu().MilliValue(); cpu >= want/2 && cpu <= want*3/2 {
			return it
		}
	}
	return types[len(types)-1]
}

// fill puts pods on a node: the daemons, then replicas of different workloads,
// until the node has its number of pods or, well packed, until none fits.
func (g *generator) fill(i int, node, zone string, allocatable corev1.ResourceList) {
	cpu, memory := allocatable.Cpu().MilliValue(), allocatable.Memory().Value()>>20
	for _, ds := range g.fleet.DaemonSets {
		g.pod(node, "kube-system", ds.Name, ds.Spec.Template.Spec, metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "DaemonSet", Name: ds.Name, UID: ds.UID, Controller: new(true)})
		cpu, memory = cpu-25, memory-64
	}
	misses := 0
	for pods := 0; misses < 60 && (pods < g.PodsPerNode || g.WellPacked); {
		slot := g.pick(zone)
		w := g.window[slot]
		if w.onNode == i+1 || w.milliCPU > cpu || w.mebibytes > memory || w.zone != "" && w.zone != zone {
			misses++
			continue
		}
		cpu, memory, pods = cpu-w.milliCPU, memory-w.mebibytes, pods+1
		w.onNode, w.left = i+1, w.left-1
		w.inZone[zone]++
		g.pod(node, "default", w.name, w.spec, metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.name, UID: types.UID("uid-" + w.name), Controller: new(true)})
		if w.left == 0 {
			g.window[slot] = g.workload()
		}
	}
}

// pick chooses, of three workloads, the one with the fewest pods in the zone.
func (g *generator) pick(zone string) int {
	best := g.rand.IntN(len(g.window))
	for range 2 {
		if other := g.rand.IntN(len(g.window)); g.window[other].inZone[zone] < g.window[best].inZone[zone] {
			best = other
		}
	}
	return best
}

func (g *generator) pod(node, namespace, app string, spec corev1.PodSpec, owner metav1.OwnerReference) {
	name := fmt.Sprintf("%s-%06d", app, g.pods)
	g.pods++
	spec.NodeName = node
	g.fleet.Pods = append(g.fleet.Pods, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: types.UID("uid-" + name), Labels: map[string]string{"app": app},
			CreationTimestamp: metav1.Time{Time: g.fleet.Now.Add(-time.Duration(g.rand.IntN(400)) * time.Minute)},
			OwnerReferences:   []metav1.OwnerReference{owner},
		},
		Spec:   spec,
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	})
}
