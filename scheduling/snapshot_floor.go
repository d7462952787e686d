package scheduling

import (
	"math"
	"slices"
	"sync/atomic"
)

// floor remembers how far searches for the first node with room had to go.
// Whoever needs at least as much of everything need not look before that. In a
// full cluster most searches find nothing, each after a walk over much of the
// tree; with a floor, few have to walk.
type floor struct {
	known atomic.Pointer[[]searched]
}

// searched says that no node before first has what was needed.
type searched struct {
	need  []amount
	first int
}

const (
	// maxSearched bounds what a floor remembers: every search reads all of it.
	maxSearched = 32
	// farEnough is how many nodes a search must have passed over to be noted.
	farEnough = 64
)

// of returns the first node at which the amounts might be had.
func (f *floor) of(need []amount) int {
	from := 0
	for _, s := range f.all() {
		if s.first > from && covers(need, s.need) {
			from = s.first
		}
	}
	return from
}

func (f *floor) all() []searched {
	if known := f.known.Load(); known != nil {
		return *known
	}
	return nil
}

// note remembers a search that began at from and ended at first, -1 if nothing
// was found. Of two that race one may be lost, which costs time, nothing else.
func (f *floor) note(need []amount, from, first int) {
	if first < 0 {
		first = math.MaxInt
	}
	if first-from < farEnough {
		return
	}
	kept := []searched{{need, first}}
	for _, s := range f.all() {
		if s.first > first || !covers(s.need, need) {
			kept = append(kept, s)
		}
	}
	if len(kept) > maxSearched {
		kept = withoutLowest(kept)
	}
	f.known.Store(&kept)
}

func withoutLowest(list []searched) []searched {
	lowest := 0
	for i := range list {
		if list[i].first < list[lowest].first {
			lowest = i
		}
	}
	return slices.Delete(list, lowest, lowest+1)
}

// covers reports whether a has at least as much as b of everything. Both are in
// the order of the resources.
func covers(a, b []amount) bool {
	for _, want := range b {
		for len(a) > 0 && a[0].resource < want.resource {
			a = a[1:]
		}
		if len(a) == 0 || a[0].resource != want.resource || a[0].milli < want.milli {
			return false
		}
	}
	return true
}
