package scheduling

import "slices"

// reqSet is the requirements of a node to be opened, interned, with what
// follows from them: what they become with a pod on top, and which instance
// types they leave. All of it is found once and remembered.
type reqSet struct {
	reqs      Requirements
	minValues bool
	// with is the set joined with a wish; nil if they exclude each other.
	with map[int32]*reqSet
	// narrowed is the set after topology chose domains, by their bytes.
	narrowed map[string]*reqSet
	// domains are, by key of topology, the values that the set allows.
	domains map[*domainTable]bitset
	// options are, by template, what can be bought under the set.
	options []bitset
	// byPrice are, by template, all types in the order of their price.
	byPrice []priceOrder
	passes  map[int32]bool // by node filter and template
}

// priceOrder lists types, as indexes into template.types, by the price of their
// cheapest offering; the last unpriced of them have none.
type priceOrder struct {
	types    []int32
	unpriced int
}

// setTable interns the sets of one workspace.
type setTable struct {
	s     *Snapshot
	byKey map[string]*reqSet
	roots []*reqSet // by template

	scratch bitset  // the options of the node being judged
	total   []int64 // and its requests
}

// maxSets bounds the memory of a workspace: beyond it the table starts anew.
const maxSets = 1 << 12

func newSetTable(s *Snapshot) setTable {
	t := setTable{s: s}
	t.reset()
	return t
}

func (t *setTable) reset() {
	t.byKey = map[string]*reqSet{}
	t.roots = make([]*reqSet, len(t.s.templates))
	for i, tmpl := range t.s.templates {
		t.roots[i] = t.intern(tmpl.reqs)
	}
}

// trim is called between simulations, when no set is in use.
func (t *setTable) trim() {
	if len(t.byKey) > maxSets {
		t.reset()
	}
}

func (t *setTable) intern(reqs Requirements) *reqSet {
	key := reqs.String()
	if set := t.byKey[key]; set != nil {
		return set
	}
	set := &reqSet{
		reqs: reqs, minValues: reqs.HasMinValues(),
		with: map[int32]*reqSet{}, narrowed: map[string]*reqSet{},
		options: make([]bitset, len(t.s.templates)),
		byPrice: make([]priceOrder, len(t.s.templates)),
	}
	t.byKey[key] = set
	return set
}

// join returns the set that meets both, nil if none does. A well-known label
// that the set doesn't define may be asked for all the same.
func (t *setTable) join(set *reqSet, w *wish) *reqSet {
	if w.reqs.Len() == 0 {
		return set
	}
	if joined, known := set.with[w.id]; known {
		return joined
	}
	var joined *reqSet
	if set.reqs.accepts(w.reqs, t.s.wellKnown) {
		joined = t.intern(set.reqs.And(w.reqs))
	}
	set.with[w.id] = joined
	return joined
}

// narrow returns the set confined to the domains that topology chose; key
// holds the choice in bytes.
func (t *setTable) narrow(set *reqSet, key []byte, choice func() Requirements) *reqSet {
	if narrowed, known := set.narrowed[string(key)]; known {
		return narrowed
	}
	var narrowed *reqSet
	if reqs := choice(); set.reqs.accepts(reqs, t.s.wellKnown) {
		narrowed = t.intern(set.reqs.And(reqs))
	}
	set.narrowed[string(key)] = narrowed
	return narrowed
}

// allowed are the domains of the key that a node with the set could be in.
func (t *setTable) allowed(set *reqSet, d *domainTable) bitset {
	if known, ok := set.domains[d]; ok {
		return known
	}
	q := set.reqs.Get(d.key)
	allowed := newBitset(len(d.values))
	for i, v := range d.values {
		if q.Has(v) {
			allowed.set(i)
		}
	}
	if set.domains == nil {
		set.domains = map[*domainTable]bitset{}
	}
	set.domains[d] = allowed
	return allowed
}

// buyable are the options of the template that the set leaves, room aside.
func (t *setTable) buyable(set *reqSet, tmpl *template) bitset {
	if known := set.options[tmpl.id]; known != nil {
		return known
	}
	options := newBitset(len(tmpl.options))
	for i := range tmpl.options {
		o := &tmpl.options[i]
		if tmpl.types[o.typ].Requirements.Intersects(set.reqs) == nil && t.s.offers(o, set.reqs) {
			options.set(i)
		}
	}
	set.options[tmpl.id] = options
	return options
}

// priced orders the types of the template by price under the set.
func (t *setTable) priced(set *reqSet, tmpl *template) priceOrder {
	if known := set.byPrice[tmpl.id]; known.types != nil {
		return known
	}
	types := make([]*InstanceType, len(tmpl.types))
	index := make(map[*InstanceType]int32, len(tmpl.types))
	for i := range tmpl.types {
		types[i] = tmpl.types[i].InstanceType
		index[types[i]] = int32(i)
	}
	sorted, unpriced := t.s.opts.Demand(set.reqs).SortByPrice(types)
	order := priceOrder{types: make([]int32, len(sorted)), unpriced: unpriced}
	for i, typ := range sorted {
		order.types[i] = index[typ]
	}
	set.byPrice[tmpl.id] = order
	return order
}

// counted reports whether a spread constraint's filter counts pods on a node
// to be opened. Undefined well-known labels are not forgiven here.
func (t *setTable) counted(set *reqSet, tmpl *template, f *nodeFilter) bool {
	if f == nil || f.any == nil && !f.honorTaints {
		return true
	}
	key := f.id<<8 | int32(tmpl.id&0xff)
	if known, ok := set.passes[key]; ok && len(t.s.templates) < 256 {
		return known
	}
	passes := f.any == nil || slices.ContainsFunc(f.any, func(w *wish) bool { return set.reqs.accepts(w.reqs, nil) })
	if f.honorTaints {
		_, untolerated := Untolerated(tmpl.pool.Taints, f.tolerations)
		passes = passes && !untolerated
	}
	if set.passes == nil {
		set.passes = map[int32]bool{}
	}
	set.passes[key] = passes
	return passes
}
