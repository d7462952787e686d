package repair

import "time"

// Remedy is something to do about a sick node.
type Remedy string

// The remedies. The caller carries them out.
const (
	// Replace deletes the node's claim.
	Replace Remedy = ""
	// Reboot restarts the machine.
	Reboot Remedy = "Reboot"
	// External hands the node to whoever Step.Name names.
	External Remedy = "External"
)

// Step is one rung of a ladder: what to try, and when to try the next.
type Step struct {
	Remedy Remedy
	// Name tells external remedies apart.
	Name string
	// Timeout is how long the remedy has to make the node healthy before the next
	// step is due. Replace needs none: the node is gone with its claim.
	Timeout time.Duration
	// Limit is how often the step may be taken, 0 meaning once: for as long as
	// the node is sick, or within Per, if that is set, across sicknesses. Two
	// reboots a day and then a replacement are {Reboot, Limit: 2, Per: 24h} and
	// {Replace}.
	Limit int
	Per   time.Duration
}

// Attempt is a step that was taken.
type Attempt struct {
	Remedy Remedy    `json:"remedy,omitempty"`
	Name   string    `json:"name,omitempty"`
	At     time.Time `json:"at"`
}

func (a Attempt) is(s *Step) bool { return a.Remedy == s.Remedy && a.Name == s.Name }

// next picks the step to take at now. A step that runs still is returned with
// the end of its time; ok is false when every step is used up, and until then
// says when one of them may be taken again, if ever.
func next(ladder []Step, attempts []Attempt, now time.Time) (step Step, until *time.Time, ok bool) {
	if len(ladder) == 0 {
		return Step{}, nil, true
	}
	if s, end := running(ladder, attempts, now); s != nil {
		return *s, end, true
	}
	for i := range ladder {
		free := ladder[i].free(attempts, now)
		if free != nil && !free.After(now) {
			return ladder[i], nil, true
		}
		if free != nil && (until == nil || free.Before(*until)) {
			until = free
		}
	}
	return Step{}, until, false
}

// running returns the step that was taken last, while its time is not over.
func running(ladder []Step, attempts []Attempt, now time.Time) (*Step, *time.Time) {
	if len(attempts) == 0 {
		return nil, nil
	}
	last := attempts[len(attempts)-1]
	for i := range ladder {
		if end := last.At.Add(ladder[i].Timeout); last.is(&ladder[i]) && now.Before(end) {
			return &ladder[i], &end
		}
	}
	return nil, nil
}

// free returns the instant from which on the step may be taken, or nil if it
// may not while the node is sick. A replacement always may.
func (s *Step) free(attempts []Attempt, now time.Time) *time.Time {
	left := max(1, s.Limit)
	for i := len(attempts) - 1; i >= 0 && s.Remedy != Replace; i-- {
		if !attempts[i].is(s) || s.Per > 0 && now.Sub(attempts[i].At) >= s.Per {
			continue
		}
		if left--; left > 0 {
			continue
		}
		if s.Per == 0 {
			return nil
		}
		again := attempts[i].At.Add(s.Per)
		return &again
	}
	return &now
}

// remembered keeps the attempts that still count once the node is healthy:
// those of steps with a window, within it.
func remembered(policies []Policy, attempts []Attempt, now time.Time) (kept []Attempt) {
	for _, a := range attempts {
		if countsAt(policies, a, now) {
			kept = append(kept, a)
		}
	}
	return kept
}

func countsAt(policies []Policy, a Attempt, now time.Time) bool {
	for i := range policies {
		for j := range policies[i].Ladder {
			s := &policies[i].Ladder[j]
			if a.is(s) && now.Sub(a.At) < s.Per {
				return true
			}
		}
	}
	return false
}
