package budget_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/budget"
)

func started(at time.Time, node string) budget.Start {
	return budget.Start{At: at, Node: node, Reason: d}
}

func TestRates(t *testing.T) {
	day := 24 * time.Hour
	one := []budget.Rate{{Nodes: 1, Period: day}}
	for _, c := range []struct {
		name    string
		rates   []budget.Rate
		history []time.Duration // starts, ago
		allowed int
		code    budget.Code
		next    time.Duration // from now; -1 for never
	}{
		{"no rates, no limit", nil, []time.Duration{0}, inf, budget.Unbounded, 0},
		{"one a day, none yet", one, nil, 1, budget.Available, 0},
		{"one a day, one twenty seconds ago (V7)", one, []time.Duration{20 * time.Second}, 0, budget.UsedUp, day - 20*time.Second},
		{"one a day, one just within the day", one, []time.Duration{day - 1}, 0, budget.UsedUp, 1},
		{"one a day, one exactly a day ago counts no more", one, []time.Duration{day}, 1, budget.Available, 0},
		{"a start in the future counts", one, []time.Duration{-time.Hour}, 0, budget.UsedUp, day + time.Hour},
		{"three a day, two gone", []budget.Rate{{Nodes: 3, Period: day}}, []time.Duration{time.Hour, 2 * time.Hour}, 1, budget.Available, 0},
		{"more than allowed have begun: the newest of the surplus must age", []budget.Rate{{Nodes: 2, Period: day}}, []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour}, 0, budget.UsedUp, day - 2*time.Hour},
		{"a pause that has not passed", []budget.Rate{{MinInterval: 10 * time.Minute}}, []time.Duration{4 * time.Minute}, 0, budget.TooSoon, 6 * time.Minute},
		{"a pause that has passed lets one go", []budget.Rate{{MinInterval: 10 * time.Minute}}, []time.Duration{10 * time.Minute}, 1, budget.Available, 0},
		{"both limits wait for the later", []budget.Rate{{Nodes: 1, Period: day, MinInterval: time.Hour}}, []time.Duration{time.Minute}, 0, budget.UsedUp, day - time.Minute},
		{"the smallest of several rates", []budget.Rate{{Nodes: 5, Period: time.Hour}, {Nodes: 8, Period: day}}, []time.Duration{time.Minute, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 5 * time.Hour}, 3, budget.Available, 0},
		{"zero per period is closed", []budget.Rate{{Nodes: 0, Period: day}}, nil, 0, budget.Closed, -1},
		{"a rate for other reasons says nothing", []budget.Rate{{Nodes: 0, Period: day, Reasons: []budget.Reason{e}}}, nil, inf, budget.Unbounded, 0},
		{"starts for other reasons are not counted", []budget.Rate{{Nodes: 1, Period: day, Reasons: []budget.Reason{d}}}, nil, 1, budget.Available, 0},
		{"a rate without period allows none", []budget.Rate{{Nodes: 1}}, nil, 0, budget.Unreadable, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h budget.History
			for i, ago := range c.history {
				h = h.Add(started(noon.Add(-ago), fmt.Sprintf("node-%d", i)))
			}
			h = h.Add(budget.Start{At: noon.Add(-time.Minute), Node: "other"})
			if len(c.rates) == 0 || c.rates[0].Reasons == nil {
				h = h.Since(noon.Add(-1000 * time.Hour))
				h.Starts = without(h.Starts, "other")
			}
			v := budget.EvaluateRates(c.rates, noon, d, h)
			require.Equal(t, c.allowed, v.Allowed, v)
			require.Equal(t, c.code, v.Code, v)
			require.NotEmpty(t, v.String())
			if c.next < 0 {
				require.Nil(t, v.Next)
			} else {
				require.Equal(t, noon.Add(c.next), *v.Next)
			}
		})
	}
}

func without(starts []budget.Start, node string) []budget.Start {
	var rest []budget.Start
	for _, s := range starts {
		if s.Node != node {
			rest = append(rest, s)
		}
	}
	return rest
}

// However often the loop runs, no stretch of the period sees more starts than
// the rate allows, no two are closer than the interval, and when the answer is
// no, the instant it names is the first at which it is yes.
func TestRatesHoldAtAnyLoopSpeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := budget.Rate{Nodes: rapid.IntRange(1, 4).Draw(t, "nodes"), Period: time.Duration(rapid.IntRange(1, 600).Draw(t, "period")) * time.Minute,
			MinInterval: time.Duration(rapid.IntRange(0, 90).Draw(t, "interval")) * time.Minute}
		rates := []budget.Rate{r}
		var h budget.History
		for now, i := noon, 0; i < 60; i++ {
			now = now.Add(time.Duration(rapid.IntRange(1, 7200).Draw(t, "step")) * time.Second)
			v := budget.EvaluateRates(rates, now, d, h.Since(now.Add(-budget.Memory(rates))))
			require.Equal(t, v, budget.EvaluateRates(rates, now, d, h), "what lies beyond the memory plays no part")
			if v.Allowed > 0 {
				h = h.Add(started(now, fmt.Sprint("node-", i)))
				continue
			}
			require.Zero(t, budget.EvaluateRates(rates, v.Next.Add(-1), d, h).Allowed)
			require.Positive(t, budget.EvaluateRates(rates, *v.Next, d, h).Allowed)
		}
		for i := range h.Starts {
			if i >= r.Nodes {
				require.GreaterOrEqual(t, h.Starts[i].At.Sub(h.Starts[i-r.Nodes].At), r.Period)
			}
			if i > 0 {
				require.GreaterOrEqual(t, h.Starts[i].At.Sub(h.Starts[i-1].At), r.MinInterval)
			}
		}
	})
}

func TestHistoryIsAValue(t *testing.T) {
	h := budget.History{}.Add(started(noon, "b"), started(noon, "a"), started(noon.Add(-time.Hour), "c"), started(noon, "a"))
	require.Len(t, h.Starts, 3, "the same start twice counts once")
	require.Equal(t, "c", h.Starts[0].Node)
	data, err := json.Marshal(h)
	require.NoError(t, err)
	var back budget.History
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, h, back)
	longer := h.Add(started(noon.Add(time.Hour), "d"))
	require.Len(t, h.Starts, 3, "the receiver is unchanged")
	require.Len(t, longer.Starts, 4)
}

func TestScopesComposeByMinimum(t *testing.T) {
	set := func(budgets ...budget.Budget) *budget.Set {
		s, errs := budget.Compile(budgets, nil)
		require.Empty(t, errs)
		return s
	}
	zone := "topology.kubernetes.io/zone"
	var nodes []budget.Node
	for i, z := range []string{"a", "a", "a", "b", "b", ""} {
		n := budget.Node{Name: fmt.Sprintf("node-%d", i), NotReady: i == 1}
		if z != "" {
			n.Labels = map[string]string{zone: z}
		}
		nodes = append(nodes, n)
	}
	zones := budget.Scope{Label: zone, Budgets: set(b("1"))}
	cluster := budget.Scope{Budgets: set(b("50%"))}
	allowed := map[string]int{"default": set(b("10")).Evaluate(noon, d, budget.Count(nodes).Usage(d, budget.Accounting{})).Allowed}
	for _, scope := range []budget.Scope{zones, cluster} {
		for _, v := range scope.Evaluate(noon, d, nodes, budget.Accounting{}) {
			allowed[v.Key] = v.Allowed
		}
	}
	require.Equal(t, map[string]int{"default": 9, "*": 2, zone + "=a": 0, zone + "=b": 1, zone + "=": 1}, allowed)
	ledger := budget.NewLedger(allowed)
	var taken []string
	for _, n := range nodes {
		if ledger.Take("default", zones.Key(n.Labels), cluster.Key(n.Labels)) {
			taken = append(taken, n.Name)
		}
	}
	require.Equal(t, []string{"node-3", "node-5"}, taken, "zone a has a node that isn't ready, b may lose one, and the cluster two")
	require.Equal(t, 7, ledger.Left("default"), "what was refused costs nothing")
}
