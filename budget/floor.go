package budget

// Floor is the least number of nodes that must stay, whatever the budgets
// allow. It matters to nodes that go without being replaced. Karpenter has no
// such thing.
type Floor struct{ Nodes int }

// Allowed reports how many more nodes may go before fewer than the floor are
// left that are neither on their way out nor not ready.
func (f Floor) Allowed(usage Usage) int {
	return max(0, usage.Total-usage.Consuming-f.Nodes)
}
