package consolidation

import (
	"github.com/node-disruption/disruption/scheduling"
)

// Decision is what a move comes down to.
type Decision string

// The decisions.
const (
	Delete  Decision = "delete"  // the nodes go, the pods find room elsewhere
	Replace Decision = "replace" // the nodes go once the new ones are ready
	NoOp    Decision = "no-op"   // nothing can be gained
)

// Move is a set of nodes to remove, what comes in their place, and what that
// saves, or why it is not done. It belongs to the caller.
type Move struct {
	Method   Method   `json:"method"`
	Decision Decision `json:"decision"`
	// Nodes in the order in which they were considered.
	Nodes []string `json:"nodes"`
	// Replacements to launch before the nodes go.
	Replacements []Replacement `json:"replacements,omitempty"`
	// TerminateFirst: the nodes go before their replacements are launched, since
	// a static pool has no room for one more.
	TerminateFirst bool `json:"terminateFirst,omitempty"`
	// Price of the nodes per hour, the sum of their offerings'.
	Price float64 `json:"price"`
	// Savings per hour: Price less the cheapest available offering of the first
	// instance type of each replacement, as Karpenter estimates it. A replacement
	// without a known price counts as free.
	Savings float64 `json:"savings"`
	// Disruption is the sum of the nodes' reschedule disruption costs.
	Disruption float64 `json:"disruption"`
	// Score is the Balanced policy's; only consolidation of nodes that are not
	// empty is scored.
	Score *Score `json:"score,omitempty"`
	// Placements says where the pods go; nil for moves that need no simulation.
	Placements []scheduling.Placement `json:"-"`
	// Reasons why the move is not made: none means that it may be made.
	Reasons []Reason `json:"reasons,omitempty"`
	// Nearest lists, with [Options.Explain] and code NotCheaper, the instance
	// types that came closest to being cheaper.
	Nearest []NearType `json:"nearest,omitempty"`

	candidates []*Candidate
}

// Allowed reports whether the move may be made.
func (m *Move) Allowed() bool { return m.Decision != NoOp && len(m.Reasons) == 0 }

// Candidates are the nodes of the move. The slice is shared.
func (m *Move) Candidates() []*Candidate { return m.candidates }

// Replacement is a node to launch. Any of its instance types will do.
type Replacement struct {
	scheduling.NewNode
	// Price is the cheapest available offering of the first instance type, 0 if
	// none is known.
	Price float64 `json:"price"`
}

// NearType is an instance type that would hold the pods, and what it would cost
// at worst.
type NearType struct {
	InstanceType string  `json:"instanceType"`
	Price        float64 `json:"price"`
}

// reject adds a reason why the move is not made.
func (m *Move) reject(r Reason) { m.Reasons = append(m.Reasons, r) }

// refuse rejects the move before anything is decided.
func (m *Move) refuse(r Reason) {
	m.Decision = NoOp
	m.Replacements, m.Savings = nil, 0
	m.reject(r)
}

func newMove(method Method, candidates []*Candidate) *Move {
	m := &Move{Method: method, Decision: NoOp, Nodes: names(candidates), candidates: candidates}
	for _, c := range candidates {
		m.Price += c.Price
		m.Disruption += c.RescheduleDisruptionCost
	}
	return m
}

func names(candidates []*Candidate) []string {
	list := make([]string, len(candidates))
	for i, c := range candidates {
		list[i] = c.Name
	}
	return list
}
