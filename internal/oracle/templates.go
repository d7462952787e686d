package oracle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// template is what new nodes of a pool look like.
type template struct {
	pool         *scheduling.Pool
	requirements scheduling.Requirements
	types        []*scheduling.InstanceType
	groups       []*daemonGroup
}

// prepareTemplates makes a template of each usable pool that has a type to
// offer, and counts what is left of limits and reservations.
func (r *run) prepareTemplates() {
	for _, p := range r.pools {
		if p.Limits != nil {
			r.remaining[p.Name] = sum(p.Limits)
		}
		r.countReservations(p)
		t := &template{pool: p, requirements: r.templateRequirements(p)}
		for _, it := range p.InstanceTypes {
			if it.Requirements.Intersects(t.requirements) == nil && r.roomFor(it, t.requirements, nil) {
				t.types = append(t.types, it)
			}
		}
		if _, short := scheduling.SatisfyMinValues(t.types, t.requirements); len(t.types) == 0 || short != nil {
			continue
		}
		r.templates = append(r.templates, t)
	}
	for _, t := range r.templates {
		t.groups = r.groupByDaemons(t)
	}
}

func (r *run) templateRequirements(p *scheduling.Pool) scheduling.Requirements {
	q := poolRequirements(p).Add(
		scheduling.In(r.keys.NodePool, p.Name),
		scheduling.In(r.keys.Registered, "true"),
		scheduling.In(r.keys.Initialized, "true"),
		scheduling.In(corev1.LabelHostname, "new node"))
	if p.NodeClass.Kind != "" {
		q = q.Add(scheduling.In(p.NodeClass.Group+"/"+strings.ToLower(p.NodeClass.Kind), p.NodeClass.Name))
	}
	return q
}

// poolRequirements are those that the pool states itself.
func poolRequirements(p *scheduling.Pool) scheduling.Requirements {
	return scheduling.NewRequirements(p.Requirements...).And(scheduling.LabelRequirements(p.Labels))
}

// chargePool takes an existing node's capacity off its pool's limits.
func (r *run) chargePool(e *existing) {
	pool := e.labels[r.keys.NodePool]
	left, ok := r.remaining[pool]
	if !ok {
		return
	}
	one := corev1.ResourceList{nodesLimit: *quantityOne()}
	r.remaining[pool] = minus(left, sum(e.capacity, one))
}

// roomFor reports whether the type can be bought under the requirements with
// room for the requests. Offerings with the same override count as one.
func (r *run) roomFor(it *scheduling.InstanceType, q scheduling.Requirements, requests corev1.ResourceList) bool {
	demand := r.options.Demand(q)
	return slices.ContainsFunc(it.Offerings, func(o scheduling.Offering) bool {
		return o.Available && demand.Accepts(&o) && holds(it.AllocatableOf(&o), requests)
	})
}

func (r *run) reservedOffering(o *scheduling.Offering) bool {
	return o.Requirements.Has(r.keys.CapacityType) && o.Requirements.Get(r.keys.CapacityType).Has(annotations.CapacityTypeReserved)
}

// countReservations keeps the lowest count seen of each reservation.
func (r *run) countReservations(p *scheduling.Pool) {
	for _, it := range p.InstanceTypes {
		for i := range it.Offerings {
			o := &it.Offerings[i]
			if !r.reservedOffering(o) {
				continue
			}
			if left, seen := r.reserved[o.ReservationID]; !seen || o.ReservationCapacity < left {
				r.reserved[o.ReservationID] = o.ReservationCapacity
			}
		}
	}
}
