package scheduling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// explainPools says of every pool why it opens no node for the pod.
func (w *workspace) explainPools(p *movingPod, st *stage) []PoolRefusal {
	var all []PoolRefusal
	for _, pool := range w.s.usable {
		i := slices.IndexFunc(w.s.templates, func(t *template) bool { return t.pool == pool })
		r := Refusal{Code: NoTemplate, Message: "no instance type meets the pool's own requirements"}
		if i >= 0 {
			r = w.refuse(w.s.templates[i], p, st)
		}
		all = append(all, PoolRefusal{pool.Name, r})
	}
	closed := len(all)
	for i := range w.s.cluster.Pools {
		if pool := &w.s.cluster.Pools[i]; !pool.opens() {
			all = append(all, PoolRefusal{pool.Name, Refusal{Code: PoolClosed, Message: pool.closedBecause()}})
		}
	}
	slices.SortFunc(all[closed:], func(a, b PoolRefusal) int { return strings.Compare(a.Pool, b.Pool) })
	return all
}

func (p *Pool) closedBecause() string {
	switch {
	case p.Static:
		return "static pools open no nodes"
	case p.Deleting:
		return "it is being deleted"
	}
	return "it is not Ready"
}

// refuse repeats the steps of judge, and says which one fails.
func (w *workspace) refuse(t *template, p *movingPod, st *stage) Refusal {
	c := w.blank(t)
	if r, ok := w.limitRefusal(c); !ok {
		return r
	}
	if taint, untolerated := Untolerated(t.pool.Taints, st.shape.tolerations); untolerated {
		return Refusal{UntoleratedTaint, taintText(taint), "untolerated taint " + taintText(taint)}
	}
	if m := t.reqs.Compatible(st.shape.wish.reqs, w.s.wellKnown); m != nil {
		return Refusal{LabelMismatch, m.Key, m.String()}
	}
	set := w.withVolumes(c, p, w.sets.join(c.set, st.shape.wish))
	if set == nil {
		return w.placementConflict(c, p, w.sets.join(c.set, st.shape.wish))
	}
	o := outcome{set: set}
	if o.options = w.purchasable(c, p, set); o.options == nil {
		return w.typesRefusal(c, p, set)
	}
	if _, short := SatisfyMinValues(t.typesOf(o.options), set.reqs); short != nil {
		return Refusal{Code: TooFewValues, Message: short.Error()}
	}
	if !w.reserve(c, &o) {
		return Refusal{Code: NoReservation, Message: "no compatible capacity reservation has room"}
	}
	return Refusal{Code: NoPlace, Message: "it could by now, but the pod was not tried again"}
}

func (w *workspace) limitRefusal(c *claimState) (Refusal, bool) {
	if w.withinLimits(c) {
		return Refusal{}, true
	}
	l := w.limitsOf(c.template)
	if l.hasNodes && l.nodes <= 0 {
		return Refusal{LimitReached, "nodes", "limit of nodes reached"}, false
	}
	var names []string
	for _, a := range l.amounts {
		if !slices.ContainsFunc(c.template.types, func(t typeRow) bool { return t.capacity.of(int(a.resource)) <= a.milli }) {
			names = append(names, string(w.s.resources.names[a.resource]))
		}
	}
	subject := strings.Join(names, ", ")
	return Refusal{LimitReached, subject, "limit of " + cmp.Or(subject, "resources") + " reached by every instance type"}, false
}

// placementConflict tells volumes from topology: with the volumes alone, would
// there be a place?
func (w *workspace) placementConflict(c *claimState, p *movingPod, set *reqSet) Refusal {
	checks := w.topology.checks
	w.topology.checks = nil
	withoutTopology := w.withVolumes(c, p, set)
	w.topology.checks = checks
	if withoutTopology == nil {
		return Refusal{Code: VolumeElsewhere, Message: "the pod's volumes can't be had on a node of the pool"}
	}
	for i := range checks {
		w.topology.checks = checks[i : i+1]
		alone := w.withVolumes(c, p, set)
		w.topology.checks = checks
		if alone == nil {
			r := checks[i].refusal("", 0, 0)
			return Refusal{r.Code, r.Subject, phrase(r.Code, r.Subject) + ": no domain of the pool will do"}
		}
	}
	return Refusal{Code: TopologyConflict, Message: "each topology constraint leaves domains, but together none"}
}

// typesRefusal counts the instance types by what is wrong with them.
func (w *workspace) typesRefusal(c *claimState, p *movingPod, set *reqSet) Refusal {
	buyable := w.sets.buyable(set, c.template)
	small, unsuitable := 0, 0
	for i := range c.template.types {
		span, fits := c.template.types[i].options, false
		for o := span.from; o < span.to; o++ {
			fits = fits || buyable.has(int(o)) && c.options.has(int(o))
		}
		if fits {
			small++
		} else {
			unsuitable++
		}
	}
	message := fmt.Sprintf("no instance type: %d too small, %d incompatible or not available", small, unsuitable)
	if len(p.class.ports) > 0 {
		message += " (host ports of daemons count as well)"
	}
	return Refusal{Code: NoInstanceType, Message: message}
}
