package budget_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/budget"
)

func TestValidate(t *testing.T) {
	daily := func(nodes, schedule, length string) budget.Budget { return during(b(nodes), schedule, length) }
	for _, c := range []struct {
		name   string
		budget budget.Budget
		want   []string // path and a part of the text
	}{
		{"a number", b("5"), nil},
		{"a percentage", b("100%"), nil},
		{"leading zeros", b("05%"), nil},
		{"more than 100%", b("101%"), []string{"budgets[0].nodes: Invalid value"}},
		{"three digits", b("005%"), []string{"budgets[0].nodes: Invalid value"}},
		{"a sign", b("+5"), []string{"budgets[0].nodes: Invalid value"}},
		{"negative", b("-3"), []string{"budgets[0].nodes: Invalid value"}},
		{"a fraction", b("10.5%"), []string{"budgets[0].nodes: Invalid value"}},
		{"a blank", b("5 %"), []string{"budgets[0].nodes: Invalid value"}},
		{"nothing", b(""), []string{"budgets[0].nodes: Invalid value"}},
		{"the largest number", b("2147483647"), nil},
		{"a number that Karpenter cuts to zero", b("4294967296"), []string{"must be at most 2147483647: Karpenter would count it as 0"}},
		{"a number beyond all bounds", b("99999999999999999999"), []string{"Karpenter would count it as unreadable"}},
		{"once", budget.Budget{Nodes: "0", Once: &budget.Span{From: noon, To: noon.Add(time.Hour)}}, nil},
		{"once, backwards", budget.Budget{Nodes: "0", Once: &budget.Span{From: noon, To: noon}}, []string{"budgets[0].once: Invalid value: \"from 2026-08-24T12:00:00Z to 2026-08-24T12:00:00Z\": must end after it begins"}},
		{"once beside a schedule", budget.Budget{Nodes: "0", Once: &budget.Span{From: noon, To: year}, Schedule: new("@daily"), Duration: &metav1.Duration{}}, []string{"budgets[0].once: Forbidden"}},
		{"a reason that isn't one", b("5", "Expired"), []string{`budgets[0].reasons[0]: Unsupported value: "Expired": supported values: "Drifted", "Empty", "Underutilized"`}},
		{"a reason in lower case", b("5", d, "empty"), []string{"budgets[0].reasons[1]: Unsupported value"}},
		{"a schedule alone", budget.Budget{Nodes: "5", Schedule: new("@daily")}, []string{"budgets[0].duration: Required value: schedule and duration come together, and there is a schedule"}},
		{"a duration alone", budget.Budget{Nodes: "5", Duration: &metav1.Duration{Duration: time.Hour}}, []string{"budgets[0].schedule: Required value: schedule and duration come together, and there is a duration"}},
		{"a schedule and a duration", daily("5", "0 8 * * mon-fri", "10h"), nil},
		{"a duration of zero", daily("5", "@daily", "0m"), nil},
		{"ninety seconds", daily("5", "@daily", "90s"), []string{"budgets[0].duration: Invalid value: \"1m30s\": must be whole minutes"}},
		{"a negative duration", daily("5", "@daily", "-1h"), []string{"budgets[0].duration"}},
		{"words", daily("5", "a b c d e", "1h"), []string{"budgets[0].schedule: Invalid value: \"a b c d e\": not a schedule: failed to parse int from a"}},
		{"six fields, seconds first", daily("5", "0 0 8 * * mon", "1h"), []string{"expected exactly 5 fields, found 6: [0 0 8 * * mon]; write \"0 8 * * mon\""}},
		{"a macro with a tail", daily("5", "@dailygarbage", "1h"), []string{"unrecognized descriptor: @dailygarbage"}},
		{"a macro in upper case", daily("5", "@Daily", "1h"), []string{"unrecognized descriptor: @Daily; write \"@daily\""}},
		{"a macro with a blank", daily("5", " @daily", "1h"), []string{"the API accepts five fields, or one of"}},
		{"a falling range of hours", daily("5", "0 22-2 * * *", "1h"), []string{"beginning of range (22) beyond end of range (2): 22-2"}},
		{"a falling range of days", daily("5", "0 0 * * sat-sun", "1h"), []string{"write \"0 0 * * sat,sun\""}},
		{"a range of days over Sunday", daily("5", "0 0 * * fri-mon", "1h"), []string{"write \"0 0 * * fri,sat,sun,mon\""}},
		{"Sunday as seven", daily("5", "0 0 * * 1,7", "1h"), []string{"write \"0 0 * * 1,0\""}},
		{"a range to seven", daily("5", "0 0 * * 6-7", "1h"), []string{"write \"0 0 * * sat,sun\""}},
		{"days in full", daily("5", "0 0 * * Monday-Friday", "1h"), []string{"write \"0 0 * * mon,tue,wed,thu,fri\""}},
		{"a zone in the text", daily("5", "TZ=Europe/Berlin 0 8 * * *", "1h"), []string{"budgets[0].schedule: Invalid value"}},
		{"a zone and nothing else", daily("5", "TZ=UTC", "1h"), []string{"budgets[0].schedule: Invalid value"}},
		{"another spelling of that", daily("5", "CRON_TZ=UTC", "1h"), []string{"budgets[0].schedule: Invalid value"}},
		{"an interval", daily("5", "@every 1h", "1h"), []string{"the API accepts five fields, or one of"}},
		{"a restart", daily("5", "@reboot", "1h"), []string{"unrecognized descriptor: @reboot"}},
		{"an empty schedule", daily("5", "", "1h"), []string{"budgets[0].schedule: Invalid value"}},
		{"30 February", daily("5", "0 0 30 2 *", "1h"), []string{"schedule never fires, and Karpenter takes such a budget for always active"}},
		{"a zone without a schedule", budget.Budget{Nodes: "5", TimeZone: "Europe/Berlin"}, []string{"budgets[0].timeZone: Forbidden"}},
		{"several at once", budget.Budget{Nodes: "x", Reasons: []budget.Reason{"y"}, Schedule: new("z")}, []string{"budgets[0].reasons[0]", "budgets[0].nodes", "budgets[0].duration", "budgets[0].schedule"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := budget.Validate([]budget.Budget{c.budget}, nil)
			require.Len(t, errs, len(c.want), "%v", errs)
			for i, want := range c.want {
				require.Contains(t, errs[i].Error(), want)
			}
		})
	}
}

func TestValidateLists(t *testing.T) {
	path := field.NewPath("spec", "disruption", "budgets")
	errs := budget.Validate(make([]budget.Budget, 51), path)
	require.Equal(t, "spec.disruption.budgets: Too many: 51: must have at most 50 items", errs[0].Error())
	require.Equal(t, "spec.disruption.budgets[50].nodes", errs[51].Field)
	require.Empty(t, budget.Validate(nil, path))
	reasons := strings.Split(strings.Repeat("Empty ", 51), " ")[:51]
	many := budget.Budget{Nodes: "1"}
	for _, r := range reasons {
		many.Reasons = append(many.Reasons, budget.Reason(r))
	}
	require.Equal(t, "budgets[0].reasons: Too many: 51: must have at most 50 items", budget.Validate([]budget.Budget{many}, nil)[0].Error())
}

// V3: the error names the budget, the field, the text and a correction (Karpenter issue 1866).
func TestErrorsNameTheExpression(t *testing.T) {
	_, errs := budget.Compile([]budget.Budget{b("10%"), during(b("0"), "0 16 * * mon-fri", "16h"), during(b("0"), "0 0 * * sat-sun", "24h")}, field.NewPath("spec", "disruption", "budgets"))
	require.Len(t, errs, 1)
	require.Equal(t, `spec.disruption.budgets[2].schedule: Invalid value: "0 0 * * sat-sun": not a schedule: beginning of range (6) beyond end of range (0): sat-sun; write "0 0 * * sat,sun"`, errs[0].Error())
}
