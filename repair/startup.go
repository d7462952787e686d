package repair

import "time"

// How long Karpenter v1.14 waits for a new claim: for its instance, and for the
// node to register. Both count from the claim's creation.
const (
	DefaultLaunchTimeout       = 5 * time.Minute
	DefaultRegistrationTimeout = 15 * time.Minute
)

// Startup is how far a new claim has come.
type Startup struct {
	// Created is when the claim was; more exactly, when the condition that is
	// still open, Launched or Registered, last changed.
	Created time.Time
	// Launched and Registered are the claim's conditions of these names.
	Launched, Registered bool
}

// StartupTimeouts of a pool. The zero value is Karpenter v1.14.
type StartupTimeouts struct {
	Launch, Registration time.Duration
}

// Deadline returns when a claim that has come no further is given up: it is
// deleted from that instant on, and counts as a failure in [Registrations]. The
// second result is false for a node that has registered.
func (t StartupTimeouts) Deadline(s Startup) (time.Time, bool) {
	switch {
	case s.Registered:
		return time.Time{}, false
	case s.Launched:
		return s.Created.Add(orDefault(t.Registration, DefaultRegistrationTimeout)), true
	}
	return s.Created.Add(orDefault(t.Launch, DefaultLaunchTimeout)), true
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}
