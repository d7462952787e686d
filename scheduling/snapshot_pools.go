package scheduling

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// template is what a pool's new nodes look like.
type template struct {
	id    int
	pool  *Pool
	reqs  Requirements
	types []typeRow
	// options are the ways to buy the types, those of a type together.
	options []option
	groups  []daemonGroup
	limits  poolLimits
}

// typeRow is an instance type that meets the template's own requirements.
type typeRow struct {
	*InstanceType
	options  span
	group    int32 // of daemons
	capacity vector
}

// option is an instance type with some of its available offerings, those that
// override the capacity alike.
type option struct {
	typ       int32
	offerings []*Offering
	// room is what pods can use, the daemons' share taken off.
	room vector
}

// poolLimits is what the pool may still launch while all destinations stay.
type poolLimits struct {
	amounts  []amount
	nodes    int64
	hasNodes bool
}

func (l *poolLimits) any() bool { return len(l.amounts) > 0 || l.hasNodes }

// freshHostname stands for the hostname of a node that doesn't exist yet. No
// label can have this value.
const freshHostname = "(new node)"

// orderPools returns the pools that can open nodes, heaviest first, equal
// weights by name, descending.
func orderPools(c *Cluster) []*Pool {
	var usable []*Pool
	for i := range c.Pools {
		if c.Pools[i].opens() {
			usable = append(usable, &c.Pools[i])
		}
	}
	slices.SortStableFunc(usable, func(a, b *Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	return usable
}

// templateRequirements joins what the pool asks for with what every node of it
// will bear.
func (s *Snapshot) templateRequirements(p *Pool) Requirements {
	return NewRequirements(p.Requirements...).And(LabelRequirements(p.Labels)).Add(
		In(s.keys.NodePool, p.Name),
		In(nodeClassLabel(p.NodeClass), p.NodeClass.Name),
		In(s.keys.Registered, "true"),
		In(s.keys.Initialized, "true"),
		In(corev1.LabelHostname, freshHostname),
	)
}

func nodeClassLabel(ref NodeClassRef) string { return ref.Group + "/" + strings.ToLower(ref.Kind) }

// compileTemplate returns nil if none of the pool's types meets its own
// requirements.
func (s *Snapshot) compileTemplate(p *Pool, daemons []*daemon) *template {
	t := &template{pool: p, reqs: s.templateRequirements(p)}
	var types []*InstanceType
	for _, typ := range p.InstanceTypes {
		if t.addType(s, typ) {
			types = append(types, typ)
		}
	}
	if _, short := SatisfyMinValues(types, t.reqs); short != nil || len(types) == 0 {
		return nil
	}
	t.groupDaemons(s, daemons)
	t.limits = s.limitsOf(p)
	return t
}

// addType adds the type with its options, if it meets the template's own
// requirements.
func (t *template) addType(s *Snapshot, typ *InstanceType) bool {
	if typ.Requirements.Intersects(t.reqs) != nil {
		return false
	}
	row := typeRow{InstanceType: typ, options: span{from: int32(len(t.options))}}
	options := s.optionsOf(typ, int32(len(t.types)))
	if !slices.ContainsFunc(options, func(o option) bool { return s.offers(&o, t.reqs) }) {
		return false
	}
	t.options = append(t.options, options...)
	row.options.to = int32(len(t.options))
	row.capacity = s.resources.offers(typ.Capacity)
	t.types = append(t.types, row)
	return true
}

// optionsOf groups the available offerings of a type by their overrides.
func (s *Snapshot) optionsOf(typ *InstanceType, index int32) []option {
	var options []option
	byOverride := map[string]int{}
	for i := range typ.Offerings {
		o := &typ.Offerings[i]
		if !o.Available {
			continue
		}
		key := ""
		if len(o.CapacityOverride) > 0 {
			key = overrideKey(o.CapacityOverride)
		}
		at, ok := byOverride[key]
		if !ok {
			at = len(options)
			byOverride[key] = at
			options = append(options, option{typ: index, room: s.resources.offers(typ.AllocatableOf(o))})
		}
		options[at].offerings = append(options[at].offerings, o)
	}
	return options
}

func overrideKey(list corev1.ResourceList) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		fmt.Fprintf(&b, "%s=%s,", name, q.String())
	}
	return b.String()
}

// offers reports whether one of the option's offerings would do.
func (s *Snapshot) offers(o *option, reqs Requirements) bool {
	return slices.ContainsFunc(o.offerings, func(of *Offering) bool {
		return reqs.accepts(of.Requirements, s.wellKnown)
	})
}

// groupDaemons groups the types by the daemons that fit them, and takes what
// those need off the options' room.
func (t *template) groupDaemons(s *Snapshot, daemons []*daemon) {
	byKey := map[string]int32{}
	for i := range t.types {
		row := &t.types[i]
		group := daemonGroup{}
		var key []byte
		for _, d := range daemons {
			fits := d.fitsTemplate(t, row.Requirements, s.wellKnown)
			key = append(key, bool1(fits))
			if fits {
				group.add(d, len(s.resources.names))
			}
		}
		id, ok := byKey[string(key)]
		if !ok {
			id = int32(len(t.groups))
			byKey[string(key)] = id
			t.groups = append(t.groups, group)
		}
		row.group = id
		for j := row.options.from; j < row.options.to; j++ {
			t.options[j].room = group.takenOff(t.options[j].room)
		}
	}
}

func (g *daemonGroup) add(d *daemon, width int) {
	if g.overhead == nil {
		g.overhead = make(vector, width)
	}
	for _, a := range d.need {
		g.overhead[a.resource] += a.milli
	}
	g.ports = append(g.ports, d.ports...)
}

func (g *daemonGroup) takenOff(room vector) vector {
	left := make(vector, max(len(room), len(g.overhead)))
	copy(left, room)
	for r, milli := range g.overhead {
		left[r] -= milli
	}
	return left
}

// limitsOf is what the pool's limits leave beside its destinations.
func (s *Snapshot) limitsOf(p *Pool) poolLimits {
	var l poolLimits
	for _, name := range slices.Sorted(maps.Keys(p.Limits)) {
		q := p.Limits[name]
		if name == "nodes" {
			l.nodes, l.hasNodes = milliDown(q)/1000, true
			continue
		}
		l.amounts = append(l.amounts, amount{int32(s.resources.of(name)), milliDown(q)})
	}
	for i := range s.hosts.hosts[:s.hosts.dests] {
		if h := &s.hosts.hosts[i]; h.pool == p.Name && l.any() {
			l.charge(s.resources.names, h.capacity(), -1)
		}
	}
	return l
}

// charge takes a node's capacity from the limits, or with sign 1 gives it back.
func (l *poolLimits) charge(names []corev1.ResourceName, capacity corev1.ResourceList, sign int64) {
	l.nodes += sign
	for i := range l.amounts {
		q := capacity[names[l.amounts[i].resource]]
		l.amounts[i].milli = saturate(l.amounts[i].milli, sign*milliUp(q))
	}
}

// saturate adds without wrapping around.
func saturate(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// allows reports whether a type fits into what is left.
func (l *poolLimits) allows(capacity vector) bool {
	for _, a := range l.amounts {
		if capacity.of(int(a.resource)) > a.milli {
			return false
		}
	}
	return true
}
