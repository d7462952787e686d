package consolidation

import (
	"cmp"
	"slices"
	"strings"
)

// Order sorts by savings ratio, dearest first, ties by name: the order in which
// Karpenter v1.14 considers candidates. The argument is not written to.
func Order(sources []Source) []Source {
	ordered := slices.Clone(sources)
	slices.SortFunc(ordered, func(a, b Source) int { return compareRatio(a.ratio(), b.ratio(), a.Name, b.Name) })
	return ordered
}

func (s Source) ratio() float64 { return SavingsRatio(s.Price, s.RescheduleDisruptionCost) }

// compareRatio puts the larger ratio first. cmp.Compare gives NaN a place of its
// own (last here), which < does not.
func compareRatio(a, b float64, nameA, nameB string) int {
	return cmp.Or(cmp.Compare(b, a), compareNames(nameA, nameB))
}

func compareNames(a, b string) int { return strings.Compare(a, b) }
