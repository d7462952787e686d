package consolidation

import (
	"math"
	"sync"

	"github.com/node-disruption/disruption/scheduling"
)

// maxDemands bounds how many demands a planner remembers prices of.
const maxDemands = 256

// priceBook remembers worst launch prices: the new nodes of most moves differ in
// their pods only, not in what they require.
type priceBook struct {
	mu       sync.Mutex
	byDemand map[string]*pricePage
}

// pricePage has the prices of one demand. Types without any cost +Inf.
type pricePage struct {
	demand scheduling.Demand
	mu     sync.RWMutex
	worst  map[*scheduling.InstanceType]float64
}

// page returns the page of a demand, a new one that nobody else sees if the book
// is full.
func (b *priceBook) page(demand scheduling.Demand) *pricePage {
	key := demand.Requirements.String()
	b.mu.Lock()
	defer b.mu.Unlock()
	page := b.byDemand[key]
	if page == nil {
		page = &pricePage{demand: demand, worst: map[*scheduling.InstanceType]float64{}}
		if len(b.byDemand) < maxDemands {
			b.byDemand[key] = page
		}
	}
	return page
}

func (p *pricePage) worstPrice(t *scheduling.InstanceType) float64 {
	p.mu.RLock()
	price, known := p.worst[t]
	p.mu.RUnlock()
	if known {
		return price
	}
	price, ok := p.demand.WorstLaunchPrice(t)
	if !ok {
		price = math.Inf(1)
	}
	p.mu.Lock()
	p.worst[t] = price
	p.mu.Unlock()
	return price
}

// cheaperThan is [scheduling.Demand.CheaperThan] with remembered prices.
func (p *pricePage) cheaperThan(types []*scheduling.InstanceType, max float64) ([]*scheduling.InstanceType, *scheduling.MinValuesError) {
	cheaper := make([]*scheduling.InstanceType, 0, len(types))
	for _, t := range types {
		if p.worstPrice(t) < max {
			cheaper = append(cheaper, t)
		}
	}
	if _, short := scheduling.SatisfyMinValues(cheaper, p.demand.Requirements); short != nil {
		return nil, short
	}
	return cheaper, nil
}

// prices returns the page of what a new node requires.
func (p *Planner) prices(node *scheduling.NewNode) *pricePage { return p.book.page(p.demand(node)) }
