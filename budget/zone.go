package budget

import (
	"fmt"
	"time"
)

// clock is a wall clock that never runs backwards: where a zone repeats an
// hour, it stands still at the end of the first pass until the second is over;
// where a zone skips an hour, it jumps. Its readings are seconds, as if the
// wall showed UTC. The zero value is UTC itself.
type clock struct{ zone *time.Location }

// loadClock finds a zone by its IANA name; "" is UTC. "Local" is refused, since
// it would mean something else on every machine.
func loadClock(name string) (clock, error) {
	if name == "" || name == "UTC" {
		return clock{}, nil
	}
	if name == "Local" {
		return clock{}, fmt.Errorf("depends on the machine: name a zone, as in \"Europe/Berlin\"")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return clock{}, fmt.Errorf("unknown time zone: use an IANA name, as in \"Europe/Berlin\"")
	}
	return clock{zone: zone}, nil
}

// read is what the clock shows at t: seconds, and nanoseconds on top.
func (c clock) read(t time.Time) (second int64, nano int) {
	if c.zone == nil {
		return t.Unix(), t.Nanosecond()
	}
	t = t.In(c.zone)
	_, offset := t.Zone()
	if begin, _ := t.ZoneBounds(); !begin.IsZero() {
		before := offsetBefore(begin)
		if repeated := before - int64(offset); t.Unix()-begin.Unix() < repeated {
			return begin.Unix() + before - 1, 999_999_999
		}
	}
	return t.Unix() + int64(offset), t.Nanosecond()
}

// instant is the first instant at which the clock shows second or later.
func (c clock) instant(second int64) time.Time {
	if c.zone == nil {
		return time.Unix(second, 0).UTC()
	}
	// Some instant nearby; the answer is in its period of constant offset or in
	// one of the two beside it.
	_, offset := time.Unix(second, 0).In(c.zone).Zone()
	near := time.Unix(second-int64(offset), 0).In(c.zone)
	begin, end := near.ZoneBounds()
	if !begin.IsZero() {
		if t := second - offsetBefore(begin); t < begin.Unix() {
			return time.Unix(t, 0).UTC()
		}
	}
	_, offset = near.Zone()
	t := second - int64(offset)
	if !begin.IsZero() && t < begin.Unix() {
		return begin.UTC()
	}
	if end.IsZero() || t < end.Unix() {
		return time.Unix(t, 0).UTC()
	}
	_, offset = end.Zone()
	return time.Unix(max(second-int64(offset), end.Unix()), 0).UTC()
}

// gap reports the readings [from, to) that the clock skips, if second is one of
// them.
func (c clock) gap(second int64) (from, to int64, skipped bool) {
	if c.zone == nil {
		return 0, 0, false
	}
	jump := c.instant(second).In(c.zone)
	_, offset := jump.Zone()
	to = jump.Unix() + int64(offset)
	if to <= second {
		return 0, 0, false
	}
	return jump.Unix() + offsetBefore(jump), to, true
}

// offsetBefore is the offset, in seconds, up to the change of zone at begin.
func offsetBefore(begin time.Time) int64 {
	_, offset := begin.Add(-time.Second).Zone()
	return int64(offset)
}
