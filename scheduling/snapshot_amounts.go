package scheduling

import corev1 "k8s.io/api/core/v1"

// amount is how much of one resource is asked for, in milli-units.
type amount struct {
	resource int32 // index into resourceTable.names
	milli    int64
}

// amounts are the parts of the vector that are not zero.
func (v vector) amounts() []amount {
	n := 0
	for _, milli := range v {
		if milli != 0 {
			n++
		}
	}
	list := make([]amount, 0, n)
	for r, milli := range v {
		if milli != 0 {
			list = append(list, amount{int32(r), milli})
		}
	}
	return list
}

// of returns the amount of one resource, which may lie beyond the vector.
func (v vector) of(resource int) int64 {
	if resource < len(v) {
		return v[resource]
	}
	return 0
}

// newSnapshotResources numbers the usual resources first.
func newSnapshotResources() resourceTable {
	var t resourceTable
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		t.of(name)
	}
	return t
}

const (
	cpuIndex    = 0
	memoryIndex = 1
)
