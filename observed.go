package disruption

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// ObservedTypes makes a catalog of the instance types that the cluster's nodes
// show, for callers who have none: each with the capacity of the first of its
// nodes by name, an unknown price (0), and not for sale. With it nodes can be
// removed but not replaced. Domain is that of the labels, "" for karpenter.sh.
// Nils are passed over.
func ObservedTypes(c *Cluster, domain string) *scheduling.Catalog {
	f := newFleet(c.present(), domain)
	byName := map[string]*scheduling.InstanceType{}
	sold := map[string]bool{}
	for i := range f.machines {
		m := &f.machines[i]
		labels := m.labels(f.keys)
		name := labels[corev1.LabelInstanceTypeStable]
		if m.claim == nil || name == "" {
			continue
		}
		if byName[name] == nil {
			byName[name] = m.observedType(name, labels)
		}
		zone, capacityType := labels[corev1.LabelTopologyZone], labels[f.keys.CapacityType]
		if key := strings.Join([]string{name, zone, capacityType}, "\x00"); !sold[key] {
			sold[key] = true
			byName[name].Offerings = append(byName[name].Offerings, observedOffering(f.keys, zone, capacityType))
		}
	}
	types := make([]*scheduling.InstanceType, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		types = append(types, byName[name])
	}
	return &scheduling.Catalog{InstanceTypes: map[string][]*scheduling.InstanceType{"*": types}}
}

func (m *machine) observedType(name string, labels map[string]string) *scheduling.InstanceType {
	capacity, allocatable := m.claim.Status.Capacity, m.claim.Status.Allocatable
	if m.node != nil {
		capacity, allocatable = m.node.Status.Capacity, m.node.Status.Allocatable
	}
	overhead := corev1.ResourceList{}
	for resource, have := range capacity {
		left := have.DeepCopy()
		left.Sub(allocatable[resource])
		overhead[resource] = left
	}
	rs := scheduling.NewRequirements().Add(scheduling.In(corev1.LabelInstanceTypeStable, name))
	for _, key := range []string{corev1.LabelArchStable, corev1.LabelOSStable} {
		if value := labels[key]; value != "" {
			rs = rs.Add(scheduling.In(key, value))
		}
	}
	return &scheduling.InstanceType{Name: name, Requirements: rs, Capacity: capacity.DeepCopy(), Overhead: overhead}
}

func observedOffering(keys annotations.Keys, zone, capacityType string) scheduling.Offering {
	rs := scheduling.NewRequirements()
	if zone != "" {
		rs = rs.Add(scheduling.In(corev1.LabelTopologyZone, zone))
	}
	if capacityType != "" {
		rs = rs.Add(scheduling.In(keys.CapacityType, capacityType))
	}
	return scheduling.Offering{Requirements: rs}
}
