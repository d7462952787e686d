package consolidation

import (
	"time"
)

// Guard is a rule on top of Karpenter's that every move of a [Planner] must
// pass. It is pure: what it remembers is in the history, which is handed in.
type Guard interface {
	// Check returns why the move must not be made, nil if it may. It must not
	// write to the move.
	Check(m *Move, in GuardContext) *Reason
}

// GuardContext is what a guard may look at beside the move.
type GuardContext struct {
	Now     time.Time
	Fleet   *Fleet
	History History
}

// guard asks all guards about a move that nothing else speaks against.
func (p *Planner) guard(m *Move) {
	if !m.Allowed() {
		return
	}
	in := GuardContext{Now: p.fleet.cluster.Now, Fleet: p.fleet, History: p.options.History}
	for _, g := range p.options.Guards {
		if g == nil {
			continue
		}
		if r := g.Check(m, in); r != nil {
			m.reject(*r)
			if !p.options.Explain {
				return
			}
		}
	}
}

// Only restricts a guard to the moves of some methods.
func Only(g Guard, methods ...Method) Guard { return only{g, methods} }

type only struct {
	Guard
	methods []Method
}

func (o only) Check(m *Move, in GuardContext) *Reason {
	for _, method := range o.methods {
		if m.Method == method {
			return o.Guard.Check(m, in)
		}
	}
	return nil
}

// saves reports whether the move is made to save money by moving pods: moves of
// empty and of drifted nodes are not.
func (m *Move) saves() bool {
	return m.Method == MethodMulti || m.Method == MethodSingle || m.Method == MethodBest
}

// poolNodes counts the nodes that the move takes from each pool, and lists the
// pools in the order of the nodes.
func (m *Move) poolNodes() (pools []string, count map[string]int) {
	count = map[string]int{}
	for _, c := range m.candidates {
		if count[c.Pool]++; count[c.Pool] == 1 {
			pools = append(pools, c.Pool)
		}
	}
	return pools, count
}
