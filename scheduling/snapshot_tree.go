package scheduling

import "math/bits"

// freeTree holds what every destination has free, in scheduling order, under a
// tree of maxima, so that the first node with room is found in O(log n).
//
// Row i of max is one vertex; its children are rows 2i and 2i+1, the root is
// row 1, and node n is row leaves+n. Rows that stand for no node, or for one
// that refuses every pod, hold -1 throughout.
type freeTree struct {
	width  int // resources in a row
	leaves int // a power of two, at least 64
	max    []int64
}

func newFreeTree(nodes, width int) *freeTree {
	leaves := max(64, 1<<bits.Len(uint(max(nodes, 1)-1)))
	t := &freeTree{width: width, leaves: leaves, max: make([]int64, 2*leaves*width)}
	for i := range t.max {
		t.max[i] = -1
	}
	return t
}

// row is the row of one vertex.
func (t *freeTree) row(vertex int) []int64 {
	return t.max[vertex*t.width : (vertex+1)*t.width]
}

// free is what node has free; the slice is the tree's own.
func (t *freeTree) free(node int) []int64 { return t.row(t.leaves + node) }

// seal computes the maxima, once all leaves are set.
func (t *freeTree) seal() {
	for v := t.leaves - 1; v >= 1; v-- {
		row, left, right := t.row(v), t.row(2*v), t.row(2*v+1)
		for r := range row {
			row[r] = max(left[r], right[r])
		}
	}
}

// fits reports whether the vertex has each amount somewhere below it.
func (t *freeTree) fits(vertex int, need []amount) bool {
	row := t.row(vertex)
	for _, a := range need {
		if row[a.resource] < a.milli {
			return false
		}
	}
	return true
}

// next is the first node, not before from, that has the amounts free and whose
// bit is set in mask; -1 if there is none.
func (t *freeTree) next(from int, need []amount, mask bitset) int {
	if from >= t.leaves {
		return -1
	}
	v := t.leaves + from
	for v&1 == 0 { // the largest subtree that begins at from
		v >>= 1
	}
	for {
		if t.holds(v, mask) && t.fits(v, need) {
			if v >= t.leaves {
				return v - t.leaves
			}
			v *= 2
			continue
		}
		for v&1 == 1 {
			v >>= 1
		}
		if v == 0 {
			return -1
		}
		v++
	}
}

// holds reports whether mask has a bit below the vertex. It looks only where
// that is one word or one bit, and says yes higher up.
func (t *freeTree) holds(vertex int, mask bitset) bool {
	switch words := t.leaves / 64; {
	case vertex >= t.leaves:
		return mask.has(vertex - t.leaves)
	case vertex >= words && vertex < 2*words:
		return vertex-words < len(mask) && mask[vertex-words] != 0
	}
	return true
}

// bitset is a set of small integers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 != 0 }
func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) unset(i int)    { b[i>>6] &^= 1 << (i & 63) }

func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// each calls yield with every member in ascending order, until it says stop.
func (b bitset) each(yield func(int) bool) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			if !yield(i<<6 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}
