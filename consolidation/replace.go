package consolidation

import (
	"cmp"
	"math"
	"slices"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// MinSpotTypes is how many cheaper instance types a single spot node needs to be
// replaced by spot, and how many of them are launched at most: with fewer the
// cloud would be likely to take the new node back soon.
const MinSpotTypes = 15

// replace makes m a replacement by that node, if one of its instance types is
// cheaper.
func (p *Planner) replace(m *Move, node scheduling.NewNode) {
	if r := p.choose(m, &node); r != nil {
		m.refuse(*r)
		return
	}
	if m.Method != MethodSingle && len(m.candidates) > 1 {
		if r := p.dropSameTypes(m, &node); r != nil {
			m.refuse(*r)
			return
		}
	}
	m.Decision = Replace
	m.Replacements = []Replacement{p.replacement(node)}
	m.Savings = m.Price - m.Replacements[0].Price
}

// replacement prices a node that is to be launched.
func (p *Planner) replacement(node scheduling.NewNode) Replacement {
	r := Replacement{NewNode: node}
	if len(node.InstanceTypes) > 0 {
		r.Price, _ = p.prices(&node).demand.Cheapest(node.InstanceTypes[0])
	}
	return r
}

// choose narrows the node to the instance types that would be cheaper than the
// nodes of the move, and to the capacity type that this assumes.
func (p *Planner) choose(m *Move, node *scheduling.NewNode) *Reason {
	const spot, onDemand = annotations.CapacityTypeSpot, annotations.CapacityTypeOnDemand
	capacity := node.Requirements.Get(p.fleet.keys.CapacityType)
	if capacity.Has(spot) && m.isSpot(spot) {
		return p.chooseSpot(m, node)
	}
	if r := p.dropDearer(m, node, m.maxPrice()); r != nil {
		return r
	}
	// Had both been left open, a shortage of spot could end in a dearer node: the
	// prices compared above were those of spot.
	if capacity.Has(spot) && capacity.Has(onDemand) {
		p.pin(node, spot)
	}
	return nil
}

// maxPrice is what a replacement must cost less than. The sum of several prices
// carries rounding errors: three nodes at 0.1 are not dearer than one at 0.3.
func (m *Move) maxPrice() float64 {
	if len(m.candidates) < 2 {
		return m.Price
	}
	return m.Price * (1 - 1e-9)
}

// pin leaves only one capacity type.
func (p *Planner) pin(node *scheduling.NewNode, capacityType string) {
	node.Requirements = node.Requirements.Add(scheduling.In(p.fleet.keys.CapacityType, capacityType))
}

// dropDearer keeps the instance types whose worst launch price is below max.
func (p *Planner) dropDearer(m *Move, node *scheduling.NewNode, max float64) *Reason {
	cheaper, short := p.prices(node).cheaperThan(node.InstanceTypes, max)
	if short != nil {
		r := reason(MinValues, []string{object("NodePool", node.Pool)}, "too few instance types are cheaper: %v", short)
		return &r
	}
	if len(cheaper) == 0 {
		m.Nearest = p.nearest(node)
		r := notCheaper(m, m.Nearest)
		return &r
	}
	setTypes(node, cheaper)
	return nil
}

// setTypes replaces the instance types of a node, none of which lacks a price.
func setTypes(node *scheduling.NewNode, types []*scheduling.InstanceType) {
	node.InstanceTypes, node.Unpriced = types, 0
}

func notCheaper(m *Move, nearest []NearType) Reason {
	if len(nearest) == 0 {
		return reason(NotCheaper, nodeObjects(m), "no instance type that would hold the pods is cheaper than %.6g an hour", m.Price)
	}
	return reason(NotCheaper, nodeObjects(m), "no instance type that would hold the pods is cheaper than %.6g an hour: %s costs %.6g",
		m.Price, nearest[0].InstanceType, nearest[0].Price)
}

// nearest lists the three instance types with the lowest worst launch price.
func (p *Planner) nearest(node *scheduling.NewNode) []NearType {
	if !p.options.Explain {
		return nil
	}
	page := p.prices(node)
	var near []NearType
	for _, t := range node.InstanceTypes {
		if price := page.worstPrice(t); !math.IsInf(price, 1) {
			near = append(near, NearType{t.Name, price})
		}
	}
	slices.SortFunc(near, func(a, b NearType) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), compareNames(a.InstanceType, b.InstanceType))
	})
	return near[:min(3, len(near))]
}

// chooseSpot replaces spot by spot. For one node Karpenter wants many cheaper
// types and launches only the cheapest of them, so that the new node isn't itself
// replaced by the next cheaper one, and so on.
func (p *Planner) chooseSpot(m *Move, node *scheduling.NewNode) *Reason {
	if !p.options.SpotToSpot {
		r := reason(SpotToSpotOff, nodeObjects(m), "spot nodes are not replaced by spot nodes unless that is switched on")
		return &r
	}
	p.pin(node, annotations.CapacityTypeSpot)
	if r := p.dropDearer(m, node, m.maxPrice()); r != nil {
		return r
	}
	if len(m.candidates) > 1 {
		return nil
	}
	if n := len(node.InstanceTypes); n < MinSpotTypes {
		return tooFewSpotTypes(m, n)
	}
	needed, _ := scheduling.SatisfyMinValues(node.InstanceTypes, node.Requirements)
	setTypes(node, node.InstanceTypes[:min(max(needed, MinSpotTypes), len(node.InstanceTypes))])
	return nil
}

func tooFewSpotTypes(m *Move, n int) *Reason {
	r := reason(TooFewSpotTypes, nodeObjects(m), "%d instance types are cheaper on spot, %d are needed", n, MinSpotTypes)
	return &r
}

// dropSameTypes keeps several nodes from being replaced by one of their own type,
// or by a type that is no cheaper than it: deleting the others says the same.
func (p *Planner) dropSameTypes(m *Move, node *scheduling.NewNode) *Reason {
	types, short := p.prices(node).demand.CheaperThanSameType(node.InstanceTypes, m.running())
	if short != nil {
		r := reason(SameInstanceType, nodeObjects(m), "too few instance types are cheaper than the nodes' own: %v", short)
		return &r
	}
	if len(types) == 0 {
		r := reason(SameInstanceType, nodeObjects(m), "no instance type is cheaper than the cheapest of the nodes' own types")
		return &r
	}
	setTypes(node, types)
	return nil
}

// replaceMany makes m a replacement by several nodes that cost less together.
//
// Each node gets a price of its own to stay below: the lowest worst launch price
// among its types, and its share of what the move can spend beyond the sum of
// those. So whichever types are launched, their sum is below the nodes' price.
func (p *Planner) replaceMany(m *Move, nodes []scheduling.NewNode) {
	spot := annotations.CapacityTypeSpot
	if m.isSpot(spot) && !p.options.SpotToSpot && slices.ContainsFunc(nodes, func(n scheduling.NewNode) bool { return n.Requirements.Get(p.fleet.keys.CapacityType).Has(spot) }) {
		m.refuse(reason(SpotToSpotOff, nodeObjects(m), "spot nodes are not replaced by spot nodes unless that is switched on"))
		return
	}
	lowest, sum := make([]float64, len(nodes)), 0.0
	for i := range nodes {
		lowest[i] = p.lowestWorst(&nodes[i])
		sum += lowest[i]
	}
	limit := m.maxPrice()
	if math.IsInf(sum, 1) {
		m.refuse(reason(NotCheaper, nodeObjects(m), "the pods would need %d new nodes, and no price is known for one of them", len(nodes)))
		return
	}
	if !(sum < limit) {
		m.refuse(reason(NotCheaper, nodeObjects(m), "the pods would need %d new nodes that cost at least %.6g an hour, no less than the %.6g of now", len(nodes), sum, m.Price))
		return
	}
	if r := p.chooseEach(m, nodes, lowest, limit/sum); r != nil {
		m.refuse(*r)
	}
}

// lowestWorst is the lowest worst launch price among the node's types.
func (p *Planner) lowestWorst(node *scheduling.NewNode) float64 {
	page, lowest := p.prices(node), math.Inf(1)
	for _, t := range node.InstanceTypes {
		lowest = min(lowest, page.worstPrice(t))
	}
	return lowest
}

// chooseEach narrows each node to the types below its lowest price times stretch.
// A single spot node is no more replaced by several with few types than by one.
func (p *Planner) chooseEach(m *Move, nodes []scheduling.NewNode, lowest []float64, stretch float64) *Reason {
	const spot, onDemand = annotations.CapacityTypeSpot, annotations.CapacityTypeOnDemand
	m.Savings = m.Price
	for i := range nodes {
		node := nodes[i]
		capacity := node.Requirements.Get(p.fleet.keys.CapacityType)
		toSpot := capacity.Has(spot) && m.isSpot(spot)
		if r := p.dropDearer(m, &node, lowest[i]*stretch); r != nil {
			return r
		}
		if n := len(node.InstanceTypes); toSpot && len(m.candidates) == 1 && n < MinSpotTypes {
			return tooFewSpotTypes(m, n)
		}
		if toSpot || capacity.Has(spot) && capacity.Has(onDemand) {
			p.pin(&node, spot)
		}
		r := p.replacement(node)
		m.Replacements = append(m.Replacements, r)
		m.Savings -= r.Price
	}
	m.Decision = Replace
	return nil
}
