package scheduling

import (
	"encoding/binary"
	"math"
	"slices"
)

// activeTopology is the topology groups of one simulation and their counts.
type activeTopology struct {
	s *Snapshot
	// forward and inverse find the active group by the id of the group or
	// inverse group; nil while it is not active.
	forward, inverse []*activeGroup
	active           []*activeGroup
	spare            []*activeGroup
	// byHost are the counts of hostname groups that differ from the base.
	byHost map[hostDomain]int32
	// checks are the constraints on the pod being placed.
	checks []check
	key    []byte
}

type hostDomain struct{ group, domain int32 }

// activeGroup is a group with the variant that registered first.
type activeGroup struct {
	*variant
	base    *baseCounts
	domains *domainTable
	number  int32 // among the active ones
	// counts and known are by domain; hostname groups use the base and byHost
	// instead.
	counts []int32
	known  bitset
	// positive is the number of domains that hold a pod.
	positive int
}

// check is one constraint on the pod being placed.
type check struct {
	*activeGroup
	self    bool   // the constraint selects the pod itself
	allowed bitset // the domains that the pod's strict requirements allow; nil: all
	// suits are the domains an existing node may be in; not for hostnames.
	suits bitset
	// bootstrap: no pod to be near is anywhere, so any known domain will do.
	bootstrap bool
}

func newActiveTopology(s *Snapshot) activeTopology {
	return activeTopology{
		s:       s,
		forward: make([]*activeGroup, len(s.book.topology.groups)),
		inverse: make([]*activeGroup, len(s.book.topology.inverse)),
		byHost:  map[hostDomain]int32{},
	}
}

// begin registers the constraints of all pods to place, in their order. It
// decides whose variant of a shared group counts.
func (t *activeTopology) begin(w *workspace) {
	for i := range w.pods {
		if p := &w.pods[i]; !p.bare {
			t.register(w, &p.class.stages[0])
		}
	}
}

func (t *activeTopology) end() {
	for _, a := range t.active {
		if a.group.kind == kindInverse {
			t.inverse[a.id] = nil
		} else {
			t.forward[a.group.id] = nil
		}
	}
	t.spare = append(t.spare, t.active...)
	t.active, t.checks = t.active[:0], t.checks[:0]
	clear(t.byHost)
}

// register makes sure that the groups of a stage are active.
func (t *activeTopology) register(w *workspace, st *stage) {
	for i := range st.links {
		t.group(w, st.links[i].variant)
	}
}

func (t *activeTopology) group(w *workspace, v *variant) *activeGroup {
	a := t.forward[v.group.id]
	if a == nil {
		a = t.activate(w, v, &t.s.topology.bases[v.id])
		t.forward[v.group.id] = a
	}
	return a
}

func (t *activeTopology) inverseGroup(w *workspace, id int32) *activeGroup {
	a := t.inverse[id]
	if a == nil {
		a = t.activate(w, t.s.book.topology.inverse[id], &t.s.topology.inverse[id])
		t.inverse[id] = a
	}
	return a
}

// activate copies the base counts and takes out the pods that move.
func (t *activeTopology) activate(w *workspace, v *variant, base *baseCounts) *activeGroup {
	var a *activeGroup
	if n := len(t.spare); n > 0 {
		a, t.spare = t.spare[n-1], t.spare[:n-1]
	} else {
		a = &activeGroup{}
	}
	a.variant, a.base, a.domains = v, base, t.s.domainsOf(v.group)
	a.number, a.positive = int32(len(t.active)), len(base.pods)
	t.active = append(t.active, a)
	if !a.domains.hostname {
		t.spread(a)
	}
	for i := range w.pods {
		p := &w.pods[i]
		if p.origin != FromRemoved || t.s.onDeleting(p.podRow) || t.s.unreadable(p.podRow) || !t.countsAtHome(v, p) {
			continue
		}
		if d := a.domains.ids[p.podRow.host]; d >= 0 {
			t.add(a, d, -1)
		}
	}
	if !a.domains.hostname {
		t.learn(w, a)
	}
	return a
}

// spread lays the base counts out by domain.
func (t *activeTopology) spread(a *activeGroup) {
	n := len(a.domains.values)
	a.counts = slices.Grow(a.counts[:0], n)[:n]
	clear(a.counts)
	for _, p := range a.base.pods {
		a.counts[p.domain] = p.count
	}
}

// countsAtHome reports whether the base counts the pod where it runs.
func (t *activeTopology) countsAtHome(v *variant, p *movingPod) bool {
	if v.group.kind == kindInverse {
		return p.flags.is(podLives) && slices.Contains(p.class.terms, v.id)
	}
	return p.flags.is(podCounts) && t.s.passes(v.filter, int(p.podRow.host)) && (t.selects(v.group, p) ||
		v.group.noSelector && slices.Contains(v.group.namespaces, p.pod.Namespace))
}

// selects reports whether the group counts the pod once it is placed.
func (t *activeTopology) selects(g *topologyGroup, p *movingPod) bool {
	return t.s.topology.labels.matches[g.id].has(p.labels)
}

// learn finds the known domains: those of the pools, of the nodes that stay,
// and those that hold a counted pod.
func (t *activeTopology) learn(w *workspace, a *activeGroup) {
	a.known = append(a.known[:0], a.base.known...)
	for _, n := range a.base.nodes {
		left := n.count
		for _, host := range w.removed {
			h := &t.s.hosts.hosts[host]
			if a.domains.ids[host] == n.domain && !h.deleting && h.kube != "" && t.s.passes(a.filter, int(host)) {
				left--
			}
		}
		if left > 0 {
			a.known.set(int(n.domain))
		}
	}
	for d, n := range a.counts {
		if n > 0 {
			a.known.set(d)
		}
	}
}

// count is the number of pods in a domain.
func (t *activeTopology) count(a *activeGroup, domain int32) int32 {
	if !a.domains.hostname {
		return a.counts[domain]
	}
	n := t.byHost[hostDomain{a.number, domain}]
	if i, ok := slices.BinarySearchFunc(a.base.pods, domain, func(p pair, d int32) int { return int(p.domain - d) }); ok {
		n += a.base.pods[i].count
	}
	return n
}

func (t *activeTopology) add(a *activeGroup, domain, n int32) {
	before := t.count(a, domain)
	if a.domains.hostname {
		t.byHost[hostDomain{a.number, domain}] += n
	} else {
		a.counts[domain] += n
		if n > 0 {
			a.known.set(int(domain))
		}
	}
	switch after := before + n; {
	case before == 0 && after > 0:
		a.positive++
	case before > 0 && after == 0:
		a.positive--
	}
}

// prepare collects the constraints on a pod: its own, and the anti-affinity of
// others that selects it. Counts don't change until it is placed.
func (t *activeTopology) prepare(w *workspace, p *movingPod, strict Requirements, links []link) {
	t.checks = t.checks[:0]
	for i := range links {
		l := &links[i]
		t.check(t.group(w, l.variant), l.self, t.s.topology.allowed[l.id])
	}
	if t.s.topology.labels == nil {
		return
	}
	for _, id := range t.s.topology.labels.sets[p.labels].inverse {
		a := t.inverseGroup(w, id)
		t.check(a, false, a.domains.allowedDomains(strict))
	}
}

func (t *activeTopology) check(a *activeGroup, self bool, allowed bitset) {
	n := len(t.checks)
	if n < cap(t.checks) {
		t.checks = t.checks[:n+1]
	} else {
		t.checks = append(t.checks, check{})
	}
	c := &t.checks[n]
	c.activeGroup, c.self, c.allowed = a, self, allowed
	c.bootstrap = a.group.kind == kindAffinity && self && !t.anyAllowed(a, allowed)
	if a.domains.hostname {
		return
	}
	c.suits = slices.Grow(c.suits[:0], len(a.known))[:len(a.known)]
	clear(c.suits)
	floor := t.floor(c)
	for d := range a.known.each {
		if t.fits(c, int32(d), a.counts[d], floor) {
			c.suits.set(d)
		}
	}
}

// anyAllowed reports whether a domain that the pod may be in holds a pod.
func (t *activeTopology) anyAllowed(a *activeGroup, allowed bitset) bool {
	if allowed == nil {
		return a.positive > 0
	}
	for d := range allowed.each {
		if t.count(a, int32(d)) > 0 {
			return true
		}
	}
	return false
}

// floor is what a spread measures its skew from: the lowest count over known
// domains that the pod may be in, or 0 if they are fewer than minDomains. For
// hostnames it is always 0, as a new node could be had.
func (t *activeTopology) floor(c *check) int32 {
	if c.group.kind != kindSpread || c.domains.hostname {
		return 0
	}
	lowest, domains := int32(math.MaxInt32), int32(0)
	for d := range c.known.each {
		if c.allowed == nil || c.allowed.has(d) {
			domains++
			lowest = min(lowest, c.counts[d])
		}
	}
	if c.minDomains > domains {
		return 0
	}
	return lowest
}

// fits judges a domain by its count.
func (t *activeTopology) fits(c *check, domain, count, floor int32) bool {
	in := c.allowed == nil || c.allowed.has(int(domain)) || int(domain) >= len(c.domains.values)
	switch c.group.kind {
	case kindSpread:
		return int64(count)+int64(bool1(c.self))-int64(floor) <= c.group.maxSkew
	case kindAffinity:
		return in && (c.bootstrap || count > 0)
	}
	return in && count == 0
}

// allowsHost judges an existing node. One without the key suits nobody.
func (t *activeTopology) allowsHost(h int) bool {
	for i := range t.checks {
		c := &t.checks[i]
		if d := c.domains.ids[h]; d < 0 || !t.suits(c, d) {
			return false
		}
	}
	return true
}

// suits judges one domain of existing nodes.
func (t *activeTopology) suits(c *check, domain int32) bool {
	if c.domains.hostname {
		return t.fits(c, domain, t.count(c.activeGroup, domain), 0)
	}
	return c.suits.has(int(domain))
}

// narrow confines a node to be opened to the domains that the constraints
// choose, each by the requirements that the node had before; nil if they can't
// all be had.
func (t *activeTopology) narrow(w *workspace, c *claimState, set *reqSet) *reqSet {
	t.key = t.key[:0]
	for i := range t.checks {
		k := &t.checks[i]
		if k.domains.hostname {
			d := int32(len(k.domains.values) + c.number)
			if !t.fits(k, d, t.count(k.activeGroup, d), 0) {
				return nil
			}
			continue
		}
		if !t.choose(k, w.sets.allowed(set, k.domains)) {
			return nil
		}
	}
	if len(t.key) == 0 {
		return set
	}
	return w.sets.narrow(set, t.key, t.choice)
}

// choose appends the domains that a constraint picks among those the node can
// be in: a spread the one with the fewest pods, a bootstrap the first by name,
// others all that will do.
func (t *activeTopology) choose(k *check, node bitset) bool {
	start := len(t.key)
	t.appendKey(k.group.table, 0)
	best, n := int32(-1), int32(0)
	for d := range k.suits.each {
		if !node.has(d) {
			continue
		}
		n++
		switch {
		case k.group.kind == kindSpread || k.bootstrap:
			if best < 0 || !k.bootstrap && k.counts[d] < k.counts[best] {
				best = int32(d)
			}
		default:
			t.appendKey(int32(d))
		}
	}
	if best >= 0 {
		n = 1
		t.appendKey(best)
	}
	binary.LittleEndian.PutUint32(t.key[start+4:], uint32(n))
	return n > 0
}

func (t *activeTopology) appendKey(numbers ...int32) {
	for _, n := range numbers {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(n))
	}
}

// choice reads the key back as requirements.
func (t *activeTopology) choice() Requirements {
	var chosen []Requirement
	next := func(key []byte) (int, []byte) { return int(binary.LittleEndian.Uint32(key)), key[4:] }
	for key := t.key; len(key) > 0; {
		var number, n, d int
		number, key = next(key)
		n, key = next(key)
		table := t.s.topology.domains[number]
		values := make([]string, n)
		for i := range values {
			d, key = next(key)
			values[i] = table.values[d]
		}
		chosen = append(chosen, In(table.key, values...))
	}
	return Requirements{}.Add(chosen...)
}

// recordHost counts a pod that went to an existing node.
func (t *activeTopology) recordHost(w *workspace, p *movingPod, h int) {
	for _, a := range t.active {
		if a.group.kind == kindInverse || !t.selects(a.group, p) || !t.s.passes(a.filter, h) {
			continue
		}
		if d := a.domains.ids[h]; d >= 0 {
			t.add(a, d, 1)
		}
	}
	for _, term := range p.class.terms {
		a := t.inverseGroup(w, term)
		if d := a.domains.ids[h]; d >= 0 {
			t.add(a, d, 1)
		}
	}
}

// recordClaim counts a pod that went to a node to be opened: where the node's
// domain is decided, and for anti-affinity in every domain it could still be in.
func (t *activeTopology) recordClaim(w *workspace, p *movingPod, c *claimState) {
	for _, a := range t.active {
		if a.group.kind != kindInverse && t.selects(a.group, p) && w.sets.counted(c.set, c.template, a.filter) {
			t.addClaim(w, a, c, a.group.kind == kindAnti)
		}
	}
	for _, term := range p.class.terms {
		t.addClaim(w, t.inverseGroup(w, term), c, true)
	}
}

func (t *activeTopology) addClaim(w *workspace, a *activeGroup, c *claimState, everywhere bool) {
	d := a.domains
	if d.hostname {
		t.add(a, int32(len(d.values)+c.number), 1)
		return
	}
	q := c.set.reqs.Get(d.key)
	if q.Complement() || !everywhere && q.Len() != 1 {
		return
	}
	for domain := range w.sets.allowed(c.set, d).each {
		t.add(a, int32(domain), 1)
	}
}
