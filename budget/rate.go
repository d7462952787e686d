package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rate limits how many disruptions begin over time, which a [Budget] doesn't:
// under "one at a time" a fast controller replaces a whole pool in an
// afternoon. It stands beside the budgets, and the smaller answer counts.
//
// The two limits are independent, and a zero Period or MinInterval means none.
type Rate struct {
	// Reasons that are limited and counted; nil means all.
	Reasons []Reason
	// Nodes is how many disruptions may begin within any stretch of Period.
	Nodes  int
	Period time.Duration
	// MinInterval is how long after the begin of one disruption the next may begin.
	MinInterval time.Duration
}

// Start is the begin of a disruption of a node.
type Start struct {
	At     time.Time `json:"at"`
	Node   string    `json:"node"`
	Reason Reason    `json:"reason"`
}

// History is what rates need to remember: disruptions that have begun. It is a
// plain value that the caller keeps, for instance as JSON in an annotation, so
// that a restart forgets nothing. The zero value is an empty history.
type History struct {
	Starts []Start `json:"starts"`
}

// Add returns a history that holds the given starts as well, in order of time,
// then name. The same start added twice counts once. The receiver is unchanged.
func (h History) Add(starts ...Start) History {
	all := slices.Concat(h.Starts, starts)
	slices.SortFunc(all, func(a, b Start) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Node, b.Node), strings.Compare(string(a.Reason), string(b.Reason)))
	})
	return History{Starts: slices.CompactFunc(all, func(a, b Start) bool {
		return a.At.Equal(b.At) && a.Node == b.Node && a.Reason == b.Reason
	})}
}

// Since returns a history without the starts before an instant. What lies
// further back than the longest Period and MinInterval isn't needed any more.
func (h History) Since(at time.Time) History {
	var kept []Start
	for _, s := range h.Starts {
		if !s.At.Before(at) {
			kept = append(kept, s)
		}
	}
	return History{Starts: kept}
}

// Memory is how far back a history must reach for the given rates.
func Memory(rates []Rate) time.Duration {
	var longest time.Duration
	for _, r := range rates {
		longest = max(longest, r.Period, r.MinInterval)
	}
	return longest
}

// RateVerdict is how many disruptions may begin at an instant.
type RateVerdict struct {
	// Allowed is [Unlimited] if no rate is about the reason.
	Allowed int `json:"allowed"`
	// Binding is the index of the rate that allows least; -1 if none limits.
	Binding int `json:"binding"`
	// Code is [Unbounded], [Available], [UsedUp] (Nodes in Period have begun),
	// [TooSoon], [Closed] (Nodes is 0) or [Unreadable] (the rate is invalid).
	Code Code `json:"code"`
	// Next is the first instant at which one may begin if none does until then:
	// the instant asked about if that is now, nil if that never comes.
	Next *time.Time `json:"next,omitempty"`
	// Counted are the starts that keep the binding rate down.
	Counted []Start `json:"counted,omitempty"`
}

// TooSoon is the code of a rate whose MinInterval hasn't passed yet.
const TooSoon Code = "TooSoon"

// EvaluateRates reports how many disruptions for reason may begin at now.
//
// Each start counts from its instant on until just before Period has passed,
// so the answer depends on what has begun and not on how often somebody asks.
// A start after now, by a clock that went wrong, counts as well. With a
// MinInterval at most one may begin at a time. A rate that makes no sense (see
// [ValidateRates]) allows none.
func EvaluateRates(rates []Rate, now time.Time, reason Reason, history History) RateVerdict {
	v := RateVerdict{Allowed: Unlimited, Binding: -1, Code: Unbounded, Next: &now}
	for i, r := range rates {
		if r.Reasons != nil && !slices.Contains(r.Reasons, reason) {
			continue
		}
		one := r.evaluate(now, history)
		next := later(v.Next, one.Next)
		if one.Allowed < v.Allowed {
			v, v.Binding = one, i
		}
		v.Next = next
	}
	return v
}

// later is the later of two instants, nil being never.
func later(a, b *time.Time) *time.Time {
	if a == nil || b == nil {
		return nil
	}
	if a.After(*b) {
		return a
	}
	return b
}

func (r Rate) evaluate(now time.Time, history History) RateVerdict {
	if len(r.validate(nil)) > 0 {
		return RateVerdict{Code: Unreadable}
	}
	spaced, counted := r.interval(now, history), r.period(now, history)
	next := later(spaced.Next, counted.Next)
	v := counted
	if spaced.Allowed < counted.Allowed {
		v = spaced
	}
	v.Next = next
	return v
}

// interval applies MinInterval.
func (r Rate) interval(now time.Time, history History) RateVerdict {
	if r.MinInterval == 0 {
		return RateVerdict{Allowed: Unlimited, Code: Unbounded, Next: &now}
	}
	recent := r.since(now.Add(-r.MinInterval), history)
	if len(recent) == 0 {
		return RateVerdict{Allowed: 1, Code: Available, Next: &now}
	}
	next := recent[len(recent)-1].At.Add(r.MinInterval)
	return RateVerdict{Code: TooSoon, Next: &next, Counted: recent}
}

// period applies Nodes per Period.
func (r Rate) period(now time.Time, history History) RateVerdict {
	if r.Period == 0 {
		return RateVerdict{Allowed: Unlimited, Code: Unbounded, Next: &now}
	}
	recent := r.since(now.Add(-r.Period), history)
	if left := r.Nodes - len(recent); left > 0 {
		return RateVerdict{Allowed: left, Code: Available, Next: &now, Counted: recent}
	}
	if r.Nodes == 0 {
		return RateVerdict{Code: Closed, Counted: recent}
	}
	next := recent[len(recent)-r.Nodes].At.Add(r.Period)
	return RateVerdict{Code: UsedUp, Next: &next, Counted: recent}
}

// since lists the starts after an instant that the rate counts, by time.
func (r Rate) since(at time.Time, history History) []Start {
	var recent []Start
	for _, s := range history.Add().Starts {
		if s.At.After(at) && (r.Reasons == nil || slices.Contains(r.Reasons, s.Reason)) {
			recent = append(recent, s)
		}
	}
	return recent
}

// String is the verdict as an event would put it, on one line.
func (v RateVerdict) String() string {
	var text string
	switch v.Code {
	case Unbounded:
		return "no rate limits disruption"
	case Available:
		return fmt.Sprintf("%d may begin by rates[%d]", v.Allowed, v.Binding)
	case Closed:
		return fmt.Sprintf("none may begin: rates[%d] allows none", v.Binding)
	case Unreadable:
		return fmt.Sprintf("none may begin: rates[%d] is invalid", v.Binding)
	case TooSoon:
		last := v.Counted[len(v.Counted)-1]
		text = fmt.Sprintf("none may begin: rates[%d] asks for a pause after %s, at %s", v.Binding, last.Node, last.At.UTC().Format(time.RFC3339))
	case UsedUp:
		text = fmt.Sprintf("none may begin: rates[%d] is used up by %d", v.Binding, len(v.Counted))
	}
	if v.Next != nil {
		text += "; the next may begin at " + v.Next.UTC().Format(time.RFC3339)
	}
	return text
}

// ValidateRates reports what is wrong with rates, by field path; a nil path
// stands for "rates".
func ValidateRates(rates []Rate, path *field.Path) field.ErrorList {
	if path == nil {
		path = field.NewPath("rates")
	}
	var errs field.ErrorList
	for i, r := range rates {
		errs = append(errs, r.validate(path.Index(i))...)
	}
	return errs
}

func (r Rate) validate(path *field.Path) field.ErrorList {
	errs := validateReasons(r.Reasons, child(path, "reasons"))
	if r.Nodes < 0 {
		errs = append(errs, field.Invalid(child(path, "nodes"), r.Nodes, "must not be negative"))
	}
	if r.Period < 0 || r.Period == 0 && r.Nodes > 0 {
		errs = append(errs, field.Invalid(child(path, "period"), r.Period.String(), "must be positive where nodes is"))
	}
	if r.MinInterval < 0 {
		errs = append(errs, field.Invalid(child(path, "minInterval"), r.MinInterval.String(), "must not be negative"))
	}
	return errs
}
