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
	mu    sync.RWMutex
	pages map[demandKey][]*pricePage
	size  int // pages in all
}

// demandKey tells most demands apart; [scheduling.Requirements.Equal] does the rest.
// Spelling them out as a key would cost more than looking up the prices.
type demandKey struct {
	pool string
	size int
}

// pricePage has the prices of one demand. Types without any cost +Inf.
type pricePage struct {
	demand scheduling.Demand
	mu     sync.RWMutex
	worst  map[*scheduling.InstanceType]float64
}

// find returns the page of what a node requires, nil if there is none.
func (b *priceBook) find(key demandKey, requirements scheduling.Requirements) *pricePage {
	for _, page := range b.pages[key] {
		if page.demand.Requirements.Equal(requirements) {
			return page
		}
	}
	return nil
}

// prices returns the page of what a new node requires, one that nobody else sees
// if the book is full.
func (p *Planner) prices(node *scheduling.NewNode) *pricePage {
	b, key := p.book, demandKey{node.Pool, node.Requirements.Len()}
	b.mu.RLock()
	page := b.find(key, node.Requirements)
	b.mu.RUnlock()
	if page != nil {
		return page
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if page = b.find(key, node.Requirements); page != nil {
		return page
	}
	page = &pricePage{demand: p.options.Scheduling.Demand(node.Requirements), worst: map[*scheduling.InstanceType]float64{}}
	if b.size < maxDemands {
		b.size++
		b.pages[key] = append(b.pages[key], page)
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
