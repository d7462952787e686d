package consolidation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

var noon = time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)

const (
	onDemand = "on-demand"
	spot     = "spot"
)

// typeAt is an instance type with one offering a capacity type in zone a.
func typeAt(name string, prices map[string]float64) *scheduling.InstanceType {
	t := &scheduling.InstanceType{
		Name:         name,
		Requirements: scheduling.NewRequirements().Add(scheduling.In(corev1.LabelInstanceTypeStable, name)),
		Capacity:     corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi")},
	}
	for _, capacityType := range []string{onDemand, spot} {
		if price, ok := prices[capacityType]; ok {
			t.Offerings = append(t.Offerings, scheduling.Offering{
				Requirements: scheduling.NewRequirements().Add(
					scheduling.In(corev1.LabelTopologyZone, "a"), scheduling.In("karpenter.sh/capacity-type", capacityType)),
				Price: price, Available: true,
			})
		}
	}
	return t
}

func onDemandAt(name string, price float64) *scheduling.InstanceType {
	return typeAt(name, map[string]float64{onDemand: price})
}

// spotTypes are n types, each a little dearer than the one before.
func spotTypes(n int, from float64) []*scheduling.InstanceType {
	list := make([]*scheduling.InstanceType, n)
	for i := range list {
		list[i] = typeAt(fmt.Sprintf("spot-%02d", i), map[string]float64{spot: from + float64(i)/1000})
	}
	return list
}

// pool is a dynamic pool that may consolidate at once.
func pool(name string, types ...*scheduling.InstanceType) consolidation.Pool {
	return consolidation.Pool{Name: name, ConsolidateAfter: new(time.Duration), InstanceTypes: types}
}

// nodeOf is an initialised node of the pool that has been quiet for long enough.
func nodeOf(name, pool, instanceType string, pods ...*corev1.Pod) consolidation.Node {
	labels := map[string]string{
		"karpenter.sh/nodepool": pool, "karpenter.sh/initialized": "true", "karpenter.sh/registered": "true",
		"karpenter.sh/capacity-type": onDemand, corev1.LabelTopologyZone: "a", corev1.LabelInstanceTypeStable: instanceType,
	}
	for _, pod := range pods {
		pod.Spec.NodeName = name
	}
	return consolidation.Node{
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi")}},
		},
		Claim: &consolidation.Claim{Name: "claim-" + name, Labels: labels, Created: noon.Add(-time.Hour), Consolidatable: true},
		Pods:  pods,
	}
}

func spotNode(name, pool, instanceType string, pods ...*corev1.Pod) consolidation.Node {
	n := nodeOf(name, pool, instanceType, pods...)
	n.Node.Labels["karpenter.sh/capacity-type"] = spot
	return n
}

// podOf is a running replica of a Deployment that requests one core.
func podOf(name, deployment string) *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
			Labels: map[string]string{"app": deployment, "pod-template-hash": "abc"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-abc", Controller: &yes,
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// replicas are n pods of one Deployment.
func replicas(deployment string, n int) []*corev1.Pod {
	list := make([]*corev1.Pod, n)
	for i := range list {
		list[i] = podOf(fmt.Sprintf("%s-%d", deployment, i), deployment)
	}
	return list
}

// simulated answers every question by a function.
type simulated func(remove []string) scheduling.Result

func (s simulated) Simulate(request scheduling.Request) scheduling.Result { return s(request.Remove) }

// fits: everything finds room on the nodes that stay.
var fits = simulated(func([]string) scheduling.Result { return scheduling.Result{} })

// needs: the pods need new nodes that may be any of the types.
func needs(requirements scheduling.Requirements, types ...[]*scheduling.InstanceType) simulated {
	return func([]string) scheduling.Result {
		var r scheduling.Result
		for _, list := range types {
			r.NewNodes = append(r.NewNodes, scheduling.NewNode{Pool: "general", Requirements: requirements, InstanceTypes: slices.Clone(list)})
		}
		return r
	}
}

// capacity are requirements that allow these capacity types.
func capacity(types ...string) scheduling.Requirements {
	return scheduling.NewRequirements().Add(scheduling.In("karpenter.sh/capacity-type", types...))
}

func compile(t testing.TB, c consolidation.Cluster) *consolidation.Fleet {
	t.Helper()
	if c.Now.IsZero() {
		c.Now = noon
	}
	fleet, err := consolidation.Compile(c, "")
	require.NoError(t, err)
	return fleet
}

// planner compiles a cluster and plans on it.
func planner(t testing.TB, c consolidation.Cluster, s consolidation.Simulator, options consolidation.Options) *consolidation.Planner {
	t.Helper()
	return consolidation.NewPlanner(compile(t, c), s, options)
}

// chosen are the fleet's nodes of these names.
func chosen(t testing.TB, p *consolidation.Planner, names ...string) []*consolidation.Candidate {
	t.Helper()
	list := make([]*consolidation.Candidate, len(names))
	for i, name := range names {
		c, ok := p.Fleet().Candidate(name)
		require.True(t, ok, name)
		list[i] = c
	}
	return list
}

// codes are those of the reasons.
func codes(reasons []consolidation.Reason) []consolidation.Code {
	var list []consolidation.Code
	for _, r := range reasons {
		list = append(list, r.Code)
	}
	return list
}

// stays is the first code of each node that stays.
func stays(o consolidation.Outcome) map[string]consolidation.Code {
	m := map[string]consolidation.Code{}
	for _, s := range o.Stays {
		m[s.Node] = s.Reasons[0].Code
	}
	return m
}

// moved are the nodes of the outcome's only move, nil if there is none.
func moved(t testing.TB, o consolidation.Outcome) []string {
	t.Helper()
	if len(o.Moves) == 0 {
		return nil
	}
	require.Len(t, o.Moves, 1)
	return o.Moves[0].Nodes
}
