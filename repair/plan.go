package repair

import (
	"fmt"
	"strings"
	"time"
)

// RetryAfter is how long Karpenter v1.14 waits before it asks again about a node
// that the breaker held back.
const RetryAfter = 5 * time.Minute

// Plan is the answer for a fleet. It belongs to the caller.
type Plan struct {
	// Actions to carry out, by priority, then the longest overdue first, then by
	// the node's name.
	Actions []Action `json:"actions,omitempty"`
	// Findings has one entry for every node, by name.
	Findings []Finding `json:"findings,omitempty"`
	// Groups holds the breakers that were read, by pool and domain.
	Groups []Reading `json:"groups,omitempty"`
	// NextCheck is when the answer may change though nothing else does; nil if
	// never.
	NextCheck *time.Time `json:"nextCheck,omitempty"`
	// State to pass to the next call. It counts the actions as carried out.
	State State `json:"state"`
}

// Reading is one breaker's count.
type Reading struct {
	Group Group `json:"group"`
	Count Count `json:"count"`
}

// Action is what to do about one node.
type Action struct {
	Node  string `json:"node"`
	Claim string `json:"claim,omitempty"`
	Pool  string `json:"pool,omitempty"`
	// Step that is taken. Only Replace touches the claim.
	Step Step `json:"step"`
	// Delete the claim. False when it is being deleted already and only its
	// deadline is to be pulled forward, and for every other remedy.
	Delete bool `json:"delete"`
	// Deadline is the termination timestamp to write on the claim before it is
	// deleted; nil leaves it as it is.
	Deadline *time.Time `json:"deadline,omitempty"`
	Match    Match      `json:"match"`
}

// Code says how a node fared. Codes are stable; wording is not.
type Code string

// The codes.
const (
	CodeHealthy       Code = "Healthy"       // no policy matches
	CodeRecovering    Code = "Recovering"    // healthy again, not for long enough; counts as sick
	CodeNotYet        Code = "NotYet"        // sick, and tolerated until Finding.Until
	CodeRepair        Code = "Repair"        // an action was taken
	CodeInProgress    Code = "InProgress"    // being deleted, or a remedy still has time
	CodeExhausted     Code = "Exhausted"     // every step of the ladder has been taken
	CodeHeldByBreaker Code = "HeldByBreaker" // too many nodes are sick
	CodeHeldByStorm   Code = "HeldByStorm"   // the breaker tripped, and it has not been calm for long enough
	CodeHeldByLimit   Code = "HeldByLimit"   // as many as may be are under repair
	CodePaused        Code = "Paused"        // the pool's repair is paused
	CodeVetoed        Code = "Vetoed"        // an annotation forbids it
	CodeHeld          Code = "Held"          // Options.Hold gave a reason
	CodeNoClaim       Code = "NoClaim"       // sick, but nothing manages it
	CodeSeveralClaims Code = "SeveralClaims" // sick, but two claims have it
)

// Finding says how one node fared, and why.
type Finding struct {
	Node  string `json:"node"`
	Claim string `json:"claim,omitempty"`
	Pool  string `json:"pool,omitempty"`
	Code  Code   `json:"code"`
	// Match is nil for a node that no policy calls sick.
	Match *Match `json:"match,omitempty"`
	// Until is when the finding may change by itself, nil if it won't.
	Until *time.Time `json:"until,omitempty"`
	// Count is the breaker's reading, if it or a storm holds the node back.
	Count *Count `json:"count,omitempty"`
	// InFlight of Limit nodes are under repair, if that holds the node back.
	InFlight int `json:"inFlight,omitempty"`
	Limit    int `json:"limit,omitempty"`
	// Detail is the reason that Options.Hold gave, or the annotation of a veto.
	Detail string `json:"detail,omitempty"`
}

// String is a sentence for a human.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.verdict())
	if f.Match != nil && f.Match.Policy < 0 {
		b.WriteString("; repair was requested")
	} else if f.Match != nil {
		fmt.Fprintf(&b, "; %s is %s", f.Match.Type, f.Match.Status)
		if f.Match.Reason != "" {
			fmt.Fprintf(&b, " (%s)", f.Match.Reason)
		}
	}
	if f.Until != nil {
		fmt.Fprintf(&b, "; until %s", f.Until.UTC().Format(time.RFC3339))
	}
	return b.String()
}

// verdict is the first part of the sentence.
func (f *Finding) verdict() string {
	switch f.Code {
	case CodeHealthy:
		return "healthy"
	case CodeRecovering:
		return "healthy again, but not for long enough"
	case CodeNotYet:
		return "sick, and tolerated for now"
	case CodeRepair:
		return "to be repaired"
	case CodeInProgress:
		return "under repair"
	case CodeExhausted:
		return "every remedy has been tried"
	case CodeHeldByBreaker:
		return "too many nodes are sick: " + f.Count.String()
	case CodeHeldByStorm:
		return "too many nodes were sick a short while ago: " + f.Count.String()
	case CodeHeldByLimit:
		return fmt.Sprintf("%d under repair, at most %d may be at once", f.InFlight, f.Limit)
	case CodePaused:
		return "repair of pool " + f.Pool + " is paused"
	case CodeVetoed:
		return "annotation " + f.Detail + " forbids repair"
	case CodeHeld:
		return "held back: " + f.Detail
	case CodeNoClaim:
		return "no node claim manages this node"
	}
	return "several node claims have this node"
}
