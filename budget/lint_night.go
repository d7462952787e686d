package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// lintNight looks at an instant at which a closed time ends, and at budgets that
// close nights, from an evening over midnight. If that instant is midnight, and
// such a budget didn't begin on the evening before, it is reported once.
func (l *linter) lintNight(reason Reason, at time.Time) {
	for night := range l.set.budgets {
		c := &l.set.budgets[night]
		if c.window == nil || !c.spec.appliesTo(reason) || c.limit(l.size()) > 0 || !c.window.closesNights() {
			continue
		}
		second, nano := c.window.clock.read(at)
		today, ofDay := split(second)
		if ofDay != 0 || nano != 0 {
			continue
		}
		if day := l.set.Evaluate(at.Add(-1), reason, Usage{Total: l.size()}).Binding; day >= 0 && day != night {
			l.reportNight(reason, day, night, (weekday(today)+6)%7)
		}
	}
}

// closesNights reports whether w begins at one time of most days of the week
// and ends on the morning after.
func (w *Window) closesNights() bool {
	if !w.weekly() || w.schedule.first != w.schedule.last || w.seconds > secondsPerDay || w.schedule.first+w.seconds <= secondsPerDay {
		return false
	}
	days := 0
	for d := range 7 {
		days += int(w.schedule.dow >> d & 1)
	}
	return days >= 4
}

func (l *linter) reportNight(reason Reason, day, night int, evening int64) {
	c := &l.set.budgets[night]
	morning := (c.window.schedule.first + c.window.seconds) % secondsPerDay
	f := Finding{Code: NightNotCovered, Severity: SeverityWarning, Reasons: []Reason{reason}, Budgets: []int{day, night},
		Message: fmt.Sprintf("budgets[%d] closes %s until midnight, but the night that follows is open: budgets[%d] (%s), which closes other nights until %s, doesn't begin on that evening",
			day, time.Weekday(evening), night, c.text, time.Unix(morning, 0).UTC().Format("15:04")),
		Fix: fmt.Sprintf("if that night should be closed as well, add %s to the schedule of budgets[%d]", weekdays[evening], night)}
	if slices.ContainsFunc(l.findings, func(g Finding) bool { return g.Message == f.Message && slices.Equal(g.Reasons, f.Reasons) }) {
		return
	}
	fields := strings.Fields(c.window.text)
	if len(fields) == 5 {
		text := strings.Join(fields[:4], " ") + " " + weekdayField(c.window.schedule.dow|1<<evening)
		f.Instead = cloneAll(l.budgets)
		f.Instead[night].Schedule = &text
	}
	l.add(f)
}
