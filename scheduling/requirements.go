package scheduling

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
)

// Requirements is a set of requirements, at most one a key. It is immutable:
// [Requirements.Add] returns another. The zero value requires nothing.
type Requirements struct {
	list []Requirement // sorted by key
}

// NewRequirements makes requirements of specs; those for the same key intersect.
func NewRequirements(specs ...RequirementSpec) Requirements {
	list := make([]Requirement, len(specs))
	for i, s := range specs {
		list[i] = NewRequirement(s)
	}
	return collect(list)
}

// LabelRequirements reads labels, or a node selector, as requirements: each key
// In its one value. A beta key beside the stable one intersects with it.
func LabelRequirements(labels map[string]string) Requirements {
	list := make([]Requirement, 0, len(labels))
	for k, v := range labels {
		list = append(list, Requirement{key: annotations.NormalizeLabel(k), values: []string{v}})
	}
	return collect(list)
}

// ExpressionRequirements reads the match expressions of a node selector term,
// which must all hold. Its match fields play no part in Karpenter's simulation.
func ExpressionRequirements(expressions []corev1.NodeSelectorRequirement) Requirements {
	list := make([]Requirement, len(expressions))
	for i, e := range expressions {
		list[i] = NewRequirement(RequirementSpec{Key: e.Key, Operator: e.Operator, Values: e.Values})
	}
	return collect(list)
}

// collect takes over list, sorts it and intersects what has the same key.
func collect(list []Requirement) Requirements {
	slices.SortStableFunc(list, compareKeys)
	kept := list[:0]
	for _, r := range list {
		if last := len(kept) - 1; last >= 0 && kept[last].key == r.key {
			kept[last] = kept[last].Intersection(r)
			continue
		}
		kept = append(kept, r)
	}
	return Requirements{slices.Clip(kept)}
}

// Add returns r with more requirements; those for a key of r intersect with it.
func (r Requirements) Add(more ...Requirement) Requirements {
	return collect(slices.Concat(r.list, more))
}

// And returns what satisfies both r and o.
func (r Requirements) And(o Requirements) Requirements {
	switch {
	case len(o.list) == 0:
		return r
	case len(r.list) == 0:
		return o
	}
	merged := make([]Requirement, 0, len(r.list)+len(o.list))
	a, b := r.list, o.list
	for len(a) > 0 && len(b) > 0 {
		switch c := compareKeys(a[0], b[0]); {
		case c < 0:
			merged, a = append(merged, a[0]), a[1:]
		case c > 0:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged, a, b = append(merged, a[0].Intersection(b[0])), a[1:], b[1:]
		}
	}
	return Requirements{append(append(merged, a...), b...)}
}

// With returns r with the requirement of the same key replaced by q.
func (r Requirements) With(q Requirement) Requirements {
	return collect(append(r.Without(q.key).list, q))
}

// Without returns r less the given keys.
func (r Requirements) Without(keys ...string) Requirements {
	kept := make([]Requirement, 0, len(r.list)+1)
	for _, q := range r.list {
		if !slices.Contains(keys, q.key) {
			kept = append(kept, q)
		}
	}
	return Requirements{kept}
}

// Get returns the requirement of key; a key that is not required Exists, which
// allows every value. Keys are not normalised here.
func (r Requirements) Get(key string) Requirement {
	if q, ok := r.find(key); ok {
		return *q
	}
	return Requirement{key: key, complement: true}
}

// Has reports whether key is required in some way.
func (r Requirements) Has(key string) bool {
	_, ok := r.find(key)
	return ok
}

func (r Requirements) find(key string) (*Requirement, bool) {
	i, ok := slices.BinarySearchFunc(r.list, key, func(q Requirement, key string) int { return strings.Compare(q.key, key) })
	if !ok {
		return nil, false
	}
	return &r.list[i], true
}

// Len is the number of keys.
func (r Requirements) Len() int { return len(r.list) }

// Keys returns the keys, sorted.
func (r Requirements) Keys() []string {
	keys := make([]string, len(r.list))
	for i := range r.list {
		keys[i] = r.list[i].key
	}
	return keys
}

// All yields the requirements by key.
func (r Requirements) All() iter.Seq[Requirement] { return slices.Values(r.list) }

// HasMinValues reports whether any requirement has minValues.
func (r Requirements) HasMinValues() bool {
	return slices.ContainsFunc(r.list, func(q Requirement) bool { return q.min.set })
}

// Equal reports whether both require the same.
func (r Requirements) Equal(o Requirements) bool {
	return slices.EqualFunc(r.list, o.list, Requirement.Equal)
}

// Mismatch says why two sets of requirements don't go together.
type Mismatch struct {
	Key string
	// Undefined: one side demands the key, the other doesn't know it.
	Undefined bool
	// Have is the side asked, Want what was asked of it.
	Have, Want Requirement
}

// String reads like "zone In [a] does not meet zone In [b]".
func (m *Mismatch) String() string {
	if m.Undefined {
		return fmt.Sprintf("label %q is not defined, but %s is required", m.Key, m.Want)
	}
	return fmt.Sprintf("%s does not meet %s", m.Have, m.Want)
}

// Compatible reports why what r describes can't satisfy o, or nil if it can:
// every key of o must be known to r, unless o has NotIn or DoesNotExist for it
// or it is in allowUndefined; and common keys must intersect. It is not
// symmetric: an existing node (its labels) is r, a pod is o.
func (r Requirements) Compatible(o Requirements, allowUndefined []string) *Mismatch {
	if want := r.undefined(o, allowUndefined); want != nil {
		return &Mismatch{Key: want.key, Undefined: true, Have: r.Get(want.key), Want: *want}
	}
	return r.Intersects(o)
}

// accepts is whether Compatible finds nothing, without wording it.
func (r Requirements) accepts(o Requirements, allowUndefined []string) bool {
	if r.undefined(o, allowUndefined) != nil {
		return false
	}
	have, _ := r.clash(o)
	return have == nil
}

// undefined is the first requirement of o whose key r must know and doesn't.
func (r Requirements) undefined(o Requirements, allowed []string) *Requirement {
	for i := range o.list {
		want := &o.list[i]
		if !r.Has(want.key) && !want.forgiving() && !slices.Contains(allowed, want.key) {
			return want
		}
	}
	return nil
}

// Intersects reports why r and o exclude each other, or nil if they don't.
// Keys that only one of them has don't count, and two requirements of which each
// is NotIn or DoesNotExist never exclude each other: a missing label meets both.
func (r Requirements) Intersects(o Requirements) *Mismatch {
	have, want := r.clash(o)
	if have == nil {
		return nil
	}
	return &Mismatch{Key: have.key, Have: *have, Want: *want}
}

// clash is the first pair of requirements that exclude each other, nil if none do.
func (r Requirements) clash(o Requirements) (have, want *Requirement) {
	a, b := r.list, o.list
	for len(a) > 0 && len(b) > 0 {
		switch c := compareKeys(a[0], b[0]); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			if !a[0].HasIntersection(b[0]) && !(a[0].forgiving() && b[0].forgiving()) {
				return &a[0], &b[0]
			}
			a, b = a[1:], b[1:]
		}
	}
	return nil, nil
}

// Specs renders the requirements, by key. [NewRequirements] of them is r again.
func (r Requirements) Specs() []RequirementSpec {
	specs := make([]RequirementSpec, 0, len(r.list))
	for _, q := range r.list {
		specs = append(specs, q.Specs()...)
	}
	return specs
}

// String lists the requirements by key.
func (r Requirements) String() string {
	parts := make([]string, len(r.list))
	for i, q := range r.list {
		parts[i] = q.String()
	}
	return strings.Join(parts, "; ")
}

// MarshalJSON writes a list of [RequirementSpec], by key.
func (r Requirements) MarshalJSON() ([]byte, error) { return json.Marshal(r.Specs()) }

// UnmarshalJSON reads a list of [RequirementSpec].
func (r *Requirements) UnmarshalJSON(data []byte) error {
	var specs []RequirementSpec
	if err := json.Unmarshal(data, &specs); err != nil {
		return err
	}
	*r = NewRequirements(specs...)
	return nil
}
