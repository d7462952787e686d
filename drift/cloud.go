package drift

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Difference is what one of a cloud's own checks found: nothing while Reason is
// empty and Err is nil. The functions below make them, and [First] picks one.
type Difference struct {
	Reason Reason
	// Detail says what differs, for a human.
	Detail string
	// InPlace: the cloud can put it right without replacing the node.
	InPlace bool
	// Err says why the check could not be made.
	Err error
}

// UpdatedInPlace marks what was found, if anything, as put right in place.
func (d Difference) UpdatedInPlace() Difference {
	d.InPlace = d.Reason != ""
	return d
}

// First returns the first difference in order, which decides, or the error of a
// check that could not be made before it. A difference that needs no new node
// yields to a later one that does.
func First(checks ...Difference) (Difference, error) {
	var inPlace Difference
	for _, d := range checks {
		switch {
		case d.Err != nil:
			return Difference{}, d.Err
		case d.Reason != "" && !d.InPlace:
			return d, nil
		case d.Reason != "" && inPlace.Reason == "":
			inPlace = d
		}
	}
	return inPlace, nil
}

// StaticHash compares the hash annotation of a node class with that of a claim,
// under the cloud's own keys, as the pool's is compared: what is missing, or of
// another version, is no difference. [Hash] makes the hash.
func StaticHash(reason Reason, class, claim map[string]string, hashKey, versionKey string) Difference {
	want, have := stampOf(class, hashKey, versionKey), stampOf(claim, hashKey, versionKey)
	if !want.differs(have) {
		return Difference{}
	}
	return Difference{Reason: reason, Detail: fmt.Sprintf("hash %s, the node class has %s", have.hash, want.hash)}
}

// OneOf finds a difference when have, such as an image's id, is none of allowed.
// An empty list has not been resolved yet, which is an error and not drift.
func OneOf(reason Reason, have string, allowed []string) Difference {
	switch {
	case len(allowed) == 0:
		return unknown(reason, "nothing is allowed")
	case have == "":
		return unknown(reason, "the node has none")
	case slices.Contains(allowed, have):
		return Difference{}
	}
	return Difference{Reason: reason, Detail: fmt.Sprintf("%s is not one of %s", have, list(allowed))}
}

// SameSet finds a difference when have and want, such as security groups, don't
// hold the same members; order and repetition don't matter. An empty want has not
// been resolved yet, which is an error and not drift.
func SameSet(reason Reason, have, want []string) Difference {
	if len(want) == 0 {
		return unknown(reason, "nothing is wanted")
	}
	missing, extra := without(want, have), without(have, want)
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, list(missing)+" missing")
	}
	if len(extra) > 0 {
		parts = append(parts, list(extra)+" not wanted")
	}
	if len(parts) == 0 {
		return Difference{}
	}
	return Difference{Reason: reason, Detail: strings.Join(parts, ", ")}
}

// Equal finds a difference when have is not want. Empty is a value here like any
// other: a placement group that is not asked for.
func Equal[T cmp.Ordered](reason Reason, have, want T) Difference {
	if have == want {
		return Difference{}
	}
	return Difference{Reason: reason, Detail: fmt.Sprintf("%v, not %v", quote(have), quote(want))}
}

// OlderThan finds a difference in a node that has lived for longer than age. With
// an age below its expireAfter, a node is replaced under the budgets for drift,
// and its pods move gracefully, before it expires by force.
func OlderThan(reason Reason, created time.Time, age time.Duration, now time.Time) Difference {
	if now.Sub(created) <= age {
		return Difference{}
	}
	return Difference{Reason: reason, Detail: fmt.Sprintf("older than %s", age)}
}

// ErrUnknown is wrapped by the error of a check that lacks its input.
var ErrUnknown = errors.New("not known yet")

func unknown(reason Reason, what string) Difference {
	return Difference{Err: fmt.Errorf("%s: %s: %w", reason, what, ErrUnknown)}
}

func quote(v any) string {
	if s, ok := v.(string); ok && s == "" {
		return `""`
	}
	return fmt.Sprint(v)
}

// without returns what of a is not in b, sorted.
func without(a, b []string) []string {
	left := slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	slices.Sort(left)
	return slices.Compact(left)
}

func list(values []string) string {
	sorted := slices.Sorted(slices.Values(values))
	return strings.Join(slices.Compact(sorted), ", ")
}
