package repair

import (
	"fmt"
	"strconv"
	"strings"
)

// DefaultMaxUnhealthy is the share of a pool's nodes that may be sick, rounded
// up, before Karpenter v1.14 stops repairing them.
const DefaultMaxUnhealthy = "20%"

// Breaker says how many nodes may be sick before none is repaired: what looks
// like many sick nodes is more often a sick network, or a sick control plane.
type Breaker struct {
	// MaxUnhealthy is a percentage ("40%"), a number ("2") or a range ("[3-5]",
	// within which repair is allowed and outside of which it isn't). Empty means
	// [DefaultMaxUnhealthy]. What can't be read allows nothing.
	MaxUnhealthy string
	// RoundDown rounds a percentage down, as Cluster API's health checks do. By
	// default it is rounded up: 20% of 3 is 1.
	RoundDown bool
	// AtLeast is how many sick nodes never trip the breaker, whatever the
	// percentage says.
	AtLeast int
}

// Count is a breaker's reading.
type Count struct {
	// Nodes is how many there are, Sick how many of them match a policy,
	// tolerated or not, and Leaving how many others are on their way out or were
	// taken by this pass; it stays 0 unless Options.Strict is set.
	Nodes   int `json:"nodes"`
	Sick    int `json:"sick"`
	Leaving int `json:"leaving"`
	// Min and Max bound how many may be sick.
	Min int `json:"min"`
	Max int `json:"max"`
	// Err says why the breaker can't be read. It then allows nothing.
	Err error `json:"-"` // in JSON its text, as "error"
}

// Allowed reports whether nodes may be repaired.
func (c Count) Allowed() bool {
	n := c.Sick + c.Leaving
	return c.Err == nil && c.Min <= n && n <= c.Max
}

// String gives the numbers: "2 of 4 nodes sick, 1 allowed".
func (c Count) String() string {
	if c.Err != nil {
		return c.Err.Error()
	}
	text := fmt.Sprintf("%d of %d nodes sick", c.Sick, c.Nodes)
	if c.Leaving > 0 {
		text += fmt.Sprintf(" and %d leaving", c.Leaving)
	}
	if c.Min > 0 {
		return text + fmt.Sprintf(", repaired only at %d to %d", c.Min, c.Max)
	}
	return text + fmt.Sprintf(", %d allowed", c.Max)
}

// Read reports whether sick of nodes may be repaired.
func (b Breaker) Read(nodes, sick int) Count {
	c := Count{Nodes: nodes, Sick: sick}
	c.Min, c.Max, c.Err = b.bounds(nodes)
	return c
}

// bounds returns how many of n nodes may be sick.
func (b Breaker) bounds(n int) (low, high int, err error) {
	text := b.MaxUnhealthy
	if text == "" {
		text = DefaultMaxUnhealthy
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		return parseRange(text, inner)
	}
	high, err = scale(text, n, b.RoundDown)
	return 0, max(high, b.AtLeast), err
}

// parseRange reads the "3-5]" of "[3-5]".
func parseRange(text, inner string) (low, high int, err error) {
	a, b, dash := strings.Cut(strings.TrimSuffix(inner, "]"), "-")
	low, errLow := parseCount(a)
	high, errHigh := parseCount(b)
	if !dash || !strings.HasSuffix(inner, "]") || errLow != nil || errHigh != nil || low > high {
		return 0, 0, fmt.Errorf("%q is not a range like \"[3-5]\"", text)
	}
	return low, high, nil
}

// scale reads a number, or a percentage of n.
func scale(text string, n int, roundDown bool) (int, error) {
	digits, isPercent := strings.CutSuffix(text, "%")
	value, err := parseCount(digits)
	switch {
	case err != nil || isPercent && value > 100:
		return 0, fmt.Errorf("%q is neither a number nor a percentage up to 100%%", text)
	case !isPercent:
		return value, nil
	case roundDown:
		return n * value / 100, nil
	}
	return (n*value + 99) / 100, nil
}

// maxCount bounds what is read as a count, so that no product overflows.
const maxCount = 1 << 30

// parseCount reads digits only: no sign, no blanks.
func parseCount(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, err
	}
	return int(min(n, maxCount)), nil
}
