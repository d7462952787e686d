package scheduling

import corev1 "k8s.io/api/core/v1"

// topologyState is what the topology book asks about, as this snapshot's nodes
// and pods stand.
type topologyState struct {
	domains []*domainTable // by key
	passing []bitset       // by node filter; nil for all nodes
	bases   []baseCounts   // by variant
	inverse []baseCounts   // by inverse group
	allowed []bitset       // by link: the domains that strict requirements allow
	labels  *labelIndex
}

// compileTopology counts what the classes ask about. Where no pod has topology
// constraints nobody asks, and it does nothing.
func (s *Snapshot) compileTopology() {
	if len(s.book.topology.groups) == 0 {
		return
	}
	s.compileDomains()
	for _, f := range s.book.topology.filters {
		s.topology.passing = append(s.topology.passing, s.passing(f))
	}
	s.topology.allowed = make([]bitset, s.book.links)
	for _, class := range s.book.classes {
		for i := range class.stages {
			for j := range class.stages[i].links {
				l := &class.stages[i].links[j]
				s.topology.allowed[l.id] = s.domainsOf(l.group).allowedDomains(class.stages[i].strict)
			}
		}
	}
	if s.topology.labels == nil {
		s.topology.labels = s.indexLabels()
	}
	s.compileCounts()
}

// counter counts pods and nodes by domain, with memory that serves all groups.
type counter struct {
	*Snapshot
	tally tally
	// bySet are the counted pods by label set: those of set i are
	// pods[starts[i]:starts[i+1]].
	pods, starts []int32
	nodes        map[nodeCountKey][]pair
}

// nodeCountKey is what the count of nodes depends on; filter -1 is none.
type nodeCountKey struct{ table, filter int32 }

func (s *Snapshot) compileCounts() {
	c := &counter{Snapshot: s, nodes: map[nodeCountKey][]pair{}}
	most := 0
	for _, d := range s.topology.domains {
		most = max(most, len(d.values))
	}
	c.tally.counts = make([]int32, most)
	c.sortPods()
	for _, v := range s.book.topology.variants {
		s.topology.bases = append(s.topology.bases, baseCounts{
			known: s.knownFromPools(v), pods: c.countPods(v), nodes: c.countNodes(v),
		})
	}
	c.countOwners()
}

// sortPods lists the pods that topology counts by label set. Pods of nodes being
// deleted that move are to be placed in every simulation, and never counted.
func (c *counter) sortPods() {
	counted := func(row *podRow) bool { return row.host >= 0 && row.flags.is(podCounts) && !c.alwaysMoves(row) }
	c.starts = make([]int32, len(c.topology.labels.sets)+1)
	for i := range c.Snapshot.pods.rows {
		if row := &c.Snapshot.pods.rows[i]; counted(row) {
			c.starts[row.labels+1]++
		}
	}
	for i := 1; i < len(c.starts); i++ {
		c.starts[i] += c.starts[i-1]
	}
	c.pods = make([]int32, c.starts[len(c.starts)-1])
	for i := range c.Snapshot.pods.rows {
		if row := &c.Snapshot.pods.rows[i]; counted(row) {
			c.pods[c.starts[row.labels]] = row.host
			c.starts[row.labels]++
		}
	}
	copy(c.starts[1:], c.starts) // filling moved each start to the next one
	c.starts[0] = 0
}

// countPods counts the pods that the group selects by the domain of their node,
// where that passes the filter. A group without selector counts all pods.
func (c *counter) countPods(v *variant) []pair {
	for _, set := range c.topology.labels.matches[v.group.id] {
		c.countSet(v, set)
	}
	if v.group.noSelector {
		for _, ns := range v.group.namespaces {
			for _, set := range c.topology.labels.byNamespace[ns] {
				c.countSet(v, set)
			}
		}
	}
	return c.tally.pairs()
}

func (c *counter) countSet(v *variant, set int32) {
	ids := c.domainsOf(v.group).ids
	for _, host := range c.pods[c.starts[set]:c.starts[set+1]] {
		if d := ids[host]; d >= 0 && c.passes(v.filter, int(host)) {
			c.tally.add(d)
		}
	}
}

// unreadable: a claim, volume or class of the pod isn't there. Such a pod keeps
// counting where it runs although it moves.
func (s *Snapshot) unreadable(row *podRow) bool {
	return row.volume >= 0 && s.volumes.sets[row.volume].unreadable
}

// alwaysMoves: the pod runs on a node being deleted and must find a new place.
func (s *Snapshot) alwaysMoves(row *podRow) bool {
	return row.flags.is(podMoves) && s.onDeleting(row) && !s.unreadable(row)
}

func (s *Snapshot) onDeleting(row *podRow) bool {
	return row.host >= 0 && s.hosts.hosts[row.host].deleting
}

// countNodes counts the destinations that pass the filter. Hostnames need no
// count: a node always knows its own.
func (c *counter) countNodes(v *variant) []pair {
	d := c.domainsOf(v.group)
	if d.hostname {
		return nil
	}
	key := nodeCountKey{v.group.table, -1}
	if v.filter != nil && c.topology.passing[v.filter.id] != nil {
		key.filter = v.filter.id
	}
	if known, ok := c.nodes[key]; ok {
		return known
	}
	for i := range c.hosts.hosts[:c.hosts.dests] {
		if d.ids[i] >= 0 && c.hosts.hosts[i].kube != "" && c.passes(v.filter, i) {
			c.tally.add(d.ids[i])
		}
	}
	c.nodes[key] = c.tally.pairs()
	return c.nodes[key]
}

// countOwners counts, for each inverse group, the pods that have its term.
// Terminating ones keep others away until they are gone. The tolerations of the
// first by name decide which domains the pools make known.
func (c *counter) countOwners() {
	owners := make([][]int32, len(c.book.topology.inverse))
	first := make([]*corev1.Pod, len(c.book.topology.inverse))
	for i := range c.Snapshot.pods.rows {
		row := &c.Snapshot.pods.rows[i]
		stays := row.host >= 0 && row.flags.is(podLives) && !c.alwaysMoves(row)
		for _, term := range c.book.classes[row.class].terms {
			if stays {
				owners[term] = append(owners[term], row.host)
			}
			if f := first[term]; f == nil || comparePodNames(*row, podRow{pod: f}) < 0 {
				first[term] = row.pod
			}
		}
	}
	for i, v := range c.book.topology.inverse {
		ids := c.domainsOf(v.group).ids
		for _, host := range owners[i] {
			if d := ids[host]; d >= 0 {
				c.tally.add(d)
			}
		}
		base := baseCounts{pods: c.tally.pairs()}
		if first[i] != nil {
			base.known = c.knownFromPools(&variant{group: v.group, tolerations: first[i].Spec.Tolerations, honorTaints: true})
		}
		c.topology.inverse = append(c.topology.inverse, base)
	}
}
