package scheduling_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// A node's labels meet what a pod requires, or the mismatch says why not.
func ExampleRequirements_Compatible() {
	node := scheduling.LabelRequirements(map[string]string{"topology.kubernetes.io/zone": "a", "example.com/cpu": "8"})
	pod := scheduling.NewRequirements(
		scheduling.RequirementSpec{Key: "example.com/cpu", Operator: corev1.NodeSelectorOpGt, Values: []string{"4"}},
		scheduling.RequirementSpec{Key: "topology.kubernetes.io/zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"b", "c"}},
	)
	fmt.Println(node.Compatible(pod, nil))
	fmt.Println(node.Compatible(pod.Without("topology.kubernetes.io/zone"), nil) == nil)
	// Output:
	// topology.kubernetes.io/zone In [a] does not meet topology.kubernetes.io/zone In [b c]
	// true
}

// Requirements for one key intersect.
func ExampleNewRequirements() {
	r := scheduling.NewRequirements(
		scheduling.RequirementSpec{Key: "example.com/cpu", Operator: corev1.NodeSelectorOpIn, Values: []string{"2", "4", "8", "16"}},
		scheduling.RequirementSpec{Key: "example.com/cpu", Operator: scheduling.OpGte, Values: []string{"4"}},
		scheduling.RequirementSpec{Key: "beta.kubernetes.io/arch", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"arm64"}},
	)
	for q := range r.All() {
		fmt.Println(q)
	}
	// Output:
	// example.com/cpu In [16 4 8]
	// kubernetes.io/arch NotIn [arm64]
}

func ExampleRequirement_Intersection() {
	large := scheduling.NewRequirement(scheduling.RequirementSpec{Key: "cpu", Operator: corev1.NodeSelectorOpGt, Values: []string{"8"}})
	not32 := scheduling.NotIn("cpu", "4", "32")
	both := large.Intersection(not32)
	fmt.Println(both, both.Has("16"), both.Has("32"), both.Has("many"))
	// Output: cpu NotIn [32], >= 9 true false false
}

func ExampleRequirements_Specs() {
	for _, s := range scheduling.LabelRequirements(map[string]string{"b": "2", "a": "1"}).Specs() {
		fmt.Println(s.Key, s.Operator, s.Values)
	}
	// Output:
	// a In [1]
	// b In [2]
}

func ExampleUntolerated() {
	taints := []corev1.Taint{
		{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule},
		{Key: "spot", Effect: corev1.TaintEffectPreferNoSchedule},
	}
	tolerations := []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	taint, blocked := scheduling.Untolerated(taints, tolerations)
	fmt.Println(blocked, taint.Key, taint.Effect)
	// Output: true spot PreferNoSchedule
}

func ExampleEphemeralTaint() {
	starting := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	fmt.Println(scheduling.EphemeralTaint(starting, annotations.For("")))
	// Output: true
}

func ExamplePodRequests() {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("250m")}}}},
		Overhead:   corev1.ResourceList{"cpu": resource.MustParse("50m")},
	}}
	requests := scheduling.PodRequests(pod)
	fmt.Println(requests.Cpu(), requests.Pods())
	// Output: 300m 1
}

func ExampleInstanceType_Allocatable() {
	it := &scheduling.InstanceType{
		Capacity: corev1.ResourceList{"memory": resource.MustParse("8Gi"), "hugepages-2Mi": resource.MustParse("1Gi")},
		Overhead: corev1.ResourceList{"memory": resource.MustParse("1Gi")},
	}
	allocatable := it.Allocatable()
	fmt.Println(allocatable.Memory())
	// Output: 6Gi
}

// A catalog is what a provider sells, and a demand is what a node to be
// launched requires of it.
func ExampleParseCatalog() {
	catalog, errs := scheduling.ParseCatalog([]byte(`{"instanceTypes": {"*": [
		{"name": "small", "offerings": [
			{"zone": "a", "capacityType": "spot", "price": 0.03, "available": true},
			{"zone": "a", "capacityType": "on-demand", "price": 0.10, "available": true}]},
		{"name": "large", "offerings": [
			{"zone": "a", "capacityType": "on-demand", "price": 0.40, "available": true}]}]}}`), scheduling.Options{})
	if len(errs) > 0 {
		fmt.Println(errs.ToAggregate())
		return
	}
	demand := scheduling.Options{}.Demand(scheduling.Requirements{}.Add(scheduling.In("topology.kubernetes.io/zone", "a")))
	types, _ := demand.SortByPrice(catalog.For("general"))
	for _, it := range types {
		cheapest, _ := demand.Cheapest(it)
		worst, _ := demand.WorstLaunchPrice(it)
		fmt.Println(it.Name, cheapest, worst)
	}
	// Output:
	// small 0.03 0.03
	// large 0.4 0.4
}

func ExampleSatisfyMinValues() {
	types := []*scheduling.InstanceType{
		{Name: "m.large", Requirements: scheduling.Requirements{}.Add(scheduling.In("family", "m"))},
		{Name: "m.xlarge", Requirements: scheduling.Requirements{}.Add(scheduling.In("family", "m"))},
		{Name: "c.large", Requirements: scheduling.Requirements{}.Add(scheduling.In("family", "c"))},
	}
	demand := func(n int) scheduling.Requirements {
		return scheduling.Requirements{}.Add(scheduling.Exists("family").WithMinValues(n))
	}
	fmt.Println(scheduling.SatisfyMinValues(types, demand(2)))
	fmt.Println(scheduling.SatisfyMinValues(types, demand(3)))
	// Output:
	// 3 <nil>
	// 3 minValues not met: family has 2 of 3
}
