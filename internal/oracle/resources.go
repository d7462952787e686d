package oracle

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func sum(lists ...corev1.ResourceList) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, list := range lists {
		for name, q := range list {
			have := total[name].DeepCopy()
			have.Add(q)
			total[name] = have
		}
	}
	return total
}

// minus subtracts from the resources that have lists; others don't appear.
func minus(have, take corev1.ResourceList) corev1.ResourceList {
	left := maps.Clone(have)
	for name := range left {
		q := left[name].DeepCopy()
		q.Sub(take[name])
		left[name] = q
	}
	return left
}

func notBelowZero(list corev1.ResourceList) corev1.ResourceList {
	for name, q := range list {
		if q.Sign() < 0 {
			list[name] = resource.Quantity{Format: q.Format}
		}
	}
	return list
}

// holds reports whether room is enough for need. Room that is negative anywhere
// is enough for nothing.
func holds(room, need corev1.ResourceList) bool {
	for _, q := range room {
		if q.Sign() < 0 {
			return false
		}
	}
	for name, q := range need {
		if have := room[name]; q.Cmp(have) > 0 {
			return false
		}
	}
	return true
}

// least takes the smaller amount of each resource; one that a list lacks is 0.
func least(a, b corev1.ResourceList) corev1.ResourceList {
	low := corev1.ResourceList{}
	for name, q := range a {
		if other, ok := b[name]; ok {
			if other.Cmp(q) < 0 {
				q = other
			}
			low[name] = q
		}
	}
	return low
}
