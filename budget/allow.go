package budget

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AllowOnly says "at most nodes at once in this window, and none outside of it"
// in budgets: what most people mean by a budget with a schedule, which by
// itself limits nothing outside of its window.
//
// The first budget is the window itself; the others allow zero and cover the
// rest of time. Together they tile it, without overlap, unless summer time
// begins in between: a window or pause that would start or end in the hour that
// is skipped then overlaps its neighbour, and none is allowed meanwhile. With
// no reasons given the budgets are about all of them.
//
// What can't be said in cron is an error: the complement of a window that
// crosses midnight and depends on the date or month, and of one given both by
// date and by day of the week, or by "@every".
func AllowOnly(w *Window, nodes string, reasons ...Reason) ([]Budget, field.ErrorList) {
	if _, ok := parseAmount(nodes); !ok {
		return nil, field.ErrorList{field.Invalid(field.NewPath("nodes"), nodes, "neither a number of nodes nor a percentage")}
	}
	pauses, why := w.complement()
	if why != "" {
		return nil, field.ErrorList{field.Invalid(field.NewPath("schedule"), w.text, why)}
	}
	open := scheduledBudget(nodes, w.text, w.duration, w.zone, reasons)
	return append([]Budget{open}, zeroBudgets(pauses, w.zone, reasons)...), nil
}

// zeroBudgets allow nothing during the pauses.
func zeroBudgets(pauses []pause, zone string, reasons []Reason) []Budget {
	budgets := make([]Budget, len(pauses))
	for i, p := range pauses {
		budgets[i] = scheduledBudget("0", p.schedule, p.duration, zone, reasons)
	}
	return budgets
}

func scheduledBudget(nodes, schedule string, d time.Duration, zone string, reasons []Reason) Budget {
	return Budget{Nodes: nodes, Reasons: append([]Reason(nil), reasons...), Schedule: &schedule, Duration: &metav1.Duration{Duration: d}, TimeZone: zone}
}

// pause is a window of the complement, as text.
type pause struct {
	schedule string
	duration time.Duration
}

// complement says when w is closed, or why that can't be said.
func (w *Window) complement() ([]pause, string) {
	s := w.schedule
	switch {
	case s.every > 0:
		return nil, "an interval has no fixed place in the day, so that the rest of the time has no schedule"
	case s.never:
		return nil, "the schedule never fires"
	case w.constant && w.open:
		return nil, "the window never closes"
	case w.duration <= 0 || w.duration%time.Minute != 0:
		return nil, "the window must be open for whole minutes"
	case !s.domAll && !s.dowAll:
		return nil, "a schedule by date and by day of the week opens on either, and cron has no way to say \"on neither\""
	case w.weekly():
		return weeklyPauses(w.minutesOfWeek()), ""
	case s.last+w.seconds > secondsPerDay:
		return nil, "a window by date or month must end at midnight: make it two, one on each side"
	}
	return w.dailyPauses(), ""
}

const (
	allMonths     = 1<<13 - 2
	minutesPerDay = 24 * 60
	minutesOfWeek = 7 * minutesPerDay
)

// weekly reports whether w depends on nothing but the day of the week.
func (w *Window) weekly() bool {
	s := w.schedule
	return s.every == 0 && !s.never && !w.constant && w.duration > 0 && w.duration%time.Minute == 0 && s.domAll && s.months == allMonths
}

// pausesBetween is the complement of several windows together, if it can be
// said: of one, or of several by the week of the same clock.
func pausesBetween(windows []*Window) []pause {
	if len(windows) == 1 {
		pauses, _ := windows[0].complement()
		return pauses
	}
	open := make([]bool, minutesOfWeek)
	for _, w := range windows {
		if !w.weekly() || w.zone != windows[0].zone {
			return nil
		}
		for m, is := range w.minutesOfWeek() {
			open[m] = open[m] || is
		}
	}
	return weeklyPauses(open)
}

// minutesOfWeek marks the minutes of a week, from Sunday on, at which a window
// by day of the week is open.
func (w *Window) minutesOfWeek() []bool {
	open := make([]bool, minutesOfWeek)
	length := min(int(w.seconds/60), minutesOfWeek)
	for day := range 7 {
		if w.schedule.dow>>day&1 == 0 {
			continue
		}
		for hit, ok := w.schedule.nextOfDay(0); ok; hit, ok = w.schedule.nextOfDay(hit + 1) {
			start := day*minutesPerDay + int(hit/60)
			for m := range length {
				open[(start+m)%minutesOfWeek] = true
			}
		}
	}
	return open
}

// weeklyPauses covers the closed minutes of a week, with one pause for all days
// that have one at the same time of day and of the same length.
func weeklyPauses(open []bool) []pause {
	type shape struct{ minute, length int }
	var shapes []shape
	days := map[shape]uint64{}
	for m := range open {
		if open[m] || !open[(m+minutesOfWeek-1)%minutesOfWeek] {
			continue
		}
		length := 0
		for !open[(m+length)%minutesOfWeek] {
			length++
		}
		key := shape{m % minutesPerDay, length}
		if days[key] == 0 {
			shapes = append(shapes, key)
		}
		days[key] |= 1 << (m / minutesPerDay)
	}
	pauses := make([]pause, len(shapes))
	for i, s := range shapes {
		text := fmt.Sprintf("%d %d * * %s", s.minute%60, s.minute/60, weekdayField(days[s]))
		pauses[i] = pause{text, time.Duration(s.length) * time.Minute}
	}
	return pauses
}

// dailyPauses covers the rest of the days on which w opens, and all of the other
// days.
func (w *Window) dailyPauses() []pause {
	s := w.schedule
	dates, days := dateField(s), weekdayField(s.dow)
	closed := int64(0)
	var pauses []pause
	add := func(from, to int64) {
		if from < to {
			text := fmt.Sprintf("%d %d %s %s %s", from%3600/60, from/3600, dates, monthField(s.months), days)
			pauses = append(pauses, pause{text, time.Duration(to-from) * time.Second})
		}
	}
	for _, c := range w.chains {
		add(closed, c.first)
		closed = c.last + w.seconds
	}
	add(closed, secondsPerDay)
	whole := func(text string) { pauses = append(pauses, pause{text, 24 * time.Hour}) }
	if rest := uint64(allMonths) &^ s.months; rest != 0 {
		whole("0 0 * " + monthField(rest) + " *")
	}
	if rest := uint64(1<<32-2) &^ s.dom; rest != 0 {
		whole("0 0 " + listField(rest) + " " + monthField(s.months) + " *")
	}
	if rest := uint64(1<<7-1) &^ s.dow; rest != 0 {
		whole("0 0 * " + monthField(s.months) + " " + weekdayField(rest))
	}
	return pauses
}

func dateField(s *schedule) string {
	if s.domAll {
		return "*"
	}
	return listField(s.dom)
}

func monthField(months uint64) string {
	if months == allMonths {
		return "*"
	}
	return listField(months)
}

func weekdayField(days uint64) string {
	if days == 1<<7-1 {
		return "*"
	}
	return listField(days)
}

// listField writes a set as a cron field: "1-4,6".
func listField(set uint64) string {
	var items []string
	for set != 0 {
		from := bits.TrailingZeros64(set)
		length := bits.TrailingZeros64(^(set >> from))
		switch length {
		case 1:
			items = append(items, strconv.Itoa(from))
		default:
			items = append(items, fmt.Sprintf("%d-%d", from, from+length-1))
		}
		set &^= (1<<length - 1) << from
	}
	return strings.Join(items, ",")
}
