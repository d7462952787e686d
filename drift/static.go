package drift

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/node-disruption/disruption/scheduling"
)

// StaticPool is a pool with replicas, and its drifted nodes. Everything is
// counted in node claims.
type StaticPool struct {
	Name     string
	Replicas int
	// NodeLimit is limits.nodes of the pool, nil if it has none.
	NodeLimit *int
	// Running claims are neither deleting nor marked for it; Deleting are those
	// that are; Pending are replacements of running moves without a claim yet;
	// Reserved is what other launches hold of the limit.
	Running, Deleting, Pending, Reserved int
	// Allowed is how many nodes the budgets let go now for drift.
	Allowed int
	Drifted []Candidate
}

// StaticOptions of [ProposeStatic]. The zero value is Karpenter v1.14.
type StaticOptions struct {
	// TerminateFirst deletes a node before its replacement is launched in pools
	// whose node limit has no room for one more. Such a pool can't roll
	// otherwise; it runs one node short meanwhile.
	TerminateFirst bool
	// Gates and NodeGates, as in [MoveOptions].
	Gates, NodeGates map[string]Gate
}

// ProposeStatic returns the moves of one pass over static pools. A drifted node
// is replaced by one of its own pool, without a simulation: its pods will fit
// where they fit. Each pool has as many moves as its budget, the room below its
// node limit and the number of drifted nodes allow, and none while it has more
// nodes, running and pending, than replicas. Pools go by name, and nodes by name
// too, not by age.
func ProposeStatic(pools []StaticPool, o StaticOptions) Plan {
	var plan Plan
	sorted := slices.SortedFunc(slices.Values(pools), func(a, b StaticPool) int { return cmp.Compare(a.Name, b.Name) })
	for i := range sorted {
		sorted[i].propose(&plan, &o)
	}
	return plan
}

func (p *StaticPool) propose(plan *Plan, o *StaticOptions) {
	nodes := slices.SortedFunc(slices.Values(p.Drifted), func(a, b Candidate) int { return cmp.Compare(a.Node, b.Node) })
	n, code, detail := p.room()
	terminateFirst := code == CodeNoHeadroom && n == 0 && o.TerminateFirst
	if terminateFirst {
		n, code, detail = p.spare()
	}
	var held *Gate
	if gate, ok := o.Gates[p.Name]; ok && gate.Allowed < n {
		n, code, detail, held = max(0, gate.Allowed), CodeGate, gate.String(), &gate
	}
	for i := range nodes {
		c := &nodes[i]
		skip := c.skip(code, detail)
		skip.Gate = held
		if !c.Eligible() {
			skip = c.skip(CodePodsBlock, c.PodsBlock)
		} else if gated := c.gated(o.NodeGates, c.Node); gated != nil {
			skip = gated
		} else if n > 0 {
			n--
			plan.Moves = append(plan.Moves, p.move(c, terminateFirst))
			continue
		}
		plan.Skipped = append(plan.Skipped, *skip)
	}
}

func (p *StaticPool) move(c *Candidate, terminateFirst bool) Move {
	return Move{Candidate: *c, Replacements: []scheduling.NewNode{{Pool: p.Name}}, TerminateFirst: terminateFirst}
}

// room returns how many nodes may be replaced with the replacement first, and
// what it is that allows no more.
func (p *StaticPool) room() (n int, code Code, detail string) {
	if have := p.Running + p.Pending; have > p.Replicas {
		return 0, CodeReplicas, fmt.Sprintf("%d nodes run or are to come, %d are wanted", have, p.Replicas)
	}
	n, code, detail = p.budget()
	if p.NodeLimit == nil {
		return n, code, detail
	}
	used := p.Running + p.Deleting + p.Pending + p.Reserved
	if free := max(0, *p.NodeLimit-used); free < n {
		return free, CodeNoHeadroom, fmt.Sprintf("no headroom: %d + %d > %d", used, free+1, *p.NodeLimit)
	}
	return n, code, detail
}

// spare returns how many nodes may be terminated before they are replaced: what
// the budget allows, less the nodes that the pool lacks already.
func (p *StaticPool) spare() (n int, code Code, detail string) {
	n, code, detail = p.budget()
	if missing := max(0, p.Replicas-p.Running); missing > 0 && n > 0 {
		n, code = max(0, n-missing), CodeReplicasMissing
		detail = fmt.Sprintf("%d of %d replicas are missing", missing, p.Replicas)
	}
	return n, code, detail
}

func (p *StaticPool) budget() (int, Code, string) {
	return max(0, p.Allowed), CodeBudget, fmt.Sprintf("the budget of pool %s allows %d", p.Name, max(0, p.Allowed))
}
