package budget

import (
	"iter"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Window is a recurring stretch of time: it opens at every hit of a cron
// schedule and stays open for a duration, [hit, hit+duration). A hit while it
// is open extends it. It is immutable and safe for concurrent use.
//
// In a time zone, schedule and duration follow the wall clock: 08:00 for ten
// hours ends at 18:00 on every day of the year. Where summer time begins, a hit
// inside the hour that is skipped happens at the moment the clock jumps, so
// that no window is lost; where it ends, the hour that comes twice belongs to
// the window it is in, and a hit in it counts at its first pass only.
type Window struct {
	schedule *schedule
	clock    clock
	text     string
	zone     string
	duration time.Duration

	seconds  int64 // whole seconds of the duration
	nanos    int   // the rest of it
	chains   []chain
	once     *Span // instead of all above: open then, and never again
	constant bool  // never opens, or never closes
	open     bool  // which of the two, if constant
}

// chain is a run of hits within a day that the duration joins together, by the
// second of the day of its first and last hit.
type chain struct{ first, last int64 }

// Span is a stretch of time, [From, To).
type Span struct{ From, To time.Time }

// onceWindow is open in one stretch of time only.
func onceWindow(s Span) *Window {
	return &Window{schedule: &schedule{never: true}, once: &s}
}

// state reports whether t is within the span, and until when that stays so.
func (s Span) state(t, limit time.Time) (open bool, until time.Time) {
	switch {
	case t.Before(s.From):
		return false, s.From
	case t.Before(s.To):
		return true, s.To
	}
	return false, limit
}

// ParseWindow compiles a window. The schedule has five cron fields or is one of
// @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly; zone is
// an IANA name, and "" means UTC. The errors are named schedule and timeZone.
//
// A schedule that never hits, such as "0 0 30 2 *", is no error: the window is
// then always open, which is what Karpenter makes of it.
func ParseWindow(schedule string, duration time.Duration, zone string) (*Window, field.ErrorList) {
	return parseWindow(schedule, duration, zone, nil)
}

func parseWindow(text string, duration time.Duration, zone string, path *field.Path) (*Window, field.ErrorList) {
	var errs field.ErrorList
	s, err := parseSchedule(text)
	if err != nil {
		errs = append(errs, field.Invalid(child(path, "schedule"), text, cronProblem(text, err)))
	}
	c, err := loadClock(zone)
	if err != nil {
		errs = append(errs, field.Invalid(child(path, "timeZone"), zone, err.Error()))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return newWindow(s, c, text, zone, duration), nil
}

func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

func newWindow(s *schedule, c clock, text, zone string, duration time.Duration) *Window {
	duration = max(duration, 0) // a negative one never opens either
	w := &Window{schedule: s, clock: c, text: text, zone: zone, duration: duration,
		seconds: int64(duration / time.Second), nanos: int(duration % time.Second)}
	switch {
	case s.every > 0:
		// Between two hits less than a second apart from joining, a budget would
		// flicker many times a second. That counts as open.
		w.constant, w.open = true, duration > time.Duration(s.every-1)*time.Second
	case s.never:
		w.constant, w.open = true, true
	case duration == 0 && !s.leapOnly: // those that hit every four years have a blind spot
		w.constant, w.open = true, false
	default:
		w.chains = s.chains(w.seconds)
		w.constant = len(w.chains) == 1 && s.joinsDays(w.seconds)
		w.open = w.constant
	}
	return w
}

// chains joins the hits of one day that are at most seconds apart.
func (s *schedule) chains(seconds int64) []chain {
	joined := []chain{{s.first, s.first}}
	for hit, ok := s.nextOfDay(s.first + 1); ok; hit, ok = s.nextOfDay(hit + 1) {
		if last := &joined[len(joined)-1]; hit-last.last <= seconds {
			last.last = hit
		} else {
			joined = append(joined, chain{hit, hit})
		}
	}
	return joined
}

// joinsDays reports whether seconds reach from the last hit of each day with
// hits to the first of the next, always. It looks at 28 years, in which each
// kind of year occurs, and on over the leap day that falls out in 2100.
func (s *schedule) joinsDays(seconds int64) bool {
	if secondsPerDay+s.first-s.last > seconds {
		return false
	}
	if s.everyDay {
		return true
	}
	end := dayOf(2106, 1, 1)
	day, ok := s.nextDay(dayOf(2068, 1, 1), end)
	for ok {
		var next int64
		if next, ok = s.nextDay(day+1, end); ok && (next-day)*secondsPerDay+s.first-s.last > seconds {
			return false
		}
		day = next
	}
	return true
}

// Active reports whether w is open at t.
func (w *Window) Active(t time.Time) bool {
	switch {
	case w.constant:
		return w.open
	case w.once != nil:
		return !t.Before(w.once.From) && t.Before(w.once.To)
	}
	second, nano := w.clock.read(t)
	hit, ok := w.nextHit(w.checkpoint(second, nano))
	return !ok || hit <= second
}

// checkpoint is the second after which a hit must lie for w to be open still.
func (w *Window) checkpoint(second int64, nano int) int64 {
	if nano < w.nanos {
		return second - w.seconds - 1
	}
	return second - w.seconds
}

// nextHit is the first hit after a second of the wall clock. Hits that the
// clock skips are moved to the reading it jumps to. False means that there is
// none within cron's five years; w is open then, as Karpenter has it.
func (w *Window) nextHit(second int64) (int64, bool) {
	if w.clock.zone != nil {
		if from, to, skipped := w.clock.gap(second); skipped {
			if hit, ok := w.schedule.next(from - 1); ok && hit < to {
				return to, true
			}
		}
	}
	hit, ok := w.schedule.next(second)
	if ok && w.clock.zone != nil {
		if _, to, skipped := w.clock.gap(hit); skipped {
			return to, true
		}
	}
	return hit, ok
}

// state reports whether w is open at t, and until when it stays so at least:
// what comes at that instant may be more of the same. It looks as far as limit.
func (w *Window) state(t, limit time.Time) (open bool, until time.Time) {
	switch {
	case w.constant:
		return w.open, limit
	case w.once != nil:
		return w.once.state(t, limit)
	}
	second, nano := w.clock.read(t)
	checkpoint := w.checkpoint(second, nano)
	hit, ok := w.nextHit(checkpoint)
	switch {
	case !ok:
		return true, w.blindUntil(checkpoint, limit)
	case hit > second:
		return false, w.clock.instant(hit)
	}
	return true, w.closing(w.lastHit(hit, limit))
}

// closing is the instant at which w closes if there is no hit after the given one.
func (w *Window) closing(hit int64) time.Time {
	if _, to, skipped := w.clock.gap(hit); skipped {
		hit = to
	}
	return w.clock.instant(hit + w.seconds).Add(time.Duration(w.nanos))
}

// blindUntil is the instant at which a hit comes within cron's five years
// again, for a checkpoint that sees none: only a leap day can be that far away,
// and it is eight years at most.
func (w *Window) blindUntil(checkpoint int64, limit time.Time) time.Time {
	hit, ok := w.schedule.nextWithin(checkpoint, 9)
	if !ok {
		return limit
	}
	day, _ := split(hit)
	year, _, _ := civil(day)
	return w.closing(dayOf(year-5, 1, 1)*secondsPerDay - 1)
}

// lastHit follows the hits from the given one on for as long as the duration
// bridges the distance to the next, to limit at most.
func (w *Window) lastHit(hit int64, limit time.Time) int64 {
	day, ofDay := split(hit)
	i := sort.Search(len(w.chains), func(i int) bool { return w.chains[i].last >= ofDay })
	if i == len(w.chains) || w.chains[i].first > ofDay {
		return hit // one that was moved out of a skipped hour
	}
	last := day*secondsPerDay + w.chains[i].last
	if i+1 < len(w.chains) {
		return last
	}
	end, _ := split(limit.Unix())
	for last/secondsPerDay <= end {
		next, ok := w.schedule.nextDay(day+1, end+1)
		first := next*secondsPerDay + w.chains[0].first
		if !ok || first-last > w.seconds {
			return last
		}
		day, last = next, next*secondsPerDay+w.chains[0].last
	}
	return last
}

// change reports whether w is open at t, and when that changes. The third
// result is false if it doesn't before limit.
func (w *Window) change(t, limit time.Time) (open bool, at time.Time, ok bool) {
	open, at = w.state(t, limit)
	for at.Before(limit) {
		more, until := w.state(at, limit)
		if more != open {
			return open, at, true
		}
		at = until
	}
	return open, limit, false
}

// Spans yields the stretches in [from, to) during which w is open, in order,
// cut to that range. No two of them touch.
func (w *Window) Spans(from, to time.Time) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for t := from; t.Before(to); {
			open, until, _ := w.change(t, to)
			if open && !yield(Span{t, until}) {
				return
			}
			t = until
		}
	}
}

// Next reports the first stretch of being open that ends after t, cut to start
// at t if it is on already. The second result is false when there is none
// within the ten years from t; To is the end of those ten years at the latest.
func (w *Window) Next(t time.Time) (Span, bool) {
	for span := range w.Spans(t, t.AddDate(10, 0, 0)) {
		return span, true
	}
	return Span{}, false
}
