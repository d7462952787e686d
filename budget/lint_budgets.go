package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// lintFields reports what validation finds.
func (l *linter) lintFields() {
	for i, b := range l.budgets {
		for _, err := range b.validate(field.NewPath("budgets").Index(i)) {
			l.add(invalidFinding(i, b, err))
		}
	}
	if len(l.budgets) > MaxBudgets {
		l.add(Finding{Code: InvalidField, Severity: SeverityError, Message: field.TooMany(field.NewPath("budgets"), len(l.budgets), MaxBudgets).Error(), Fix: "merge some"})
	}
}

func invalidFinding(i int, b Budget, err *field.Error) Finding {
	f := Finding{Code: InvalidField, Severity: SeverityError, Budgets: []int{i}, Message: err.Error(), Fix: "correct it: " + err.Detail}
	if !strings.HasSuffix(err.Field, ".schedule") || err.Type != field.ErrorTypeInvalid {
		return f
	}
	if strings.HasPrefix(err.Detail, "schedule never fires") {
		f.Code, f.Fix = NeverFires, "write a date that exists"
		return f
	}
	f.Code, f.Fix = InvalidSchedule, "write five cron fields; until then no node of the pool is disrupted, whatever the reason"
	if fixed := cronFix(b.schedule()); fixed != "" {
		f.Fix = fmt.Sprintf("write %q; until then no node of the pool is disrupted, whatever the reason", fixed)
	}
	return f
}

// lintList reports lists and budgets that are empty in a way that surprises.
func (l *linter) lintList() {
	if l.budgets != nil && len(l.budgets) == 0 {
		l.add(Finding{Code: EmptyList, Severity: SeverityWarning,
			Message: "the list of budgets is empty, so nothing limits disruption; only a list that is absent means 10%",
			Fix:     "remove the list, or write the limit you want", Instead: []Budget{{Nodes: "10%"}}})
	}
	for i, b := range l.budgets {
		if b.Reasons != nil && len(b.Reasons) == 0 {
			l.add(Finding{Code: EmptyReasons, Severity: SeverityWarning, Budgets: []int{i},
				Message: fmt.Sprintf("budgets[%d] has an empty list of reasons, so it is about none and does nothing", i),
				Fix:     "remove reasons to make it about all of them"})
		}
	}
}

// lintBudgets looks at each budget by itself.
func (l *linter) lintBudgets() {
	for i := range l.set.budgets {
		c := &l.set.budgets[i]
		l.lintWindow(i, c)
		l.lintAmount(i, c)
	}
}

func (l *linter) lintWindow(i int, c *compiled) {
	switch w := c.window; {
	case w == nil || w.schedule.never:
	case w.constant && w.open:
		l.add(Finding{Code: ScheduleHasNoEffect, Severity: SeverityWarning, Budgets: []int{i},
			Message: fmt.Sprintf("budgets[%d] (%s) is always active: each window lasts until the next begins; nodes is how many may go at once, not how many per window", i, c.text),
			Fix:     "remove schedule and duration to say so, or shorten the duration"})
	case w.duration == 0:
		l.add(Finding{Code: NeverActive, Severity: SeverityWarning, Budgets: []int{i},
			Message: fmt.Sprintf("budgets[%d] (%s) is never active", i, c.text), Fix: "give it a duration"})
	default:
		l.lintLocalTime(i, c)
		l.lintEither(i, c)
	}
}

// lintEither looks for a date together with a day of the week. A step makes a
// field count as given: "*/2" does, "*" doesn't.
func (l *linter) lintEither(i int, c *compiled) {
	if s := c.window.schedule; s.every > 0 || s.domAll || s.dowAll {
		return
	}
	l.add(Finding{Code: DateOrWeekday, Severity: SeverityWarning, Budgets: []int{i},
		Message: fmt.Sprintf("budgets[%d] (%s) gives a date and a day of the week: it begins on every day that is either, not on those that are both", i, c.text),
		Fix:     "put * in one of the two fields"})
}

// lintAmount looks at how a percentage rounds for the size of the pool.
func (l *linter) lintAmount(i int, c *compiled) {
	n := l.options.Nodes
	limit := c.nodes.of(n)
	if n == 0 || limit <= 0 {
		return
	}
	finding := func(code LintCode, message string) {
		l.add(Finding{Code: code, Severity: SeverityInfo, Budgets: []int{i}, Message: message, Fix: "that is as low as it goes while nodes may go at all; block times with a budget of 0, or add nodes"})
	}
	share := float64(limit) / float64(n) * 100
	switch {
	case n == 1:
		finding(PoolOfOne, fmt.Sprintf("budgets[%d] (%s): the pool has one node, so that any budget above 0 is all of it", i, c.text))
	case c.nodes.percent && c.nodes.value < 100 && limit >= n:
		finding(PercentRoundsToAll, fmt.Sprintf("budgets[%d] (%s) rounds up to all %d nodes", i, c.text, n))
	case c.nodes.percent && share >= 2*float64(c.nodes.value):
		finding(PercentRoundsUp, fmt.Sprintf("budgets[%d] (%s) rounds up to %d of %d nodes, which is %.0f%%", i, c.text, limit, n, share))
	}
}

// lintLocalTime looks for office hours on weekdays, in UTC, by people who live
// elsewhere.
func (l *linter) lintLocalTime(i int, c *compiled) {
	zone, err := loadClock(l.options.TimeZone)
	w := c.window
	if err != nil || zone.zone == nil || w.clock.zone != nil || !w.schedule.looksLikeOffice(w.duration) {
		return
	}
	summer, winter := l.localHours(w, zone, time.July), l.localHours(w, zone, time.January)
	when := summer
	if summer != winter {
		when = fmt.Sprintf("%s in July and %s in January", summer, winter)
	}
	if summer == l.localHours(w, clock{}, time.July) && summer == winter {
		return
	}
	l.add(Finding{Code: LooksLikeLocalTime, Severity: SeverityInfo, Budgets: []int{i}, Instead: l.insteadOfLocal(i, zone),
		Message: fmt.Sprintf("budgets[%d] (%s) looks like office hours, but Karpenter's schedules are in UTC: in %s it is active %s", i, c.text, l.options.TimeZone, when),
		Fix:     "shift the schedule, and make it long enough for summer and winter time"})
}

// insteadOfLocal moves a window in which no node may go so that, in UTC, it
// holds the same hours of another clock all year, if it then begins and ends on the same day still.
func (l *linter) insteadOfLocal(i int, c clock) []Budget {
	w := l.set.budgets[i].window
	if l.set.budgets[i].limit(l.size()) > 0 {
		return nil
	}
	begin, end := int64(secondsPerDay), int64(0)
	for _, month := range []time.Month{time.January, time.July} {
		_, offset := time.Date(l.from.Year(), month, 15, 12, 0, 0, 0, time.UTC).In(c.zone).Zone()
		begin = min(begin, w.schedule.first-int64(offset))
		end = max(end, w.schedule.first-int64(offset)+w.seconds)
	}
	if begin < 0 || end > secondsPerDay {
		return nil
	}
	text := fmt.Sprintf("%d %d * %s %s", begin%3600/60, begin/3600, monthField(w.schedule.months), weekdayField(w.schedule.dow))
	instead := cloneAll(l.budgets)
	instead[i].Schedule, instead[i].Duration = &text, &metav1.Duration{Duration: time.Duration(end-begin) * time.Second}
	return instead
}

// looksLikeOffice reports whether a window opens once a day between 6 and 11, on
// weekdays only, for the length of a working day.
func (s *schedule) looksLikeOffice(d time.Duration) bool {
	const weekend = 1<<0 | 1<<6
	return s.every == 0 && s.first == s.last && s.first >= 6*3600 && s.first <= 11*3600 &&
		d >= 6*time.Hour && d <= 13*time.Hour && s.domAll && s.dow&weekend == 0
}

// localHours is when a window of one hit a day opens and closes by another
// clock, on a day in the given month.
func (l *linter) localHours(w *Window, c clock, month time.Month) string {
	open := time.Date(l.from.Year(), month, 15, 0, 0, int(w.schedule.first), 0, time.UTC)
	zone := time.UTC
	if c.zone != nil {
		zone = c.zone
	}
	return open.In(zone).Format("15:04") + "–" + open.Add(w.duration).In(zone).Format("15:04")
}

// lintGrace compares the grace periods of node, pods and windows.
func (l *linter) lintGrace() {
	if l.options.TerminationGracePeriod == nil {
		return
	}
	grace, pod := *l.options.TerminationGracePeriod, l.options.PodGracePeriod
	if pod == 0 {
		pod = 30 * time.Second
	}
	if grace <= pod {
		l.add(Finding{Code: GraceWithinPodGrace, Severity: SeverityWarning,
			Message: fmt.Sprintf("terminationGracePeriod %s is not longer than the %s that a pod may take: such pods are deleted as soon as the node is, and their PDBs are never asked",
				formatDuration(grace), formatDuration(pod)),
			Fix: "make terminationGracePeriod much longer than the longest pod takes, an hour at least"})
	}
}

// sizes are pool sizes at which percentages and numbers stand in every order
// that matters. The size at the moment is not enough: a cap may be meant for a
// pool that has grown.
func (l *linter) sizes() []int {
	if slices.ContainsFunc(l.set.budgets, func(c compiled) bool { return c.nodes.percent }) {
		return []int{1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000}
	}
	return []int{1}
}
