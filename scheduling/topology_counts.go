package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// labelTable groups pods by namespace and labels, and finds those that a
// selector picks without looking at the others.
type labelTable struct {
	sets []labelSet
	// byNamespace and byLabel list sets in ascending order. Only labels that a
	// selector could be looked up by are indexed.
	byNamespace map[string][]int32
	byLabel     map[labelValue][]int32
	indexed     map[string]bool
	// rows are the counted pods of each set.
	rows [][]int32
}

type labelSet struct {
	namespace string
	labels    labels.Set
	// inverse are the inverse groups that select these pods.
	inverse []int32
}

type labelValue struct{ namespace, key, value string }

// labelMatch is the label sets that a group selects, ascending.
type labelMatch []int32

func (m labelMatch) has(set int32) bool {
	_, ok := slices.BinarySearch(m, set)
	return ok
}

// compileLabels gives every pod its label set. Where no pod has topology
// constraints nobody asks, and it does nothing.
func (s *Snapshot) compileLabels() {
	t := &s.topology.labels
	t.byNamespace, t.byLabel, t.indexed = map[string][]int32{}, map[labelValue][]int32{}, map[string]bool{}
	for _, g := range s.topology.groups {
		for _, r := range lookups(g.selector) {
			t.indexed[r.Key()] = true
		}
	}
	known := map[string]int32{}
	c := classifier{}
	for i := range s.pods.rows {
		row := &s.pods.rows[i]
		c.key = c.appendStrings(appendParts(c.key[:0], row.pod.Namespace), row.pod.Labels)
		id, ok := known[string(c.key)]
		if !ok {
			id = t.add(row.pod.Namespace, row.pod.Labels)
			known[string(c.key)] = id
		}
		row.labels = id
		if row.host >= 0 && row.flags.is(podCounts) {
			t.rows[id] = append(t.rows[id], int32(i))
		}
	}
}

func (t *labelTable) add(namespace string, set labels.Set) int32 {
	id := int32(len(t.sets))
	t.sets = append(t.sets, labelSet{namespace: namespace, labels: set})
	t.rows = append(t.rows, nil)
	t.byNamespace[namespace] = append(t.byNamespace[namespace], id)
	for key, value := range set {
		if t.indexed[key] {
			at := labelValue{namespace, key, value}
			t.byLabel[at] = append(t.byLabel[at], id)
		}
	}
	return id
}

// lookups are the requirements of a selector that name values to look up.
func lookups(selector labels.Selector) []labels.Requirement {
	all, _ := selector.Requirements()
	return slices.DeleteFunc(slices.Clone(all), func(r labels.Requirement) bool {
		return r.Operator() != selection.In && r.Operator() != selection.Equals && r.Operator() != selection.DoubleEquals
	})
}

// find returns the label sets in the group's namespaces that its selector picks.
func (t *labelTable) find(g *topologyGroup) labelMatch {
	if g.noSelector {
		return nil
	}
	var found labelMatch
	by := lookups(g.selector)
	for _, ns := range g.namespaces {
		for _, id := range t.candidates(ns, by) {
			if g.selector.Matches(t.sets[id].labels) {
				found = append(found, id)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// candidates are the sets that could match, by the most selective requirement.
func (t *labelTable) candidates(namespace string, by []labels.Requirement) []int32 {
	best := t.byNamespace[namespace]
	for i := range by {
		var ids []int32
		values := by[i].ValuesUnsorted()
		for _, v := range values {
			if list := t.byLabel[labelValue{namespace, by[i].Key(), v}]; len(values) == 1 {
				ids = list
			} else {
				ids = append(ids, list...)
			}
		}
		if len(ids) < len(best) {
			best = ids
		}
	}
	return best
}

// compileCounts counts the pods of every variant as the cluster stands.
func (s *Snapshot) compileCounts() {
	t := &s.topology
	for _, g := range t.groups {
		g.matches = t.labels.find(g)
	}
	for i, v := range t.inverse {
		for _, set := range v.group.matches {
			t.labels.sets[set].inverse = append(t.labels.sets[set].inverse, int32(i))
		}
	}
	domains := 0
	for _, d := range t.domains {
		domains = max(domains, len(d.values))
	}
	counter := &tally{counts: make([]int32, domains)}
	for _, v := range t.variants {
		s.compileVariant(v)
		s.countPods(v, counter)
		s.countNodes(v, counter)
	}
	s.countOwners(counter)
}

// countPods counts the bound pods that the group selects, where its node has
// the key and passes the filter. Pods of nodes being deleted that move are to
// be placed in every simulation, and never counted.
func (s *Snapshot) countPods(v *variant, counter *tally) {
	count := func(set int32) {
		for _, i := range s.topology.labels.rows[set] {
			if row := &s.pods.rows[i]; !s.alwaysMoves(row) && v.filter.passes(int(row.host)) {
				if d := v.group.domains.ids[row.host]; d >= 0 {
					counter.add(d)
				}
			}
		}
	}
	if v.group.noSelector {
		for _, ns := range v.group.namespaces {
			for _, set := range s.topology.labels.byNamespace[ns] {
				count(set)
			}
		}
	}
	for _, set := range v.group.matches {
		count(set)
	}
	v.base.pods = counter.pairs()
}

// alwaysMoves: the pod runs on a node being deleted and must find a new place.
func (s *Snapshot) alwaysMoves(row *podRow) bool {
	return row.flags.is(podMoves) && row.host >= 0 && s.hosts.hosts[row.host].deleting
}

func (s *Snapshot) countNodes(v *variant, counter *tally) {
	if v.group.domains.hostname {
		return
	}
	for i := range s.hosts.hosts[:s.hosts.dests] {
		if d := v.group.domains.ids[i]; d >= 0 && s.hosts.hosts[i].kube != "" && v.filter.passes(i) {
			counter.add(d)
		}
	}
	v.base.nodes = counter.pairs()
}

// countOwners counts, for each inverse group, the pods that have its term.
// Terminating ones keep others away until they are gone.
func (s *Snapshot) countOwners(counter *tally) {
	owners := make([][]int32, len(s.topology.inverse))
	for i := range s.pods.rows {
		row := &s.pods.rows[i]
		terms := s.pods.classes[row.class].terms
		if len(terms) == 0 || row.host < 0 || !row.flags.is(podLives) || s.alwaysMoves(row) {
			continue
		}
		for _, term := range terms {
			owners[term] = append(owners[term], row.host)
		}
	}
	for i, v := range s.topology.inverse {
		s.compileVariant(v)
		for _, host := range owners[i] {
			if d := v.group.domains.ids[host]; d >= 0 {
				counter.add(d)
			}
		}
		v.base.pods = counter.pairs()
	}
}
