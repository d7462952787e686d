package termination

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// pdbIndex finds the PDBs that select a pod. Most selectors ask for a value of
// some label, so each PDB is filed under one such pair, the rarest it has; a
// pod is then compared only with the PDBs filed under its own labels, and with
// the few that ask for no value at all.
type pdbIndex[T any] struct{ namespaces map[string]*namespaceIndex[T] }

type namespaceIndex[T any] struct {
	keys    []string // of byLabel, sorted
	byLabel map[string]map[string][]*entry[T]
	rest    []*entry[T]
}

// entry is one PDB: its name, whom it selects, and what the index is kept for.
type entry[T any] struct {
	name     types.NamespacedName
	selector labels.Selector
	value    T
}

// build files the PDBs and returns an error for each selector that can't be read.
func (x *pdbIndex[T]) build(pdbs []*policyv1.PodDisruptionBudget, value func(*policyv1.PodDisruptionBudget) T) field.ErrorList {
	var errs field.ErrorList
	entries := map[string][]*entry[T]{}
	for i, p := range pdbs {
		if p == nil {
			errs = append(errs, field.Required(field.NewPath("podDisruptionBudgets").Index(i), "nil"))
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
		if err != nil {
			path := field.NewPath("podDisruptionBudgets").Index(i).Child("spec", "selector")
			errs = append(errs, field.Invalid(path, p.Namespace+"/"+p.Name, err.Error()))
			continue
		}
		e := &entry[T]{name: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, selector: selector, value: value(p)}
		entries[p.Namespace] = append(entries[p.Namespace], e)
	}
	x.namespaces = make(map[string]*namespaceIndex[T], len(entries))
	for namespace, list := range entries {
		x.namespaces[namespace] = indexNamespace(list)
	}
	return errs
}

type pair struct{ key, value string }

func indexNamespace[T any](list []*entry[T]) *namespaceIndex[T] {
	count := map[pair]int{}
	for _, e := range list {
		for _, alternatives := range demands(e.selector) {
			for _, p := range alternatives {
				count[p]++
			}
		}
	}
	n := &namespaceIndex[T]{byLabel: map[string]map[string][]*entry[T]{}}
	for _, e := range list {
		if !labels.MatchesNothing(e.selector) {
			n.file(e, count)
		}
	}
	for key := range n.byLabel {
		n.keys = append(n.keys, key)
	}
	slices.Sort(n.keys)
	return n
}

// demands lists, for each requirement of the selector that names values a label
// must have, those values: a pod that has none of them is not selected.
func demands(selector labels.Selector) [][]pair {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil
	}
	var all [][]pair
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			var alternatives []pair
			for _, value := range r.ValuesUnsorted() {
				alternatives = append(alternatives, pair{r.Key(), value})
			}
			all = append(all, alternatives)
		}
	}
	return all
}

// file puts the entry under its rarest demand, in each of that one's values.
func (n *namespaceIndex[T]) file(e *entry[T], count map[pair]int) {
	var best []pair
	lowest := 0
	for _, alternatives := range demands(e.selector) {
		sum := 0
		for _, p := range alternatives {
			sum += count[p]
		}
		if best == nil || sum < lowest {
			best, lowest = alternatives, sum
		}
	}
	if best == nil {
		n.rest = append(n.rest, e)
	}
	for _, p := range best {
		if n.byLabel[p.key] == nil {
			n.byLabel[p.key] = map[string][]*entry[T]{}
		}
		n.byLabel[p.key][p.value] = append(n.byLabel[p.key][p.value], e)
	}
}

// each calls visit for every PDB that selects the pod, until it returns false.
// The order is not defined.
func (x *pdbIndex[T]) each(pod *corev1.Pod, visit func(*entry[T]) bool) {
	n := x.namespaces[pod.Namespace]
	if n == nil {
		return
	}
	if !eachSelecting(n.rest, pod, visit) {
		return
	}
	if len(n.keys) > len(pod.Labels) {
		for key, value := range pod.Labels {
			if !eachSelecting(n.byLabel[key][value], pod, visit) {
				return
			}
		}
		return
	}
	for _, key := range n.keys {
		if value, ok := pod.Labels[key]; ok && !eachSelecting(n.byLabel[key][value], pod, visit) {
			return
		}
	}
}

func eachSelecting[T any](list []*entry[T], pod *corev1.Pod, visit func(*entry[T]) bool) bool {
	for _, e := range list {
		if e.selector.Matches(labels.Set(pod.Labels)) && !visit(e) {
			return false
		}
	}
	return true
}

// match returns how many PDBs select the pod, counting no further than two, and
// one of them, which is the only one if there is just one.
func (x *pdbIndex[T]) match(pod *corev1.Pod) (one *entry[T], n int) {
	x.each(pod, func(e *entry[T]) bool {
		one = e
		n++
		return n < 2
	})
	return one, n
}

// names lists the PDBs that select the pod, sorted.
func (x *pdbIndex[T]) names(pod *corev1.Pod) []types.NamespacedName {
	var names []types.NamespacedName
	x.each(pod, func(e *entry[T]) bool {
		names = append(names, e.name)
		return true
	})
	return sortNames(names)
}
