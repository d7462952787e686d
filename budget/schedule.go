package budget

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// schedule is a parsed cron expression: on which days it hits, and at which
// minutes of such a day. Its times are seconds of a wall clock without zones.
//
// cron parses; the search is ours, because cron's own Next steps through
// time.Time values and is some fifty times slower.
type schedule struct {
	every          int64     // "@every": seconds from one hit to the next; else 0
	months         uint64    // bit m: month m
	days           [7]uint64 // per weekday of the first of a month, bit d: date d
	hours          uint64    // bit h
	minutes        uint64    // bit m
	first, last    int64     // second of the day of the first and last hit
	never          bool      // it never hits, as on 30 February
	leapOnly       bool      // it hits on 29 February only
	everyDay       bool      // it hits on every day there is
	dom, dow       uint64    // as parsed, for those who take schedules apart
	domAll, dowAll bool
}

const cronStar = 1 << 63 // how cron marks a field that is a star

// parseSchedule reads five cron fields or a macro. A zone inside the text is an
// error, as it is for Karpenter, which prepends its own.
func parseSchedule(text string) (*schedule, error) {
	// With the zone prepended, cron can't be made to look for one in the text,
	// where it panics on "TZ=UTC" alone.
	parsed, err := cron.ParseStandard("TZ=UTC " + text)
	if err != nil {
		return nil, err
	}
	switch p := parsed.(type) {
	case cron.ConstantDelaySchedule:
		return &schedule{every: int64(p.Delay / time.Second)}, nil
	case *cron.SpecSchedule:
		return newSchedule(p), nil
	}
	return nil, fmt.Errorf("a schedule of an unknown kind: %s", strings.TrimSpace(text))
}

func newSchedule(p *cron.SpecSchedule) *schedule {
	s := &schedule{months: p.Month &^ cronStar, hours: p.Hour &^ cronStar, minutes: p.Minute &^ cronStar,
		dom: p.Dom &^ cronStar, dow: p.Dow &^ cronStar, domAll: p.Dom&cronStar != 0, dowAll: p.Dow&cronStar != 0}
	for first := range s.days {
		s.days[first] = s.dates(int64(first))
	}
	if s.hours == 0 || s.minutes == 0 {
		s.never = true
		return s
	}
	s.first = secondOf(bits.TrailingZeros64(s.hours), bits.TrailingZeros64(s.minutes))
	s.last = secondOf(63-bits.LeadingZeros64(s.hours), 63-bits.LeadingZeros64(s.minutes))
	// Whatever can hit at all does so between the leap days of 2000 and 2008.
	_, found := s.nextDay(dayOf(2000, 1, 1), dayOf(2008, 12, 31))
	_, yearly := s.nextDay(dayOf(2001, 1, 1), dayOf(2001, 12, 31))
	s.never, s.leapOnly = !found, found && !yearly
	s.everyDay = s.months == 1<<13-2 && s.days[0]&s.days[1]&s.days[2]&s.days[3]&s.days[4]&s.days[5]&s.days[6] == 1<<32-2
	return s
}

func secondOf(hour, minute int) int64 { return int64(hour*3600 + minute*60) }

// dates is the set of dates on which s hits in a month that begins on the given
// weekday: day of month and day of week must both match if either is a star, else one of them suffices.
func (s *schedule) dates(firstWeekday int64) uint64 {
	var byWeek uint64
	for date := int64(1); date <= 31; date++ {
		byWeek |= s.dow >> ((firstWeekday + date - 1) % 7) & 1 << date
	}
	if s.domAll || s.dowAll {
		return s.dom & byWeek
	}
	return s.dom | byWeek
}

// nextDay finds the first day on which s hits, from day to limit.
func (s *schedule) nextDay(day, limit int64) (int64, bool) {
	year, month, date := civil(day)
	return s.nextDate(day-date+1, year, month, date, limit)
}

// nextDate does so for a day given as a date and the first day of its month.
func (s *schedule) nextDate(first, year, month, date, limit int64) (int64, bool) {
	for ; first <= limit; date = 1 {
		length := monthLength(year, month)
		if dates := s.datesOf(first, month) & (1<<(length+1) - 1) >> date; dates != 0 {
			day := first + date - 1 + int64(bits.TrailingZeros64(dates))
			return day, day <= limit
		}
		first += length
		year, month = nextMonth(year, month)
	}
	return 0, false
}

// datesOf is the set of dates on which s hits in the month that begins on day first.
func (s *schedule) datesOf(first, month int64) uint64 {
	if s.months>>month&1 == 0 {
		return 0
	}
	return s.days[weekday(first)]
}

// nextOfDay finds the first hit at or after a second of the day.
func (s *schedule) nextOfDay(second int64) (int64, bool) {
	minute := (second + 59) / 60
	hour := minute / 60
	if s.hours>>hour&1 == 1 {
		if rest := s.minutes >> (minute % 60); rest != 0 {
			return (minute + int64(bits.TrailingZeros64(rest))) * 60, true
		}
	}
	rest := s.hours >> (hour + 1)
	if rest == 0 {
		return 0, false
	}
	return secondOf(int(hour)+1+bits.TrailingZeros64(rest), bits.TrailingZeros64(s.minutes)), true
}

// next finds the first hit after a second. Like cron, it looks no further than
// the fifth calendar year after that of the second that follows.
func (s *schedule) next(second int64) (int64, bool) {
	return s.nextWithin(second, 5)
}

// nextWithin finds the first hit after a second, within so many calendar years
// after that of the second that follows.
func (s *schedule) nextWithin(second, years int64) (int64, bool) {
	if s.never {
		return 0, false
	}
	if s.every > 0 {
		return second + s.every, true
	}
	day, ofDay := split(second + 1)
	year, month, date := civil(day)
	first := day - date + 1
	if s.datesOf(first, month)>>date&1 == 1 {
		if hit, ok := s.nextOfDay(ofDay); ok {
			return day*secondsPerDay + hit, true
		}
	}
	day, ok := s.nextDate(first, year, month, date+1, dayOf(year+years, 12, 31))
	return day*secondsPerDay + s.first, ok
}
