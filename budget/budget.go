package budget

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reason is why a node would be disrupted. Its text is Karpenter's.
type Reason string

// The reasons that a budget can name.
const (
	Underutilized Reason = "Underutilized"
	Empty         Reason = "Empty"
	Drifted       Reason = "Drifted"
)

// Reasons lists the reasons in the order in which we print them. The slice is
// the caller's.
func Reasons() []Reason { return []Reason{Drifted, Empty, Underutilized} }

// Unlimited is the limit when no budget applies. It is Karpenter's number.
const Unlimited = math.MaxInt32

// Budget is an entry of spec.disruption.budgets of a karpenter.sh/v1 NodePool,
// and decodes from that JSON. It limits how many nodes of the pool may be in
// disruption at the same time, not how many in total.
type Budget struct {
	// Reasons that the budget is about; nil means all of them. An empty list
	// that isn't nil is about none, so that the budget does nothing.
	Reasons []Reason `json:"reasons,omitzero"`
	// Nodes is a number ("5") or a percentage of the pool's nodes, rounded up
	// ("10%").
	Nodes string `json:"nodes"`
	// Schedule is a cron expression, in UTC unless TimeZone says otherwise, for
	// the instants at which the budget becomes active; it stays so for Duration.
	// Without both the budget is always active. While it is not, it limits
	// nothing.
	Schedule *string          `json:"schedule,omitempty"`
	Duration *metav1.Duration `json:"duration,omitempty"`
	// TimeZone is an IANA name ("Europe/Berlin") whose wall clock the schedule
	// follows. Karpenter has no such field: it never comes from or goes to JSON.
	TimeZone string `json:"-"`
	// Once makes the budget active in one stretch of time, such as a freeze over
	// the holidays, in place of a schedule. Karpenter has no such field either.
	Once *Span `json:"-"`
}

// scheduled reports whether the budget has a window rather than being always
// active.
func (b Budget) scheduled() bool { return b.recurs() || b.Once != nil }

func (b Budget) recurs() bool { return b.Schedule != nil || b.Duration != nil }

func (b Budget) schedule() string {
	if b.Schedule == nil {
		return ""
	}
	return *b.Schedule
}

func (b Budget) duration() time.Duration {
	if b.Duration == nil {
		return 0
	}
	return b.Duration.Duration
}

// appliesTo reports whether the budget limits the reason.
func (b Budget) appliesTo(reason Reason) bool {
	return b.Reasons == nil || slices.Contains(b.Reasons, reason)
}

// clone returns a budget that shares nothing with b.
func (b Budget) clone() Budget {
	b.Reasons = slices.Clone(b.Reasons)
	if b.Schedule != nil {
		b.Schedule = new(*b.Schedule)
	}
	if b.Duration != nil {
		b.Duration = new(*b.Duration)
	}
	if b.Once != nil {
		b.Once = new(*b.Once)
	}
	return b
}

// amount is a parsed Nodes field.
type amount struct {
	value   int
	percent bool
}

// parseAmount reads "5" or "10%" the way Karpenter does: a plain integer is cut
// to 32 bits ("4294967296" is 0), signs and leading zeros are fine, and so are
// percentages below 0 and above 100.
func parseAmount(nodes string) (amount, bool) {
	if n, err := strconv.Atoi(nodes); err == nil {
		return amount{value: int(int32(n))}, true
	}
	digits, ok := strings.CutSuffix(nodes, "%")
	n, err := strconv.Atoi(digits)
	return amount{value: n, percent: true}, ok && err == nil
}

// of is the number of nodes that the amount means for a pool of total nodes.
func (a amount) of(total int) int {
	if !a.percent {
		return a.value
	}
	f := math.Ceil(float64(a.value) * float64(total) / 100)
	if f >= math.MaxInt64 {
		return math.MinInt64 // what the conversion yields on amd64: allow nothing
	}
	return int(f)
}
