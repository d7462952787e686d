package scheduling_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/node-disruption/disruption/scheduling"
)

func resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func assertResources(t *testing.T, want, got corev1.ResourceList) {
	t.Helper()
	text := func(list corev1.ResourceList) map[string]int64 {
		milli := map[string]int64{}
		for name, q := range list {
			milli[string(name)] = q.MilliValue()
		}
		return milli
	}
	assert.Equal(t, text(want), text(got))
}

func TestAllocatable(t *testing.T) {
	it := &scheduling.InstanceType{
		Capacity: resources("cpu", "4", "memory", "8Gi", "hugepages-2Mi", "1Gi", "example.com/gpu", "1"),
		Overhead: resources("cpu", "100m", "memory", "1Gi", "example.com/gpu", "2"),
	}
	t.Run("memory less overhead and hugepages, nothing below zero", func(t *testing.T) {
		assertResources(t, resources("cpu", "3900m", "memory", "6Gi", "hugepages-2Mi", "1Gi", "example.com/gpu", "0"), it.Allocatable())
	})
	t.Run("an offering replaces parts of the capacity", func(t *testing.T) {
		o := scheduling.Offering{CapacityOverride: resources("cpu", "8")}
		assertResources(t, resources("cpu", "7900m", "memory", "6Gi", "hugepages-2Mi", "1Gi", "example.com/gpu", "0"), it.AllocatableOf(&o))
		assertResources(t, resources("cpu", "4", "memory", "8Gi", "hugepages-2Mi", "1Gi", "example.com/gpu", "1"), it.Capacity)
	})
}

func TestPodRequests(t *testing.T) {
	container := func(cpu string) corev1.Container {
		return corev1.Container{Name: "c" + cpu, Resources: corev1.ResourceRequirements{Requests: resources("cpu", cpu)}}
	}
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container("300m")
	sidecar.RestartPolicy = &always
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"containers add up":                             {corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("1"), container("2")}}}, "3"},
		"an init container after a sidecar has both":    {corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{sidecar, container("500m")}}}, "800m"},
		"an init container before the sidecar does not": {corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{container("500m"), sidecar}}}, "500m"},
		"pod-level resources replace the sum": {corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("2")},
			Resources: &corev1.ResourceRequirements{Requests: resources("cpu", "1")}}}, "1"},
		"overhead comes on top": {corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("1")}, Overhead: resources("cpu", "50m")}}, "1050m"},
		"a resize down counts what is still allocated": {corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("1")}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c1", AllocatedResources: resources("cpu", "2")}}}}, "2"},
		"an infeasible resize up counts what is allocated": {corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("4")}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c4", AllocatedResources: resources("cpu", "2")}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}}}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			assertResources(t, resources("cpu", test.want, "pods", "1"), scheduling.PodRequests(&test.pod))
		})
	}
}

// market is two types: small is sold on demand and spot, large also reserved.
func market() []*scheduling.InstanceType {
	offering := func(kind string, price float64, id string) scheduling.Offering {
		return scheduling.Offering{
			Requirements: scheduling.LabelRequirements(map[string]string{"karpenter.sh/capacity-type": kind, "topology.kubernetes.io/zone": "a"}),
			Price:        price, Available: true, ReservationID: id,
		}
	}
	of := func(name string, offerings ...scheduling.Offering) *scheduling.InstanceType {
		return &scheduling.InstanceType{Name: name, Requirements: scheduling.Requirements{}.Add(scheduling.In("size", name)), Offerings: offerings}
	}
	return []*scheduling.InstanceType{
		of("large", offering("on-demand", 4, ""), offering("spot", 2, ""), offering("reserved", 0.1, "cr-1")),
		of("small", offering("on-demand", 1, ""), offering("spot", 0.5, "")),
	}
}

func demand(list ...scheduling.Requirement) scheduling.Demand {
	return scheduling.Options{}.Demand(scheduling.Requirements{}.Add(list...))
}

func names(types []*scheduling.InstanceType) []string {
	var list []string
	for _, it := range types {
		list = append(list, it.Name)
	}
	return list
}

func TestDemand(t *testing.T) {
	types, large := market(), market()[0]
	t.Run("reserved capacity is bought first", func(t *testing.T) {
		price, ok := demand().WorstLaunchPrice(large)
		assert.True(t, ok)
		assert.Equal(t, 0.1, price)
	})
	t.Run("of spot and on-demand spot is bought first", func(t *testing.T) {
		price, ok := demand(scheduling.NotIn("karpenter.sh/capacity-type", "reserved")).WorstLaunchPrice(large)
		assert.True(t, ok)
		assert.Equal(t, 2.0, price)
	})
	t.Run("a reservation that isn't well known can't be bought unasked", func(t *testing.T) {
		price, _ := demand().WorstLaunchPrice(large.WithReservationLabel("example.com/id"))
		assert.Equal(t, 2.0, price)
	})
	t.Run("a type with no offering that would do has no price and comes last", func(t *testing.T) {
		sorted, unpriced := demand(scheduling.In("karpenter.sh/capacity-type", "reserved")).SortByPrice(types)
		assert.Equal(t, []string{"large", "small"}, names(sorted))
		assert.Equal(t, 1, unpriced)
	})
	t.Run("the price must be strictly lower", func(t *testing.T) {
		cheaper, err := demand(scheduling.In("karpenter.sh/capacity-type", "on-demand")).CheaperThan(types, 4)
		assert.Nil(t, err)
		assert.Equal(t, []string{"small"}, names(cheaper))
	})
	t.Run("what is left must meet minValues", func(t *testing.T) {
		_, err := demand(scheduling.In("karpenter.sh/capacity-type", "on-demand"), scheduling.Exists("size").WithMinValues(2)).CheaperThan(types, 4)
		assert.EqualError(t, err, "minValues not met: size has 1 of 2")
	})
	t.Run("nothing left meets every minValues", func(t *testing.T) {
		none, err := demand(scheduling.Exists("size").WithMinValues(2)).CheaperThan(types, 0)
		assert.Nil(t, err)
		assert.Empty(t, none)
	})
	t.Run("a node is not replaced by one of its own type", func(t *testing.T) {
		running := []scheduling.Running{{InstanceType: types[1], Labels: map[string]string{"karpenter.sh/capacity-type": "spot"}}}
		cheaper, err := demand(scheduling.In("karpenter.sh/capacity-type", "spot")).CheaperThanSameType(types, running)
		assert.Nil(t, err)
		assert.Empty(t, cheaper)
	})
}

func TestParseCatalogReportsEveryFault(t *testing.T) {
	_, errs := scheduling.ParseCatalog([]byte(`{"instanceTypes": {"*": [
		{"name": "a", "offerings": [{"zone": "z", "price": -1, "reservationCapacity": -1}], "capacity": {"cpu": "-1"}},
		{"name": "a", "requirements": [{"key": "k", "operator": "Gt", "values": ["x"]}]},
		{}]}}`), scheduling.Options{})
	var paths []string
	for _, err := range errs {
		paths = append(paths, err.Field)
	}
	assert.Equal(t, []string{
		"instanceTypes[*][0].capacity[cpu]",
		"instanceTypes[*][0].offerings[0].price",
		"instanceTypes[*][0].offerings[0].reservationCapacity",
		"instanceTypes[*][1].name",
		"instanceTypes[*][1].requirements[0].values[0]",
		"instanceTypes[*][2].name",
	}, paths)
}

// A catalog is read or refused, never a panic, and what is read can be priced.
func FuzzParseCatalog(f *testing.F) {
	f.Add(`{"wellKnownLabels":["l"],"instanceTypes":{"*":[{"name":"a","offerings":[{"zone":"z","capacityType":"spot","price":1,"available":true}]}]}}`)         // shorthand
	f.Add(`{"instanceTypes":{"p":[{"name":"a","capacity":{"memory":"1e400"},"overhead":{"memory":"1n"},"offerings":[{"capacityOverride":{"memory":"-0"}}]}]}}`) // odd quantities
	f.Add(`{"instanceTypes":{"p":[{"name":"a","requirements":[{"key":"","operator":"Gt"}]}]}}`)                                                                 // a bad requirement
	f.Fuzz(func(t *testing.T, data string) {
		options := scheduling.Options{ReservationLabel: "example.com/id"}
		c, errs := scheduling.ParseCatalog([]byte(data), options)
		if (c == nil) == (len(errs) == 0) {
			t.Fatalf("neither a catalog nor an error: %v", errs)
		}
		if c == nil {
			return
		}
		demand := options.Demand(scheduling.Requirements{})
		for pool := range c.InstanceTypes {
			demand.SortByPrice(c.For(pool))
			for _, it := range c.For(pool) {
				it.Allocatable()
			}
		}
	})
}

func BenchmarkSortByPrice(b *testing.B) {
	for _, n := range []int{10, 100, 600} {
		b.Run(fmt.Sprintf("%d types", n), func(b *testing.B) {
			var types []*scheduling.InstanceType
			for i := range n {
				it := *market()[i%2]
				it.Name = fmt.Sprintf("type-%d", i)
				types = append(types, &it)
			}
			d := demand(scheduling.In("topology.kubernetes.io/zone", "a"))
			b.ReportAllocs()
			for b.Loop() {
				d.SortByPrice(types)
			}
		})
	}
}
