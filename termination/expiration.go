package termination

import "time"

// Expiry says when a node comes to the end of its life.
type Expiry struct {
	// At is creation + expireAfter; nil if the node never expires.
	At *time.Time `json:"at,omitempty"`
	// Due: now is not before At, and the claim isn't being deleted yet.
	Due bool `json:"due,omitempty"`
	// GoneBy is the longest possible life: At + terminationGracePeriod. It is
	// nil if the node never expires, or if nothing bounds its drain.
	GoneBy *time.Time `json:"goneBy,omitempty"`
}

// ExpiryOf reports when the claim expires, after Karpenter v1.14: expireAfter
// from creation, to the instant, whatever budgets and replacements say. A claim
// that is being deleted still has its instant, but isn't due any more.
func ExpiryOf(claim *Claim, now time.Time) Expiry {
	if claim.ExpireAfter == nil {
		return Expiry{}
	}
	at := claim.CreationTimestamp.Add(*claim.ExpireAfter)
	e := Expiry{At: &at, Due: claim.DeletionTimestamp == nil && !now.Before(at)}
	if claim.TerminationGracePeriod != nil {
		by := at.Add(*claim.TerminationGracePeriod)
		e.GoneBy = &by
	}
	return e
}
