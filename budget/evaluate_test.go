package budget_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/budget"
)

// drawBudgets draws a list of budgets that can be read, or not quite.
func drawBudgets(t *rapid.T, unreadable bool) []budget.Budget {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) budget.Budget {
		nodes := []string{"0", "1", "3", "10", "0%", "10%", "35%", "100%"}
		schedules := []string{"0 8 * * mon-fri", "0 0 * * 6", "@daily", "@hourly", "*/20 * * * *", "30 22 * * *", "0 2 1 * *", "15,45 3-5 * * *"}
		if unreadable {
			nodes = append(nodes, "five", "-3")
			schedules = append(schedules, "61 * * * *", "0 0 30 2 *")
		}
		bud := budget.Budget{Nodes: rapid.SampledFrom(nodes).Draw(t, "nodes")}
		switch rapid.IntRange(0, 5).Draw(t, "reasons") {
		case 0:
			bud.Reasons = []budget.Reason{d}
		case 1:
			bud.Reasons = []budget.Reason{e, u}
		case 2:
			bud.Reasons = []budget.Reason{}
		}
		if rapid.IntRange(0, 3).Draw(t, "scheduled") > 0 {
			length := rapid.SampledFrom([]string{"0s", "5m", "20m", "1h", "7h30m", "24h", "48h", "100h"}).Draw(t, "duration")
			bud = during(bud, rapid.SampledFrom(schedules).Draw(t, "schedule"), length)
		}
		return bud
	}), 0, 6).Draw(t, "budgets")
}

func drawNow(t *rapid.T) time.Time {
	return noon.Add(time.Duration(rapid.IntRange(0, 40*24*60).Draw(t, "minute")) * time.Minute)
}

func drawReason(t *rapid.T) budget.Reason {
	return rapid.SampledFrom(budget.Reasons()).Draw(t, "reason")
}

// Until the next change nothing changes, and then it does.
func TestNextChangeIsTheNextChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, _ := budget.Compile(drawBudgets(t, true), nil)
		now, reason, usage := drawNow(t), drawReason(t), budget.Usage{Total: rapid.IntRange(0, 50).Draw(t, "total")}
		v := set.Evaluate(now, reason, usage)
		end := now.Add(9 * 24 * time.Hour)
		if v.NextChange != nil {
			require.True(t, v.NextChange.After(now))
			require.NotEqual(t, max(0, v.Limit), set.Evaluate(*v.NextChange, reason, usage).Limit, "at %s", v.NextChange)
			require.Equal(t, max(0, v.Limit), max(0, set.Evaluate(v.NextChange.Add(-1), reason, usage).Limit))
			if v.NextChange.Before(end) {
				end = *v.NextChange
			}
		}
		for at := now; at.Before(end); at = at.Add(13 * time.Minute) {
			require.Equal(t, max(0, v.Limit), max(0, set.Evaluate(at, reason, usage).Limit), "at %s, next change %s", at, v.NextChange)
		}
	})
}

// The forecast is what Evaluate says at each instant, cut where the limit
// changes and nowhere else.
func TestForecastEqualsEvaluation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, _ := budget.Compile(drawBudgets(t, true), nil)
		from, reason := drawNow(t), drawReason(t)
		usage := budget.Usage{Total: rapid.IntRange(0, 50).Draw(t, "total"), Consuming: rapid.IntRange(0, 3).Draw(t, "consuming")}
		to := from.Add(time.Duration(rapid.IntRange(1, 12*24*60).Draw(t, "span")) * time.Minute)
		at, last := from, -1<<40
		r := rand.New(rand.NewSource(7))
		for i := range set.Forecast(from, to, reason, usage) {
			require.Equal(t, at, i.From)
			require.True(t, i.To.After(i.From))
			require.NotEqual(t, last, i.Limit)
			at, last = i.To, i.Limit
			for _, probe := range []time.Time{i.From, i.To.Add(-1), i.From.Add(time.Duration(r.Int63n(int64(i.To.Sub(i.From)))))} {
				v := set.Evaluate(probe, reason, usage)
				require.Equal(t, max(0, v.Limit), i.Limit, "at %s", probe)
				require.Equal(t, v.Allowed, i.Allowed)
			}
		}
		require.Equal(t, to, at)
	})
}

// The next instant with room for n is the first: there is none before, by the
// minute.
func TestNextAtLeastIsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, _ := budget.Compile(drawBudgets(t, false), nil)
		now, reason, n := drawNow(t), drawReason(t), rapid.IntRange(1, 12).Draw(t, "n")
		usage := budget.Usage{Total: 30, Consuming: rapid.IntRange(0, 3).Draw(t, "consuming")}
		limit := now.Add(8 * 24 * time.Hour)
		at, ok := set.NextAtLeast(n, now, limit, reason, usage)
		if ok {
			require.GreaterOrEqual(t, set.Evaluate(at, reason, usage).Allowed, n)
			limit = at
		}
		for probe := now; probe.Before(limit); probe = probe.Add(5 * time.Minute) {
			require.Less(t, set.Evaluate(probe, reason, usage).Allowed, n, "at %s", probe)
		}
	})
}

// Shuffled budgets give the same limit; more nodes in disruption never allow
// more; one more budget never allows more; and the arguments stay as they are.
func TestEvaluationIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budgets := drawBudgets(t, true)
		before, _ := json.Marshal(budgets)
		set, _ := budget.Compile(budgets, nil)
		now, reason := drawNow(t), drawReason(t)
		usage := budget.Usage{Total: rapid.IntRange(0, 50).Draw(t, "total"), Consuming: rapid.IntRange(0, 5).Draw(t, "consuming")}
		v := set.Evaluate(now, reason, usage)
		require.Equal(t, v, set.Evaluate(now, reason, usage))

		shuffled, _ := budget.Compile(rapid.Permutation(budgets).Draw(t, "order"), nil)
		require.Equal(t, v.Limit, shuffled.Evaluate(now, reason, usage).Limit)
		more := usage
		more.Consuming++
		require.LessOrEqual(t, set.Evaluate(now, reason, more).Allowed, v.Allowed)
		longer, _ := budget.Compile(append(budgets, drawBudgets(t, true)...), nil)
		require.LessOrEqual(t, longer.Evaluate(now, reason, usage).Allowed, v.Allowed)
		require.GreaterOrEqual(t, v.Allowed, 0)

		after, _ := json.Marshal(budgets)
		require.Equal(t, string(before), string(after))
	})
}

// V5: over any number of passes, at any pace, never more nodes are in
// disruption than the budget allows (OCI provider issue 9).
func TestNeverMoreThanAllowedAcrossPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, _ := budget.Compile([]budget.Budget{b(rapid.SampledFrom([]string{"10%", "1", "2", "40%", "100%"}).Draw(t, "nodes"))}, nil)
		nodes := make([]budget.Node, rapid.IntRange(1, 12).Draw(t, "pool"))
		for i := range nodes {
			nodes[i].Name = fmt.Sprint("node-", i)
		}
		limit := set.Evaluate(noon, d, budget.Usage{Total: len(nodes)}).Limit
		for range 30 {
			allowed := set.Evaluate(noon, d, budget.Count(nodes).Usage(d, budget.Accounting{})).Allowed
			ledger := budget.NewLedger(map[string]int{"pool": allowed})
			for i := range nodes {
				switch {
				case nodes[i].Deleting && rapid.Bool().Draw(t, "gone and replaced"):
					nodes[i] = budget.Node{Name: nodes[i].Name}
				case !nodes[i].Deleting && ledger.Take("pool"):
					nodes[i].Deleting, nodes[i].Reason = true, d
				}
			}
			deleting := 0
			for _, n := range nodes {
				if n.Deleting {
					deleting++
				}
			}
			require.LessOrEqual(t, deleting, limit)
		}
	})
}

func TestPercentagesRoundUp(t *testing.T) {
	for _, c := range []struct {
		nodes       string
		total, want int
	}{
		{"10%", 1, 1}, {"10%", 5, 1}, {"10%", 10, 1}, {"10%", 11, 2}, {"5%", 10, 1}, {"35%", 20, 7}, {"1%", 200, 2}, {"80%", 11, 9},
		{"0%", 7, 0}, {"100%", 7, 7}, {"150%", 10, 15}, {"-15%", 10, -1}, {"005%", 100, 5}, {"20%", 6, 2},
		{"+5", 1, 5}, {"007", 1, 7}, {"-3", 10, -3}, {"99999999999", 1, 1215752191}, {"4294967296", 1, 0}, {"10%", 0, 0},
		{"9223372036854775807%", 1000, -1 << 63}, {"9223372036854775807%", 1, inf},
	} {
		set, errs := budget.Compile([]budget.Budget{b(c.nodes)}, nil)
		require.Empty(t, errs)
		v := set.Evaluate(noon, d, budget.Usage{Total: c.total})
		require.Equal(t, c.want, v.Limit, "%s of %d", c.nodes, c.total)
		require.GreaterOrEqual(t, v.Allowed, 0)
	}
}

func TestCounting(t *testing.T) {
	nodes := []budget.Node{
		{Name: "ok-1"}, {Name: "ok-2"}, {Name: "ok-3"},
		{Name: "not-ready", NotReady: true},
		{Name: "deleting", Deleting: true, NotReady: true, Reason: d},
		{Name: "in-flight", InFlight: true, Reason: e},
		{Name: "starting", Uninitialized: true, NotReady: true},
		{Name: "stray", Unmanaged: true},
		{Name: "terminating", InstanceTerminating: true, Deleting: true},
	}
	tally := budget.Count(nodes)
	require.Equal(t, budget.Tally{Total: 6,
		Charged:  []budget.Charge{{"deleting", budget.CauseDeleting, d}, {"in-flight", budget.CauseInFlight, e}, {"not-ready", budget.CauseNotReady, ""}},
		Excluded: []budget.Charge{{"starting", budget.CauseUninitialized, ""}, {"stray", budget.CauseUnmanaged, ""}, {"terminating", budget.CauseInstanceTerminating, ""}},
	}, tally)
	for _, reason := range budget.Reasons() {
		require.Equal(t, budget.Usage{Total: 6, Consuming: 3}, tally.Usage(reason, budget.Accounting{}), "shared by default")
	}
	perReason := budget.Accounting{Buckets: budget.PerReason, ExemptNotReady: []budget.Reason{e}}
	require.Equal(t, 2, tally.Usage(d, perReason).Consuming)
	require.Equal(t, 1, tally.Usage(e, perReason).Consuming)
	require.Equal(t, 1, tally.Usage(u, perReason).Consuming)
	unknown := budget.Count([]budget.Node{{Name: "a", Deleting: true}})
	require.Equal(t, 1, unknown.Usage(u, perReason).Consuming, "a disruption of unknown reason is charged to all")

	rand.New(rand.NewSource(1)).Shuffle(len(nodes), func(i, k int) { nodes[i], nodes[k] = nodes[k], nodes[i] })
	require.Equal(t, tally, budget.Count(nodes), "the order of the nodes plays no part")
}

// Of six nodes, one of them deleting, 20% is ceil(1.2) less one.
func TestDeletingNodesStayInTheDenominator(t *testing.T) {
	set, _ := budget.Compile([]budget.Budget{b("20%")}, nil)
	tally := budget.Count([]budget.Node{{Name: "a", Deleting: true}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}})
	require.Equal(t, 1, set.Evaluate(noon, d, tally.Usage(d, budget.Accounting{})).Allowed)
}

// V6 with one drift in progress: nothing may go, since the count is shared;
// with a count per reason an empty node may (Karpenter issue 1691).
func TestPerReasonAccounting(t *testing.T) {
	set, _ := budget.Compile([]budget.Budget{b("2"), during(b("1", e, d), "0 7 * * *", "20h"), during(b("0", u), "0 7 * * *", "20h")}, nil)
	nodes := make([]budget.Node, 10)
	for i := range nodes {
		nodes[i].Name = fmt.Sprint("node-", i)
	}
	nodes[0].Deleting, nodes[0].Reason = true, d
	tally, now := budget.Count(nodes), at(t, "Thu 2024-09-19 08:00")
	allowed := func(a budget.Accounting) (got [3]int) {
		for i, reason := range []budget.Reason{e, d, u} {
			got[i] = set.Evaluate(now, reason, tally.Usage(reason, a)).Allowed
		}
		return got
	}
	require.Equal(t, [3]int{0, 0, 0}, allowed(budget.Accounting{}))
	require.Equal(t, [3]int{1, 0, 0}, allowed(budget.Accounting{Buckets: budget.PerReason}))
}

func TestLedger(t *testing.T) {
	given := map[string]int{"a": 2, "b": 1, "broken": -3}
	l := budget.NewLedger(given)
	require.True(t, l.Take("a", "b"))
	require.False(t, l.Take("a", "b"), "b is used up")
	require.Equal(t, 1, l.Left("a"), "so nothing is taken from a either")
	require.False(t, l.Take("a", "a"), "twice is one too many")
	require.False(t, l.Take("unknown"))
	require.Zero(t, l.Left("broken"))
	trial := l.Clone()
	require.True(t, trial.Take("a"))
	require.Equal(t, 1, l.Left("a"))
	l.Return("a", "b")
	require.Equal(t, 2, l.Left("a"))
	require.Equal(t, map[string]int{"a": 2, "b": 1, "broken": -3}, given, "the map is the caller's")
}

func TestVerdictsExplainThemselves(t *testing.T) {
	set, _ := budget.Compile([]budget.Budget{b("3"), during(b("0", d), "0 8 * * mon-fri", "10h"), during(b("10%", e), "0 6 * * *", "8h")}, nil)
	for _, c := range []struct {
		at        string
		reason    budget.Reason
		consuming int
		code      budget.Code
		want      string
	}{
		{"Mon 2026-08-24 12:00", d, 0, budget.Closed, `Drifted: no node may be disrupted: budgets[1] (0 for Drifted, "0 8 * * mon-fri" for 10h) allows none; this changes at 2026-08-24T18:00:00Z`},
		{"Mon 2026-08-24 12:00", e, 1, budget.UsedUp, `Empty: no node may be disrupted: budgets[2] (10% for Empty, "0 6 * * *" for 8h) allows 1 of 10, used up by 1 in disruption or not ready; this changes at 2026-08-24T14:00:00Z`},
		{"Mon 2026-08-24 12:00", u, 1, budget.Available, `Underutilized: 2 of 10 nodes may be disrupted: budgets[0] (3) allows 3, less 1 in disruption or not ready`},
		{"Sat 2026-08-29 20:00", d, 0, budget.Available, `Drifted: 3 of 10 nodes may be disrupted: budgets[0] (3); this changes at 2026-08-31T08:00:00Z`},
	} {
		v := set.Evaluate(at(t, c.at), c.reason, budget.Usage{Total: 10, Consuming: c.consuming})
		require.Equal(t, c.want, v.String())
		require.Equal(t, c.code, v.Code())
	}
	none, _ := budget.Compile(nil, nil)
	require.Equal(t, "Drifted: no budget limits disruption", none.Evaluate(noon, d, budget.Usage{Total: 3}).String())
	broken, _ := budget.Compile([]budget.Budget{b("few")}, nil)
	require.Equal(t, `Drifted: no node may be disrupted, a budget can't be read: budgets[0].nodes: Invalid value: "few": neither a number of nodes nor a percentage`, broken.Evaluate(noon, d, budget.Usage{Total: 3}).String())
}

func TestReport(t *testing.T) {
	set, _ := budget.Compile([]budget.Budget{b("20%"), during(b("0", u), "0 8 * * *", "10h")}, nil)
	tally := budget.Count([]budget.Node{{Name: "a"}, {Name: "b", NotReady: true}, {Name: "c", Deleting: true, Reason: d}, {Name: "d"}, {Name: "e"}, {Name: "f"}, {Name: "g", Uninitialized: true}})
	got := set.Report(noon, tally, budget.Accounting{ExemptNotReady: []budget.Reason{e}}).String()
	require.Empty(t, cmp.Diff(`at 2026-08-24T12:00:00Z, of 6 nodes
  Drifted: no node may be disrupted: budgets[0] (20%) allows 2 of 6, used up by 2 in disruption or not ready
    used by b (NotReady)
    used by c (Deleting, Drifted)
  Empty: 1 of 6 nodes may be disrupted: budgets[0] (20%) allows 2, less 1 in disruption or not ready
    used by c (Deleting, Drifted)
  Underutilized: no node may be disrupted: budgets[1] (0 for Underutilized, "0 8 * * *" for 10h) allows none; this changes at 2026-08-24T18:00:00Z
    used by b (NotReady)
    used by c (Deleting, Drifted)
  not counted: g (Uninitialized)
`, got))
}

// Absent, null and empty reasons mean different things, and stay what they are
// through JSON; a time zone never goes there.
func TestJSONKeepsNilAndEmptyApart(t *testing.T) {
	for in, want := range map[string]string{
		`{"nodes":"1"}`:                                         `{"nodes":"1"}`,
		`{"nodes":"1","reasons":null}`:                          `{"nodes":"1"}`,
		`{"nodes":"1","reasons":[]}`:                            `{"reasons":[],"nodes":"1"}`,
		`{"nodes":"1","schedule":"","duration":"90m"}`:          `{"nodes":"1","schedule":"","duration":"1h30m0s"}`,
		`{"nodes":"1","timeZone":"Europe/Berlin","TimeZone":1}`: `{"nodes":"1"}`,
	} {
		var got budget.Budget
		require.NoError(t, json.Unmarshal([]byte(in), &got), in)
		out, err := json.Marshal(got)
		require.NoError(t, err)
		require.Equal(t, want, string(out))
	}
}

// What is compiled is a copy: the caller may go on changing the list.
func TestSetKeepsNothingOfTheCaller(t *testing.T) {
	list := []budget.Budget{during(b("0", d), "@daily", "24h")}
	set, _ := budget.Compile(list, nil)
	list[0].Reasons[0] = e
	*list[0].Schedule = "junk"
	list[0].Duration.Duration = 0
	require.Equal(t, 0, set.Evaluate(noon, d, budget.Usage{Total: 1}).Limit)
	got := set.Budget(0)
	got.Reasons[0], *got.Schedule = u, "junk"
	require.Equal(t, "@daily", *set.Budget(0).Schedule)
	require.Equal(t, 1, set.Len())
}

// A freeze over the holidays: active then, and never again.
func TestOnce(t *testing.T) {
	freeze := budget.Span{From: at(t, "Sun 2026-12-20 00:00"), To: at(t, "Mon 2027-01-04 08:00")}
	set, errs := budget.Compile([]budget.Budget{b("10%"), {Nodes: "0", Once: &freeze}}, nil)
	require.Empty(t, errs)
	var got []string
	for i := range set.Forecast(noon, noon.AddDate(2, 0, 0), d, budget.Usage{Total: 10}) {
		got = append(got, fmt.Sprint(i.From.Format("2006-01-02 15:04"), " ", i.Limit))
	}
	require.Equal(t, []string{"2026-08-24 12:00 1", "2026-12-20 00:00 0", "2027-01-04 08:00 1"}, got)
	v := set.Evaluate(freeze.To.Add(-1), d, budget.Usage{Total: 10})
	require.Equal(t, freeze.To, *v.NextChange)
	require.Equal(t, `Drifted: no node may be disrupted: budgets[1] (0, once from 2026-12-20T00:00:00Z to 2027-01-04T08:00:00Z) allows none; this changes at 2027-01-04T08:00:00Z`, v.String())
	require.Nil(t, set.Evaluate(freeze.To, d, budget.Usage{Total: 10}).NextChange)
	for _, f := range budget.Lint([]budget.Budget{{Nodes: "5", Once: &freeze}}, noon, budget.LintOptions{}) {
		require.Equal(t, budget.UnlimitedOutsideWindow, f.Code)
		require.Nil(t, f.Instead)
	}
}

func TestFloor(t *testing.T) {
	f := budget.Floor{Nodes: 3}
	require.Equal(t, 2, f.Allowed(budget.Usage{Total: 6, Consuming: 1}))
	require.Zero(t, f.Allowed(budget.Usage{Total: 2}))
}

// An error is zero for the pass, also beside a budget below zero.
func TestErrorsAreZeroExactly(t *testing.T) {
	set, _ := budget.Compile([]budget.Budget{b("-3"), b("few", e)}, nil)
	v := set.Evaluate(noon, d, budget.Usage{Total: 3})
	require.Equal(t, 0, v.Limit)
	require.Equal(t, -3, v.OwnLimit)
	require.Equal(t, 1, v.Binding)
}
