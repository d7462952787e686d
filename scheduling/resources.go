package scheduling

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// PodRequests is what a node must have free for the pod, as the scheduler
// counts it, and one of the resource pods. Pod-level resources stand in for the
// sum of the containers where they name a resource; sidecars count beside the
// init containers after them; overhead is added; while the pod is being resized
// in place the larger of what was asked and what is allocated counts, or only
// the latter once the resize is infeasible. The list is the caller's.
func PodRequests(pod *corev1.Pod) corev1.ResourceList {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
	requests[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return requests
}

// vector holds amounts in thousandths, by the index that a [resourceTable]
// gives each resource. A vector may be shorter than the table: what lies beyond
// is zero.
type vector []int64

// resourceTable numbers the resources of a snapshot. It only grows while the
// snapshot is compiled.
type resourceTable struct {
	names []corev1.ResourceName
	index map[corev1.ResourceName]int
}

// of returns the index of a resource, a new one if it was not known.
func (t *resourceTable) of(name corev1.ResourceName) int {
	if i, ok := t.index[name]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[corev1.ResourceName]int{}
	}
	t.index[name] = len(t.names)
	t.names = append(t.names, name)
	return t.index[name]
}

// needs reads what is asked for: amounts round up.
func (t *resourceTable) needs(list corev1.ResourceList) vector { return t.read(list, milliUp) }

// offers reads what there is: amounts round down.
func (t *resourceTable) offers(list corev1.ResourceList) vector { return t.read(list, milliDown) }

func (t *resourceTable) read(list corev1.ResourceList, milli func(resource.Quantity) int64) vector {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		t.of(name)
	}
	v := make(vector, len(t.names))
	for name, q := range list {
		v[t.index[name]] = milli(q)
	}
	return v
}

// list renders the amounts that are not zero.
func (t *resourceTable) list(v vector) corev1.ResourceList {
	list := make(corev1.ResourceList, len(v))
	for i, milli := range v {
		if milli != 0 {
			list[t.names[i]] = quantity(t.names[i], milli)
		}
	}
	return list
}

// quantity renders thousandths in the format that is usual for the resource.
func quantity(name corev1.ResourceName, milli int64) resource.Quantity {
	format := resource.BinarySI
	if name == corev1.ResourceCPU || name == corev1.ResourcePods {
		format = resource.DecimalSI
	}
	if milli%1000 == 0 {
		return *resource.NewQuantity(milli/1000, format)
	}
	return *resource.NewMilliQuantity(milli, format)
}

// milliUp returns q in thousandths, rounded up, at most the largest int64.
func milliUp(q resource.Quantity) int64 {
	if n, ok := q.AsInt64(); ok && n <= math.MaxInt64/1000 && n >= math.MinInt64/1000 {
		return n * 1000
	}
	switch {
	case q.CmpInt64(math.MaxInt64/1000) > 0:
		return math.MaxInt64
	case q.CmpInt64(math.MinInt64/1000) < 0:
		return math.MinInt64
	}
	return q.MilliValue()
}

// milliDown is [milliUp] rounded down.
func milliDown(q resource.Quantity) int64 {
	n := milliUp(q)
	if n < math.MaxInt64 && n > math.MinInt64 && resource.NewMilliQuantity(n, q.Format).Cmp(q) > 0 {
		n--
	}
	return n
}
