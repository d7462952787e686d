package scheduling

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// InstanceType is a kind of machine that a pool may launch. Types are shared
// between pools and answers, and never written.
type InstanceType struct {
	Name string `json:"name"`
	// Requirements are the labels that a node of this type can have.
	Requirements Requirements `json:"requirements"`
	// Capacity is what the machine has, Overhead what of it pods can't use.
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	Overhead corev1.ResourceList `json:"overhead,omitempty"`
	// Offerings are the ways to buy it.
	Offerings []Offering `json:"offerings"`
}

// Allocatable is what pods can use of a node of this type: capacity less
// overhead, memory also less the hugepages set aside, and nothing below zero.
// The list is the caller's.
func (t *InstanceType) Allocatable() corev1.ResourceList {
	return allocatable(t.Capacity, t.Overhead)
}

// AllocatableOf is [InstanceType.Allocatable] of a node bought by that offering,
// whose CapacityOverride replaces parts of the capacity.
func (t *InstanceType) AllocatableOf(o *Offering) corev1.ResourceList {
	if len(o.CapacityOverride) == 0 {
		return t.Allocatable()
	}
	capacity := maps.Clone(t.Capacity)
	if capacity == nil {
		capacity = corev1.ResourceList{}
	}
	maps.Copy(capacity, o.CapacityOverride)
	return allocatable(capacity, t.Overhead)
}

func allocatable(capacity, overhead corev1.ResourceList) corev1.ResourceList {
	left := make(corev1.ResourceList, len(capacity))
	for name, have := range capacity {
		q := have.DeepCopy()
		q.Sub(overhead[name])
		left[name] = q
	}
	if memory, ok := left[corev1.ResourceMemory]; ok {
		for name, pages := range capacity {
			if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
				memory.Sub(pages)
			}
		}
		left[corev1.ResourceMemory] = memory
	}
	for name, q := range left {
		if q.Sign() < 0 {
			left[name] = *resource.NewQuantity(0, q.Format)
		}
	}
	return left
}

// WithReservationLabel returns the type with the provider's label for capacity
// reservations stated by every offering that doesn't yet: In its reservation id,
// or DoesNotExist for one that is not reserved. The type itself is not changed.
func (t *InstanceType) WithReservationLabel(label string) *InstanceType {
	labelled := *t
	labelled.Offerings = make([]Offering, len(t.Offerings))
	for i, o := range t.Offerings {
		labelled.Offerings[i] = o.withReservationLabel(label)
	}
	return &labelled
}
