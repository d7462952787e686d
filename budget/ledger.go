package budget

import "maps"

// Ledger hands out allowances while moves are being planned. It is keyed by
// whatever an allowance belongs to: a pool, the group of a [Scope], or what the
// caller likes to cap, such as evictions in a namespace. A move of several nodes
// takes all it needs at once, or nothing. One ledger is about one reason and one
// pass. It is not safe for concurrent use.
type Ledger struct{ left map[string]int }

// NewLedger returns a ledger with the given allowances, of which it keeps a
// copy.
func NewLedger(allowed map[string]int) *Ledger {
	return &Ledger{left: maps.Clone(allowed)}
}

// Left reports how many nodes may still be taken under key. An unknown key has
// none.
func (l *Ledger) Left(key string) int { return max(0, l.left[key]) }

// Take takes one node under each of the keys, all or none, and reports whether
// it did. A key that is named twice is charged twice.
func (l *Ledger) Take(keys ...string) bool {
	for i, key := range keys {
		if l.left[key] <= 0 {
			l.Return(keys[:i]...)
			return false
		}
		l.left[key]--
	}
	return true
}

// Return gives back what [Ledger.Take] took for a move that is not made.
func (l *Ledger) Return(keys ...string) {
	for _, key := range keys {
		l.left[key]++
	}
}

// Clone returns a copy that is charged independently, to try something out.
func (l *Ledger) Clone() *Ledger { return NewLedger(l.left) }
