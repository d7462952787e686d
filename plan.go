package disruption

import (
	"time"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
)

// Plan is what one pass would do, and why everything else stays as it is. It
// belongs to the caller.
type Plan struct {
	Now time.Time `json:"now"`
	// Method that found the moves, "" if none did.
	Method consolidation.Method `json:"method,omitempty"`
	// Moves of this pass. They don't depend on each other.
	Moves []Move `json:"moves"`
	// Outlook is what each later method would do on the cluster as it is; filled
	// with [Options.AllMethods]. Doing one of them changes the cluster, so they
	// don't add up.
	Outlook []Move `json:"outlook,omitempty"`
	// Missed is the largest saving of one node that is not made, and all that
	// stands in its way; filled with [Options.AllMethods].
	Missed *consolidation.Missed `json:"missed,omitempty"`
	// Nodes has an entry for every node and every launched claim, by name.
	Nodes []NodeReport `json:"nodes"`
	// Pools by name.
	Pools []PoolReport `json:"pools"`
	// Forceful is what budgets don't hold back: expiry, repair, and the nodes
	// that are on their way out.
	Forceful Forceful `json:"forceful"`
	// Findings about the cluster and its configuration, worst first.
	Findings []Finding `json:"findings,omitempty"`
	// NotReached are the pools of which an interrupted pass saw no candidate: hand
	// them to [Options.NotReached] of the next one.
	NotReached []string `json:"notReached,omitempty"`
	// Totals of the cluster and of the moves.
	Totals Totals `json:"totals"`
	// Interrupted says why the pass ended before all was judged; "" if it didn't.
	Interrupted string `json:"interrupted,omitempty"`
}

// Move is a set of nodes that go, and what comes in their place.
type Move struct {
	*consolidation.Move
	// Reason under which the move counts in budgets: Empty, Drifted or
	// Underutilized.
	Reason budget.Reason `json:"reason"`
	// Pods and where they go, by namespace and name; none for moves of empty
	// nodes. Pending pods that the simulation placed too are not listed.
	Pods []PodMove `json:"pods,omitempty"`
}

// PodMove is the way of one pod.
type PodMove struct {
	Pod  string `json:"pod"` // namespace/name
	From string `json:"from"`
	// To is a node, or "new-0" for the first replacement; "" if the pod would find
	// no place.
	To string `json:"to"`
}

// NodeReport is the verdict on one node.
type NodeReport struct {
	Name         string  `json:"name"`
	Claim        string  `json:"claim,omitempty"`
	Pool         string  `json:"pool,omitempty"`
	InstanceType string  `json:"instanceType,omitempty"`
	Zone         string  `json:"zone,omitempty"`
	CapacityType string  `json:"capacityType,omitempty"`
	Price        float64 `json:"price"` // per hour, 0 if unknown
	// Pods bound to the node, of which Reschedulable would have to move.
	Pods          int `json:"pods"`
	Reschedulable int `json:"reschedulable"`
	// MovedBy is the method whose move takes the node in this pass.
	MovedBy consolidation.Method `json:"movedBy,omitempty"`
	// Verdicts of the methods that were asked, in their order, but for MovedBy.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Alone is what single-node consolidation would make of a candidate that no
	// method came to, budgets aside; filled with [Options.AllMethods].
	Alone *Alone `json:"alone,omitempty"`
}

// Alone is the judgement of one node by itself, with the numbers that decided.
type Alone struct {
	Decision consolidation.Decision `json:"decision"`
	Price    float64                `json:"price"`   // of the node, per hour
	Savings  float64                `json:"savings"` // per hour
	// Score by the Balanced pools; nil if none was asked.
	Score *consolidation.Score `json:"score,omitempty"`
	// Reasons why it would not be done; none if it would.
	Reasons []consolidation.Reason `json:"reasons,omitempty"`
	// Nearest are the instance types that came closest to being cheaper; filled
	// with [Options.Explain].
	Nearest []consolidation.NearType `json:"nearest,omitempty"`
}

// Verdict is what one method says about a node.
type Verdict struct {
	Method consolidation.Method `json:"method"`
	// Would: the method would take the node if its turn came (see Plan.Outlook).
	Would bool `json:"would,omitempty"`
	// Reasons why not, in the order of the checks; the first is Karpenter's.
	Reasons []consolidation.Reason `json:"reasons,omitempty"`
}

// First is the reason that a person would want to hear first. That is the one of
// the method which got furthest with the node, the last of several; and for a node
// that no method came to, why it could not go alone. Ok is false if the node is in
// a move or no method was asked.
func (n *NodeReport) First() (reason consolidation.Reason, method consolidation.Method, ok bool) {
	if n.MovedBy != "" {
		return reason, "", false
	}
	best := -1
	for _, v := range n.Verdicts {
		if len(v.Reasons) > 0 && progress(v.Reasons[0].Code) >= best {
			best, reason, method, ok = progress(v.Reasons[0].Code), v.Reasons[0], v.Method, true
		}
	}
	if n.Alone != nil && len(n.Alone.Reasons) > 0 && best <= progress(consolidation.NotReached) {
		return n.Alone.Reasons[0], consolidation.MethodSingle, true
	}
	return reason, method, ok
}

// progress ranks codes by how far a node got: what only says that a method is
// for other nodes explains nothing.
func progress(code consolidation.Code) int {
	switch code {
	case consolidation.NotStaticPool, consolidation.StaticPool, consolidation.NotDrifted:
		return 0
	case consolidation.NotEmpty, consolidation.Empty:
		return 1
	case consolidation.NotReached, consolidation.NotChosen, consolidation.TooFewCandidates, consolidation.BudgetSpent:
		return 2
	}
	return 3
}

// PoolReport is what one pool looks like to this pass.
type PoolReport struct {
	Name string `json:"name"`
	// Nodes that budgets count, and those of them that use budgets up.
	Nodes   int             `json:"nodes"`
	Charged []budget.Charge `json:"charged,omitempty"`
	// Budgets by reason: what is allowed, what binds, and until when.
	Budgets []budget.Verdict `json:"budgets"`
	// Totals of the pool, as the Balanced policy sees them.
	Cost       float64 `json:"cost"`       // per hour
	Disruption float64 `json:"disruption"` // sum of the nodes' reschedule disruption costs
}

// Totals sums up.
type Totals struct {
	Nodes    int     `json:"nodes"`
	Pods     int     `json:"pods"`
	Cost     float64 `json:"cost"`     // per hour, of the nodes whose price is known
	Savings  float64 `json:"savings"`  // per hour, of Plan.Moves
	Removed  int     `json:"removed"`  // nodes that Plan.Moves remove
	Launched int     `json:"launched"` // nodes that Plan.Moves launch
	Moved    int     `json:"moved"`    // pods that Plan.Moves move
	// Simulations is how many what-if questions the pass asked.
	Simulations int `json:"simulations"`
}
