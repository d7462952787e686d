package consolidation

// Method is one way in which Karpenter v1.14 looks for nodes to disrupt. A pass
// asks them in the order below, and the first that finds a move ends it.
type Method string

// The methods.
const (
	MethodEmpty       Method = "Empty"       // empty nodes, all at once
	MethodStaticDrift Method = "StaticDrift" // drifted nodes of static pools, one for one
	MethodDrift       Method = "Drift"       // other drifted nodes, one a pass
	MethodMulti       Method = "Multi"       // several nodes by none or one
	MethodSingle      Method = "Single"      // one node by none or one
	MethodBest        Method = "Best"        // any set of nodes: not Karpenter's, see [Planner.Best]
)

// eventual reports whether a termination grace period lets the method pass over
// pods that can't be evicted.
func (m Method) eventual() bool { return m == MethodDrift || m == MethodStaticDrift }

// BudgetReason is the reason that the method's moves count under in the budgets
// of a pool: Empty, Drifted or Underutilized.
func (m Method) BudgetReason() string {
	switch m {
	case MethodEmpty:
		return "Empty"
	case MethodDrift, MethodStaticDrift:
		return "Drifted"
	}
	return "Underutilized"
}
