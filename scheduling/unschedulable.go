package scheduling

// Unschedulable says why a pod found no place.
type Unschedulable struct {
	// Code is stable; Message is for people.
	Code, Message string
}
