package budget

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var fields = []struct {
	min, max int
	names    []string
}{
	{0, 59, nil}, {0, 23, nil}, {1, 31, nil},
	{1, 12, []string{"jan", "FEB", "mar", "apr", "May", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 6, []string{"sun", "MON", "tue", "wed", "Thu", "fri", "sat"}},
}

// cronText draws a schedule that cron accepts.
func cronText(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "macro") == 0 {
		return rapid.SampledFrom([]string{"@yearly", "@monthly", "@weekly", "@daily", "@hourly", "@every 90s", "@every 36h"}).Draw(t, "text")
	}
	var text []string
	for i := range fields {
		text = append(text, cronField(t, i))
	}
	return strings.Join(text, " ")
}

func cronField(t *rapid.T, i int) string {
	f := fields[i]
	number := func(label string) int { return rapid.IntRange(f.min, f.max).Draw(t, label) }
	switch rapid.IntRange(0, 8).Draw(t, "form") {
	case 0, 1, 2:
		return "*"
	case 3:
		return fmt.Sprintf("*/%d", rapid.IntRange(1, f.max+2).Draw(t, "step"))
	case 4:
		a, b := number("a"), number("b")
		return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
	case 5:
		return fmt.Sprintf("%d,%d,%d", number("a"), number("b"), number("c"))
	case 6:
		return fmt.Sprintf("%d/%d", number("a"), rapid.IntRange(1, 9).Draw(t, "step"))
	case 7:
		if f.names != nil {
			return rapid.SampledFrom(f.names).Draw(t, "name")
		}
	}
	return fmt.Sprint(number("a"))
}

func instant(t *rapid.T, label string) time.Time {
	// 1890 to 2110: before the epoch, and over a leap day that falls out.
	at := time.Unix(rapid.Int64Range(-2524608000, 4417977600).Draw(t, label), 0).UTC()
	if rapid.Bool().Draw(t, "whole minute") {
		at = at.Truncate(time.Minute)
	}
	return at.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 999_999_999}).Draw(t, "nano")))
}

// Our walk over the bit sets finds the very hit that cron finds, or none when
// cron finds none within its five years.
func TestNextEqualsCron(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := cronText(t)
		s, err := parseSchedule(text)
		require.NoError(t, err)
		theirs, err := cron.ParseStandard("TZ=UTC " + text)
		require.NoError(t, err)
		at := instant(t, "at")
		for range 5 {
			want := theirs.Next(at)
			got, ok := s.next(at.Unix())
			require.Equal(t, !want.IsZero(), ok, "%s after %s", text, at)
			if !ok {
				return
			}
			require.Equal(t, want.Unix(), got, "%s after %s", text, at)
			at = want
		}
	})
}

// The five-year limit counts calendar years, from the second after.
func TestNextLooksFiveYearsAhead(t *testing.T) {
	for _, text := range []string{"0 0 29 2 *", "0 0 30 2 *", "* , * * *", "5 4 29 2 1"} {
		s, err := parseSchedule(text)
		require.NoError(t, err)
		theirs, err := cron.ParseStandard("TZ=UTC " + text)
		require.NoError(t, err)
		for year := 2094; year < 2106; year++ {
			for _, at := range []time.Time{
				time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second),
				time.Date(year, 2, 28, 23, 59, 59, 0, time.UTC),
			} {
				want := theirs.Next(at)
				got, ok := s.next(at.Unix())
				require.Equal(t, !want.IsZero(), ok, "%s after %s", text, at)
				if ok {
					require.Equal(t, want.Unix(), got)
				}
			}
		}
	}
}

// karpenterActive is Karpenter's rule, word for word.
func karpenterActive(s cron.Schedule, d time.Duration, now time.Time) bool {
	return !s.Next(now.Add(-d)).After(now)
}

func duration(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{-time.Hour, 0, time.Second, time.Minute, 90 * time.Second, 5 * time.Minute, 29 * time.Minute, time.Hour, 90 * time.Minute,
		1439 * time.Minute, 24 * time.Hour, 25 * time.Hour, 48 * time.Hour, 62 * time.Hour, 168 * time.Hour, 720 * time.Hour, 744 * time.Hour, 9000 * time.Hour, 40000 * time.Hour,
		1500 * time.Millisecond, time.Hour + time.Nanosecond}).Draw(t, "duration")
}

// So it is over the leap day that falls out in 2100, at any duration.
func TestActiveEqualsKarpenterOnLeapDays(t *testing.T) {
	theirs, err := cron.ParseStandard("TZ=UTC 0 12 29 2 *")
	require.NoError(t, err)
	for _, d := range []time.Duration{0, time.Minute, 48 * time.Hour, 4 * 366 * 24 * time.Hour, 9 * 366 * 24 * time.Hour} {
		w, _ := ParseWindow("0 12 29 2 *", d, "")
		for at := time.Date(2095, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2107; at = at.Add(101 * time.Hour) {
			require.Equal(t, karpenterActive(theirs, d, at), w.Active(at), "%s at %s", d, at)
			open, until, ok := w.change(at, at.AddDate(12, 0, 0))
			require.Equal(t, open, w.Active(at))
			if ok {
				require.NotEqual(t, open, w.Active(until))
				require.Equal(t, open, w.Active(until.Add(-1)))
			}
		}
	}
}

// A window is open exactly when Karpenter finds the budget active.
func TestActiveEqualsKarpenter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, d, at := cronText(t), duration(t), instant(t, "at")
		w, errs := ParseWindow(text, d, "")
		require.Empty(t, errs)
		theirs, _ := cron.ParseStandard("TZ=UTC " + text)
		if next := theirs.Next(at); rapid.Bool().Draw(t, "near an edge") && !next.IsZero() {
			at = next.Add(rapid.SampledFrom([]time.Duration{-1, 0, 1, d - 1, d, d + 1}).Draw(t, "offset"))
		}
		if e, ok := theirs.(cron.ConstantDelaySchedule); ok && d%time.Second != 0 && e.Delay > d && e.Delay-d < time.Second {
			return // flickers; counted as open
		}
		require.Equal(t, karpenterActive(theirs, d, at), w.Active(at), "%s for %s at %s", text, d, at)
	})
}

// The edges that a window reports are where being active changes, and there are none between them.
func TestSpansHoldWhatActiveSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"", "", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo"}).Draw(t, "zone")
		w, errs := ParseWindow(cronText(t), duration(t), zone)
		require.Empty(t, errs)
		from := instant(t, "from")
		if rapid.Bool().Draw(t, "near a change of time") {
			from = time.Date(2026, rapid.SampledFrom([]time.Month{3, 10, 11}).Draw(t, "month"), rapid.IntRange(1, 31).Draw(t, "date"), 0, 0, 0, 0, time.UTC)
		}
		to := from.Add(time.Duration(rapid.IntRange(1, 3*24*60).Draw(t, "minutes")) * time.Minute)
		var spans []Span
		for s := range w.Spans(from, to) {
			require.True(t, s.From.Before(s.To))
			if len(spans) > 0 {
				require.True(t, spans[len(spans)-1].To.Before(s.From), "touching spans %v", spans)
			}
			spans = append(spans, s)
			require.True(t, w.Active(s.From))
			require.True(t, w.Active(s.To.Add(-1)))
			if s.To.Before(to) {
				require.False(t, w.Active(s.To))
			}
			if s.From.After(from) {
				require.False(t, w.Active(s.From.Add(-1)))
			}
		}
		within := func(at time.Time) bool {
			for _, s := range spans {
				if !at.Before(s.From) && at.Before(s.To) {
					return true
				}
			}
			return false
		}
		r := rand.New(rand.NewSource(1))
		for range 100 {
			at := from.Add(time.Duration(r.Int63n(int64(to.Sub(from)))))
			require.Equal(t, within(at), w.Active(at), "at %s", at)
		}
	})
}
