package consolidation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/scheduling"
)

// Simulator answers where pods would go if nodes were gone.
// *scheduling.Snapshot is one. It must be safe for concurrent use if
// [Options.ForEach] is concurrent.
type Simulator interface {
	Simulate(scheduling.Request) scheduling.Result
}

// MaxInstanceTypes is how many instance types Karpenter v1.14 considers for one
// new node: the cheapest.
const MaxInstanceTypes = 600

// Options of a [Planner]. The zero value is Karpenter v1.14 with its defaults.
type Options struct {
	// Scheduling holds the domain, the provider's labels and what happens when
	// minValues can't be met: the same as for the [Simulator].
	Scheduling scheduling.Options
	// SpotToSpot lets spot nodes be replaced by cheaper spot nodes.
	SpotToSpot bool
	// Drift and StaticDrift are how the methods of these names go about it.
	Drift       drift.MoveOptions
	StaticDrift drift.StaticOptions
	// DeleteOnly refuses consolidation that needs a replacement.
	DeleteOnly bool
	// MaxSimulations bounds each call of a method; 0 means no bound. Multi and
	// Best then end with the best move so far, Single with none, as Karpenter does
	// when its time is up.
	MaxSimulations int
	// Stop is asked before each simulation; once it is true a method ends as if
	// MaxSimulations were reached. It is where a caller's deadline comes in.
	Stop func() bool
	// ForEach calls do with 0 to n-1, perhaps at the same time, and returns when
	// all calls have. It lets the caller lend its workers; nil means one after the
	// other. Answers don't depend on it.
	ForEach func(n int, do func(i int))
	// Batch is how many candidates are handed to ForEach at a time, 0 meaning 1.
	Batch int
	// Guards that every move must pass, on top of Karpenter's rules, and what they
	// remember; nil ones are passed over. An Empty move leaves out the nodes that
	// they refuse, and StaticDrift the moves that they refuse beside those before.
	Guards  []Guard
	History History
	// MaxReplacements is how many new nodes a move of Best may have, 0 meaning
	// [DefaultMaxReplacements].
	MaxReplacements int
	// MaxPlacements bounds how many pods Best places in all its simulations of sets
	// of nodes together, 0 meaning [DefaultMaxPlacements]: on small clusters that is
	// hardly a bound, on large ones it keeps the time within seconds.
	MaxPlacements int
	// Variants are simulators of the same cluster in which pools may launch only
	// some of their instance types, say the smaller ones: Best tries on them
	// whether several smaller new nodes are cheaper than a large one.
	Variants []Simulator
	// Explain asks for what only people need: all reasons instead of the first,
	// why each pod found no place, and the nearest instance types.
	Explain bool
}

// Planner looks for moves. It is safe for concurrent use.
type Planner struct {
	fleet     *Fleet
	simulator Simulator
	options   Options
	// underutilized are the candidates of Multi, Single and Best, in order, and
	// pools what is needed to score their moves.
	underutilized []*Candidate
	pools         map[string]ScorePool
	book          *priceBook
}

// NewPlanner returns a planner for a fleet. The simulator must stand on the same
// cluster.
func NewPlanner(fleet *Fleet, simulator Simulator, options Options) *Planner {
	p := &Planner{fleet: fleet, simulator: simulator, options: options, underutilized: fleet.Eligible(MethodSingle)}
	p.book = &priceBook{pages: map[demandKey][]*pricePage{}}
	p.pools = fleet.scorePools()
	return p
}

// scorePools: a pool without a node that could go has no totals.
func (f *Fleet) scorePools() map[string]ScorePool {
	totals := f.Totals()
	pools := make(map[string]ScorePool, len(f.pools))
	for name, p := range f.pools {
		score := ScorePool{Policy: p.Policy, K: p.BalancedK}
		if t, ok := totals[name]; ok {
			score.Totals = &t
		}
		pools[name] = score
	}
	return pools
}

// ScorePools returns what scores each pool by name. The map is the caller's.
func (p *Planner) ScorePools() map[string]ScorePool { return maps.Clone(p.pools) }

// Fleet returns what the planner looks at.
func (p *Planner) Fleet() *Fleet { return p.fleet }

// Evaluate judges the removal of a set of nodes by the rules of a method, one of
// Multi, Single and Best, whatever budgets say and whether or not the nodes are
// candidates. The answer is the whole judgement: what would be done, what that
// saves, how the pools score it, and why not. A node that is given twice counts once.
// It may be called concurrently.
func (p *Planner) Evaluate(method Method, candidates ...*Candidate) *Move {
	candidates = slices.Clone(candidates)
	seen := make(map[*Candidate]bool, len(candidates))
	candidates = slices.DeleteFunc(candidates, func(c *Candidate) bool {
		twice := seen[c]
		seen[c] = true
		return twice
	})
	return p.evaluate(method, candidates, !p.options.Explain && method != MethodSingle)
}

// evaluate may end a simulation early, if nobody asks for the details of a no.
func (p *Planner) evaluate(method Method, candidates []*Candidate, quick bool) *Move {
	request := scheduling.Request{SkipSettling: true}
	switch {
	case method == MethodBest:
		request.MaxNewNodes = cmp.Or(p.options.MaxReplacements, DefaultMaxReplacements)
	case quick:
		request.MaxNewNodes = 1
	}
	m := newMove(method, slices.Clone(candidates))
	if len(candidates) == 0 {
		m.refuse(reason(TooFewCandidates, nil, "there is no node to remove"))
		return m
	}
	result := p.simulate(m.Nodes, request)
	m.Placements = result.Placements
	p.judge(m, &result)
	return m
}

// simulate asks the simulator, then keeps only the cheapest instance types.
func (p *Planner) simulate(nodes []string, request scheduling.Request) scheduling.Result {
	request.Remove = nodes
	request.Explain = p.options.Explain
	result := p.simulator.Simulate(request)
	for i := range result.NewNodes {
		if len(result.NewNodes[i].InstanceTypes) > MaxInstanceTypes {
			return p.truncate(result)
		}
	}
	return result
}

// truncate leaves the cheapest instance types of each new node. A node that then
// can't meet its minValues is given up, and its pods have no place.
func (p *Planner) truncate(result scheduling.Result) scheduling.Result {
	kept := make([]scheduling.NewNode, 0, len(result.NewNodes))
	for _, node := range result.NewNodes {
		demand := p.options.Scheduling.Demand(node.Requirements)
		priced := len(node.InstanceTypes) - node.Unpriced
		types, short := demand.Truncate(node.InstanceTypes, MaxInstanceTypes, p.options.Scheduling.MinValues)
		place := len(kept)
		if short != nil {
			place = -1
		} else {
			node.InstanceTypes, node.Unpriced = types, max(0, len(types)-priced)
			kept = append(kept, node)
		}
		for _, i := range node.Pods {
			result.Placements[i].NewNode = place
		}
	}
	result.NewNodes = kept
	return result
}

// judge decides what the simulation's result is good for.
func (p *Planner) judge(m *Move, result *scheduling.Result) {
	switch n := len(result.NewNodes); {
	case result.NoPools:
		m.refuse(reason(NoPools, nil, "no node pool can open a node"))
		return
	case result.Truncated:
		m.refuse(reason(TooManyNewNodes, nodeObjects(m), "the pods would need too many new nodes"))
		return
	case !result.AllRunningPlaced():
		m.refuse(unplaced(result.Placements))
		return
	case n == 0:
		m.Decision, m.Savings = Delete, m.Price
	case p.options.DeleteOnly:
		m.refuse(reason(ReplaceOff, nodeObjects(m), "the pods would need a new node, and only deletes are wanted"))
		return
	case n == 1:
		p.replace(m, result.NewNodes[0])
	case m.Method == MethodBest:
		p.replaceMany(m, result.NewNodes)
	default:
		m.refuse(reason(TooManyNewNodes, nodeObjects(m), "the pods would need %d new nodes, one is the most", n))
		return
	}
	if m.Decision != NoOp {
		p.score(m)
		p.guard(m)
	}
}

// unplaced names the running pods that would have no place.
func unplaced(placements []scheduling.Placement) Reason {
	var pods []string
	why := ""
	for i := range placements {
		at := &placements[i]
		if at.Origin == scheduling.FromPending || at.Placed() {
			continue
		}
		pods = append(pods, podObject(at.Pod))
		switch {
		case why != "":
		case at.Uninitialized:
			why = ": node " + at.Node + " would take " + at.Pod.Namespace + "/" + at.Pod.Name + ", but isn't initialized yet"
		case at.Reason != nil:
			why = ": " + at.Reason.Message
		default:
			why = ": " + at.Pod.Namespace + "/" + at.Pod.Name + " fits on no node, old or new"
		}
	}
	if len(pods) == 1 {
		return reason(PodsUnplaced, pods, "a pod would find no place%s", why)
	}
	return reason(PodsUnplaced, pods, "%d pods would find no place%s", len(pods), why)
}

func nodeObjects(m *Move) []string {
	list := make([]string, len(m.Nodes))
	for i, name := range m.Nodes {
		list[i] = object("Node", name)
	}
	return list
}

// score asks the Balanced pools.
func (p *Planner) score(m *Move) {
	sources := make([]Source, len(m.candidates))
	for i, c := range m.candidates {
		sources[i] = c.Source()
	}
	replacements := 0.0
	for i := range m.Replacements {
		replacements += m.Replacements[i].Price
	}
	score := ScoreMove(p.pools, sources, replacements)
	m.Score = &score
	for i := range score.Pools {
		if s := &score.Pools[i]; !s.Approved {
			m.reject(reason(ScoreTooLow, []string{object("NodePool", s.Pool)},
				"node pool %s scores the move %.3g, below its threshold %.3g: %.3g%% of its cost saved for %.3g%% of its disruption",
				s.Pool, s.Score, s.Threshold, 100*s.SavingsFraction, 100*s.DisruptionFraction))
		}
	}
}

// isSpot reports whether all nodes of the move are spot.
func (m *Move) isSpot(spot string) bool {
	return !slices.ContainsFunc(m.candidates, func(c *Candidate) bool { return c.CapacityType != spot })
}

// running are the nodes of the move, as the same-type filter sees them.
func (m *Move) running() []scheduling.Running {
	list := make([]scheduling.Running, 0, len(m.candidates))
	for _, c := range m.candidates {
		if c.typ != nil {
			list = append(list, scheduling.Running{InstanceType: c.typ, Labels: c.labels})
		}
	}
	return list
}
