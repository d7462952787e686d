package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
)

// maxInstanceTypes is how many types a node claim names at most.
const maxInstanceTypes = 600

// result copies the outcome out of the workspace.
func (w *workspace) result() Result {
	r := Result{Truncated: w.truncated}
	order, position := w.order()
	r.Placements = make([]Placement, 0, len(order))
	for _, i := range order {
		p := &w.pods[i]
		if w.truncated && p.host < 0 && p.claim == nil {
			position[i] = -1
			continue
		}
		position[i] = int32(len(r.Placements))
		r.Placements = append(r.Placements, w.placement(p))
	}
	for _, c := range w.claims {
		if n, short := w.newNode(c); short == nil {
			w.enter(&r, n, c, position)
		} else if w.r.Explain {
			for _, p := range c.pods {
				r.Placements[position[p]].Reason = &Unschedulable{Code: TooFewValues, Message: short.Error()}
			}
		}
	}
	return r
}

// order lists the pods by namespace and name. The returned slices are scratch
// memory.
func (w *workspace) order() (order, position []int32) {
	w.sorted = w.sorted[:0]
	for i := range w.pods {
		w.sorted = append(w.sorted, int32(i))
	}
	slices.SortFunc(w.sorted, func(a, b int32) int { return comparePodNames(*w.pods[a].podRow, *w.pods[b].podRow) })
	w.position = slices.Grow(w.position[:0], len(w.pods))[:len(w.pods)]
	return w.sorted, w.position
}

func (w *workspace) placement(p *movingPod) Placement {
	out := Placement{Pod: p.pod, Origin: p.origin, NewNode: -1, VolumesUnknown: w.s.unreadable(p.podRow)}
	if p.host >= 0 {
		h := &w.s.hosts.hosts[p.host]
		out.Node, out.Uninitialized = h.name, !h.initialized
	}
	if w.r.Explain {
		out.Preferences = p.preferences()
		if p.claim == nil && !out.Placed() {
			out.Reason = w.explain(p)
		}
	}
	return out
}

// enter adds a new node to the result, and to the placements of its pods.
func (w *workspace) enter(r *Result, n NewNode, c *claimState, position []int32) {
	n.Pods = make([]int, len(c.pods))
	for i, p := range c.pods {
		n.Pods[i] = int(position[p])
		r.Placements[position[p]].NewNode = len(r.NewNodes)
	}
	r.NewNodes = append(r.NewNodes, n)
}

// newNode renders an opened node. It is none after all if its types are more
// than a claim may name and those left would break minValues.
func (w *workspace) newNode(c *claimState) (NewNode, *MinValuesError) {
	s := w.s
	n := NewNode{Pool: c.template.pool.Name, MinValuesRelaxed: c.minValuesRelaxed}
	set := c.set
	if len(c.held) > 0 {
		set = w.sets.intern(set.reqs.Add(w.heldRequirements(c)...))
	}
	n.InstanceTypes, n.Unpriced = w.typesByPrice(c, set)
	if over := len(n.InstanceTypes) - maxInstanceTypes; over > 0 {
		n.InstanceTypes = n.InstanceTypes[:maxInstanceTypes]
		n.Unpriced = max(0, n.Unpriced-over)
		if _, short := SatisfyMinValues(n.InstanceTypes, set.reqs); short != nil && s.opts.MinValues != MinValuesBestEffort {
			return n, short
		}
	}
	n.Requirements = set.reqs.Without(s.keys.Registered, s.keys.Initialized, corev1.LabelHostname)
	n.Requests = s.resources.list(w.withLeastOverhead(c))
	return n, nil
}

// typesByPrice lists the types that the node could still be, cheapest first.
func (w *workspace) typesByPrice(c *claimState, set *reqSet) (types []*InstanceType, unpriced int) {
	left := newBitset(len(c.template.types))
	for i := range c.options.each {
		left.set(int(c.template.options[i].typ))
	}
	order := w.sets.priced(set, c.template)
	types = make([]*InstanceType, 0, left.count())
	for i, typ := range order.types {
		if left.has(int(typ)) {
			types = append(types, c.template.types[typ].InstanceType)
			unpriced += int(bool1(i >= len(order.types)-order.unpriced))
		}
	}
	return types, unpriced
}

// heldRequirements confines a node that holds reservations to them.
func (w *workspace) heldRequirements(c *claimState) []Requirement {
	ids := make([]string, len(c.held))
	for i, id := range c.held {
		ids[i] = w.s.reservations.ids[id]
	}
	held := []Requirement{In(w.s.keys.CapacityType, annotations.CapacityTypeReserved)}
	if label := w.s.opts.ReservationLabel; label != "" {
		held = append(held, In(label, ids...))
	}
	return held
}

// withLeastOverhead adds to the pods' requests the least that the daemons of
// the remaining types need, resource by resource.
func (w *workspace) withLeastOverhead(c *claimState) vector {
	var least vector
	first := true
	for i := range c.options.each {
		g := &c.template.groups[c.template.types[c.template.options[i].typ].group]
		if first {
			least, first = slices.Clone(g.overhead), false
			continue
		}
		for r := range least {
			least[r] = min(least[r], g.overhead.of(r))
		}
	}
	total := vector(slices.Clone(c.requests))
	for r, milli := range least {
		total[r] += milli
	}
	return total
}
