package budget

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Set is a list of budgets, compiled: evaluate it as often as you like, for any
// instant, reason and size of pool. It is immutable and safe for concurrent use.
type Set struct{ budgets []compiled }

// compiled is one budget of a set.
type compiled struct {
	spec     Budget
	text     string
	window   *Window // nil if always active, or broken
	nodes    amount
	broken   field.ErrorList // the window can't be read: allows nothing, at all times
	badNodes *field.Error    // the number can't be read: allows nothing while active
}

// Compile reads the budgets of a pool, and keeps a copy of them.
//
// The set is never nil, errors or not: it fails closed, as Karpenter does. A
// budget whose schedule or zone can't be read allows nothing at any time, one
// whose number can't be read allows nothing while it is active, and either
// brings all reasons down to zero, those it doesn't name as well. The errors
// name the list by path; nil stands for "budgets".
//
// Compile accepts what Karpenter can evaluate. What the API server would accept
// is the narrower question of [Validate].
func Compile(budgets []Budget, path *field.Path) (*Set, field.ErrorList) {
	if path == nil {
		path = field.NewPath("budgets")
	}
	s := &Set{budgets: make([]compiled, len(budgets))}
	var errs field.ErrorList
	for i, b := range budgets {
		c := compile(b.clone(), path.Index(i))
		s.budgets[i] = c
		errs = append(errs, c.broken...)
		if c.badNodes != nil {
			errs = append(errs, c.badNodes)
		}
	}
	return s, errs
}

func compile(b Budget, path *field.Path) compiled {
	c := compiled{spec: b, text: b.String()}
	var ok bool
	if c.nodes, ok = parseAmount(b.Nodes); !ok {
		c.badNodes = field.Invalid(path.Child("nodes"), b.Nodes, "neither a number of nodes nor a percentage")
	}
	if b.recurs() {
		c.window, c.broken = parseWindow(b.schedule(), b.duration(), b.TimeZone, path)
	} else if b.Once != nil {
		c.window = onceWindow(*b.Once)
	}
	if c.broken = append(c.broken, b.validateExtras(path)...); len(c.broken) > 0 {
		c.window = nil
	}
	return c
}

// Len is the number of budgets in the set.
func (s *Set) Len() int { return len(s.budgets) }

// Budget returns a copy of the budget at an index of the list.
func (s *Set) Budget(i int) Budget { return s.budgets[i].spec.clone() }
