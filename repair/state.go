package repair

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// State is what one pass leaves to the next. It encodes as JSON. The zero value
// is that of a first pass; plain Karpenter v1.14 needs none.
type State struct {
	// Nodes that are sick, recovering, or have been treated lately, by name.
	Nodes map[string]NodeState `json:"nodes,omitempty"`
	// Storms that are on.
	Storms map[Group]StormState `json:"storms,omitempty"`
}

// NodeState is what is remembered of one node.
type NodeState struct {
	// LastSick is the last pass that found the node sick, nil once it counts as
	// healthy again.
	LastSick *time.Time `json:"lastSick,omitempty"`
	// Attempts to heal it, oldest first.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// StormState is what is remembered of one storm.
type StormState struct {
	Since time.Time `json:"since"`
	// CalmSince is the first pass of those that found few sick nodes again.
	CalmSince *time.Time `json:"calmSince,omitempty"`
}

// Group is a set of nodes that share a breaker: a pool, or all nodes where Pool
// is empty, and of these, if Domain isn't empty, one failure domain.
type Group struct {
	Pool, Domain string
}

// String writes "pool" or "pool/domain".
func (g Group) String() string {
	if g.Domain == "" {
		return g.Pool
	}
	return g.Pool + "/" + g.Domain
}

// MarshalText makes a group the key of a JSON object.
func (g Group) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (g *Group) UnmarshalText(text []byte) error {
	g.Pool, g.Domain, _ = strings.Cut(string(text), "/")
	return nil
}

// clone copies the state so that the caller's stays as it is.
func (s State) clone() State {
	out := State{Nodes: maps.Clone(s.Nodes), Storms: maps.Clone(s.Storms)}
	for name, n := range out.Nodes {
		n.Attempts = slices.Clone(n.Attempts)
		out.Nodes[name] = n
	}
	return out
}

// setNode keeps what is worth keeping of a node.
func (s *State) setNode(name string, n NodeState) {
	if n.LastSick == nil && len(n.Attempts) == 0 {
		delete(s.Nodes, name)
		return
	}
	if s.Nodes == nil {
		s.Nodes = map[string]NodeState{}
	}
	s.Nodes[name] = n
}

// Storm keeps a breaker open that has tripped, until the weather is better for
// a while. The zero value is none: repair goes on as soon as the breaker allows.
type Storm struct {
	// Clear is how many nodes may be sick for the storm to be over, read like
	// Breaker.MaxUnhealthy. Empty means as many as the breaker allows.
	Clear string
	// Cooldown is how long they must have been that few.
	Cooldown time.Duration
}

// step moves a storm on by one reading. It returns nil when there is none, else
// when it will be over at the earliest, if it is calm already.
func (w Storm) step(old *StormState, b Breaker, c Count, now time.Time) (*StormState, *time.Time) {
	tripped := c.Sick+c.Leaving > c.Max || c.Err != nil
	if old == nil && !tripped {
		return nil, nil
	}
	next := StormState{Since: now}
	if old != nil {
		next = *old
	}
	if tripped || !w.calm(b, c) {
		next.CalmSince = nil
		return &next, nil
	}
	if next.CalmSince == nil {
		next.CalmSince = &now
	}
	end := next.CalmSince.Add(w.Cooldown)
	if !end.After(now) {
		return nil, nil
	}
	return &next, &end
}

func (w Storm) calm(b Breaker, c Count) bool {
	if w.Clear != "" {
		b.MaxUnhealthy = w.Clear
	}
	_, high, err := b.bounds(c.Nodes)
	return err == nil && c.Sick+c.Leaving <= high
}
