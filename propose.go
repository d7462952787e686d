package disruption

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// Propose says what Karpenter v1.14's disruption controller would do in one pass
// over this cluster, and why everything else stays as it is.
//
// The methods are asked in order (Empty, StaticDrift, Drift, Multi, Single), each
// within what the budgets allow for its reason, and the first that finds a move
// ends the pass. The answer depends on nothing but the arguments. If the context
// ends first, the plan holds what was found by then and says so in Interrupted.
//
// The error is [Prepare]'s.
func Propose(ctx context.Context, c *Cluster, o Options) (*Plan, error) {
	pass, err := Prepare(c, o)
	if err != nil {
		return nil, err
	}
	return pass.Plan(ctx), nil
}

// Plan asks the methods and writes down all answers.
func (p *Pass) Plan(ctx context.Context) *Plan {
	plan := &Plan{Now: p.fleet.cluster.Now, Moves: []Move{}}
	var outcomes []consolidation.Outcome
	if !p.options.SkipUnlaunched || len(p.fleet.unlaunched) == 0 {
		outcomes = p.ask(ctx, plan)
	}
	p.reportNodes(plan, outcomes)
	if p.options.AllMethods {
		p.reportAlone(plan)
		p.reportMissed(plan)
	}
	p.reportPools(plan)
	p.reportForceful(plan)
	p.reportFindings(plan)
	p.reportTotals(plan)
	return plan
}

// ask runs the methods until one finds a move, or all of them.
func (p *Pass) ask(ctx context.Context, plan *Plan) []consolidation.Outcome {
	var outcomes []consolidation.Outcome
	for _, method := range p.methods() {
		if ctx.Err() != nil {
			plan.Interrupted = ctx.Err().Error()
			break
		}
		outcome := p.Ask(ctx, method)
		outcomes = append(outcomes, outcome)
		plan.Totals.Simulations += outcome.Simulations
		if outcome.Interrupted {
			plan.Interrupted, plan.NotReached = "the search of method "+string(method)+" ended early", outcome.NotReached
		}
		moves := p.moves(outcome.Moves)
		switch {
		case len(moves) == 0:
		case plan.Method == "":
			plan.Method, plan.Moves = method, moves
		default:
			plan.Outlook = append(plan.Outlook, moves...)
		}
		if plan.Method != "" && !p.options.AllMethods {
			break
		}
	}
	return outcomes
}

func (p *Pass) methods() []consolidation.Method {
	if p.options.Methods != nil {
		return p.options.Methods
	}
	return Methods()
}

// moves adds to each move where its pods go.
func (p *Pass) moves(found []*consolidation.Move) []Move {
	moves := make([]Move, len(found))
	for i, m := range found {
		moves[i] = Move{Move: m, Reason: budget.Reason(m.Method.BudgetReason()), Pods: podMoves(m)}
	}
	return moves
}

// podMoves lists the pods of the nodes that go. Those of nodes that are being
// deleted already and pending ones were placed too, but aren't part of the move.
func podMoves(m *consolidation.Move) []PodMove {
	var pods []PodMove
	for i := range m.Placements {
		at := &m.Placements[i]
		if at.Origin == scheduling.FromRemoved {
			pods = append(pods, PodMove{Pod: at.Pod.Namespace + "/" + at.Pod.Name, From: at.Pod.Spec.NodeName, To: destination(at)})
		}
	}
	return pods
}

func destination(at *scheduling.Placement) string {
	switch {
	case !at.Placed():
		return ""
	case at.Node != "":
		return at.Node
	}
	return "new-" + strconv.Itoa(at.NewNode)
}

// reportNodes writes a verdict on every node.
func (p *Pass) reportNodes(plan *Plan, outcomes []consolidation.Outcome) {
	fleet := p.planner.Fleet()
	reports := make(map[string]*NodeReport, len(p.fleet.machines))
	plan.Nodes = make([]NodeReport, len(p.fleet.machines))
	for i := range p.fleet.machines {
		plan.Nodes[i] = p.fleet.machines[i].report(fleet)
		reports[plan.Nodes[i].Name] = &plan.Nodes[i]
	}
	for i := range plan.Moves {
		for _, name := range plan.Moves[i].Nodes {
			reports[name].MovedBy = plan.Method
		}
	}
	for i := range outcomes {
		if outcomes[i].Method != plan.Method {
			would(reports, &outcomes[i])
		}
		for _, stay := range outcomes[i].Stays {
			r := reports[stay.Node]
			r.Verdicts = append(r.Verdicts, Verdict{Method: outcomes[i].Method, Reasons: stay.Reasons})
		}
	}
}

// reportAlone judges, each by itself, the candidates of single-node consolidation
// that no method came to.
func (p *Pass) reportAlone(plan *Plan) {
	var candidates []*consolidation.Candidate
	for _, c := range p.planner.Fleet().Eligible(consolidation.MethodSingle) {
		i, _ := slices.BinarySearchFunc(plan.Nodes, c.Name, func(n NodeReport, name string) int { return strings.Compare(n.Name, name) })
		if reason, _, ok := plan.Nodes[i].First(); ok && progress(reason.Code) <= progress(consolidation.NotReached) {
			candidates = append(candidates, c)
			plan.Nodes[i].Alone = &Alone{}
		}
	}
	judged := make([]*consolidation.Move, len(candidates))
	each(len(candidates), p.options.Workers, func(i int) {
		judged[i] = p.planner.Evaluate(consolidation.MethodSingle, candidates[i])
	})
	byName := make(map[string]*consolidation.Move, len(candidates))
	for i, m := range judged {
		byName[candidates[i].Name] = m
	}
	for i := range plan.Nodes {
		if m := byName[plan.Nodes[i].Name]; m != nil {
			*plan.Nodes[i].Alone = Alone{Decision: m.Decision, Price: m.Price, Savings: m.Savings, Score: m.Score, Reasons: m.Reasons, Nearest: m.Nearest}
		}
	}
}

// reportMissed asks what the best saving is that no method makes.
func (p *Pass) reportMissed(plan *Plan) {
	var taken []string
	for _, moves := range [][]Move{plan.Moves, plan.Outlook} {
		for i := range moves {
			taken = append(taken, moves[i].Nodes...)
		}
	}
	plan.Missed = p.planner.Missed(taken, p.Allowed(consolidation.MethodSingle))
}

// would notes the nodes that a later method would take.
func would(reports map[string]*NodeReport, outcome *consolidation.Outcome) {
	for _, m := range outcome.Moves {
		for _, name := range m.Nodes {
			r := reports[name]
			r.Verdicts = append(r.Verdicts, Verdict{Method: outcome.Method, Would: true})
		}
	}
}

func (m *machine) report(fleet *consolidation.Fleet) NodeReport {
	r := NodeReport{Name: m.name, Pool: m.poolName, Pods: len(m.pods)}
	if m.claim != nil {
		r.Claim = m.claim.Name
	}
	if c, ok := fleet.Candidate(m.name); ok {
		r.InstanceType, r.Zone, r.CapacityType = c.InstanceType, c.Zone, c.CapacityType
		r.Price, r.Reschedulable = c.Price, len(c.Reschedulable)
	}
	return r
}

// reportPools writes what the budgets of each pool say.
func (p *Pass) reportPools(plan *Plan) {
	totals := p.planner.Fleet().Totals()
	for _, name := range p.poolNames() {
		b := p.budgets[name]
		report := PoolReport{Name: name, Nodes: b.tally.Total, Charged: b.tally.Charged, Cost: totals[name].Cost, Disruption: totals[name].Disruption}
		for _, reason := range budget.Reasons() {
			report.Budgets = append(report.Budgets, b.set.Evaluate(plan.Now, reason, b.usage))
		}
		plan.Pools = append(plan.Pools, report)
	}
}

func (p *Pass) reportTotals(plan *Plan) {
	t := &plan.Totals
	t.Nodes, t.Pods = len(plan.Nodes), len(p.fleet.cluster.Pods)
	for i := range plan.Nodes {
		t.Cost += plan.Nodes[i].Price
	}
	for i := range plan.Moves {
		m := &plan.Moves[i]
		t.Savings += m.Savings
		t.Removed += len(m.Nodes)
		t.Launched += len(m.Replacements)
		t.Moved += len(m.Pods)
	}
}
