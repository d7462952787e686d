package budget

import (
	"fmt"
	"strconv"
	"strings"
)

// cronProblem says what is wrong with a schedule, and what to write instead for
// the mistakes that people make.
func cronProblem(text string, err error) string {
	problem := fmt.Sprintf("not a schedule: %v", err)
	if fix := cronFix(text); fix != "" {
		return problem + "; write " + strconv.Quote(fix)
	}
	return problem
}

// cronFix proposes a schedule that parses and most likely means what text was
// meant to, or "".
func cronFix(text string) string {
	fixed := strings.ToLower(strings.TrimSpace(text))
	for _, prefix := range []string{"tz=", "cron_tz="} {
		if strings.HasPrefix(fixed, prefix) {
			return "" // a zone can't be said here; there is nothing to write instead
		}
	}
	fields := strings.Fields(fixed)
	if len(fields) == 6 && fields[0] == "0" {
		fields = fields[1:] // seconds came first
	}
	if len(fields) == 5 {
		fields[4] = fixWeekdays(fields[4])
		fixed = strings.Join(fields, " ")
	}
	if fixed == strings.TrimSpace(text) {
		return ""
	}
	if _, err := parseSchedule(fixed); err != nil {
		return ""
	}
	return fixed
}

var weekdays = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// fixWeekdays rewrites each item of a day-of-week field for a parser that knows
// 0 to 6 and rising ranges only: "sat-sun" becomes "sat,sun", 7 becomes 0.
func fixWeekdays(list string) string {
	items := strings.Split(list, ",")
	for i, item := range items {
		from, to, isRange := strings.Cut(item, "-")
		first, ok1 := weekdayNumber(from)
		last, ok2 := weekdayNumber(to)
		switch {
		case !isRange && ok1 && from == "7":
			items[i] = "0"
		case isRange && ok1 && ok2 && (first > last || to == "7" || len(from) > 3 || len(to) > 3):
			items[i] = strings.Join(daysFrom(first, last), ",")
		case !isRange && ok1 && len(from) > 3:
			items[i] = weekdays[first]
		}
	}
	return strings.Join(items, ",")
}

// weekdayNumber reads "6", "sat" or "saturday"; 7 is Sunday.
func weekdayNumber(name string) (int, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		return n % 7, n >= 0 && n <= 7
	}
	for n, short := range weekdays {
		if len(name) >= 3 && strings.HasPrefix(name, short) && strings.HasPrefix(longWeekdays[n], name) {
			return n, true
		}
	}
	return 0, false
}

var longWeekdays = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// daysFrom names the days from first to last, over the end of the week if need be.
func daysFrom(first, last int) []string {
	var names []string
	for d := first; ; d = (d + 1) % 7 {
		names = append(names, weekdays[d])
		if d == last {
			return names
		}
	}
}
