package budget

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Interval is a stretch of time, [From, To), through which the answer for one
// reason stays the same.
type Interval struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Limit, Allowed and Binding are those of [Verdict] at From, but for a limit
	// below zero, which is zero here.
	Limit   int `json:"limit"`
	Allowed int `json:"allowed"`
	Binding int `json:"binding"`
}

// Forecast yields what [Set.Evaluate] will answer for reason from one instant
// to another, if the pool stays as it is: intervals in order, without gaps,
// each with another limit than the one before it. It walks from change to
// change, so that a year costs hardly more than a day with many windows.
func (s *Set) Forecast(from, to time.Time, reason Reason, usage Usage) iter.Seq[Interval] {
	return func(yield func(Interval) bool) {
		f := s.forecaster(from, to, reason, usage.Total)
		for at := from; at.Before(to); {
			limit, binding := f.lowest()
			next := f.advance(to)
			for now, _ := f.lowest(); now == limit && next.Before(to); now, _ = f.lowest() {
				next = f.advance(to)
			}
			if !yield(Interval{at, next, limit, remaining(limit, usage.Consuming), binding}) {
				return
			}
			at = next
		}
	}
}

// NextAtLeast reports the first instant from now on at which at least n nodes
// may be disrupted for reason, if the pool stays as it is. The second result is
// false when that doesn't happen before limit.
func (s *Set) NextAtLeast(n int, now, limit time.Time, reason Reason, usage Usage) (time.Time, bool) {
	for i := range s.Forecast(now, limit, reason, usage) {
		if i.Allowed >= n {
			return i.From, true
		}
	}
	return time.Time{}, false
}

// forecaster moves through time with one track per budget that has a say.
type forecaster struct {
	tracks []track  // by rising limit, so that the first open one binds
	due    []*track // those with a window, as a heap: the next to change first
}

// track is where one budget stands: open or not, and when that may change.
type track struct {
	window  *Window // nil if always open
	binding int
	limit   int
	open    bool
	until   time.Time
}

// forecaster follows the budgets that can limit a reason.
func (s *Set) forecaster(from, to time.Time, reason Reason, total int) *forecaster {
	f := &forecaster{}
	for i := range s.budgets {
		b := &s.budgets[i]
		if limit := b.limit(total); b.counts(reason) && limit < Unlimited {
			f.tracks = append(f.tracks, track{window: b.window, binding: i, limit: limit})
		}
	}
	slices.SortStableFunc(f.tracks, func(a, b track) int { return cmp.Compare(a.limit, b.limit) })
	f.start(from, to)
	return f
}

// tracker follows all budgets, for whoever asks which are active together.
func (s *Set) tracker(from, to time.Time) *forecaster {
	f := &forecaster{tracks: make([]track, len(s.budgets))}
	for i := range s.budgets {
		f.tracks[i] = track{window: s.budgets[i].window, binding: i}
	}
	f.start(from, to)
	return f
}

func (f *forecaster) start(from, to time.Time) {
	for i := range f.tracks {
		t := &f.tracks[i]
		if t.open = true; t.window != nil {
			t.open, t.until = t.window.state(from, to)
			f.due = append(f.due, t)
		}
	}
	for i := len(f.due)/2 - 1; i >= 0; i-- {
		f.sink(i)
	}
}

// lowest is the smallest limit of the tracks that are open, and the first
// budget that sets it.
func (f *forecaster) lowest() (limit, binding int) {
	for i := range f.tracks {
		if t := &f.tracks[i]; t.open {
			return t.limit, t.binding
		}
	}
	return Unlimited, -1
}

// advance moves to the next instant, limit at the latest, at which a track may
// change, and returns it.
func (f *forecaster) advance(limit time.Time) time.Time {
	if len(f.due) == 0 || !f.due[0].until.Before(limit) {
		return limit
	}
	next := f.due[0].until
	for !f.due[0].until.After(next) {
		t := f.due[0]
		t.open, t.until = t.window.state(next, limit)
		f.sink(0)
	}
	return next
}

// sink restores the order of the heap below i.
func (f *forecaster) sink(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(f.due); child++ {
			if f.due[child].until.Before(f.due[first].until) {
				first = child
			}
		}
		if first == i {
			return
		}
		f.due[i], f.due[first] = f.due[first], f.due[i]
		i = first
	}
}
