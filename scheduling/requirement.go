package scheduling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
)

// Requirement is the set of values that one label may have: some values, all
// values but some, or the integers between two bounds. It is immutable; the zero
// value allows nothing (DoesNotExist) and has no key.
type Requirement struct {
	key string
	// values are those in the set, or with complement those not in it; sorted.
	values     []string
	complement bool
	gte, lte   bound // of complements only
	min        bound // minValues
}

// bound is an optional integer.
type bound struct {
	n   int64
	set bool
}

// NewRequirement makes a requirement of spec. It normalises the beta spelling
// of well-known keys, and reads bounds as Karpenter does: what is no integer
// counts as 0, what is too large as the largest; Gt 5 is at least 6; Gt of the
// largest integer allows nothing, and forgets minValues. An unknown operator
// reads as Exists.
func NewRequirement(spec RequirementSpec) Requirement {
	r := Requirement{key: annotations.NormalizeLabel(spec.Key)}
	if spec.MinValues != nil {
		r.min = bound{int64(*spec.MinValues), true}
	}
	switch spec.Operator {
	case corev1.NodeSelectorOpIn:
		r.values = sortedSet(spec.Values)
	case corev1.NodeSelectorOpNotIn:
		r.values, r.complement = sortedSet(spec.Values), true
	case corev1.NodeSelectorOpDoesNotExist:
	case corev1.NodeSelectorOpGt:
		n := firstInteger(spec.Values)
		if n == math.MaxInt64 {
			return Requirement{key: r.key}
		}
		r.complement, r.gte = true, bound{n + 1, true}
	case OpGte:
		r.complement, r.gte = true, bound{firstInteger(spec.Values), true}
	case corev1.NodeSelectorOpLt:
		// The least integer wraps around to the largest, as it does in Karpenter.
		r.complement, r.lte = true, bound{firstInteger(spec.Values) - 1, true}
	case OpLte:
		r.complement, r.lte = true, bound{firstInteger(spec.Values), true}
	default:
		r.complement = true
	}
	return r
}

// In is the requirement that key has one of values.
func In(key string, values ...string) Requirement {
	return Requirement{key: annotations.NormalizeLabel(key), values: sortedSet(values)}
}

// NotIn is the requirement that key has none of values, or is missing.
func NotIn(key string, values ...string) Requirement {
	return Requirement{key: annotations.NormalizeLabel(key), values: sortedSet(values), complement: true}
}

// Exists is the requirement that key has any value.
func Exists(key string) Requirement { return NotIn(key) }

// DoesNotExist is the requirement that key is missing.
func DoesNotExist(key string) Requirement { return In(key) }

func sortedSet(values []string) []string {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func firstInteger(values []string) int64 {
	if len(values) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(values[0], 10, 64)
	return n
}

// Key is the label, in its stable spelling.
func (r Requirement) Key() string { return r.key }

// Values returns the values of In, or those that NotIn excludes, sorted.
func (r Requirement) Values() []string { return slices.Clone(r.values) }

// Complement reports whether Values are excluded rather than required.
func (r Requirement) Complement() bool { return r.complement }

// AtLeast returns the lower bound, itself allowed, if there is one.
func (r Requirement) AtLeast() (n int64, ok bool) { return r.gte.n, r.gte.set }

// AtMost returns the upper bound, itself allowed, if there is one.
func (r Requirement) AtMost() (n int64, ok bool) { return r.lte.n, r.lte.set }

// MinValues returns how many values the instance types must offer between them,
// if that is demanded.
func (r Requirement) MinValues() (n int, ok bool) { return int(r.min.n), r.min.set }

// WithMinValues returns r with another minValues.
func (r Requirement) WithMinValues(n int) Requirement {
	r.min = bound{int64(n), true}
	return r
}

// Operator is In, NotIn, Exists or DoesNotExist. Bounds don't show in it: what
// has bounds and excludes nothing is Exists.
func (r Requirement) Operator() corev1.NodeSelectorOperator {
	switch {
	case r.complement && len(r.values) > 0:
		return corev1.NodeSelectorOpNotIn
	case r.complement:
		return corev1.NodeSelectorOpExists
	case len(r.values) > 0:
		return corev1.NodeSelectorOpIn
	}
	return corev1.NodeSelectorOpDoesNotExist
}

// forgiving reports whether a missing label satisfies the requirement.
func (r Requirement) forgiving() bool { return r.complement == (len(r.values) > 0) }

// Len is how many values are allowed, counting a complement as all integers but
// those excluded. So 1 always means a single known value.
func (r Requirement) Len() int {
	if r.complement {
		return math.MaxInt - len(r.values)
	}
	return len(r.values)
}

// Has reports whether value is allowed. With a bound only integers are.
func (r Requirement) Has(value string) bool {
	_, listed := slices.BinarySearch(r.values, value)
	return listed != r.complement && within(value, r.gte, r.lte)
}

func within(value string, gte, lte bound) bool {
	if !gte.set && !lte.set {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && (!gte.set || n >= gte.n) && (!lte.set || n <= lte.n)
}

// Intersection returns what both allow, under the key of r, with the larger of
// their minValues. Values that the common bounds rule out vanish, also from a
// list of exclusions, which may turn NotIn into Exists.
func (r Requirement) Intersection(o Requirement) Requirement {
	gte, lte := tighten(r, o)
	both := Requirement{key: r.key, min: larger(r.min, o.min)}
	if disjoint(gte, lte) {
		return both
	}
	both.complement = r.complement && o.complement
	both.values = slices.DeleteFunc(combine(r, o), func(v string) bool { return !within(v, gte, lte) })
	if both.complement {
		both.gte, both.lte = gte, lte
	}
	return both
}

// combine returns the values of the intersection of r and o, bounds aside.
func combine(r, o Requirement) []string {
	switch {
	case r.complement && o.complement:
		return sortedSet(slices.Concat(r.values, o.values))
	case r.complement:
		return without(o.values, r.values, false)
	case o.complement:
		return without(r.values, o.values, false)
	}
	return without(r.values, o.values, true)
}

// without returns the values that are found, or not found, in the sorted list.
func without(values, list []string, found bool) []string {
	kept := make([]string, 0, len(values))
	for _, v := range values {
		if _, ok := slices.BinarySearch(list, v); ok == found {
			kept = append(kept, v)
		}
	}
	return kept
}

// HasIntersection reports whether a value is allowed by both, without building
// the intersection. Two complements always have one unless their bounds are
// disjoint: exclusions are not held against the integers between the bounds.
func (r Requirement) HasIntersection(o Requirement) bool {
	gte, lte := tighten(r, o)
	switch {
	case disjoint(gte, lte):
		return false
	case r.complement && o.complement:
		return true
	case r.complement:
		r, o = o, r
	}
	for _, v := range r.values {
		if o.Has(v) {
			return true
		}
	}
	return false
}

func tighten(r, o Requirement) (gte, lte bound) {
	gte, lte = larger(r.gte, o.gte), r.lte
	if !lte.set || o.lte.set && o.lte.n < lte.n {
		lte = o.lte
	}
	return gte, lte
}

func larger(a, b bound) bound {
	if !a.set || b.set && b.n > a.n {
		return b
	}
	return a
}

func disjoint(gte, lte bound) bool { return gte.set && lte.set && gte.n > lte.n }

// Equal reports whether both are the same requirement.
func (r Requirement) Equal(o Requirement) bool {
	return r.key == o.key && r.complement == o.complement && r.gte == o.gte && r.lte == o.lte &&
		r.min == o.min && slices.Equal(r.values, o.values)
}

// Specs renders the requirement back: one spec, or up to three when bounds are
// set. Only the first carries minValues. [NewRequirements] of them is r again.
func (r Requirement) Specs() []RequirementSpec {
	var specs []RequirementSpec
	add := func(op corev1.NodeSelectorOperator, values []string) {
		specs = append(specs, RequirementSpec{Key: r.key, Operator: op, Values: values})
	}
	if !r.complement || len(r.values) > 0 || !r.gte.set && !r.lte.set {
		add(r.Operator(), r.Values())
	}
	if r.gte.set {
		add(OpGte, []string{strconv.FormatInt(r.gte.n, 10)})
	}
	if r.lte.set {
		add(OpLte, []string{strconv.FormatInt(r.lte.n, 10)})
	}
	if n, ok := r.MinValues(); ok {
		specs[0].MinValues = &n
	}
	return specs
}

// String reads like "topology.kubernetes.io/zone In [a b]".
func (r Requirement) String() string {
	parts := make([]string, 0, 3)
	for _, s := range r.Specs() {
		switch s.Operator {
		case OpGte:
			parts = append(parts, ">= "+s.Values[0])
		case OpLte:
			parts = append(parts, "<= "+s.Values[0])
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			parts = append(parts, string(s.Operator))
		default:
			parts = append(parts, fmt.Sprintf("%s %v", s.Operator, s.Values))
		}
	}
	text := r.key + " " + strings.Join(parts, ", ")
	if r.min.set {
		text += fmt.Sprintf(" (minValues %d)", r.min.n)
	}
	return text
}

func compareKeys(a, b Requirement) int { return cmp.Compare(a.key, b.key) }
