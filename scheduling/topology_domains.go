package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// domainTable holds one topology key: its values, in name order, and which of
// them each node has. Beyond values lie the hostnames of nodes that a
// simulation opens.
type domainTable struct {
	key      string
	hostname bool
	*column
	// sources are, by value, the pools that could make a node with it.
	sources []bitset
}

// compileDomains collects the values of every key: of all nodes, and of what
// the pools could launch.
func (s *Snapshot) compileDomains() {
	for _, key := range s.book.topology.keys {
		d := &domainTable{key: key, hostname: key == corev1.LabelHostname}
		s.topology.domains = append(s.topology.domains, d)
		universe := s.universe(key)
		more := make([]string, 0, len(universe))
		for value := range universe {
			more = append(more, value)
		}
		more = append(more, s.wished(key)...)
		d.column = newColumn(s.hosts.hosts, key, more)
		d.sources = make([]bitset, len(d.values))
		for value, pools := range universe {
			d.sources[d.id(value)] = pools
		}
	}
}

// wished returns the values of key that pods or their volumes ask for. A new node
// may get one of them although no pool lists it, and is then a domain.
func (s *Snapshot) wished(key string) []string {
	var values []string
	for _, w := range s.book.wishes {
		if q, ok := w.reqs.find(key); ok && !q.complement {
			values = append(values, q.values...)
		}
	}
	return values
}

// universe returns the values of key that a new node could have, and from which
// pools: those in the requirements of the pool and each of its types together,
// and those of the pool alone. Offerings play no part: a zone where nothing can
// be bought is still a domain. With a type, the list of a NotIn counts as well.
func (s *Snapshot) universe(key string) map[string]bitset {
	domains := map[string]bitset{}
	add := func(value string, pool int) {
		if domains[value] == nil {
			domains[value] = newBitset(len(s.usable))
		}
		domains[value].set(pool)
	}
	for i, pool := range s.usable {
		own := NewRequirements(pool.Requirements...).And(LabelRequirements(pool.Labels))
		for _, t := range pool.InstanceTypes {
			for _, value := range joint(own, t.Requirements, key) {
				add(value, i)
			}
		}
		if q := own.Get(key); !q.Complement() {
			for _, value := range q.Values() {
				add(value, i)
			}
		}
	}
	return domains
}

// joint returns the values listed for key by both sets of requirements together.
func joint(a, b Requirements, key string) []string {
	switch {
	case !a.Has(key):
		return b.Get(key).Values()
	case !b.Has(key):
		return a.Get(key).Values()
	}
	return a.Get(key).Intersection(b.Get(key)).Values()
}

// domainsOf is the table of a group's key.
func (s *Snapshot) domainsOf(g *topologyGroup) *domainTable { return s.topology.domains[g.table] }

// knownFromPools finds the domains that a variant knows from the pools.
func (s *Snapshot) knownFromPools(v *variant) bitset {
	d := s.domainsOf(v.group)
	from := newBitset(len(s.usable))
	for i, pool := range s.usable {
		if _, untolerated := Untolerated(pool.Taints, v.tolerations); !untolerated || !v.honorTaints {
			from.set(i)
		}
	}
	known := newBitset(len(d.values))
	for value, pools := range d.sources {
		for i := range pools {
			if pools[i]&from[i] != 0 {
				known.set(value)
			}
		}
	}
	return known
}

// allowedDomains returns the domains that the pod's strict requirements allow;
// nil if they don't speak of the key.
func (d *domainTable) allowedDomains(strict Requirements) bitset {
	if !strict.Has(d.key) {
		return nil
	}
	q := strict.Get(d.key)
	allowed := newBitset(len(d.values))
	for i, value := range d.values {
		if q.Has(value) {
			allowed.set(i)
		}
	}
	return allowed
}

// pair is how many pods are in a domain.
type pair struct{ domain, count int32 }

// baseCounts is what a variant counts before anything moves.
type baseCounts struct {
	known bitset // domains known from pools
	pods  []pair // by domain, none zero
	nodes []pair // destinations that pass the filter; not for hostnames
}

// tally counts domains; its memory is used again for the next variant.
type tally struct {
	counts []int32
	seen   []int32
}

func (t *tally) add(domain int32) {
	if t.counts[domain] == 0 {
		t.seen = append(t.seen, domain)
	}
	t.counts[domain]++
}

// pairs returns what was counted, by domain, and starts anew.
func (t *tally) pairs() []pair {
	if len(t.seen) == 0 {
		return nil
	}
	slices.Sort(t.seen)
	out := make([]pair, len(t.seen))
	for i, d := range t.seen {
		out[i] = pair{d, t.counts[d]}
		t.counts[d] = 0
	}
	t.seen = t.seen[:0]
	return out
}
