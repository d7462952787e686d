package budget_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/budget"
)

const (
	e = budget.Empty
	u = budget.Underutilized
	d = budget.Drifted
	// unlimited in the tables below.
	inf = budget.Unlimited
)

// b is a budget for some reasons, or all if none is given.
func b(nodes string, reasons ...budget.Reason) budget.Budget {
	return budget.Budget{Nodes: nodes, Reasons: reasons}
}

// during gives a budget a window.
func during(bud budget.Budget, schedule, duration string) budget.Budget {
	length, err := time.ParseDuration(duration)
	if err != nil {
		panic(err)
	}
	bud.Schedule, bud.Duration = &schedule, &metav1.Duration{Duration: length}
	return bud
}

// limits of the reasons at an instant.
type limits struct {
	at      string // a weekday and time, or RFC3339
	e, u, d int
}

// source is a configuration that somebody published, with the values computed
// for it and the findings it deserves.
type source struct {
	name    string
	nodes   int
	budgets []budget.Budget
	want    []limits
	lint    []string // code, and after colons the initials of the reasons
}

func all(at string, limit int) limits { return limits{at, limit, limit, limit} }

// at reads "Tue 2026-08-25 09:00" and the like.
func at(t *testing.T, text string) time.Time {
	for _, layout := range []string{"Mon 2006-01-02 15:04", "Mon 2006-01-02 15:04:05", time.RFC3339Nano} {
		if parsed, err := time.Parse(layout, text); err == nil {
			return parsed
		}
	}
	require.Fail(t, "no such time", text)
	return time.Time{}
}

func sources() []source {
	weekday, weekend := "0 8 * * mon-fri", "0 0 * * 6"
	return []source{
		{"a weekend window beside a permanent zero never opens (AKS disruption page, weekend sample)", 10,
			[]budget.Budget{during(b("50%"), weekend, "48h"), b("0")},
			[]limits{all("Sat 2026-08-22 12:00", 0), all("Mon 2026-08-24 12:00", 0)},
			[]string{"always-zero", "shadowed-budget"}},
		{"the weekend window as it was meant", 10,
			[]budget.Budget{during(b("50%"), weekend, "48h"), during(b("0"), "0 0 * * 1", "120h")},
			[]limits{all("Sat 2026-08-22 12:00", 5), all("Mon 2026-08-24 12:00", 0), all("Fri 2026-08-28 23:59:59", 0), all("Sat 2026-08-29 00:00", 5)},
			nil},
		{"two growing windows leave the day without limit (AKS disruption page, gradual sample)", 10,
			[]budget.Budget{during(b("1"), "0 2 * * *", "2h"), during(b("3"), "0 4 * * *", "4h")},
			[]limits{all("Mon 2026-08-24 02:00", 1), all("Mon 2026-08-24 04:00", 3), all("Mon 2026-08-24 08:00", inf), all("Mon 2026-08-24 12:00", inf)},
			[]string{"unlimited-outside-window:D:E:U"}},
		{"the same with a zero for the rest of the day", 10,
			[]budget.Budget{during(b("1"), "0 2 * * *", "2h"), during(b("3"), "0 4 * * *", "4h"), during(b("0"), "0 8 * * *", "18h")},
			[]limits{all("Mon 2026-08-24 02:00", 1), all("Mon 2026-08-24 04:00", 3), all("Mon 2026-08-24 08:00", 0), all("Mon 2026-08-24 12:00", 0)},
			nil},
		{"a lone zero in office hours leaves nights and weekends without limit (AKS disruption page, office hours)", 10,
			[]budget.Budget{during(b("0"), "0 9 * * 1-5", "8h")},
			[]limits{all("Mon 2026-08-24 12:00", 0), all("Mon 2026-08-24 17:00", inf), all("Sat 2026-08-22 12:00", inf)},
			[]string{"unlimited-outside-window:D:E:U"}},

		{"V1, scheduled cap plus a cap for Empty (Karpenter issue 2183)", 20,
			[]budget.Budget{during(b("35%"), "0 1 * * mon", "4h"), b("35%", e)},
			[]limits{{"Thu 2025-05-01 14:50", 7, inf, inf}, all("Mon 2025-05-05 02:00", 7)},
			[]string{"unlimited-outside-window:D:U"}},
		{"V2, a reason never covered and a reason with a gap (AWS provider issue 7026)", 10,
			[]budget.Budget{during(b("20%", e), "0 6 * * *", "20h"), during(b("20%", u, e), "0 2 * * *", "4h")},
			[]limits{{"Tue 2024-09-17 03:00", 2, 2, inf}, {"Tue 2024-09-17 05:59:59", 2, 2, inf}, {"Tue 2024-09-17 06:00:00", 2, inf, inf}, {"Tue 2024-09-17 10:00", 2, inf, inf}},
			[]string{"reason-gap:U", "reason-never-covered:D"}},
		{"V3, a weekday range that the parser refuses (Karpenter issue 1866)", 10,
			[]budget.Budget{b("10%"), during(b("0"), "0 16 * * mon-fri", "16h"), during(b("0"), "0 0 * * sat-sun", "24h")},
			[]limits{all("Thu 2024-12-05 14:34", 0), all("Sat 2024-12-07 12:00", 0)},
			[]string{"invalid-cron"}},
		{"V3 after the fix", 10,
			[]budget.Budget{b("10%"), during(b("0"), "0 16 * * mon-fri", "16h"), during(b("0"), "0 0 * * sat,sun", "24h")},
			[]limits{all("Thu 2024-12-05 14:34", 1), all("Thu 2024-12-05 16:00", 0), all("Sat 2024-12-07 12:00", 0), all("Sun 2024-12-08 23:59:59", 0), all("Mon 2024-12-09 00:00", 1), all("Mon 2024-12-09 08:00", 1)},
			[]string{"night-not-covered:D:E:U"}},
		{"V5, a default budget of five nodes allows one", 5, []budget.Budget{b("10%")}, []limits{all("Mon 2026-08-24 12:00", 1)}, []string{"percent-rounds-up"}},
		{"V6, one count for all reasons (Karpenter issue 1691)", 10,
			[]budget.Budget{b("2"), during(b("1", e, d), "0 7 * * *", "20h"), during(b("0", u), "0 7 * * *", "20h")},
			[]limits{{"Thu 2024-09-19 08:00", 1, 0, 1}, {"Fri 2024-09-20 02:59:59", 1, 0, 1}, all("Fri 2024-09-20 03:00", 2), all("Fri 2024-09-20 06:59:59", 2)},
			nil},
		{"V7, one a day by a window of one minute (Karpenter issue 1089)", 15,
			[]budget.Budget{b("10%"), b("1"), during(b("0"), "@daily", "1439m")},
			[]limits{all("Mon 2026-08-24 00:00:00", 0), all("Mon 2026-08-24 23:58:59", 0), all("Mon 2026-08-24 23:59:00", 1), all("Mon 2026-08-24 23:59:59", 1), all("Tue 2026-08-25 00:00:00", 0)},
			[]string{"shadowed-budget"}},

		{"Karpenter issue 1939", 25, []budget.Budget{during(b("10%", e, u), weekday, "8h"), b("0", d)},
			[]limits{{"Tue 2026-08-25 09:00", 3, 3, 0}, {"Tue 2026-08-25 17:00", inf, inf, 0}, {"Sat 2026-08-29 09:00", inf, inf, 0}},
			[]string{"unlimited-outside-window:E:U", "always-zero:D"}},
		{"Karpenter issue 1438", 200, []budget.Budget{b("1"), during(b("1%"), "@hourly", "60m"), during(b("0"), "0 9 * * *", "17h")},
			[]limits{all("Tue 2026-08-25 01:59:59", 0), all("Tue 2026-08-25 02:00", 1), all("Tue 2026-08-25 08:59:59", 1), all("Tue 2026-08-25 09:00", 0)},
			[]string{"schedule-has-no-effect", "shadowed-budget"}},
		{"Karpenter issue 2374, the answer", 10,
			[]budget.Budget{b("100%", e), during(b("50%", d), "0 10 * * *", "10m"), during(b("0", d), "10 10 * * *", "23h50m")},
			[]limits{{"Tue 2026-08-25 09:59:59", 10, inf, 0}, {"Tue 2026-08-25 10:00", 10, inf, 5}, {"Tue 2026-08-25 10:09:59", 10, inf, 5}, {"Tue 2026-08-25 10:10", 10, inf, 0}},
			[]string{"reason-never-covered:U"}},
		{"Karpenter issue 2218, tiling", 10, []budget.Budget{during(b("100%"), "0 0 * * 0", "24h"), during(b("0"), "0 0 * * 1", "144h")},
			[]limits{all("Sat 2026-08-22 23:59:59", 0), all("Sun 2026-08-23 00:00:00", 10), all("Sun 2026-08-23 23:59:59", 10), all("Mon 2026-08-24 00:00", 0)},
			nil},
		{"Karpenter issue 2218", 7, []budget.Budget{b("50%", d), during(b("0"), "@daily", "1h")},
			[]limits{all("Tue 2026-08-25 00:30", 0), {"Tue 2026-08-25 01:00", inf, inf, 4}},
			[]string{"unlimited-outside-window:E:U"}},
		{"AWS provider issue 8247", 11, []budget.Budget{during(b("80%"), "0 */1 * * *", "15m")},
			[]limits{all("Tue 2026-08-25 10:05", 9), all("Tue 2026-08-25 10:15", inf), all("Tue 2026-08-25 10:30", inf)},
			[]string{"unlimited-outside-window:D:E:U"}},
		{"Azure provider issue 1188", 12, []budget.Budget{during(b("1", d), "0 3 * * sat", "2h")},
			[]limits{{"Thu 2026-08-27 14:00", inf, inf, inf}, {"Sat 2026-08-29 04:00", inf, inf, 1}},
			[]string{"reason-never-covered:E:U", "unlimited-outside-window:D"}},
		{"Karpenter issue 2202", 10, []budget.Budget{during(b("10%", d), "0 0 * * 0", "1h"), b("20%", u, e)},
			[]limits{{"Tue 2026-08-25 12:00", 2, 2, inf}, {"Sun 2026-08-23 00:30", 2, 2, 1}},
			[]string{"unlimited-outside-window:D"}},
		{"Zalando's Kubernetes on AWS at 150 nodes", 150, []budget.Budget{b("5%"), b("10"), b("0", d)},
			[]limits{{"Tue 2026-08-25 12:00", 8, 8, 0}}, []string{"always-zero:D"}},
		{"Zalando's Kubernetes on AWS at 300 nodes", 300, []budget.Budget{b("5%"), b("10"), b("0", d)},
			[]limits{{"Tue 2026-08-25 12:00", 10, 10, 0}}, []string{"always-zero:D"}},
		{"AWS provider issue 7122", 10, []budget.Budget{during(b("1"), "0 10 * * mon-thu", "8h"), during(b("0"), "0 8 * * fri", "74h")},
			[]limits{all("Mon 2024-09-30 09:00", 0), all("Mon 2024-09-30 12:00", 1), all("Mon 2024-09-30 22:00", inf), all("Fri 2024-10-04 09:00", 0), all("Mon 2024-10-07 09:59:59", 0), all("Mon 2024-10-07 10:00", 1)},
			[]string{"unlimited-outside-window:D:E:U"}},
		{"Karpenter issue 1718", 10, []budget.Budget{b("10%"), during(b("0"), "0 10 * * mon-fri", "16h")},
			[]limits{all("Thu 2026-08-27 09:37", 1), all("Thu 2026-08-27 10:00", 0), all("Fri 2026-08-28 01:59:59", 0), all("Fri 2026-08-28 02:00", 1), all("Sat 2026-08-29 12:00", 1)},
			nil},
		{"Karpenter's documented sample at 19 nodes", 19, []budget.Budget{b("20%", e, d), b("5"), during(b("0", u), "@daily", "10m")},
			[]limits{{"Tue 2026-08-25 00:05", 4, 0, 4}, {"Tue 2026-08-25 12:00", 4, 5, 4}}, nil},
		{"Karpenter's documented sample at 30 nodes", 30, []budget.Budget{b("20%", e, d), b("5"), during(b("0", u), "@daily", "10m")},
			[]limits{all("Tue 2026-08-25 12:00", 5)}, nil},
		{"Karpenter discussion 1079", 8, []budget.Budget{during(b("0%"), "0 * * * mon-fri,sun", "1h"), during(b("25%"), "0 15 * * 6", "1h")},
			[]limits{all("Fri 2026-08-28 12:00", 0), all("Sat 2026-08-29 14:59", inf), all("Sat 2026-08-29 15:00", 2), all("Sat 2026-08-29 16:00", inf)},
			[]string{"unlimited-outside-window:D:E:U"}},
		{"AWS provider pull request 7483", 10, []budget.Budget{b("10%", e), b("0", d), during(b("0"), "0 12 * * mon-fri", "12h")},
			[]limits{{"Wed 2026-08-26 06:00", 1, inf, 0}, all("Wed 2026-08-26 13:00", 0)},
			[]string{"unlimited-outside-window:U", "always-zero:D"}},
		{"an hourly limit of one is one at a time, always (Karpenter issue 2218, an answer)", 10, []budget.Budget{during(b("1"), "@hourly", "1h")},
			[]limits{all("Tue 2026-08-25 00:30", 1), all("Tue 2026-08-25 00:59:59", 1)}, []string{"schedule-has-no-effect"}},
		{"ten percent of one node is all of it (AWS samples issue 892)", 1, []budget.Budget{b("10%")}, []limits{all("Tue 2026-08-25 00:30", 1)}, []string{"pool-of-one"}},
		{"a weekly window of a week is always open", 10, []budget.Budget{during(b("3"), "@weekly", "168h")},
			[]limits{all("Tue 2026-08-25 00:30", 3), all("Sat 2026-08-29 23:59:59", 3)}, []string{"schedule-has-no-effect"}},
		{"budgets for other reasons that cover a gap in part don't make it theirs", 10, []budget.Budget{during(b("1", d), "0 3 * * sat", "2h"), during(b("0", e, u), "@daily", "1h")}, nil,
			[]string{"unlimited-outside-window:D", "unlimited-outside-window:E:U"}},
		{"a duration of zero is never active", 10, []budget.Budget{b("3"), during(b("0"), "@weekly", "0m")}, []limits{all("Sun 2026-08-23 00:00", 3)}, []string{"never-active"}},
		{"a schedule that never fires is always active", 10, []budget.Budget{during(b("3"), "0 0 30 2 *", "1h")}, []limits{all("Sun 2026-08-23 00:00", 3)}, []string{"never-fires"}},
		{"an empty list of reasons is about none", 10, []budget.Budget{b("3"), {Nodes: "0", Reasons: []budget.Reason{}}}, []limits{all("Sun 2026-08-23 00:00", 3)}, []string{"empty-reasons"}},
		{"an empty list is unlimited (Panfactum stack issue 386)", 10, []budget.Budget{}, []limits{all("Sun 2026-08-23 00:00", inf)}, []string{"empty-list"}},
	}
}

func TestPublishedConfigurations(t *testing.T) {
	for _, s := range sources() {
		t.Run(s.name, func(t *testing.T) {
			set, _ := budget.Compile(s.budgets, nil)
			for _, want := range s.want {
				now := at(t, want.at)
				for reason, limit := range map[budget.Reason]int{e: want.e, u: want.u, d: want.d} {
					v := set.Evaluate(now, reason, budget.Usage{Total: s.nodes})
					require.Equal(t, limit, v.Limit, "%s at %s: %s", reason, want.at, v)
					require.Equal(t, limit, v.Allowed)
				}
			}
		})
	}
}

func TestLintOfPublishedConfigurations(t *testing.T) {
	for _, s := range sources() {
		t.Run(s.name, func(t *testing.T) {
			var got []string
			for _, f := range budget.Lint(s.budgets, at(t, "Mon 2026-08-24 00:00"), budget.LintOptions{Nodes: s.nodes}) {
				require.NotEmpty(t, f.Message)
				require.NotEmpty(t, f.Fix)
				code := string(f.Code)
				for _, reason := range f.Reasons {
					code += ":" + string(reason[0])
				}
				got = append(got, code)
				t.Log(f.Severity, code, f.Budgets, f.Message, "->", f.Fix, f.Instead)
			}
			require.Equal(t, s.lint, got)
		})
	}
}

// What a finding proposes is valid, and cures it.
func TestProposalsCureTheirFinding(t *testing.T) {
	proposals := 0
	from := at(t, "Mon 2026-08-24 00:00")
	for _, s := range sources() {
		options := budget.LintOptions{Nodes: s.nodes, TimeZone: "Europe/Berlin"}
		for _, f := range budget.Lint(s.budgets, from, options) {
			if f.Instead == nil || f.Code == budget.LooksLikeLocalTime {
				continue // whose hours they are can't be told afterwards either
			}
			proposals++
			require.Empty(t, budget.Validate(f.Instead, nil), s.name)
			for _, again := range budget.Lint(f.Instead, from, options) {
				same := again.Code == f.Code && slices.Equal(again.Reasons, f.Reasons)
				require.False(t, same, "%s: %s comes back: %s", s.name, f.Code, again.Message)
			}
		}
	}
	require.Greater(t, proposals, 10)
}
