package scheduling

import "slices"

// claimState is a node that the simulation opens.
type claimState struct {
	template *template
	set      *reqSet
	options  bitset  // what can still be bought
	requests []int64 // of its pods
	pods     []int32
	ports    []hostPort
	// number is unique among the nodes opened; its hostname's domain.
	number int
	// held are the reservations it keeps, by id.
	held []int32
	// minValuesRelaxed: best effort lowered a minValues.
	minValuesRelaxed bool
}

// outcome of trying a pod on an opened or new node.
type outcome struct {
	set       *reqSet
	options   bitset
	held      []int32
	relaxed   bool
	exhausted bool // strict reservations left none to hold
}

// tryClaims tries the opened nodes, fewest pods first; equal ones keep the
// order of the previous sort.
func (w *workspace) tryClaims(p *movingPod, st *stage) bool {
	if len(w.claims) == 0 {
		return false
	}
	slices.SortStableFunc(w.claims, func(a, b *claimState) int { return len(a.pods) - len(b.pods) })
	for _, c := range w.claims {
		if o, ok := w.judge(c, p, st, false); ok {
			w.putOnClaim(c, p, o)
			return true
		}
	}
	return false
}

// tryTemplates opens a node in the first pool that can. A pool that fails for
// want of reservations, in strict mode, ends the search.
func (w *workspace) tryTemplates(p *movingPod, st *stage) (placed, final bool) {
	for _, t := range w.s.templates {
		c := w.blank(t)
		if !w.withinLimits(c) {
			continue
		}
		o, ok := w.judge(c, p, st, true)
		if o.exhausted {
			return false, true
		}
		if !ok {
			continue
		}
		c.number, w.fresh = w.opened, nil
		w.claims = append(w.claims, c)
		w.opened++
		w.putOnClaim(c, p, o)
		w.chargeLimits(c)
		return true, false
	}
	return false, false
}

// blank returns an empty node of the template, from spare memory if possible.
func (w *workspace) blank(t *template) *claimState {
	if w.fresh == nil {
		if n := len(w.spare); n > 0 {
			w.fresh, w.spare = w.spare[n-1], w.spare[:n-1]
		} else {
			w.fresh = &claimState{}
		}
	}
	c := w.fresh
	c.template, c.set = t, w.sets.roots[t.id]
	c.options = append(c.options[:0], w.sets.buyable(c.set, t)...)
	c.requests = append(c.requests[:0], make([]int64, len(w.s.resources.names))...)
	c.pods, c.ports, c.held = c.pods[:0], c.ports[:0], c.held[:0]
	c.number, c.minValuesRelaxed = w.opened, false
	return c
}

// judge says what the node would become with the pod on it. The order is
// Karpenter's: taints, host ports, requirements, volumes with topology, types,
// minValues, reservations.
func (w *workspace) judge(c *claimState, p *movingPod, st *stage, opening bool) (outcome, bool) {
	if _, untolerated := Untolerated(c.template.pool.Taints, st.shape.tolerations); untolerated {
		return outcome{}, false
	}
	if _, clash := firstClash(p.class.ports, c.ports); clash {
		return outcome{}, false
	}
	set := w.sets.join(c.set, st.shape.wish)
	if set == nil {
		return outcome{}, false
	}
	if set = w.withVolumes(c, p, set); set == nil {
		return outcome{}, false
	}
	o := outcome{set: set}
	if o.options = w.purchasable(c, p, set); o.options == nil {
		return o, false
	}
	if set.minValues && !w.meetMinValues(c, &o, opening) {
		return o, false
	}
	ok := w.reserve(c, &o)
	return o, ok
}

// withVolumes tries the alternatives of the pod's volumes in order, each with
// topology; the first that passes both counts.
func (w *workspace) withVolumes(c *claimState, p *movingPod, set *reqSet) *reqSet {
	var alternatives []*wish
	if p.volume >= 0 {
		alternatives = w.s.volumes.sets[p.volume].alternatives
	}
	if len(alternatives) == 0 {
		return w.topology.narrow(w, c, set)
	}
	for _, a := range alternatives {
		if joined := w.sets.join(set, a); joined != nil {
			if narrowed := w.topology.narrow(w, c, joined); narrowed != nil {
				return narrowed
			}
		}
	}
	return nil
}

// purchasable returns the options that are left, nil if none is. The slice is
// scratch memory of the workspace.
func (w *workspace) purchasable(c *claimState, p *movingPod, set *reqSet) bitset {
	buyable := w.sets.buyable(set, c.template)
	left := append(w.sets.scratch[:0], c.options...)
	w.sets.scratch = left
	total := append(w.sets.total[:0], c.requests...)
	w.sets.total = total
	for _, a := range p.class.need {
		total[a.resource] += a.milli
	}
	some := false
	for i := range left {
		left[i] &= buyable[i]
	}
	for i := range left.each {
		if w.optionFits(c, p, i, total) {
			some = true
		} else {
			left.unset(i)
		}
	}
	if !some {
		return nil
	}
	return left
}

func (w *workspace) optionFits(c *claimState, p *movingPod, i int, total []int64) bool {
	o := &c.template.options[i]
	for r, milli := range total {
		if milli > o.room[r] {
			return false
		}
	}
	ports := c.template.groups[c.template.types[o.typ].group].ports
	if len(ports) == 0 {
		return true
	}
	_, clash := firstClash(p.class.ports, ports)
	_, before := firstClash(c.ports, ports)
	return !clash && !before
}

// typesOf lists the instance types that have one of the options, in the
// catalog's order.
func (t *template) typesOf(options bitset) []*InstanceType {
	var types []*InstanceType
	last := int32(-1)
	for i := range options.each {
		if typ := t.options[i].typ; typ != last {
			types = append(types, t.types[typ].InstanceType)
			last = typ
		}
	}
	return types
}

// meetMinValues checks minValues, or when a node is opened under best effort
// lowers them to what there is.
func (w *workspace) meetMinValues(c *claimState, o *outcome, opening bool) bool {
	_, short := SatisfyMinValues(c.template.typesOf(o.options), o.set.reqs)
	if short == nil {
		return true
	}
	if !opening || w.s.opts.MinValues != MinValuesBestEffort {
		return false
	}
	reqs := o.set.reqs
	for _, f := range short.Shortfalls {
		reqs = reqs.With(reqs.Get(f.Key).WithMinValues(f.Have))
	}
	o.set, o.relaxed = w.sets.intern(reqs), true
	return true
}

// putOnClaim makes the outcome come true.
func (w *workspace) putOnClaim(c *claimState, p *movingPod, o outcome) {
	w.held.exchange(c, o.held)
	c.set = o.set
	c.options = append(c.options[:0], o.options...)
	c.minValuesRelaxed = c.minValuesRelaxed || o.relaxed
	for _, a := range p.class.need {
		c.requests[a.resource] += a.milli
	}
	c.ports = append(c.ports, p.class.ports...)
	c.pods = append(c.pods, p.index)
	p.claim = c
	w.topology.recordClaim(w, p, c)
}

// withinLimits takes from a blank node the types that the pool's limits no
// longer allow, and reports whether it may be opened at all.
func (w *workspace) withinLimits(c *claimState) bool {
	if !c.template.limits.any() {
		return true
	}
	l := w.limitsOf(c.template)
	if l.hasNodes && l.nodes <= 0 {
		return false
	}
	some := false
	for i := range c.options.each {
		if l.allows(c.template.types[c.template.options[i].typ].capacity) {
			some = true
		} else {
			c.options.unset(i)
		}
	}
	return some
}

// limitsOf returns this simulation's copy of the limits: what removed nodes
// had is free again.
func (w *workspace) limitsOf(t *template) *poolLimits {
	l := &w.limits[t.id]
	if w.charged[t.id] {
		return l
	}
	w.charged[t.id] = true
	amounts := append(l.amounts[:0], t.limits.amounts...)
	*l = t.limits
	l.amounts = amounts
	for _, host := range w.removed {
		if h := &w.s.hosts.hosts[host]; h.pool == t.pool.Name && !h.deleting {
			l.charge(w.s.resources.names, h.capacity(), 1)
		}
	}
	return l
}

// chargeLimits takes the largest that the opened node could be from the
// limits. Their number of nodes is not reduced.
func (w *workspace) chargeLimits(c *claimState) {
	if !c.template.limits.any() {
		return
	}
	l := w.limitsOf(c.template)
	for i := range l.amounts {
		most := int64(0)
		for j := range c.options.each {
			capacity := c.template.types[c.template.options[j].typ].capacity
			most = max(most, capacity.of(int(l.amounts[i].resource)))
		}
		l.amounts[i].milli = saturate(l.amounts[i].milli, -most)
	}
}
