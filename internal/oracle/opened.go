package oracle

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// nodesLimit is the key of a pool's limits that bounds the number of its nodes.
const nodesLimit corev1.ResourceName = "nodes"

func quantityOne() *resource.Quantity { return resource.NewQuantity(1, resource.DecimalSI) }

// opened is a node that this simulation would launch.
type opened struct {
	template     *template
	hostname     string
	requirements scheduling.Requirements
	groups       []*daemonGroup
	pods         []*moving
	requests     corev1.ResourceList
	ports        []hostPort
	held         map[string]bool // reservations
	relaxed      bool            // minValues were lowered
}

// fit is how an attempt on a new node ended.
type fit int

const (
	doesNotFit fit = iota
	fits
	fitsLaterAtBest // only reserved capacity would do, and none is left
)

// open tries a new node of the template.
func (r *run) open(m *moving, t *template) fit {
	limits, limited := r.remaining[t.pool.Name]
	if left, ok := limits[nodesLimit]; ok && left.Sign() <= 0 {
		return doesNotFit
	}
	o := &opened{template: t, hostname: fmt.Sprintf("new node %d", len(r.opened)), requests: corev1.ResourceList{}}
	o.requirements = t.requirements.Without(corev1.LabelHostname).Add(scheduling.In(corev1.LabelHostname, o.hostname))
	for _, g := range t.groups {
		within := &daemonGroup{overhead: g.overhead, ports: g.ports}
		for _, it := range g.types {
			if withinLimits(it, limits) {
				within.types = append(within.types, it)
			}
		}
		o.groups = append(o.groups, within)
	}
	if result := r.addToOpened(m, o, true); result != fits {
		return result
	}
	r.opened = append(r.opened, o)
	if limited {
		r.remaining[t.pool.Name] = minus(limits, largestCapacity(o))
	}
	return fits
}

func withinLimits(it *scheduling.InstanceType, limits corev1.ResourceList) bool {
	for name, left := range limits {
		if name == nodesLimit {
			continue
		}
		if q := it.Capacity[name]; q.Cmp(left) > 0 {
			return false
		}
	}
	return true
}

func largestCapacity(o *opened) corev1.ResourceList {
	largest := corev1.ResourceList{}
	for _, it := range o.types() {
		for name, q := range it.Capacity {
			if have := largest[name]; q.Cmp(have) > 0 {
				largest[name] = q
			}
		}
	}
	return largest
}

// types are the node's options in the order of the pool's list.
func (o *opened) types() []*scheduling.InstanceType { return typesOf(o.template, o.groups) }

func typesOf(t *template, groups []*daemonGroup) []*scheduling.InstanceType {
	var types []*scheduling.InstanceType
	for _, it := range t.types {
		if slices.ContainsFunc(groups, func(g *daemonGroup) bool { return slices.Contains(g.types, it) }) {
			types = append(types, it)
		}
	}
	return types
}

// addToOpened puts the pod on a node to be launched, if it fits.
func (r *run) addToOpened(m *moving, o *opened, isNew bool) fit {
	taints := o.template.pool.Taints
	if _, blocked := scheduling.Untolerated(taints, m.pod.Spec.Tolerations); blocked {
		return doesNotFit
	}
	ports := hostPorts(m.pod)
	if anyClash(ports, o.ports) {
		return doesNotFit
	}
	pod := podRequirements(m.pod)
	if o.requirements.Compatible(pod, r.allow) != nil {
		return doesNotFit
	}
	narrowed, ok := r.narrow(m, m.volumes.alternatives, o.requirements.And(pod), r.allow)
	if !ok {
		return doesNotFit
	}
	requests := sum(o.requests, scheduling.PodRequests(m.pod))
	groups := r.remainingGroups(o, narrowed, requests, ports)
	types := typesOf(o.template, groups)
	if len(types) == 0 {
		return doesNotFit
	}
	relaxed := o.relaxed
	if _, short := scheduling.SatisfyMinValues(types, narrowed); short != nil {
		if !isNew || r.options.MinValues != scheduling.MinValuesBestEffort {
			return doesNotFit
		}
		narrowed, relaxed = lowerMinValues(narrowed, short), true
	}
	held, ok := r.reserve(o, groups, requests, narrowed)
	if !ok {
		return fitsLaterAtBest
	}
	m.opened = o
	o.requirements, o.groups, o.requests, o.held, o.relaxed = narrowed, groups, requests, held, relaxed
	o.pods = append(o.pods, m)
	o.ports = append(o.ports, ports...)
	r.topology.know(corev1.LabelHostname, o.hostname)
	r.topology.record(m.pod, taints, narrowed, narrowed)
	return fits
}

func lowerMinValues(q scheduling.Requirements, short *scheduling.MinValuesError) scheduling.Requirements {
	for _, s := range short.Shortfalls {
		q = q.With(q.Get(s.Key).WithMinValues(s.Have))
	}
	return q
}

// remainingGroups filters the node's types by requirements and requests.
func (r *run) remainingGroups(o *opened, q scheduling.Requirements, requests corev1.ResourceList, ports []hostPort) []*daemonGroup {
	var groups []*daemonGroup
	for _, g := range o.groups {
		if anyClash(ports, g.ports) {
			continue
		}
		left := &daemonGroup{overhead: g.overhead, ports: g.ports}
		for _, it := range g.types {
			if it.Requirements.Intersects(q) == nil && r.roomFor(it, q, sum(requests, g.overhead)) {
				left.types = append(left.types, it)
			}
		}
		if len(left.types) > 0 {
			groups = append(groups, left)
		}
	}
	return groups
}

// reserve takes one of every compatible reservation with room, keeps those that
// the node holds already, and gives back the others. It says no, and changes
// nothing, where strict mode demands a reservation and there is none.
func (r *run) reserve(o *opened, groups []*daemonGroup, requests corev1.ResourceList, q scheduling.Requirements) (map[string]bool, bool) {
	held, compatible := map[string]bool{}, false
	for _, g := range groups {
		for _, it := range g.types {
			for _, id := range r.reservations(it, q, sum(requests, g.overhead)) {
				compatible = true
				if o.held[id] || r.reserved[id] > 0 {
					held[id] = true
				}
			}
		}
	}
	if r.request.StrictReserved && len(held) == 0 && (compatible || len(o.held) > 0) {
		return nil, false
	}
	for id := range held {
		if !o.held[id] {
			r.reserved[id]--
		}
	}
	for id := range o.held {
		if !held[id] {
			r.reserved[id]++
		}
	}
	return held, true
}

// reservations are those of the type's offerings that would do.
func (r *run) reservations(it *scheduling.InstanceType, q scheduling.Requirements, requests corev1.ResourceList) []string {
	demand := r.options.Demand(q)
	var ids []string
	for i := range it.Offerings {
		o := &it.Offerings[i]
		if o.Available && r.reservedOffering(o) && demand.Accepts(o) && holds(it.AllocatableOf(o), requests) {
			ids = append(ids, o.ReservationID)
		}
	}
	return ids
}

// finalize renders the node. One that holds reservations is bound to them.
func (r *run) finalize(o *opened) scheduling.NewNode {
	q := o.requirements.Without(corev1.LabelHostname, r.keys.Registered, r.keys.Initialized)
	if len(o.held) > 0 {
		q = q.Add(scheduling.In(r.keys.CapacityType, annotations.CapacityTypeReserved))
		if label := r.options.ReservationLabel; label != "" {
			q = q.Add(scheduling.In(label, slices.Collect(maps.Keys(o.held))...))
		}
	}
	n := scheduling.NewNode{Pool: o.template.pool.Name, Requirements: q, MinValuesRelaxed: o.relaxed}
	n.InstanceTypes, n.Unpriced = r.options.Demand(q).SortByPrice(o.types())
	overhead := o.groups[0].overhead
	for _, g := range o.groups[1:] {
		overhead = least(overhead, g.overhead)
	}
	n.Requests = sum(o.requests, overhead)
	return n
}
