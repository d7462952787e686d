package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// labelIndex groups pods by namespace and labels, and knows which of them each
// topology group selects.
type labelIndex struct {
	sets        []labelSet
	byNamespace map[string][]int32
	matches     []labelMatch // by group
}

type labelSet struct {
	namespace string
	labels    labels.Set
	// inverse are the inverse groups that select these pods.
	inverse []int32
}

// labelMatch is the label sets that a group selects, ascending.
type labelMatch []int32

func (m labelMatch) has(set int32) bool {
	_, ok := slices.BinarySearch(m, set)
	return ok
}

// indexLabels gives every pod its label set, and finds what the groups select.
func (s *Snapshot) indexLabels() *labelIndex {
	groups := s.book.topology.groups
	index := &labelIndex{byNamespace: map[string][]int32{}, matches: make([]labelMatch, len(groups))}
	find := finder{labelIndex: index, byLabel: map[labelValue][]int32{}, keys: map[string]bool{}}
	for _, g := range groups {
		for _, r := range lookups(g.selector) {
			find.keys[r.Key()] = true
		}
	}
	known, write := map[string]int32{}, keyWriter{}
	var key []byte
	for i := range s.pods.rows {
		row := &s.pods.rows[i]
		key = write.appendStrings(appendParts(key[:0], row.pod.Namespace), row.pod.Labels)
		id, ok := known[string(key)]
		if !ok {
			id = find.add(row.pod.Namespace, row.pod.Labels)
			known[string(key)] = id
		}
		row.labels = id
	}
	for i, g := range groups {
		index.matches[i] = find.selected(g)
	}
	for i, v := range s.book.topology.inverse {
		for _, set := range index.matches[v.group.id] {
			index.sets[set].inverse = append(index.sets[set].inverse, int32(i))
		}
	}
	return index
}

// finder finds the label sets that a selector picks without looking at all of
// them. Only labels that a selector could be looked up by are indexed.
type finder struct {
	*labelIndex
	byLabel map[labelValue][]int32 // ascending
	keys    map[string]bool
}

type labelValue struct{ namespace, key, value string }

func (f *finder) add(namespace string, set labels.Set) int32 {
	id := int32(len(f.sets))
	f.sets = append(f.sets, labelSet{namespace: namespace, labels: set})
	f.byNamespace[namespace] = append(f.byNamespace[namespace], id)
	for key, value := range set {
		if f.keys[key] {
			at := labelValue{namespace, key, value}
			f.byLabel[at] = append(f.byLabel[at], id)
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

// selected returns the label sets in the group's namespaces that its selector
// picks; none for a group without one.
func (f *finder) selected(g *topologyGroup) labelMatch {
	if g.noSelector {
		return nil
	}
	var found labelMatch
	by := lookups(g.selector)
	for _, ns := range g.namespaces {
		for _, id := range f.candidates(ns, by) {
			if g.selector.Matches(f.sets[id].labels) {
				found = append(found, id)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// candidates are the sets that could match, by the most selective requirement.
func (f *finder) candidates(namespace string, by []labels.Requirement) []int32 {
	best := f.byNamespace[namespace]
	for i := range by {
		var ids []int32
		values := by[i].ValuesUnsorted()
		for _, v := range values {
			if list := f.byLabel[labelValue{namespace, by[i].Key(), v}]; len(values) == 1 {
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
