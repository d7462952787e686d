package budget_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/budget"
)

func window(t require.TestingT, schedule string, d time.Duration, zone string) *budget.Window {
	w, errs := budget.ParseWindow(schedule, d, zone)
	require.Empty(t, errs)
	return w
}

// Open and closed parts tile time: through two weeks exactly one of
// the budgets is active, and it is the first exactly when the window is open.
func TestAllowOnlyTilesTime(t *testing.T) {
	schedules := []string{"0 8 * * mon-fri", "30 22 * * *", "0 0 * * 6", "@daily", "@hourly", "@weekly", "15 */6 * * 1,3", "*/20 9-16 * * 1-5", "0 22 * * 5-6", "0 6 1 * *", "0 6 1,15 * *",
		"10 4,20 * 3,4 *", "0 2 28-31 * *", "0 9 * 6-8 mon-fri", "5 4 */2 * *"}
	durations := []time.Duration{time.Minute, 7 * time.Minute, time.Hour, 90 * time.Minute, 4 * time.Hour, 23*time.Hour + 59*time.Minute, 24 * time.Hour, 62 * time.Hour, 144 * time.Hour}
	said := 0
	rapid.Check(t, func(t *rapid.T) {
		w := window(t, rapid.SampledFrom(schedules).Draw(t, "schedule"), rapid.SampledFrom(durations).Draw(t, "duration"), "")
		budgets, err := budget.AllowOnly(w, "3")
		if len(err) > 0 {
			return // can't be said
		}
		said++
		require.Empty(t, budget.Validate(budgets, nil))
		set, _ := budget.Compile(budgets, nil)
		from := time.Date(2026, time.Month(rapid.IntRange(1, 12).Draw(t, "month")), rapid.IntRange(1, 31).Draw(t, "date"), 0, 0, 0, 0, time.UTC)
		for at := from; at.Before(from.AddDate(0, 0, 14)); at = at.Add(17 * time.Minute) {
			v := set.Evaluate(at, budget.Drifted, budget.Usage{Total: 10})
			if len(v.Active()) != 1 || w.Active(at) != (v.Binding == 0) {
				t.Fatalf("at %s: %v of %v", at, v.Active(), budgets)
			}
		}
	})
	require.Positive(t, said)
}

// In a zone they cover all of time as well, and overlap on the side of caution
// only: where both are active, none is allowed.
func TestAllowOnlyCoversTimeInZones(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"} {
		for _, schedule := range []string{"0 2 * * *", "30 2 * * *", "0 22 * * *", "30 1 * * sun", "0 8 * * mon-fri", "0 3 * * *"} {
			for _, d := range []time.Duration{30 * time.Minute, time.Hour, 10 * time.Hour} {
				w := window(t, schedule, d, zone)
				budgets, err := budget.AllowOnly(w, "3")
				require.Empty(t, err)
				set, errs := budget.Compile(budgets, nil)
				require.Empty(t, errs)
				for _, from := range []time.Time{time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2011, 12, 20, 0, 0, 0, 0, time.UTC)} {
					for i := range set.Forecast(from, from.AddDate(0, 0, 45), budget.Drifted, budget.Usage{Total: 10}) {
						require.NotEqual(t, budget.Unlimited, i.Limit, "%s %s for %s at %s", zone, schedule, d, i.From)
						require.True(t, i.Limit == 0 || w.Active(i.From))
					}
				}
			}
		}
	}
}

func TestAllowOnlyRefusesWhatCronCannotSay(t *testing.T) {
	for name, w := range map[string]*budget.Window{
		"by date over midnight":       window(t, "0 22 1 * *", 4*time.Hour, ""),
		"by date and day of the week": window(t, "0 2 1 * mon", time.Hour, ""),
		"an interval":                 window(t, "@every 36h", time.Hour, ""),
		"never fires":                 window(t, "0 0 30 2 *", time.Hour, ""),
		"never closes":                window(t, "@daily", 24*time.Hour, ""),
		"never opens":                 window(t, "@daily", 0, ""),
		"half a minute":               window(t, "@daily", 30*time.Second, ""),
	} {
		budgets, err := budget.AllowOnly(w, "1")
		require.Len(t, err, 1, name)
		require.Nil(t, budgets, name)
	}
	_, err := budget.AllowOnly(window(t, "@daily", time.Hour, ""), "some")
	require.Equal(t, `nodes: Invalid value: "some": neither a number of nodes nor a percentage`, err[0].Error())
}
