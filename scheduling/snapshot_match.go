package scheduling

import (
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
)

// column holds one label of all nodes, its values interned.
type column struct {
	values []string // sorted
	ids    []int32  // by node; -1 where the label is missing
}

// label returns the value under key or, if key is a well-known label, under
// its beta spelling. A node that has both with different values has neither.
func (h *hostView) label(key string) (string, bool) {
	if key == corev1.LabelHostname {
		return h.hostname(), true
	}
	value, ok := h.labels[key]
	if beta, aliased := betaSpelling(key); aliased {
		if old, has := h.labels[beta]; has {
			if ok && old != value {
				return "", false
			}
			return old, true
		}
	}
	return value, ok
}

func betaSpelling(key string) (string, bool) {
	switch key {
	case corev1.LabelTopologyZone:
		return corev1.LabelFailureDomainBetaZone, true
	case corev1.LabelTopologyRegion:
		return corev1.LabelFailureDomainBetaRegion, true
	case corev1.LabelArchStable:
		return "beta.kubernetes.io/arch", true
	case corev1.LabelOSStable:
		return "beta.kubernetes.io/os", true
	case corev1.LabelInstanceTypeStable:
		return corev1.LabelInstanceType, true
	}
	return "", false
}

// newColumn interns the values of key, and more values beside those of nodes.
func newColumn(hosts []hostView, key string, more []string) *column {
	c := &column{ids: make([]int32, len(hosts))}
	seen := make(map[string]int32, 16)
	for _, v := range more {
		seen[v] = 0
	}
	for i := range hosts {
		if v, ok := hosts[i].label(key); ok {
			seen[v] = 0
		}
	}
	c.values = make([]string, 0, len(seen))
	for v := range seen {
		c.values = append(c.values, v)
	}
	slices.Sort(c.values)
	for i, v := range c.values {
		seen[v] = int32(i)
	}
	for i := range hosts {
		c.ids[i] = -1
		if v, ok := hosts[i].label(key); ok {
			c.ids[i] = seen[v]
		}
	}
	return c
}

// id of a value, -1 if no node has it.
func (c *column) id(value string) int32 {
	if i, ok := slices.BinarySearch(c.values, value); ok {
		return int32(i)
	}
	return -1
}

// narrow takes from hosts those whose label doesn't meet q. A missing label
// meets NotIn and DoesNotExist, nothing else.
func (c *column) narrow(hosts bitset, q Requirement) {
	allowed := make([]bool, len(c.values))
	for i, v := range c.values {
		allowed[i] = q.Has(v)
	}
	missing := q.forgiving()
	for i, id := range c.ids {
		if id < 0 && !missing || id >= 0 && !allowed[id] {
			hosts.unset(i)
		}
	}
}

// matchTable remembers which nodes suit whom. All of it is found on first use,
// by whoever asks; callers that race find the same.
type matchTable struct {
	// columns are the labels that any wish asks about.
	columns map[string]*column
	wishes  []atomic.Pointer[bitset] // by wish
	shapes  []atomic.Pointer[bitset] // by shape, with and without settling nodes
	// first is, by stage, with and without settling nodes, the first node that
	// fits while nothing has moved: plus two, 0 while it is not known.
	first []atomic.Int32
	// floors say, by shape, with and without settling nodes, from where on it is
	// worth looking.
	floors []floor
}

// compileColumns reads the labels of the nodes that the book asks about.
func (s *Snapshot) compileColumns() {
	s.matches.columns = map[string]*column{}
	for _, w := range s.book.wishes {
		for q := range w.reqs.All() {
			s.column(q.Key())
		}
	}
	s.matches.wishes = make([]atomic.Pointer[bitset], len(s.book.wishes))
	s.matches.shapes = make([]atomic.Pointer[bitset], 2*len(s.book.shapes))
	s.matches.first = make([]atomic.Int32, 2*s.book.stages)
	s.matches.floors = make([]floor, 2*len(s.book.shapes))
}

// column is made on first use, which must be while the snapshot is compiled.
func (s *Snapshot) column(key string) *column {
	c := s.matches.columns[key]
	if c == nil {
		c = newColumn(s.hosts.hosts, key, nil)
		s.matches.columns[key] = c
	}
	return c
}

// meets returns the nodes whose labels satisfy the wish.
func (s *Snapshot) meets(w *wish) bitset {
	if known := s.matches.wishes[w.id].Load(); known != nil {
		return *known
	}
	hosts := s.hostsMeeting(w.reqs)
	s.matches.wishes[w.id].Store(&hosts)
	return hosts
}

func (s *Snapshot) hostsMeeting(reqs Requirements) bitset {
	hosts := s.allHosts()
	for q := range reqs.All() {
		s.column(q.Key()).narrow(hosts, q)
	}
	return hosts
}

func (s *Snapshot) allHosts() bitset {
	hosts := newBitset(len(s.hosts.hosts))
	for i := range s.hosts.hosts {
		hosts.set(i)
	}
	return hosts
}

// mask returns the nodes that the shape can use, all or those not settling.
func (s *Snapshot) mask(sh *shape, quietOnly bool) bitset {
	memo := &s.matches.shapes[2*int(sh.id)+int(bool1(quietOnly))]
	if known := memo.Load(); known != nil {
		return *known
	}
	mask := slices.Clone(s.meets(sh.wish))
	s.keepTolerated(mask, sh.tolerations)
	if quietOnly {
		for i := range mask {
			mask[i] &= s.hosts.quiet[i]
		}
	}
	memo.Store(&mask)
	return mask
}

// keepTolerated takes from hosts those with a taint that is not tolerated.
func (s *Snapshot) keepTolerated(hosts bitset, tolerations []corev1.Toleration) {
	refused := make([]bool, len(s.hosts.taintSets))
	for i, taints := range s.hosts.taintSets {
		_, refused[i] = Untolerated(taints, tolerations)
	}
	for i := range s.hosts.hosts {
		if refused[s.hosts.hosts[i].taintSet] {
			hosts.unset(i)
		}
	}
}
