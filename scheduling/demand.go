package scheduling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/node-disruption/disruption/annotations"
)

// Demand judges offerings by what a node to be launched requires. Only offerings
// are matched: a requirement on, say, the architecture does not filter types
// here.
type Demand struct {
	Requirements Requirements

	allowUndefined []string
	// byCapacity asks for one capacity type and nothing else, in the order in
	// which they are bought.
	byCapacity [3]Requirements
}

// Demand returns the demand of a node with these requirements. Well-known
// labels, and those of [Options.WellKnownLabels], need not be required for an
// offering to have them.
func (o Options) Demand(requirements Requirements) Demand {
	d := Demand{Requirements: requirements, allowUndefined: o.AllowUndefined()}
	key := annotations.For(o.Domain).CapacityType
	for i, capacityType := range []string{annotations.CapacityTypeReserved, annotations.CapacityTypeSpot, annotations.CapacityTypeOnDemand} {
		d.byCapacity[i] = NewRequirements().Add(In(key, capacityType))
	}
	return d
}

// AllowUndefined returns the labels that a new node may have although nothing
// requires them: Karpenter's well-known labels under the domain, and
// WellKnownLabels. It is what [Requirements.Compatible] takes for new nodes.
func (o Options) AllowUndefined() []string {
	return append(annotations.For(o.Domain).WellKnownLabels(), o.WellKnownLabels...)
}

// With is the same demand for other requirements.
func (d Demand) With(requirements Requirements) Demand {
	d.Requirements = requirements
	return d
}

// Accepts reports whether the offering would do, available or not.
func (d Demand) Accepts(o *Offering) bool {
	return d.Requirements.accepts(o.Requirements, d.allowUndefined)
}

// Cheapest returns the lowest price among the type's available offerings that
// would do, if there are any.
func (d Demand) Cheapest(t *InstanceType) (price float64, ok bool) {
	for i := range t.Offerings {
		if o := &t.Offerings[i]; o.Available && (!ok || o.Price < price) && d.Accepts(o) {
			price, ok = o.Price, true
		}
	}
	return price, ok
}

// cheapestListed is Cheapest among all offerings, available or not.
func (d Demand) cheapestListed(t *InstanceType) (price float64, ok bool) {
	for i := range t.Offerings {
		if o := &t.Offerings[i]; (!ok || o.Price < price) && d.Accepts(o) {
			price, ok = o.Price, true
		}
	}
	return price, ok
}

// WorstLaunchPrice returns what a node of the type may cost at worst: the
// dearest of its available offerings that would do, within the first capacity
// type that has any. Reserved capacity is bought first, then spot, then on
// demand. An offering that has a label which neither is well known nor says the
// capacity type, such as an unregistered reservation id, doesn't count.
func (d Demand) WorstLaunchPrice(t *InstanceType) (price float64, ok bool) {
	best := len(d.byCapacity)
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if !o.Available || !d.Accepts(o) {
			continue
		}
		switch rank := d.capacityRank(o, best); {
		case rank < best:
			best, price, ok = rank, math.Max(0, o.Price), true
		case rank == best && ok:
			price = math.Max(price, o.Price)
		}
	}
	return price, ok
}

// capacityRank is the place of the offering's capacity type in the order in which
// they are bought, looking no further than limit; past the end if it has none.
func (d Demand) capacityRank(o *Offering, limit int) int {
	for i := 0; i < len(d.byCapacity) && i <= limit; i++ {
		if d.byCapacity[i].accepts(o.Requirements, d.allowUndefined) {
			return i
		}
	}
	return len(d.byCapacity)
}

// Compatible returns the types with an available offering that would do, in the
// order given.
func (d Demand) Compatible(types []*InstanceType) []*InstanceType {
	return selectTypes(types, func(t *InstanceType) bool {
		_, ok := d.Cheapest(t)
		return ok
	})
}

// SortByPrice returns the types by the price of their cheapest available
// offering that would do, ties by name. The last unpriced of them have none, and
// stand in name order.
func (d Demand) SortByPrice(types []*InstanceType) (sorted []*InstanceType, unpriced int) {
	type priced struct {
		*InstanceType
		price float64
	}
	list := make([]priced, len(types))
	for i, t := range types {
		price, ok := d.Cheapest(t)
		if !ok {
			price, unpriced = math.Inf(1), unpriced+1
		}
		list[i] = priced{t, price}
	}
	slices.SortStableFunc(list, func(a, b priced) int {
		return cmp.Or(cmp.Compare(a.price, b.price), strings.Compare(a.Name, b.Name))
	})
	sorted = make([]*InstanceType, len(list))
	for i := range list {
		sorted[i] = list[i].InstanceType
	}
	return sorted, unpriced
}

// CheaperThan returns the types whose worst launch price is strictly below max,
// in the order given, or why those left offer too few values for minValues. No
// type left is no such error: zero types satisfy every minValues.
func (d Demand) CheaperThan(types []*InstanceType, max float64) ([]*InstanceType, *MinValuesError) {
	cheaper := selectTypes(types, func(t *InstanceType) bool {
		worst, ok := d.WorstLaunchPrice(t)
		return ok && worst < max
	})
	if _, err := SatisfyMinValues(cheaper, d.Requirements); err != nil {
		return nil, err
	}
	return cheaper, nil
}

// Truncate returns the first types by price, at most n. With [MinValuesStrict]
// it says so if those that remain offer too few values for minValues.
func (d Demand) Truncate(types []*InstanceType, n int, policy MinValuesPolicy) ([]*InstanceType, *MinValuesError) {
	sorted, _ := d.SortByPrice(types)
	kept := sorted[:min(max(n, 0), len(sorted))]
	if policy != MinValuesBestEffort {
		if _, err := SatisfyMinValues(kept, d.Requirements); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// Running is a node that a new one would replace.
type Running struct {
	InstanceType *InstanceType
	// Labels of the node; a missing zone or capacity type matches all of them.
	Labels map[string]string
}

// CheaperThanSameType keeps a move from replacing nodes by one of them: it
// returns the types that cost less than the cheapest way to run any running
// type that is among types as well. All others must be cheaper too. What a
// running type costs is the lowest price of the offerings that match its labels,
// available or not, over the nodes of that type; a type with no such offering
// costs nothing, so that no type is left. If no type is shared the price is not
// bounded, but types with no price are left out all the same.
func (d Demand) CheaperThanSameType(types []*InstanceType, running []Running) ([]*InstanceType, *MinValuesError) {
	lowest := math.MaxFloat64
	for _, t := range types {
		if price, ok := d.priceOfRunning(t.Name, running); ok {
			lowest = min(lowest, price)
		}
	}
	return d.CheaperThan(types, lowest)
}

func (d Demand) priceOfRunning(name string, running []Running) (lowest float64, shared bool) {
	priced := false
	for _, r := range running {
		if r.InstanceType.Name != name {
			continue
		}
		shared = true
		price, ok := d.With(LabelRequirements(r.Labels)).cheapestListed(r.InstanceType)
		if ok && (!priced || price < lowest) {
			lowest, priced = price, true
		}
	}
	return lowest, shared
}

func selectTypes(types []*InstanceType, keep func(*InstanceType) bool) []*InstanceType {
	kept := make([]*InstanceType, 0, len(types))
	for _, t := range types {
		if keep(t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// MinValuesError says which minValues a list of instance types can't meet.
type MinValuesError struct {
	Shortfalls []Shortfall `json:"shortfalls"` // by key
}

// Shortfall is one key of which there are too few values.
type Shortfall struct {
	Key  string `json:"key"`
	Have int    `json:"have"`
	Want int    `json:"want"`
}

// Error reads like "minValues not met: zone has 2 of 3".
func (e *MinValuesError) Error() string {
	parts := make([]string, len(e.Shortfalls))
	for i, s := range e.Shortfalls {
		parts[i] = fmt.Sprintf("%s has %d of %d", s.Key, s.Have, s.Want)
	}
	return "minValues not met: " + strings.Join(parts, ", ")
}

// SatisfyMinValues reports how many of the types, from the first on, it takes to
// offer as many values of each key as requirements demand by minValues: 0 if
// they demand none or there are no types, all if even those are too few. The
// values that count are those that the type's own requirement lists, even under
// NotIn, and whether or not requirements allow them.
func SatisfyMinValues(types []*InstanceType, requirements Requirements) (needed int, short *MinValuesError) {
	if len(types) == 0 || !requirements.HasMinValues() {
		return 0, nil
	}
	var wanted []Requirement
	for q := range requirements.All() {
		if q.min.set {
			wanted = append(wanted, q)
		}
	}
	seen := make([]map[string]struct{}, len(wanted))
	for i, t := range types {
		if countValues(t, wanted, seen); len(shortfalls(wanted, seen)) == 0 {
			return i + 1, nil
		}
	}
	return len(types), &MinValuesError{shortfalls(wanted, seen)}
}

func countValues(t *InstanceType, wanted []Requirement, seen []map[string]struct{}) {
	for i, q := range wanted {
		if seen[i] == nil {
			seen[i] = map[string]struct{}{}
		}
		for _, v := range t.Requirements.Get(q.key).values {
			seen[i][v] = struct{}{}
		}
	}
}

func shortfalls(wanted []Requirement, seen []map[string]struct{}) []Shortfall {
	var short []Shortfall
	for i, q := range wanted {
		if want := int(q.min.n); len(seen[i]) < want {
			short = append(short, Shortfall{Key: q.key, Have: len(seen[i]), Want: want})
		}
	}
	return short
}
