package repair

// Registrations remembers how the last launches of a pool ended, and tells
// whether new nodes of the pool are worth waiting for. It is a value: Record
// returns a new one. Karpenter v1.14 keeps four and calls the pool unhealthy
// when half of them, two, failed.
type Registrations struct {
	// Registered holds the outcomes, oldest first, at most [RegistrationsKept].
	Registered []bool `json:"registered,omitempty"`
}

// How many launches are remembered, and how many failures among them make a
// pool unhealthy.
const (
	RegistrationsKept = 4
	tooManyFailures   = RegistrationsKept / 2
)

// Health is what the last launches say about a pool.
type Health string

// The healths. A pool that has launched nothing yet is unknown.
const (
	HealthUnknown Health = "Unknown"
	Healthy       Health = "Healthy"
	Unhealthy     Health = "Unhealthy"
)

// Record returns the memory after one more launch: did its node register in
// time? The oldest outcome is forgotten.
func (r Registrations) Record(registered bool) Registrations {
	kept := r.Registered[max(0, len(r.Registered)-RegistrationsKept+1):]
	next := make([]bool, 0, len(kept)+1)
	return Registrations{append(append(next, kept...), registered)}
}

// Health reports what the last launches say.
func (r Registrations) Health() Health {
	if len(r.Registered) == 0 {
		return HealthUnknown
	}
	failed := 0
	for _, ok := range r.Registered[max(0, len(r.Registered)-RegistrationsKept):] {
		if !ok {
			failed++
		}
	}
	if failed >= tooManyFailures {
		return Unhealthy
	}
	return Healthy
}
