package budget_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/budget"
)

func TestLintOfDetails(t *testing.T) {
	hours := func(n int) *time.Duration { return new(time.Duration(n) * time.Hour) }
	for _, c := range []struct {
		name    string
		budgets []budget.Budget
		options budget.LintOptions
		want    string // code and message of the one finding; "" for none
	}{
		{"nothing is wrong with a nil list", nil, budget.LintOptions{}, ""},
		{"10% of three nodes is a third of them", []budget.Budget{b("10%")}, budget.LintOptions{Nodes: 3}, "percent-rounds-up: budgets[0] (10%) rounds up to 1 of 3 nodes, which is 33%"},
		{"10% of eleven nodes is nothing to speak of", []budget.Budget{b("10%")}, budget.LintOptions{Nodes: 11}, ""},
		{"70% of two nodes is both", []budget.Budget{b("70%")}, budget.LintOptions{Nodes: 2}, "percent-rounds-to-all: budgets[0] (70%) rounds up to all 2 nodes"},
		{"100% of two nodes says so", []budget.Budget{b("100%")}, budget.LintOptions{Nodes: 2}, ""},
		{"zero of one node is none", []budget.Budget{b("0")}, budget.LintOptions{Nodes: 1}, "always-zero: no node can be disrupted at any time, for any reason"},
		{"of an unknown number of nodes nothing is said", []budget.Budget{b("10%")}, budget.LintOptions{}, ""},
		{"a window that misses the next by a minute", []budget.Budget{b("5"), during(b("0"), "0 8 * * *", "7h59m"), during(b("1"), "0 16 * * *", "2h")}, budget.LintOptions{},
			"windows-do-not-meet: between the windows of budgets[1] and budgets[2] the limit of Drifted, Empty and Underutilized is 5 for 1m, as at 2026-08-24T15:59:00Z"},
		{"windows that are hours apart are meant so", []budget.Budget{b("5"), during(b("0"), "0 8 * * *", "4h"), during(b("1"), "0 16 * * *", "2h")}, budget.LintOptions{}, ""},
		{"a grace period longer than the window", []budget.Budget{during(b("1"), "0 2 * * *", "4h"), during(b("0"), "0 6 * * *", "20h")}, budget.LintOptions{TerminationGracePeriod: hours(12)},
			"grace-exceeds-window: Drifted, Empty and Underutilized may begin in a window of 4h, as at 2026-08-24T02:00:00Z, but a drain may take the terminationGracePeriod of 12h and go on long after it: budgets gate the start only"},
		{"a grace period as long as the window", []budget.Budget{during(b("1"), "0 2 * * *", "4h"), during(b("0"), "0 6 * * *", "20h")}, budget.LintOptions{TerminationGracePeriod: hours(4)}, ""},
		{"a grace period of the default pod's length", []budget.Budget{b("1")}, budget.LintOptions{TerminationGracePeriod: new(30 * time.Second)},
			"grace-leq-pod-grace: terminationGracePeriod 30s is not longer than the 30s that a pod may take: such pods are deleted as soon as the node is, and their PDBs are never asked"},
		{"a grace period of the longest pod's length", []budget.Budget{b("1")}, budget.LintOptions{TerminationGracePeriod: hours(1), PodGracePeriod: time.Hour},
			"grace-leq-pod-grace: terminationGracePeriod 1h is not longer than the 1h that a pod may take: such pods are deleted as soon as the node is, and their PDBs are never asked"},
		{"office hours of people who live in Berlin", []budget.Budget{b("10%"), during(b("0"), "0 8 * * mon-fri", "10h")}, budget.LintOptions{TimeZone: "Europe/Berlin"},
			"looks-like-local-time: budgets[1] (0, \"0 8 * * mon-fri\" for 10h) looks like office hours, but Karpenter's schedules are in UTC: in Europe/Berlin it is active 10:00–20:00 in July and 09:00–19:00 in January"},
		{"office hours in Reykjavik, where UTC is the time", []budget.Budget{b("10%"), during(b("0"), "0 8 * * mon-fri", "10h")}, budget.LintOptions{TimeZone: "Atlantic/Reykjavik"}, ""},
		{"a date and a day of the week", []budget.Budget{b("10%"), during(b("0"), "0 8 1 * mon", "10h")}, budget.LintOptions{},
			"date-or-weekday: budgets[1] (0, \"0 8 1 * mon\" for 10h) gives a date and a day of the week: it begins on every day that is either, not on those that are both"},
		{"a step of dates and a day of the week", []budget.Budget{b("10%"), during(b("0"), "0 8 */2 * mon", "10h")}, budget.LintOptions{},
			"date-or-weekday: budgets[1] (0, \"0 8 */2 * mon\" for 10h) gives a date and a day of the week: it begins on every day that is either, not on those that are both"},
		{"a step of one is a star", []budget.Budget{b("10%"), during(b("0"), "0 8 */1 * mon", "10h")}, budget.LintOptions{}, ""},
		{"nights are no office hours", []budget.Budget{b("10%"), during(b("0"), "0 20 * * mon-fri", "10h")}, budget.LintOptions{TimeZone: "Europe/Berlin"}, ""},
		{"a number that can't be read", []budget.Budget{b("10 %")}, budget.LintOptions{}, `invalid-field: budgets[0].nodes: Invalid value: "10 %": must be a number, or a percentage from 0% to 100%`},
	} {
		t.Run(c.name, func(t *testing.T) {
			findings := budget.Lint(c.budgets, at(t, "Mon 2026-08-24 00:00"), c.options)
			got := ""
			if len(findings) > 0 {
				got = string(findings[0].Code) + ": " + findings[0].Message
			}
			require.Equal(t, c.want, got)
		})
	}
}

// The local hours of an office, in UTC and for the whole year.
func TestLintProposesLocalHoursInUTC(t *testing.T) {
	budgets := []budget.Budget{b("10%"), during(b("0"), "30 8 * * mon-fri", "9h45m")}
	findings := budget.Lint(budgets, noon, budget.LintOptions{TimeZone: "Europe/Berlin"})
	require.Len(t, findings, 1)
	require.Equal(t, `0, "30 6 * * 1-5" for 10h45m`, findings[0].Instead[1].String())
	findings = budget.Lint(budgets, noon, budget.LintOptions{TimeZone: "Asia/Tokyo"})
	require.Len(t, findings, 1)
	require.Nil(t, findings[0].Instead, "half past eight in Tokyo is another day in UTC")
}

// A budget that is said never to decide anything can be removed, with all
// others of which that is said, and no answer changes.
func TestShadowedBudgetsCanGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budgets := drawBudgets(t, false)
		shadowed := map[int]bool{}
		findings := budget.Lint(budgets, noon, budget.LintOptions{})
		require.Equal(t, findings, budget.Lint(budgets, noon, budget.LintOptions{}))
		for _, f := range findings {
			if f.Code == budget.ShadowedBudget {
				shadowed[f.Budgets[0]] = true
			}
		}
		var rest []budget.Budget
		for i, b := range budgets {
			if !shadowed[i] {
				rest = append(rest, b)
			}
		}
		all, _ := budget.Compile(budgets, nil)
		without, _ := budget.Compile(rest, nil)
		usage := budget.Usage{Total: rapid.SampledFrom([]int{1, 3, 10, 50, 100}).Draw(t, "total")}
		for range 50 {
			now, reason := drawNow(t), drawReason(t)
			require.Equal(t, all.Evaluate(now, reason, usage).Limit, without.Evaluate(now, reason, usage).Limit)
		}
	})
}

// Findings about reasons are true of the forecast: never covered means always
// unlimited, a gap means unlimited at times, always zero means closed.
func TestCoverageFindingsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budgets := drawBudgets(t, false)
		if len(budgets) == 0 {
			return
		}
		said := map[budget.Reason]budget.LintCode{}
		zero := map[budget.Reason]bool{}
		for _, f := range budget.Lint(budgets, noon, budget.LintOptions{Nodes: 50}) {
			switch f.Code {
			case budget.UnlimitedOutsideWindow, budget.ReasonGap, budget.ReasonNeverCovered:
				for _, reason := range f.Reasons {
					said[reason] = f.Code
				}
			case budget.AlwaysZero:
				for _, reason := range f.Reasons {
					zero[reason] = true
				}
			}
		}
		set, _ := budget.Compile(budgets, nil)
		for _, reason := range budget.Reasons() {
			open, limited, closed := false, false, true
			for i := range set.Forecast(noon, noon.AddDate(1, 0, 0), reason, budget.Usage{Total: 50}) {
				open = open || i.Limit == budget.Unlimited
				limited = limited || i.Limit < budget.Unlimited
				closed = closed && i.Limit <= 0
			}
			if zero[reason] {
				require.True(t, closed)
			}
			switch said[reason] {
			case "":
				require.False(t, open)
			case budget.ReasonNeverCovered:
				require.False(t, limited)
			default:
				require.True(t, open)
			}
		}
	})
}
