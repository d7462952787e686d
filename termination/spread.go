package termination

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Jitter is a part of span, at least 0 and less than span, that depends on the
// UID alone: take it off expireAfter when a claim is created, and nodes that
// were made together don't expire together. The UIDs of many claims spread
// evenly. A span of zero or less gives none.
func Jitter(uid types.UID, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(uid))
	return time.Duration(mix(h.Sum64()) % uint64(span))
}

// mix makes all bits of x depend on all others; FNV alone leaves the high bits
// of similar texts alike.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Day is how many nodes expire within one day.
type Day struct {
	// Start of the day: it lasts until 24 hours later, exclusive.
	Start time.Time `json:"start"`
	// Names of the claims that expire in it, sorted.
	Names []string `json:"names,omitempty"`
}

// ExpirySpread reports how many of the claims expire on each of the coming days,
// from now on. The first day also has those that are overdue. Claims that are
// being deleted, that never expire, or that do so later are left out.
func ExpirySpread(claims []*Claim, now time.Time, days int) []Day {
	spread := make([]Day, max(0, days))
	for i := range spread {
		spread[i].Start = now.Add(time.Duration(i) * 24 * time.Hour)
	}
	for _, c := range present(claims) {
		e := ExpiryOf(c, now)
		if e.At == nil || c.DeletionTimestamp != nil {
			continue
		}
		day := max(0, int(e.At.Sub(now)/(24*time.Hour)))
		if day < days {
			spread[day].Names = append(spread[day].Names, c.Name)
		}
	}
	for _, day := range spread {
		slices.Sort(day.Names)
	}
	return spread
}

// ExpiryOptions holds expirations back. The zero value holds none, as Karpenter
// v1.14 does: expiration heeds no budget.
type ExpiryOptions struct {
	// Allowed is how many nodes of each pool may be disrupted now; pools that are
	// missing may lose none. Nil, and all may go.
	Allowed map[string]int
	// Jitter brings the expiry of each claim forward by its [Jitter] of this span.
	Jitter time.Duration
	// Ramp spreads the nodes that are due when a window opens over this much of
	// it: each waits until its [Jitter] of Ramp past WindowStart, however often one
	// asks. Zero, and they go together.
	Ramp        time.Duration
	WindowStart time.Time
}

// Codes of what holds an expired node back.
const (
	// BudgetExhausted: no more nodes of its pool may go now.
	BudgetExhausted Code = "BudgetExhausted"
	// RampPending: its turn within the ramp comes later.
	RampPending Code = "RampPending"
)

// Expiration is a claim that is due, and whether it goes.
type Expiration struct {
	Claim *Claim    `json:"-"` // the caller's own
	At    time.Time `json:"at"`
	// Held says why it doesn't go yet; "" if it goes now. Until is when its turn
	// in the ramp comes.
	Held  Code       `json:"held,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// PlanExpirations lists the claims that are due at now, oldest expiry first, then
// by name, and says which of them go.
func PlanExpirations(claims []*Claim, now time.Time, opts ExpiryOptions) []Expiration {
	due := dueClaims(claims, now, opts.Jitter)
	used := map[string]int{}
	for i := range due {
		e := &due[i]
		if start := opts.WindowStart.Add(Jitter(e.Claim.UID, opts.Ramp)); now.Before(start) {
			e.Held, e.Until = RampPending, &start
			continue
		}
		if opts.Allowed != nil && used[e.Claim.Pool] >= opts.Allowed[e.Claim.Pool] {
			e.Held = BudgetExhausted
			continue
		}
		used[e.Claim.Pool]++
	}
	return due
}

func dueClaims(claims []*Claim, now time.Time, span time.Duration) []Expiration {
	var due []Expiration
	for _, c := range present(claims) {
		e := ExpiryOf(c, now)
		if e.At == nil || c.DeletionTimestamp != nil {
			continue
		}
		if at := e.At.Add(-Jitter(c.UID, span)); !now.Before(at) {
			due = append(due, Expiration{Claim: c, At: at})
		}
	}
	slices.SortFunc(due, func(a, b Expiration) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Claim.Name, b.Claim.Name), cmp.Compare(a.Claim.UID, b.Claim.UID))
	})
	return due
}
