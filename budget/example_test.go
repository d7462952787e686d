package budget_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/node-disruption/disruption/budget"
)

// The budgets of a NodePool, as they stand in its spec.disruption, asked on a
// Monday at noon with one node on its way out.
func Example() {
	var budgets []budget.Budget
	spec := `[{"nodes": "20%"}, {"nodes": "0", "reasons": ["Drifted"], "schedule": "0 8 * * mon-fri", "duration": "10h"}]`
	if err := json.Unmarshal([]byte(spec), &budgets); err != nil {
		panic(err)
	}
	set, errs := budget.Compile(budgets, nil)
	fmt.Println("errors:", len(errs))

	monday := time.Date(2026, 8, 24, 12, 0, 0, 0, time.UTC)
	for _, reason := range budget.Reasons() {
		fmt.Println(set.Evaluate(monday, reason, budget.Usage{Total: 12, Consuming: 1}))
	}
	// Output:
	// errors: 0
	// Drifted: no node may be disrupted: budgets[1] (0 for Drifted, "0 8 * * mon-fri" for 10h) allows none; this changes at 2026-08-24T18:00:00Z
	// Empty: 2 of 12 nodes may be disrupted: budgets[0] (20%) allows 3, less 1 in disruption or not ready
	// Underutilized: 2 of 12 nodes may be disrupted: budgets[0] (20%) allows 3, less 1 in disruption or not ready
}

// A test to copy: "this NodePool never loses a node on weekdays between 08:00
// and 18:00 Berlin time, and at least one may go every night". The schedule is
// in UTC, where these hours are 06:00 to 16:00 in summer and 07:00 to 17:00 in
// winter.
func Example_neverInOfficeHours() {
	nodePool := `[{"nodes": "10%"}, {"nodes": "0", "schedule": "0 6 * * mon-fri", "duration": "11h"}]`

	var budgets []budget.Budget
	if err := json.Unmarshal([]byte(nodePool), &budgets); err != nil {
		panic(err)
	}
	set, errs := budget.Compile(budgets, nil)
	office, _ := budget.ParseWindow("0 8 * * mon-fri", 10*time.Hour, "Europe/Berlin")
	night, _ := budget.ParseWindow("0 22 * * *", 8*time.Hour, "Europe/Berlin")
	if len(errs) > 0 {
		panic(errs.ToAggregate())
	}

	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pool := budget.Usage{Total: 25}
	days, nights := 0, 0
	for _, reason := range budget.Reasons() {
		for day := range office.Spans(from, from.AddDate(1, 0, 0)) {
			days++
			if at, ok := set.NextAtLeast(1, day.From, day.To, reason, pool); ok {
				fmt.Println("a node may go in office hours:", reason, at)
			}
		}
		for dark := range night.Spans(from, from.AddDate(1, 0, 0)) {
			nights++
			if _, ok := set.NextAtLeast(1, dark.From, dark.To, reason, pool); !ok {
				fmt.Println("no node may go all night:", reason, dark.From)
			}
		}
	}
	fmt.Println(days, "days and", nights, "nights looked at")
	// Output:
	// 783 days and 1098 nights looked at
}

// What a week looks like for a reason.
func ExampleSet_Forecast() {
	set, _ := budget.Compile([]budget.Budget{
		during(budget.Budget{Nodes: "50%"}, "0 0 * * sat", "48h"),
		during(budget.Budget{Nodes: "0"}, "0 8 * * mon", "106h"),
	}, nil)
	monday := time.Date(2026, 8, 24, 0, 0, 0, 0, time.UTC)
	for i := range set.Forecast(monday, monday.AddDate(0, 0, 7), budget.Drifted, budget.Usage{Total: 9}) {
		fmt.Println(i.From.Format("Mon 15:04"), "to", i.To.Format("Mon 15:04"), budget.FormatLimit(i.Limit))
	}
	// Output:
	// Mon 00:00 to Mon 08:00 unlimited
	// Mon 08:00 to Fri 18:00 0
	// Fri 18:00 to Sat 00:00 unlimited
	// Sat 00:00 to Mon 00:00 5
}

// When will five nodes be allowed to go?
func ExampleSet_NextAtLeast() {
	set, _ := budget.Compile([]budget.Budget{
		{Nodes: "25%"},
		during(budget.Budget{Nodes: "1"}, "0 6 * * mon-fri", "16h"),
	}, nil)
	now := time.Date(2026, 8, 24, 12, 0, 0, 0, time.UTC)
	at, ok := set.NextAtLeast(5, now, now.AddDate(0, 0, 7), budget.Drifted, budget.Usage{Total: 20})
	fmt.Println(at.Format(time.RFC3339), ok)
	_, ok = set.NextAtLeast(6, now, now.AddDate(0, 0, 7), budget.Drifted, budget.Usage{Total: 20})
	fmt.Println(ok)
	// Output:
	// 2026-08-24T22:00:00Z true
	// false
}

// Two nodes at a time on weekends, and none at all other times.
func ExampleAllowOnly() {
	weekend, _ := budget.ParseWindow("0 0 * * sat", 48*time.Hour, "")
	budgets, errs := budget.AllowOnly(weekend, "2")
	fmt.Println("errors:", len(errs))
	for _, b := range budgets {
		fmt.Println(b)
	}
	// Output:
	// errors: 0
	// 2, "0 0 * * sat" for 48h
	// 0, "0 0 * * 1" for 120h
}

// The most common mistake: a window on the only budget, which leaves the rest
// of the week without any limit.
func ExampleLint() {
	budgets := []budget.Budget{during(budget.Budget{Nodes: "10%"}, "0 22 * * *", "6h")}
	for _, f := range budget.Lint(budgets, time.Date(2026, 8, 24, 0, 0, 0, 0, time.UTC), budget.LintOptions{}) {
		fmt.Printf("%s: %s\n%s\n→ %s\n", f.Severity, f.Code, f.Message, f.Fix)
		fmt.Println("most likely meant:", f.Instead)
	}
	// Output:
	// warning: unlimited-outside-window
	// a window limits nothing outside of itself: there is no limit to Drifted, Empty and Underutilized for 75.0% of the time, as from Mon 2026-08-24 04:00 to Mon 2026-08-24 22:00 UTC
	// → add a budget without a schedule that is the limit at all other times
	// most likely meant: [10%, "0 22 * * *" for 6h 0, "0 4 * * *" for 18h]
}

func ExampleValidate() {
	budgets := []budget.Budget{
		{Nodes: "10.5%"},
		during(budget.Budget{Nodes: "0"}, "0 0 * * sat-sun", "24h"),
	}
	for _, err := range budget.Validate(budgets, nil) {
		fmt.Println(err)
	}
	// Output:
	// budgets[0].nodes: Invalid value: "10.5%": must be a number, or a percentage from 0% to 100%
	// budgets[1].schedule: Invalid value: "0 0 * * sat-sun": not a schedule: beginning of range (6) beyond end of range (0): sat-sun; write "0 0 * * sat,sun"
}

// Office hours by the clock on the wall, on both sides of the end of summer
// time.
func ExampleParseWindow() {
	office, _ := budget.ParseWindow("0 8 * * mon-fri", 10*time.Hour, "Europe/Berlin")
	friday := time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC)
	for span := range office.Spans(friday, friday.AddDate(0, 0, 4)) {
		fmt.Println(span.From.UTC().Format("Mon 15:04"), "to", span.To.UTC().Format("15:04"), "UTC")
	}
	// Output:
	// Fri 06:00 to 16:00 UTC
	// Mon 07:00 to 17:00 UTC
}

// One node a day, whatever the pace of the loop that asks.
func ExampleEvaluateRates() {
	rates := []budget.Rate{{Nodes: 1, Period: 24 * time.Hour}}
	now := time.Date(2026, 8, 24, 12, 0, 0, 0, time.UTC)
	var history budget.History
	fmt.Println(budget.EvaluateRates(rates, now, budget.Drifted, history))
	history = history.Add(budget.Start{At: now, Node: "node-1", Reason: budget.Drifted})
	fmt.Println(budget.EvaluateRates(rates, now.Add(20*time.Second), budget.Drifted, history))
	// Output:
	// 1 may begin by rates[0]
	// none may begin: rates[0] is used up by 1; the next may begin at 2026-08-25T12:00:00Z
}

// At most one node per zone, beside what the pools allow.
func ExampleScope() {
	one, _ := budget.Compile([]budget.Budget{{Nodes: "1"}}, nil)
	zones := budget.Scope{Label: "topology.kubernetes.io/zone", Budgets: one}
	in := func(zone string) map[string]string { return map[string]string{zones.Label: zone} }
	nodes := []budget.Node{{Name: "n1", Labels: in("a")}, {Name: "n2", Labels: in("a")}, {Name: "n3", Labels: in("b"), NotReady: true}}

	allowed := map[string]int{"default": 2} // of the pool
	for _, group := range zones.Evaluate(time.Time{}, budget.Empty, nodes, budget.Accounting{}) {
		allowed[group.Key] = group.Allowed
	}
	ledger := budget.NewLedger(allowed)
	for _, n := range nodes {
		fmt.Println(n.Name, ledger.Take("default", zones.Key(n.Labels)))
	}
	// Output:
	// n1 true
	// n2 false
	// n3 false
}

func ExampleSet_Report() {
	set, _ := budget.Compile([]budget.Budget{{Nodes: "10%"}}, nil)
	nodes := []budget.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3", NotReady: true}, {Name: "n4", Uninitialized: true}}
	report := set.Report(time.Date(2026, 8, 24, 12, 0, 0, 0, time.UTC), budget.Count(nodes), budget.Accounting{ExemptNotReady: []budget.Reason{budget.Empty}})
	fmt.Print(report)
	// Output:
	// at 2026-08-24T12:00:00Z, of 3 nodes
	//   Drifted: no node may be disrupted: budgets[0] (10%) allows 1 of 3, used up by 1 in disruption or not ready
	//     used by n3 (NotReady)
	//   Empty: 1 of 3 nodes may be disrupted: budgets[0] (10%)
	//   Underutilized: no node may be disrupted: budgets[0] (10%) allows 1 of 3, used up by 1 in disruption or not ready
	//     used by n3 (NotReady)
	//   not counted: n4 (Uninitialized)
}
