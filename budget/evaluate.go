package budget

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Usage is how many nodes a pool has, and how many of them use up the budget
// already. [Count] derives it from the nodes.
type Usage struct {
	// Total is what percentages are taken of: the pool's nodes that are managed
	// and initialised, and whose instance isn't terminating.
	Total int `json:"total"`
	// Consuming is how many of these are being disrupted, or not ready.
	Consuming int `json:"consuming"`
}

// Verdict is how many nodes may be disrupted for a reason at an instant. In JSON,
// too, [Unlimited] is the number 2147483647.
type Verdict struct {
	Reason Reason `json:"reason"`
	// Limit is the most nodes that may be in disruption at once; it is
	// [Unlimited] if no budget applies, and 0 if any budget can't be read.
	Limit int `json:"limit"`
	// OwnLimit is what the budgets for this reason say by themselves: the same
	// as Limit unless a budget for other reasons can't be read.
	OwnLimit int `json:"ownLimit"`
	// Usage is what the verdict was asked for.
	Usage Usage `json:"usage"`
	// Allowed is how many more nodes may be disrupted now: Limit less those that
	// consume it already, and never below zero.
	Allowed int `json:"allowed"`
	// Binding is the index of the budget that sets Limit, the first if several
	// do; -1 if none limits anything.
	Binding int `json:"binding"`
	// NextChange is when Limit changes next if the pool stays as it is; nil if
	// it doesn't within five years.
	NextChange *time.Time `json:"nextChange,omitempty"`
	// Budgets holds the state of each budget, in the order of the list.
	Budgets []Status `json:"budgets,omitempty"`
	// Errors are the budgets that can't be read at this instant.
	Errors field.ErrorList `json:"-"` // in JSON each is with its budget
}

// State says whether a budget is active. Its text is API.
type State string

const (
	// Inactive: the window is closed, the budget limits nothing.
	Inactive State = "Inactive"
	// Active: the window is open, or the budget has none.
	Active State = "Active"
	// Unknown: the schedule or zone can't be read. The budget allows nothing.
	Unknown State = "Unknown"
)

// Status is what one budget has to say at an instant.
type Status struct {
	// Budget is the budget in words, as [Budget.String] has it.
	Budget string `json:"budget"`
	// Applies is whether the budget is about the reason that was asked for.
	Applies bool `json:"applies"`
	// State is whether its window is open.
	State State `json:"state"`
	// Limit is [Unlimited] while the budget is inactive.
	Limit int `json:"limit"`
	// Err is why the budget can't be read, nil if it can.
	Err *field.Error `json:"-"` // in JSON its text, as "error"
}

// horizonYears is how far ahead we look for changes.
const horizonYears = 5

// Evaluate reports how many more nodes of a pool may be disrupted for a reason
// at now, as Karpenter v1.14 counts.
//
// The smallest limit among the active budgets that name the reason, or no
// reason at all, wins. Percentages round up, so 5% of 10 nodes allows one.
// Nodes that are not ready or being disrupted, for whatever reason, count
// against the answer. A budget that can't be read brings it to zero.
func (s *Set) Evaluate(now time.Time, reason Reason, usage Usage) Verdict {
	v := Verdict{Reason: reason, Limit: Unlimited, OwnLimit: Unlimited, Usage: usage, Binding: -1,
		Budgets: make([]Status, len(s.budgets))}
	for i := range s.budgets {
		b := &s.budgets[i]
		status := b.status(now, reason, usage.Total)
		v.Budgets[i] = status
		if status.Applies {
			v.OwnLimit = min(v.OwnLimit, status.Limit)
		}
		switch {
		case status.Err != nil:
			if len(v.Errors) == 0 {
				v.Limit, v.Binding = 0, i
			}
			v.Errors = append(v.Errors, status.Err)
		case status.Applies && status.Limit < v.Limit && len(v.Errors) == 0:
			v.Limit, v.Binding = status.Limit, i
		}
	}
	v.Allowed = remaining(v.Limit, usage.Consuming)
	if at, ok := s.nextChange(now, v); ok {
		v.NextChange = &at
	}
	return v
}

// remaining is what a limit leaves when some of it is used up.
func remaining(limit, consuming int) int {
	if limit >= Unlimited {
		return Unlimited
	}
	return max(0, limit-consuming)
}

// status evaluates one budget.
func (c *compiled) status(now time.Time, reason Reason, total int) Status {
	applies := c.spec.appliesTo(reason)
	switch {
	case len(c.broken) > 0:
		return Status{Budget: c.text, Applies: applies, State: Unknown, Err: c.broken[0]}
	case c.window == nil || c.window.Active(now):
		s := Status{Budget: c.text, Applies: applies, State: Active, Err: c.badNodes}
		if s.Err == nil {
			s.Limit = min(c.nodes.of(total), Unlimited)
		}
		return s
	}
	return Status{Budget: c.text, Applies: applies, State: Inactive, Limit: Unlimited}
}

// limit is what the budget allows while it is active, zero if it can't be read.
// Karpenter knows limits below zero; nothing can follow from the difference.
func (c *compiled) limit(total int) int {
	if c.badNodes != nil || len(c.broken) > 0 {
		return 0
	}
	return max(0, min(c.nodes.of(total), Unlimited))
}

// counts reports whether the budget can have a say about reason: broken ones
// have about all.
func (c *compiled) counts(reason Reason) bool {
	return c.badNodes != nil || len(c.broken) > 0 || c.spec.appliesTo(reason)
}

// always reports whether the budget is active at all times.
func (c *compiled) always() bool {
	return c.window == nil || c.window.constant && c.window.open
}

// nextChange finds the first instant after now at which the limit of v, taken
// for zero if below, isn't what it is now: a lower one begins, or all that set
// it have ended.
func (s *Set) nextChange(now time.Time, v Verdict) (time.Time, bool) {
	v.Limit = max(0, v.Limit)
	limit := now.AddDate(horizonYears, 0, 0)
	at := limit
	var equal int
	for i := range s.budgets {
		b := &s.budgets[i]
		if !b.counts(v.Reason) {
			continue
		}
		switch own := b.limit(v.Usage.Total); {
		case own < v.Limit: // not active now
			if _, begins, ok := b.window.change(now, at); ok && begins.Before(at) {
				at = begins
			}
		case own == v.Limit && own < Unlimited:
			equal++
		}
	}
	if equal > 0 {
		at = s.heldUntil(now, at, v)
	}
	return at, at.Before(limit)
}

// heldUntil is the instant, at most limit, up to which some budget or other
// keeps up the limit of v.
func (s *Set) heldUntil(now, limit time.Time, v Verdict) time.Time {
	for t := now; ; {
		held := t
		for i := range s.budgets {
			b := &s.budgets[i]
			if !b.counts(v.Reason) || b.limit(v.Usage.Total) != v.Limit {
				continue
			}
			if b.always() {
				return limit
			}
			if open, until, _ := b.window.change(held, limit); open {
				held = until
			}
		}
		if held.Equal(t) || !held.Before(limit) {
			return held
		}
		t = held
	}
}

// Code says what kind of answer a verdict is. Its text is API.
type Code string

const (
	// Unbounded: no budget limits the reason now.
	Unbounded Code = "Unbounded"
	// Available: there is a limit, and it leaves room.
	Available Code = "Available"
	// UsedUp: as many nodes as the limit allows are in disruption or not ready.
	UsedUp Code = "UsedUp"
	// Closed: a budget allows nothing now.
	Closed Code = "Closed"
	// Unreadable: a budget can't be read, so nothing is allowed.
	Unreadable Code = "Unreadable"
)

// Code classifies the verdict.
func (v Verdict) Code() Code {
	switch {
	case len(v.Errors) > 0:
		return Unreadable
	case v.Binding < 0:
		return Unbounded
	case v.Allowed > 0:
		return Available
	case v.Limit <= 0:
		return Closed
	}
	return UsedUp
}

// Active lists the indexes of the budgets that limit the reason now, be it only
// because they can't be read.
func (v Verdict) Active() []int {
	var active []int
	for i, s := range v.Budgets {
		if s.State != Inactive && (s.Applies || s.Err != nil) {
			active = append(active, i)
		}
	}
	return active
}
