package drift

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/node-disruption/disruption/scheduling"
)

// Candidate is a drifted node: its claim's Drifted condition is true. What made
// it drift is not asked again.
type Candidate struct {
	// Node is unique among the candidates.
	Node  string `json:"node"`
	Claim string `json:"claim"`
	Pool  string `json:"pool"`
	// Reason is the condition's.
	Reason Reason `json:"reason"`
	// DriftedSince is when the condition turned true.
	DriftedSince time.Time `json:"driftedSince"`
	// ReschedulablePods counts the pods that have to move.
	ReschedulablePods int `json:"reschedulablePods"`
	// HasGracePeriod: the claim (not the pool) has a terminationGracePeriod.
	HasGracePeriod bool `json:"hasGracePeriod,omitempty"`
	// PodsBlock is why a pod of the node must not be evicted (do-not-disrupt, a
	// PDB), "" if none. Drift is eventual: with a grace period on the claim the
	// node may go all the same, and these pods when it ends.
	PodsBlock string `json:"podsBlock,omitempty"`
}

// Eligible reports whether the node's pods let it go, now or when the claim's
// grace period ends.
func (c *Candidate) Eligible() bool { return c.PodsBlock == "" || c.HasGracePeriod }

// Sort returns the candidates in the order in which they are tried: those without
// reschedulable pods first, then whoever drifted first, then by the node's name.
func Sort(candidates []Candidate) []Candidate {
	sorted := slices.Clone(candidates)
	slices.SortFunc(sorted, func(a, b Candidate) int {
		return cmp.Or(
			compareBool(a.ReschedulablePods > 0, b.ReschedulablePods > 0),
			a.DriftedSince.Compare(b.DriftedSince),
			cmp.Compare(a.Node, b.Node),
		)
	})
	return sorted
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Simulator answers where pods would go; a *scheduling.Snapshot is one.
type Simulator interface {
	Simulate(scheduling.Request) scheduling.Result
}

// MoveOptions of [Propose]. The zero value is Karpenter v1.14.
type MoveOptions struct {
	// MaxReplacements, unless 0, skips a node whose pods would need more new
	// nodes than this.
	MaxReplacements int
	// Gates of pools that roll out with care, see [Rollout.Evaluate]. A pool that
	// is missing has none.
	Gates map[string]Gate
	// NodeGates of single nodes, see [Backoff.Evaluate].
	NodeGates map[string]Gate
	// Explain adds to a skipped node why its pods can't be placed.
	Explain bool
}

// Code says why a drifted node was skipped. Codes are stable; wording is not.
type Code string

// The codes.
const (
	CodePodsBlock       Code = "PodsBlock"       // a pod must not be evicted, and no grace period ends that
	CodeBudget          Code = "Budget"          // the pool's budget allows none
	CodeGate            Code = "Gate"            // the roll-out of the pool or the node waits, see Skipped.Gate
	CodeUnplaced        Code = "Unplaced"        // a pod found no place
	CodeTooMany         Code = "TooMany"         // it would take more new nodes than MaxReplacements
	CodeNoPools         Code = "NoPools"         // no pool can open a node, which ends the pass
	CodeNotReached      Code = "NotReached"      // another node's move came first
	CodeReplicas        Code = "Replicas"        // a static pool has more nodes than replicas already
	CodeNoHeadroom      Code = "NoHeadroom"      // a static pool's node limit has no room for a replacement
	CodeReplicasMissing Code = "ReplicasMissing" // a static pool lacks nodes, so none is terminated first
)

// Skipped is a candidate that was not taken, and why.
type Skipped struct {
	Node string `json:"node"`
	Pool string `json:"pool"`
	Code Code   `json:"code"`
	// Detail is the reason in words, with its numbers.
	Detail string `json:"detail,omitempty"`
	// Placements of the pods that found no place, for CodeUnplaced.
	Placements []scheduling.Placement `json:"-"`
	// Gate that holds the pool or the node back, for CodeGate.
	Gate *Gate `json:"gate,omitempty"`
}

// Move replaces one drifted node.
type Move struct {
	Candidate Candidate
	// Replacements to launch, any number. Static pools' have no instance types:
	// whatever the pool launches will do.
	Replacements []scheduling.NewNode
	// Placements of the pods, by the simulation; nil for static pools.
	Placements []scheduling.Placement
	// TerminateFirst: delete the node before its replacement is launched. Else
	// the replacements must be initialised before the node is deleted.
	TerminateFirst bool
}

// Plan is the moves of one pass, and what it passed over. It belongs to the
// caller.
type Plan struct {
	Moves   []Move
	Skipped []Skipped
}

// Propose returns the move of one pass over the drifted nodes of dynamic pools:
// the first in order (see [Sort]) whose pods all have a place, whatever that
// costs and however many new nodes it takes. Pending pods may fail. Later
// candidates are not looked at.
//
// Allowed is how many nodes of each pool the budgets let go now for drift; a pool
// that is missing lets none. Only "none or some" is asked, and nothing is taken.
// Where no pool can open a node at all, the pass ends without a move.
func Propose(candidates []Candidate, allowed map[string]int, sim Simulator, o MoveOptions) Plan {
	var plan Plan
	sorted := Sort(candidates)
	for i := range sorted {
		c := &sorted[i]
		skip := o.forbids(c, allowed)
		if skip == nil {
			result := sim.Simulate(scheduling.Request{Remove: []string{c.Node}, Explain: o.Explain})
			if skip = o.rejects(c, &result); skip == nil {
				plan.Moves = []Move{{Candidate: *c, Replacements: result.NewNodes, Placements: result.Placements}}
				plan.passOver(sorted[i+1:], CodeNotReached, "node "+c.Node+" goes first")
				break
			}
		}
		plan.Skipped = append(plan.Skipped, *skip)
		if skip.Code == CodeNoPools {
			plan.passOver(sorted[i+1:], CodeNoPools, skip.Detail)
			break
		}
	}
	return plan
}

// forbids says why a candidate is not even simulated, or returns nil.
func (o *MoveOptions) forbids(c *Candidate, allowed map[string]int) *Skipped {
	if !c.Eligible() {
		return c.skip(CodePodsBlock, c.PodsBlock)
	}
	if allowed[c.Pool] <= 0 {
		return c.skip(CodeBudget, "the budget of pool "+c.Pool+" allows none")
	}
	if skip := c.gated(o.Gates, c.Pool); skip != nil {
		return skip
	}
	return c.gated(o.NodeGates, c.Node)
}

func (c *Candidate) gated(gates map[string]Gate, name string) *Skipped {
	gate, ok := gates[name]
	if !ok || gate.Open() {
		return nil
	}
	skip := c.skip(CodeGate, gate.String())
	skip.Gate = &gate
	return skip
}

// rejects says why the outcome of a simulation won't do, or returns nil.
func (o *MoveOptions) rejects(c *Candidate, r *scheduling.Result) *Skipped {
	if r.NoPools {
		return c.skip(CodeNoPools, "no pool can open a node")
	}
	if !r.AllRunningPlaced() {
		return c.unplaced(r)
	}
	if o.MaxReplacements > 0 && len(r.NewNodes) > o.MaxReplacements {
		return c.skip(CodeTooMany, fmt.Sprintf("it would take %s, at most %d may be", count(len(r.NewNodes), "new node"), o.MaxReplacements))
	}
	return nil
}

func (c *Candidate) unplaced(r *scheduling.Result) *Skipped {
	skip := c.skip(CodeUnplaced, "the simulation was cut short")
	for _, p := range r.Placements {
		if p.Origin != scheduling.FromPending && !p.Placed() {
			skip.Placements = append(skip.Placements, p)
		}
	}
	if n := len(skip.Placements); n > 0 {
		first := skip.Placements[0].Pod
		skip.Detail = fmt.Sprintf("%s found no place, the first is %s/%s", count(n, "pod"), first.Namespace, first.Name)
	}
	return skip
}

func (c *Candidate) skip(code Code, detail string) *Skipped {
	return &Skipped{Node: c.Node, Pool: c.Pool, Code: code, Detail: detail}
}

// passOver records candidates that all have the same reason.
func (p *Plan) passOver(candidates []Candidate, code Code, detail string) {
	for i := range candidates {
		p.Skipped = append(p.Skipped, *candidates[i].skip(code, detail))
	}
}
