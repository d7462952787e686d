package budget

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// No schedule text panics; what we read, Karpenter's parser reads, and finds
// the same hit.
func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{
		"0 8 * * mon-fri",        // office hours
		"TZ=UTC",                 // cron panics on this
		"CRON_TZ=Asia/Tokyo",     // and on this
		"TZ= 0 8 * * *",          // an empty zone
		"*/40 */5 ? jan-mar/2 0", // steps that don't divide
		", * * * *",              // an empty list never matches
		"0 0 30 2 *",             // never fires
		"0 0 29 2 *",             // every four years, or eight
		"@every 1h30m", "@every -5s", "@every 9999999999h",
		"@daily ", "@", "60 24 32 13 7", "*-5 * * * *", "1/99999999999999999999 * * * *",
		"0 0 * * sat-sun", "\t0\n0 * * *",
	} {
		f.Add(seed, int64(1787572800), int64(3600))
	}
	f.Fuzz(func(t *testing.T, text string, second, length int64) {
		now := time.Unix(second%(1<<36), 0).UTC() // to the year 4147
		w, errs := ParseWindow(text, time.Duration(length%(1<<40))*time.Millisecond, "")
		theirs, err := cron.ParseStandard("TZ=UTC " + text)
		if (err == nil) != (len(errs) == 0) {
			t.Fatalf("%q: we say %v, cron says %v", text, errs, err)
		}
		if err != nil {
			_ = cronFix(text)
			return
		}
		want := theirs.Next(now)
		if hit, ok := w.schedule.next(now.Unix()); ok == want.IsZero() || ok && hit != want.Unix() {
			t.Fatalf("%q after %s: %d %v, cron says %s", text, now, hit, ok, want)
		}
		w.Active(now)
		open, until, ok := w.change(now, now.Add(100*time.Hour))
		if ok && (!until.After(now) || w.Active(until) == open) {
			t.Fatalf("%q at %s: open %v until %s", text, now, open, until)
		}
	})
}

// No budget panics, whatever is in it; one that can't be read allows nothing;
// what validation accepts, compilation accepts.
func FuzzBudget(f *testing.F) {
	for _, seed := range []string{
		`[{"nodes":"10%"}]`,
		`[{"nodes":"0","schedule":"0 8 * * mon-fri","duration":"10h","reasons":["Drifted"]},{"nodes":"5"}]`,
		`[{"nodes":"five","reasons":[]}]`,
		`[{"nodes":"99999999999999999999%","schedule":"TZ=UTC","duration":"1h"}]`,
		`[{"nodes":"-1%","schedule":"@yearly","duration":"-1h"},{}]`,
		`[{"nodes":"1","duration":"2562047h"}]`,
		`[{"nodes":"-1"},{}]`,
	} {
		f.Add([]byte(seed), int64(1787572800), 10)
	}
	f.Fuzz(func(t *testing.T, data []byte, second int64, total int) {
		var budgets []Budget
		if json.Unmarshal(data, &budgets) != nil || len(budgets) > 100 {
			return
		}
		set, errs := Compile(budgets, nil)
		if len(errs) > 0 && len(Validate(budgets, nil)) == 0 {
			t.Fatalf("valid, and yet: %v", errs)
		}
		v := set.Evaluate(time.Unix(second%(1<<36), 0), Drifted, Usage{Total: total})
		if len(v.Errors) > 0 && v.Allowed != 0 || v.Allowed < 0 || v.Limit > max(v.OwnLimit, 0) {
			t.Fatalf("allows %d with %v", v.Allowed, v.Errors)
		}
		_ = v.String()
	})
}

// What AllowOnly compiles is valid and opens when the window does.
func FuzzAllowOnly(f *testing.F) {
	f.Add("0 8 * * mon-fri", 600, int64(1787572800))
	f.Add("0 2 1,15 6-8 *", 240, int64(1787572800)) // by date
	f.Add("*/7 */5 * * 3", 3, int64(1787572800))    // many short ones
	f.Fuzz(func(t *testing.T, text string, minutes int, second int64) {
		w, errs := ParseWindow(text, time.Duration(minutes%20000)*time.Minute, "")
		if len(errs) > 0 {
			return
		}
		budgets, errs := AllowOnly(w, "1")
		if len(errs) > 0 {
			return
		}
		set, _ := Compile(budgets, nil)
		at := time.Unix(second%(1<<33), 0)
		want := 0
		if w.Active(at) {
			want = 1
		}
		if got := set.Evaluate(at, Empty, Usage{Total: 1}).Limit; got != want {
			t.Fatalf("%q for %d minutes at %s: %d, want %d: %v", text, minutes, at.UTC(), got, want, budgets)
		}
	})
}
