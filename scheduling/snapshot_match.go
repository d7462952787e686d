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

// wish is an interned set of requirements, with the nodes that meet it.
type wish struct {
	id    int32
	reqs  Requirements
	hosts atomic.Pointer[bitset]
}

// wishTable interns requirements and the labels that they ask about.
type wishTable struct {
	byKey   map[string]*wish
	columns map[string]*column
}

func newWishTable() wishTable {
	return wishTable{byKey: map[string]*wish{}, columns: map[string]*column{}}
}

func (t *wishTable) intern(reqs Requirements, hosts []hostView) *wish {
	key := reqs.String()
	if w, ok := t.byKey[key]; ok {
		return w
	}
	w := &wish{id: int32(len(t.byKey)), reqs: reqs}
	t.byKey[key] = w
	for q := range reqs.All() {
		if t.columns[q.Key()] == nil {
			t.columns[q.Key()] = newColumn(hosts, q.Key(), nil)
		}
	}
	return w
}

// meets returns the nodes whose labels satisfy the wish, found on first use.
// Callers that race find the same.
func (s *Snapshot) meets(w *wish) bitset {
	if known := w.hosts.Load(); known != nil {
		return *known
	}
	hosts := s.allHosts()
	for q := range w.reqs.All() {
		s.wishes.columns[q.Key()].narrow(hosts, q)
	}
	w.hosts.Store(&hosts)
	return hosts
}

func (s *Snapshot) allHosts() bitset {
	hosts := newBitset(len(s.hosts.hosts))
	for i := range s.hosts.hosts {
		hosts.set(i)
	}
	return hosts
}

// shape is what decides, beside room and topology, which nodes a pod can use.
type shape struct {
	wish        *wish
	tolerations []corev1.Toleration
	// masks[0] has the nodes it can use, masks[1] those that are not settling.
	masks [2]atomic.Pointer[bitset]
}

// mask returns the nodes that the shape can use, found on first use.
func (s *Snapshot) mask(sh *shape, quietOnly bool) bitset {
	i := 0
	if quietOnly {
		i = 1
	}
	if known := sh.masks[i].Load(); known != nil {
		return *known
	}
	mask := slices.Clone(s.meets(sh.wish))
	s.keepTolerated(mask, sh.tolerations)
	if quietOnly {
		for i := range mask {
			mask[i] &= s.hosts.quiet[i]
		}
	}
	sh.masks[i].Store(&mask)
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
