package budget

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String puts the budget into words, as in
// `10% for Empty, "0 8 * * mon-fri" Europe/Berlin for 10h`.
func (b Budget) String() string {
	var text strings.Builder
	text.WriteString(b.Nodes)
	if b.Reasons != nil {
		text.WriteString(" for " + joinReasons(b.Reasons))
	}
	if b.Once != nil {
		text.WriteString(", once " + b.Once.String())
	}
	if b.recurs() {
		text.WriteString(", " + strconv.Quote(b.schedule()))
		if b.TimeZone != "" {
			text.WriteString(" " + b.TimeZone)
		}
		text.WriteString(" for " + formatDuration(b.duration()))
	}
	return text.String()
}

// String is the span in UTC.
func (s Span) String() string {
	return "from " + s.From.UTC().Format(time.RFC3339) + " to " + s.To.UTC().Format(time.RFC3339)
}

func joinReasons(reasons []Reason) string {
	if len(reasons) == 0 {
		return "no reason"
	}
	names := make([]string, len(reasons))
	for i, r := range reasons {
		names[i] = string(r)
	}
	return strings.Join(names, "+")
}

// formatDuration writes 10h rather than 10h0m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// FormatLimit writes a limit as people read it: "unlimited" for [Unlimited].
func FormatLimit(limit int) string {
	if limit >= Unlimited {
		return "unlimited"
	}
	return strconv.Itoa(limit)
}

// String is the verdict as an event would put it, on one line.
func (v Verdict) String() string {
	text := fmt.Sprintf("%s: %s", v.Reason, v.why())
	if v.NextChange != nil {
		text += "; this changes at " + v.NextChange.UTC().Format(time.RFC3339)
	}
	return text
}

func (v Verdict) why() string {
	switch v.Code() {
	case Unreadable:
		return "no node may be disrupted, a budget can't be read: " + v.Errors[0].Error()
	case Unbounded:
		return "no budget limits disruption"
	case Closed:
		return "no node may be disrupted: " + v.binding() + " allows none"
	case UsedUp:
		return fmt.Sprintf("no node may be disrupted: %s allows %d of %d, used up by %d in disruption or not ready", v.binding(), v.Limit, v.Usage.Total, v.Usage.Consuming)
	}
	text := fmt.Sprintf("%d of %d nodes may be disrupted: %s", v.Allowed, v.Usage.Total, v.binding())
	if v.Usage.Consuming > 0 {
		text += fmt.Sprintf(" allows %d, less %d in disruption or not ready", v.Limit, v.Usage.Consuming)
	}
	return text
}

func (v Verdict) binding() string {
	return fmt.Sprintf("budgets[%d] (%s)", v.Binding, v.Budgets[v.Binding].Budget)
}
