package consolidation

import (
	"cmp"
	"math"
	"slices"

	"github.com/node-disruption/disruption/scheduling"
)

// upperBound is more than any set of the candidates can save.
//
// The pods that leave must fit, by CPU, into what is free on the nodes that stay
// and on new nodes, and CPU on new nodes costs at least the best price per CPU of
// all instance types. If pods and nodes could be cut at will, the best set would
// be a knapsack filled by price per CPU, where each node weighs the CPU of its
// moving pods and its free CPU, which is lost with it. The same holds for memory,
// and the lower of both bounds counts. Constraints of pods, and budgets, only
// lower what can be saved.
func (p *Planner) upperBound(candidates []*Candidate) float64 {
	bound := 0.0
	for _, c := range candidates {
		bound += c.Price
	}
	price := p.fleet.unitPrices(p.options.Scheduling)
	cpu := knapsack(candidates, p.fleet.free(func(l load) use { return l.cpu }), price.cpu, func(l load) use { return l.cpu })
	memory := knapsack(candidates, p.fleet.free(func(l load) use { return l.memory }), price.memory, func(l load) use { return l.memory })
	if bound = min(bound, cpu, memory); math.IsNaN(bound) {
		return math.Inf(1)
	}
	return bound
}

// free is the sum over the nodes that pods could move to.
func (f *Fleet) free(of func(load) use) float64 {
	sum := 0.0
	for _, c := range f.candidates {
		if !c.facts.InMove && (c.facts.Claim == nil || !c.facts.Claim.Deleting) && !(c.facts.Claim != nil && f.notInitialized(c)) {
			sum += of(c.load()).free()
		}
	}
	return sum
}

// unitPrices is the least that a thousandth of CPU and of memory may cost.
func (f *Fleet) unitPrices(options scheduling.Options) room {
	lowest := room{math.Inf(1), math.Inf(1)}
	anything := options.Demand(scheduling.Requirements{})
	for _, p := range f.pools {
		for _, t := range p.InstanceTypes {
			price, ok := anything.Cheapest(t)
			if !ok {
				continue
			}
			for i := range t.Offerings {
				if o := &t.Offerings[i]; o.Available {
					price = min(price, o.Price)
				}
			}
			allocatable := t.Allocatable()
			lowest.cpu = min(lowest.cpu, unitPrice(price, milli(allocatable, "cpu")))
			lowest.memory = min(lowest.memory, unitPrice(price, milli(allocatable, "memory")))
		}
	}
	return lowest
}

// unitPrice of what a type doesn't have is none.
func unitPrice(price, amount float64) float64 {
	if amount <= 0 {
		return math.Inf(1)
	}
	return price / amount
}

// knapsack is the most that a fraction of each node could save: nodes by price
// per weight while there is free room, then those that are dearer per unit than a
// new node.
func knapsack(candidates []*Candidate, free, unitPrice float64, of func(load) use) float64 {
	type item struct{ price, weight float64 }
	items := make([]item, len(candidates))
	for i, c := range candidates {
		u := of(c.load())
		items[i] = item{c.Price, u.moving + u.free()}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(b.price*a.weight, a.price*b.weight) })
	saved := 0.0
	for _, it := range items {
		inside := min(it.weight, free)
		free -= inside
		if it.weight <= inside {
			saved += it.price
			continue
		}
		share := inside / it.weight
		saved += it.price*share + max(0, it.price*(1-share)-unitPrice*(it.weight-inside))
	}
	return saved
}
