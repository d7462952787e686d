package budget

import (
	"fmt"
	"slices"
	"time"
)

// lintShadows reports budgets that never decide anything: without all of them
// every answer would be the same.
func (l *linter) lintShadows() {
	decides := make([]bool, len(l.budgets))
	by := make([][]bool, len(l.budgets)) // who decides while it is active
	for i := range by {
		by[i] = make([]bool, len(l.budgets))
	}
	for _, state := range l.states {
		for _, reason := range Reasons() {
			for _, size := range l.sizes() {
				l.decide(state, reason, size, decides, by)
			}
		}
	}
	for i := range l.budgets {
		if !decides[i] && slices.Contains(by[i], true) {
			l.reportShadow(i, by[i])
		}
	}
}

// plainer reports whether c says the same more simply than b: always rather
// than at times, a number rather than a percentage.
func (c *compiled) plainer(b *compiled) bool {
	if c.always() != b.always() {
		return c.always()
	}
	return b.nodes.percent && !c.nodes.percent
}

// decide marks the budget that sets the limit while the given ones are active;
// of several that say the same, the plainest.
func (l *linter) decide(state openState, reason Reason, size int, decides []bool, by [][]bool) {
	limit, first := Unlimited, -1
	for i, open := range state.open {
		if !open || !l.budgets[i].appliesTo(reason) {
			continue
		}
		c := &l.set.budgets[i]
		own := c.limit(size)
		if own < limit || own == limit && first >= 0 && c.plainer(&l.set.budgets[first]) {
			limit, first = own, i
		}
	}
	if first < 0 {
		return
	}
	decides[first] = true
	for i, open := range state.open {
		if open && l.budgets[i].appliesTo(reason) {
			by[i][first] = true
		}
	}
}

func (l *linter) reportShadow(i int, by []bool) {
	f := Finding{Code: ShadowedBudget, Severity: SeverityWarning, Budgets: []int{i}, Fix: "remove it, or the one that is in its way"}
	for k, decides := range by {
		if decides {
			f.Budgets = append(f.Budgets, k)
		}
	}
	others := fmt.Sprintf("budgets%v always say less, or the same", f.Budgets[1:])
	if len(f.Budgets) == 2 {
		others = fmt.Sprintf("budgets[%d] (%s) always says less, or the same", f.Budgets[1], l.set.budgets[f.Budgets[1]].text)
	}
	f.Message = fmt.Sprintf("budgets[%d] (%s) never decides anything: %s", i, l.set.budgets[i].text, others)
	l.add(f)
}

// lintTimeline goes through the year of each reason, for what shows in the
// order of its intervals only.
func (l *linter) lintTimeline() {
	for _, reason := range Reasons() {
		var before, current Interval
		seen := 0
		shortest := Interval{}
		missed := map[[2]int]bool{}
		for next := range l.set.Forecast(l.from, l.to, reason, Usage{Total: l.size()}) {
			if seen >= 2 && isSliver(before, current, next) {
				l.reportSliver(reason, before, current, next, missed)
			}
			if seen >= 2 && current.Limit > 0 && before.Limit == 0 && next.Limit == 0 {
				if length := current.To.Sub(current.From); shortest.To.IsZero() || length < shortest.To.Sub(shortest.From) {
					shortest = current
				}
			}
			if seen >= 1 && current.Limit == 0 && next.Limit > 0 {
				l.lintNight(reason, next.From)
			}
			before, current = current, next
			seen++
		}
		l.lintGraceOver(reason, shortest)
	}
}

// isSliver reports whether current is an hour or less between the windows of
// two budgets, with a higher limit than either.
func isSliver(before, current, next Interval) bool {
	return current.To.Sub(current.From) <= time.Hour && before.Limit < current.Limit && next.Limit < current.Limit && before.Binding != next.Binding
}

func (l *linter) reportSliver(reason Reason, before, current, next Interval, seen map[[2]int]bool) {
	pair := [2]int{before.Binding, next.Binding}
	if seen[pair] {
		return
	}
	seen[pair] = true
	l.add(Finding{Code: WindowsDoNotMeet, Severity: SeverityWarning, Reasons: []Reason{reason}, Budgets: pair[:],
		Message: fmt.Sprintf("between the windows of budgets[%d] and budgets[%d] the limit of %s is %s for %s, as at %s", pair[0], pair[1], thisReason, FormatLimit(current.Limit),
			formatDuration(current.To.Sub(current.From)), current.From.UTC().Format(time.RFC3339)),
		Fix: fmt.Sprintf("if they were meant to meet, make the window of budgets[%d] that much longer", pair[0])})
}

// lintGraceOver compares the grace period with the shortest stretch in which
// nodes may go. Budgets gate the start of a disruption, not its end.
func (l *linter) lintGraceOver(reason Reason, shortest Interval) {
	grace := l.options.TerminationGracePeriod
	length := shortest.To.Sub(shortest.From)
	if grace == nil || shortest.To.IsZero() || *grace <= length {
		return
	}
	f := Finding{Code: GraceExceedsWindow, Severity: SeverityInfo, Reasons: []Reason{reason},
		Message: fmt.Sprintf("%s may begin in a window of %s, as at %s, but a drain may take the terminationGracePeriod of %s and go on long after it: budgets gate the start only",
			thisReason, formatDuration(length), shortest.From.UTC().Format(time.RFC3339), formatDuration(*grace)),
		Fix: "close the window that much earlier, or shorten terminationGracePeriod"}
	if shortest.Binding >= 0 {
		f.Budgets = []int{shortest.Binding}
	}
	l.add(f)
}
