package conformance

import (
	"time"

	"github.com/node-disruption/disruption/budget"
)

type budgetIn struct {
	Budgets []budget.Budget `json:"budgets"`
	Now     time.Time       `json:"now"`
	Total   int             `json:"total"`
	Reason  budget.Reason   `json:"reason"`
}

type budgetWant struct {
	Allowed     int     `json:"allowed"`
	Error       bool    `json:"error"`
	Active      []*bool `json:"active"`
	MustAllowed int     `json:"mustAllowed"`
}

// replayBudget asks for the limit of one reason. A budget whose window can't be
// read has no recorded state, one whose number can't be read has.
func replayBudget(_ *File, c *Case) string {
	var in budgetIn
	var want budgetWant
	if d := decode(c.In, &in); d != "" {
		return d
	}
	if d := decode(c.Want, &want); d != "" {
		return d
	}
	set, _ := budget.Compile(in.Budgets, nil)
	verdict := set.Evaluate(in.Now, in.Reason, budget.Usage{Total: in.Total})
	got := budgetWant{Allowed: verdict.OwnLimit, Error: len(verdict.Errors) > 0, MustAllowed: verdict.Limit, Active: []*bool{}}
	for _, status := range verdict.Budgets {
		var active *bool
		if status.State != budget.Unknown {
			active = new(status.State == budget.Active)
		}
		got.Active = append(got.Active, active)
	}
	return diff(got, want)
}
