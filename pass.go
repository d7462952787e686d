package disruption

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
	"github.com/node-disruption/disruption/termination"
)

// Pass is a cluster prepared for one pass: paired, priced, its budgets evaluated
// and its snapshot compiled. It answers any number of questions about that
// instant, and is safe for concurrent use. The cluster must not change meanwhile.
type Pass struct {
	options  Options
	fleet    *fleet
	limits   *termination.Limits
	snapshot *scheduling.Snapshot
	planner  *consolidation.Planner
	budgets  map[string]*poolBudget
}

// poolBudget is what one pool's budgets say.
type poolBudget struct {
	set    *budget.Set
	errors field.ErrorList
	tally  budget.Tally
	usage  budget.Usage
}

// Prepare compiles the cluster. Single objects that can't be understood are set
// aside: what they may be about isn't disrupted, and [Plan.Findings] names them.
// The error, an aggregate of field.Errors, is left for what concerns everything:
// two nodes or two pools of one name, a nil in a list.
func Prepare(c *Cluster, o Options) (*Pass, error) {
	if errs := c.missing(); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	p := &Pass{options: o, fleet: newFleet(c, o.Domain)}
	p.limits = p.fleet.compileLimits()
	var err error
	if p.snapshot, err = p.fleet.compileSnapshot(o, p.limits); err != nil {
		return nil, err
	}
	candidates, err := consolidation.Compile(p.fleet.consolidation(p.limits, o.BalancedK), o.Domain)
	if err != nil {
		return nil, err
	}
	p.planner = consolidation.NewPlanner(candidates, p.snapshot, p.planning(nil))
	p.countBudgets()
	return p, nil
}

// planning are the options of the planner; stop may end it early.
func (p *Pass) planning(stop func() bool) consolidation.Options {
	o := p.options.Consolidation
	o.Scheduling = p.fleet.schedulingOptions(p.options, p.limits)
	o.Explain, o.Stop, o.ForEach, o.Batch = p.options.Explain, stop, nil, 0
	if workers := p.options.Workers; workers > 1 {
		o.Batch = batchPerWorker * workers
		o.ForEach = func(n int, do func(int)) { each(n, workers, do) }
	}
	return o
}

// batchPerWorker keeps the workers busy between two looks at the results.
const batchPerWorker = 16

func (p *Pass) countBudgets() {
	nodes := p.fleet.budgetNodes()
	p.budgets = make(map[string]*poolBudget, len(p.fleet.pools))
	for _, pool := range p.fleet.pools {
		path := field.NewPath("nodePools").Key(pool.Name).Child("spec", "disruption", "budgets")
		set, errs := budget.Compile(pool.Spec.Disruption.Budgets, path)
		b := &poolBudget{set: set, errors: errs, tally: budget.Count(nodes[pool.Name])}
		b.usage = b.tally.Usage("", budget.Accounting{})
		p.budgets[pool.Name] = b
	}
}

// Snapshot returns the compiled cluster, for what-if questions.
func (p *Pass) Snapshot() *scheduling.Snapshot { return p.snapshot }

// Planner returns the candidates and the search, for questions about single
// nodes and sets of nodes.
func (p *Pass) Planner() *consolidation.Planner { return p.planner }

// Allowed reports how many more nodes of each pool a method may disrupt by the
// budgets of its reason. The map is the caller's.
func (p *Pass) Allowed(m consolidation.Method) map[string]int {
	allowed := make(map[string]int, len(p.budgets))
	for name, b := range p.budgets {
		allowed[name] = b.set.Evaluate(p.fleet.cluster.Now, budget.Reason(m.BudgetReason()), b.usage).Allowed
	}
	return allowed
}

// Ask runs one method alone on the cluster as it is. A context that is done ends
// the search early, and the outcome says so.
func (p *Pass) Ask(ctx context.Context, m consolidation.Method) consolidation.Outcome {
	planner := p.planner
	if ctx.Done() != nil {
		stop := func() bool { return ctx.Err() != nil }
		planner = consolidation.NewPlanner(planner.Fleet(), p.snapshot, p.planning(stop))
	}
	allowed := p.Allowed(m)
	switch m {
	case consolidation.MethodEmpty:
		return planner.Empty(allowed)
	case consolidation.MethodStaticDrift:
		return planner.StaticDrift(allowed)
	case consolidation.MethodDrift:
		return planner.Drift(allowed)
	case consolidation.MethodMulti:
		return planner.Multi(allowed)
	case consolidation.MethodBest:
		return planner.Best(allowed)
	}
	return planner.Single(allowed, p.options.NotReached)
}

// poolNames are the names of the pools, sorted.
func (p *Pass) poolNames() []string {
	return slices.SortedFunc(maps.Keys(p.budgets), strings.Compare)
}

// Validate judges a move that was decided on an older cluster again on this one,
// as Karpenter does 15 seconds later: the nodes must still be candidates, the
// budgets must still allow them, and the pods must still fit the same way. A
// maxAge above zero refuses to judge by a cluster that is older than that; the
// age is measured from the cluster's own Now, which here is this pass.
func (p *Pass) Validate(m *consolidation.Move, maxAge time.Duration) consolidation.Validation {
	return p.planner.Validate(m, consolidation.Check{Allowed: p.Allowed(m.Method), Now: p.fleet.cluster.Now, MaxAge: maxAge})
}
