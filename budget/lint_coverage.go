package budget

import (
	"fmt"
	"slices"
	"time"
)

// lintCoverage reports reasons that are without limit, or closed for good.
func (l *linter) lintCoverage() {
	if len(l.budgets) == 0 {
		return
	}
	var zero []Reason
	for _, reason := range Reasons() {
		gap := l.gap(reason)
		switch {
		case !slices.ContainsFunc(l.budgets, func(b Budget) bool { return b.appliesTo(reason) }):
			l.add(Finding{Code: ReasonNeverCovered, Severity: SeverityWarning, Reasons: []Reason{reason},
				Message: "nothing ever limits " + thisReason + ": no budget is about it, and a list of your own replaces the default of 10%",
				Fix:     "add a budget for it, or remove reasons from one"})
		case gap.total > 0:
			l.reportGap(reason, gap)
		}
		if l.alwaysZero(reason) {
			zero = append(zero, reason)
		}
	}
	l.reportZero(zero)
}

// unlimited is the time of a year in which nothing limits a reason.
type unlimited struct {
	total time.Duration
	// others are the scheduled budgets, none about the reason, that are active
	// in it; nil if there is none at some of the time.
	others []int
}

func (l *linter) gap(reason Reason) unlimited {
	var gap unlimited
	between := true
	others := make([]bool, len(l.budgets))
	for _, state := range l.states {
		covered, other := false, false
		for i, open := range state.open {
			covered = covered || open && l.budgets[i].appliesTo(reason)
			other = other || open && l.budgets[i].scheduled()
		}
		if covered {
			continue
		}
		gap.total += state.total
		between = between && other
		for i, open := range state.open {
			others[i] = others[i] || open && l.budgets[i].scheduled()
		}
	}
	for i, other := range others {
		if other && between {
			gap.others = append(gap.others, i)
		}
	}
	return gap
}

func (l *linter) reportGap(reason Reason, gap unlimited) {
	f := Finding{Code: UnlimitedOutsideWindow, Severity: SeverityWarning, Reasons: []Reason{reason}, Budgets: l.about(reason)}
	share := fmt.Sprintf("%.1f%% of the time, as from %s", float64(gap.total)/float64(l.to.Sub(l.from))*100, l.firstGap(reason))
	if len(gap.others) > 0 {
		f.Code, f.Fix = ReasonGap, "add "+thisReason+" to the budgets that are active then"
		f.Message = "some budget is active at all times, but nothing limits " + thisReason + " for " + share
		f.Instead = l.withReason(reason, gap.others)
	} else {
		f.Fix = "add a budget without a schedule that is the limit at all other times"
		f.Message = "a window limits nothing outside of itself: there is no limit to " + thisReason + " for " + share
		f.Instead = l.insteadOfGap(f.Budgets)
	}
	l.add(f)
}

// about lists the budgets that are about a reason.
func (l *linter) about(reason Reason) []int {
	var about []int
	for i, b := range l.budgets {
		if b.appliesTo(reason) {
			about = append(about, i)
		}
	}
	return about
}

// withReason adds a reason to some of the budgets.
func (l *linter) withReason(reason Reason, to []int) []Budget {
	all := cloneAll(l.budgets)
	for _, i := range to {
		all[i].Reasons = append(all[i].Reasons, reason)
	}
	return all
}

// insteadOfGap proposes what was most likely meant: windows in which nodes may
// go are an "only then", and beside windows in which they may not the default
// of 10% goes on.
func (l *linter) insteadOfGap(involved []int) []Budget {
	reasons := l.gapReasons(involved)
	closed := func(i int) bool { return l.set.budgets[i].limit(l.size()) <= 0 }
	if !slices.ContainsFunc(involved, func(i int) bool { return !closed(i) }) {
		return append(cloneAll(l.budgets), Budget{Nodes: "10%", Reasons: reasons})
	}
	if pauses := l.pauses(involved, reasons); len(pauses) > 0 {
		return append(cloneAll(l.budgets), pauses...)
	}
	return nil
}

// gapReasons are the reasons that have a gap and the same budgets; nil if these
// are all reasons there are.
func (l *linter) gapReasons(involved []int) []Reason {
	var reasons []Reason
	for _, reason := range Reasons() {
		if slices.Equal(l.about(reason), involved) && l.gap(reason).total > 0 {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == len(Reasons()) {
		return nil
	}
	return reasons
}

// pauses allow nothing at times when none of the given budgets is active.
func (l *linter) pauses(budgets []int, reasons []Reason) []Budget {
	var windows []*Window
	for _, i := range budgets {
		if w := l.set.budgets[i].window; w != nil {
			windows = append(windows, w)
		}
	}
	if len(windows) == 0 {
		return nil
	}
	return zeroBudgets(pausesBetween(windows), windows[0].zone, reasons)
}

func cloneAll(budgets []Budget) []Budget {
	clones := make([]Budget, len(budgets))
	for i, b := range budgets {
		clones[i] = b.clone()
	}
	return clones
}

// firstGap is the first stretch in which nothing limits the reason.
func (l *linter) firstGap(reason Reason) string {
	for i := range l.set.Forecast(l.from, l.to, reason, Usage{Total: l.size()}) {
		if i.Limit >= Unlimited {
			const layout = "Mon 2006-01-02 15:04"
			return i.From.UTC().Format(layout) + " to " + i.To.UTC().Format(layout) + " UTC"
		}
	}
	return "never"
}

func (l *linter) alwaysZero(reason Reason) bool {
	for _, state := range l.states {
		closed := false
		for i, open := range state.open {
			closed = closed || open && l.budgets[i].appliesTo(reason) && l.set.budgets[i].limit(l.size()) <= 0
		}
		if !closed {
			return false
		}
	}
	return len(l.states) > 0
}

// size is the size of the pool, or one that makes every percentage count.
func (l *linter) size() int {
	if l.options.Nodes > 0 {
		return l.options.Nodes
	}
	return 100
}

func (l *linter) reportZero(reasons []Reason) {
	if len(reasons) == 0 {
		return
	}
	f := Finding{Code: AlwaysZero, Severity: SeverityInfo, Fix: "leave it so if that is what you want"}
	f.Message = "no node can be disrupted at any time, for any reason"
	if len(reasons) < len(Reasons()) {
		f.Reasons, f.Message = reasons, "no node can be disrupted at any time for "+thisReason
	}
	var windows []int // in which somebody thought that nodes may go
	for i := range l.budgets {
		switch c := &l.set.budgets[i]; {
		case !slices.ContainsFunc(reasons, c.spec.appliesTo):
		case c.limit(l.size()) <= 0:
			f.Budgets = append(f.Budgets, i)
		case c.window != nil:
			windows = append(windows, i)
		}
	}
	if len(windows) > 0 {
		f.Severity, f.Fix = SeverityWarning, "the smallest of the active budgets wins: allow nothing at the times between the windows, rather than always"
		f.Instead = l.insteadOfZero(f.Budgets, windows)
	}
	l.add(f)
}

// insteadOfZero proposes "only in these windows" when all that is in their way
// is a permanent zero.
func (l *linter) insteadOfZero(zeros, windows []int) []Budget {
	if len(zeros) != 1 || !l.set.budgets[zeros[0]].always() {
		return nil
	}
	pauses := l.pauses(windows, l.budgets[zeros[0]].clone().Reasons)
	if len(pauses) == 0 {
		return nil
	}
	rest := cloneAll(l.budgets)
	return append(slices.Delete(rest, zeros[0], zeros[0]+1), pauses...)
}
