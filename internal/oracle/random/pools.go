package random

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

func amounts(pairs ...any) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[pairs[i].(corev1.ResourceName)] = resource.MustParse(pairs[i+1].(string))
	}
	return list
}

func (d *drawer) drawPools() {
	types := d.drawTypes()
	for i := range rapidCount(d, "pools", 1, 3) {
		p := scheduling.Pool{
			Name:          fmt.Sprintf("pool-%d", i),
			Labels:        map[string]string{},
			NodeClass:     scheduling.NodeClassRef{Group: "provider.example.com", Kind: "Class", Name: "default"},
			Weight:        int32(d.upTo(2, "weight")),
			Static:        d.seldom("static"),
			NotReady:      d.seldom("not ready"),
			Deleting:      d.seldom("pool deleting"),
			Requirements:  d.poolRequirements(),
			Taints:        d.taints(),
			InstanceTypes: types,
		}
		if d.sometimes("team of the pool") {
			p.Labels[teamLabel] = d.team()
		}
		if d.sometimes("part of the types") {
			p.InstanceTypes = types[:1+d.upTo(len(types)-1, "types")]
		}
		if d.sometimes("limits") {
			p.Limits = d.limits()
		}
		if d.often("consolidateAfter") {
			after := pick(d, "consolidateAfter", 0, time.Minute, time.Hour)
			p.ConsolidateAfter = &after
		}
		d.cluster.Pools = append(d.cluster.Pools, p)
	}
}

func rapidCount(d *drawer, what string, low, high int) int { return low + d.upTo(high-low, what) }

func (d *drawer) limits() corev1.ResourceList {
	limits := corev1.ResourceList{}
	if d.often("limit cpu") {
		limits[corev1.ResourceCPU] = resource.MustParse(pick(d, "cpu limit", "0", "6", "14", "40"))
	}
	if d.often("limit nodes") {
		limits["nodes"] = resource.MustParse(pick(d, "node limit", "0", "1", "2", "4"))
	}
	if d.seldom("limit gpus") {
		limits[gpu] = resource.MustParse(pick(d, "gpu limit", "0", "1"))
	}
	return limits
}

func (d *drawer) poolRequirements() []scheduling.RequirementSpec {
	var specs []scheduling.RequirementSpec
	add := func(key string, op corev1.NodeSelectorOperator, values ...string) {
		specs = append(specs, scheduling.RequirementSpec{Key: key, Operator: op, Values: values})
	}
	if d.often("capacity types") {
		add(d.keys.CapacityType, corev1.NodeSelectorOpIn, some(d, "capacity types", annotations.CapacityTypeSpot, annotations.CapacityTypeOnDemand, annotations.CapacityTypeReserved)...)
	}
	if d.often("zones") {
		add(corev1.LabelTopologyZone, pick(d, "operator", corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), some(d, "zones", "a", "b", "c")...)
	}
	if d.sometimes("sizes") {
		add(sizeLabel, pick(d, "bound", corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, scheduling.OpGte, scheduling.OpLte), pick(d, "size", "2", "4", "8"))
	}
	if d.sometimes("teams") {
		add(teamLabel, pick(d, "operator", corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist))
		if op := specs[len(specs)-1].Operator; op == corev1.NodeSelectorOpIn || op == corev1.NodeSelectorOpNotIn {
			specs[len(specs)-1].Values = some(d, "teams", "x", "y")
		}
	}
	if d.sometimes("minValues") {
		n := rapidCount(d, "minValues", 1, 3)
		specs = append(specs, scheduling.RequirementSpec{Key: pick(d, "key", sizeLabel, corev1.LabelInstanceTypeStable), Operator: corev1.NodeSelectorOpExists, MinValues: &n})
	}
	return specs
}

func (d *drawer) taints() []corev1.Taint {
	if !d.sometimes("taints") {
		return nil
	}
	var taints []corev1.Taint
	for _, key := range some(d, "taint keys", "dedicated", "soft") {
		effect := pick(d, "effect", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectPreferNoSchedule)
		taints = append(taints, corev1.Taint{Key: key, Value: pick(d, "value", "", "1"), Effect: effect})
	}
	return taints
}

func (d *drawer) drawTypes() []*scheduling.InstanceType {
	var types []*scheduling.InstanceType
	for i := range rapidCount(d, "types", 1, 5) {
		cpu := pick(d, "cpu", 2, 4, 8)
		it := &scheduling.InstanceType{
			Name:     fmt.Sprintf("type-%d", i),
			Capacity: amounts(corev1.ResourceCPU, fmt.Sprint(cpu), corev1.ResourceMemory, fmt.Sprintf("%dGi", cpu*2), corev1.ResourcePods, pick(d, "pods", "3", "5", "20")),
			Overhead: amounts(corev1.ResourceCPU, "100m", corev1.ResourceMemory, "200Mi"),
		}
		if d.sometimes("gpus") {
			it.Capacity[gpu] = resource.MustParse("2")
		}
		if d.seldom("hugepages") {
			it.Capacity["hugepages-2Mi"] = resource.MustParse("512Mi")
		}
		zones := some(d, "zones", "a", "b", "c")
		it.Requirements = scheduling.NewRequirements().Add(
			scheduling.In(corev1.LabelInstanceTypeStable, it.Name),
			scheduling.In(sizeLabel, fmt.Sprint(cpu)),
			scheduling.In(corev1.LabelTopologyZone, zones...),
			scheduling.In(corev1.LabelArchStable, pick(d, "arch", "amd64", "amd64", "arm64")),
			scheduling.In(d.keys.CapacityType, annotations.CapacityTypeOnDemand, annotations.CapacityTypeSpot, annotations.CapacityTypeReserved))
		if d.seldom("team of the type") {
			it.Requirements = it.Requirements.Add(scheduling.In(teamLabel, some(d, "teams", "x", "y")...))
		}
		d.drawOfferings(it, zones, cpu)
		types = append(types, it)
	}
	return types
}

func (d *drawer) drawOfferings(it *scheduling.InstanceType, zones []string, cpu int) {
	var ids []string
	for _, zone := range zones {
		for _, kind := range []string{annotations.CapacityTypeOnDemand, annotations.CapacityTypeSpot, annotations.CapacityTypeReserved} {
			o := scheduling.Offering{Available: !d.sometimes("sold out"), Price: float64(cpu) * pick(d, "price", 0.5, 1, 1.5)}
			o.Requirements = scheduling.NewRequirements().Add(scheduling.In(corev1.LabelTopologyZone, zone), scheduling.In(d.keys.CapacityType, kind))
			if kind == annotations.CapacityTypeReserved {
				if d.options.ReservationLabel == "" || !d.often("reservation") {
					continue
				}
				o.Price, o.ReservationID, o.ReservationCapacity = 0, pick(d, "id", "cr-1", "cr-2", "cr-3"), d.upTo(2, "capacity")
				ids = append(ids, o.ReservationID)
			}
			if d.seldom("override") {
				o.CapacityOverride = amounts(corev1.ResourceCPU, pick(d, "cpu", "1", "16"))
			}
			it.Offerings = append(it.Offerings, o)
		}
	}
	if label := d.options.ReservationLabel; label != "" {
		it.Requirements = it.Requirements.Add(scheduling.In(label, ids...))
		*it = *it.WithReservationLabel(label)
	}
}
