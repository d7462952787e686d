package budget

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func zoned(t require.TestingT, schedule string, d time.Duration, zone string) *Window {
	w, errs := ParseWindow(schedule, d, zone)
	require.Empty(t, errs)
	return w
}

func utc(t require.TestingT, text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return at.UTC()
}

// V13: office hours in New York, over both changes of 2026 (Karpenter issue
// 3074).
func TestOfficeHoursFollowTheWallClock(t *testing.T) {
	w := zoned(t, "0 8 * * mon-fri", 10*time.Hour, "America/New_York")
	for _, want := range []struct{ from, to string }{
		{"2026-03-06T13:00:00Z", "2026-03-06T23:00:00Z"},
		{"2026-03-09T12:00:00Z", "2026-03-09T22:00:00Z"},
		{"2026-10-30T12:00:00Z", "2026-10-30T22:00:00Z"},
		{"2026-11-02T13:00:00Z", "2026-11-02T23:00:00Z"},
	} {
		from, to := utc(t, want.from), utc(t, want.to)
		span, ok := w.Next(from.Add(-time.Hour))
		require.True(t, ok)
		require.Equal(t, Span{from, to}, span)
		require.False(t, w.Active(from.Add(-1)))
		require.True(t, w.Active(from))
		require.True(t, w.Active(to.Add(-1)))
		require.False(t, w.Active(to))
	}
	require.False(t, w.Active(utc(t, "2026-11-02T12:30:00Z")))

	// The work-around in UTC is off by an hour in summer.
	inUTC := zoned(t, "0 13 * * mon-fri", 10*time.Hour, "")
	require.False(t, inUTC.Active(utc(t, "2026-03-09T12:30:00Z")), "should be")
	require.True(t, inUTC.Active(utc(t, "2026-03-09T22:30:00Z")), "should not be")
}

// In Berlin the clock jumped from 02:00 to 03:00 on 29 March 2026 (01:00Z) and
// went back from 03:00 to 02:00 on 25 October (01:00Z).
func TestChangesOfTime(t *testing.T) {
	for _, c := range []struct {
		name, schedule string
		length         time.Duration
		around         string // look at the day from here on
		want           []string
	}{
		{"a window in the skipped hour begins when the clock jumps, and is not lost", "15 2 * * *", 30 * time.Minute, "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
		{"a window over the skipped hour is that much shorter", "30 1 * * *", 2 * time.Hour, "2026-03-29T00:00:00Z", []string{"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"}},
		{"a window that ends in the skipped hour ends when the clock jumps", "0 0 * * *", 150 * time.Minute, "2026-03-28T22:00:00Z", []string{"2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"}},
		{"many hits in the skipped hour are one", "*/10 2 * * *", 5 * time.Minute, "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:05:00Z"}},
		{"a window that begins in the hour that comes twice begins once", "30 2 * * *", 15 * time.Minute, "2026-10-24T23:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-25T00:45:00Z"}},
		{"a window over the hour that comes twice holds both", "0 2 * * *", time.Hour, "2026-10-24T23:00:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"}},
		{"a window that ends in the hour that comes twice ends at its first pass", "0 1 * * *", 90 * time.Minute, "2026-10-24T22:00:00Z", []string{"2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z"}},
		{"a window from one day to the next ends by the clock", "0 22 * * *", 8 * time.Hour, "2026-10-24T19:00:00Z", []string{"2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z"}},
		{"hourly hits in the hour that comes twice count at its first pass only", "0 1-3 * * *", 10 * time.Minute, "2026-10-24T23:30:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-25T00:10:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:10:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := zoned(t, c.schedule, c.length, "Europe/Berlin")
			var got []string
			from := utc(t, c.around)
			for s := range w.Spans(from, from.Add(20*time.Hour)) {
				got = append(got, s.From.UTC().Format(time.RFC3339), s.To.UTC().Format(time.RFC3339))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// A day that a zone left out: Samoa had no 30 December 2011. A window of that
// day still happens, at the moment it was left out.
func TestADayThatNeverWas(t *testing.T) {
	w := zoned(t, "0 12 30 12 *", time.Hour, "Pacific/Apia")
	span, ok := w.Next(utc(t, "2011-12-01T00:00:00Z"))
	require.True(t, ok)
	require.Equal(t, Span{utc(t, "2011-12-30T10:00:00Z"), utc(t, "2011-12-30T11:00:00Z")}, span)
}

// Every day has one window of a daily schedule, and every window that a wall
// clock shows has the length the wall clock shows: none vanishes, none doubles.
func TestOneWindowADayInEveryZone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kolkata"}).Draw(t, "zone")
		minute := rapid.IntRange(0, 1439).Draw(t, "minute")
		length := time.Duration(rapid.IntRange(1, 600).Draw(t, "length")) * time.Minute
		w := newWindow(mustSchedule(t, minute), mustClock(t, zone), "", zone, length)
		// A year, from just before the window of its first day.
		from := w.clock.instant(dayOf(2026, 1, 1)*secondsPerDay + int64(minute)*60).Add(-time.Minute)
		to := w.clock.instant(dayOf(2027, 1, 1)*secondsPerDay + int64(minute)*60).Add(-time.Minute)
		count := 0
		for s := range w.Spans(from, to) {
			count++
			require.LessOrEqual(t, s.To.Sub(s.From), length+time.Hour)
			require.GreaterOrEqual(t, s.To.Sub(s.From), min(length, max(time.Minute, length-time.Hour)))
		}
		require.Equal(t, 365, count)
	})
}

func mustSchedule(t require.TestingT, minute int) *schedule {
	s, err := parseSchedule(time.Unix(int64(minute)*60, 0).UTC().Format("4 15 * * *"))
	require.NoError(t, err)
	return s
}

func mustClock(t require.TestingT, zone string) clock {
	c, err := loadClock(zone)
	require.NoError(t, err)
	return c
}

// The clock against its slow twin: the latest reading of any minute so far, and
// the first minute with a reading.
func TestClockEqualsItsTwin(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"} {
		c := mustClock(t, zone)
		for _, start := range []string{"2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z", "2026-04-04T00:00:00Z", "2026-10-31T12:00:00Z", "2011-12-29T12:00:00Z", "2026-03-07T12:00:00Z", "2026-02-14T12:00:00Z"} {
			from := utc(t, start)
			highest := int64(-1 << 62)
			for at := from; at.Before(from.Add(60 * time.Hour)); at = at.Add(time.Minute) {
				_, offset := at.In(c.zone).Zone()
				shown := at.Unix() + int64(offset)
				second, _ := c.read(at)
				if shown > highest {
					require.Equal(t, shown, second, "%s at %s", zone, at)
					for skipped := max(highest+60, shown-26*3600); skipped <= shown && highest > -1<<61; skipped += 60 {
						require.Equal(t, at, c.instant(skipped), "%s: first to show %d", zone, skipped)
					}
					highest = shown
					continue
				}
				require.Equal(t, highest+59, second, "%s at %s: stands still", zone, at)
			}
		}
	}
}

func TestUnknownZonesFailClosed(t *testing.T) {
	for zone, why := range map[string]string{
		"Europe/Berlyn": "unknown time zone: use an IANA name, as in \"Europe/Berlin\"",
		"Local":         "depends on the machine: name a zone, as in \"Europe/Berlin\"",
		"../etc/passwd": "unknown time zone: use an IANA name, as in \"Europe/Berlin\"",
	} {
		daily := "@daily"
		set, errs := Compile([]Budget{{Nodes: "5"}, {Nodes: "3", Reasons: []Reason{Empty}, Schedule: &daily, TimeZone: zone}}, nil)
		require.Len(t, errs, 1)
		require.Equal(t, "budgets[1].timeZone", errs[0].Field)
		require.Equal(t, why, errs[0].Detail)
		v := set.Evaluate(utc(t, "2026-08-24T12:00:00Z"), Drifted, Usage{Total: 10})
		require.Zero(t, v.Allowed)
		require.Equal(t, 5, v.OwnLimit)
		require.Equal(t, Unreadable, v.Code())
	}
}
