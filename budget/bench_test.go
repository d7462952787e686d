package budget_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/budget"
)

// manyBudgets is a list as varied as people write them: permanent caps, office
// hours, nights, weekends, month ends, dense schedules, per reason and not.
func manyBudgets(n int) []budget.Budget {
	shapes := []struct {
		nodes, schedule string
		duration        time.Duration
		reasons         []budget.Reason
	}{
		{"40%", "", 0, nil},
		{"%d", "%d 8 * * mon-fri", 10 * time.Hour, nil},
		{"1%d%%", "%d 22 * * *", 6 * time.Hour, []budget.Reason{budget.Drifted}},
		{"%d", "%d 0 * * 6", 48 * time.Hour, []budget.Reason{budget.Empty, budget.Underutilized}},
		{"%d", "%d * * * *", 20 * time.Minute, nil},
		{"2%d%%", "%d 2 1,15 * *", 4 * time.Hour, nil},
		{"%d", "*/%d * * * *", time.Hour, []budget.Reason{budget.Underutilized}},
		{"%d", "%d 12 * 6-8 *", 30 * time.Hour, nil},
		{"%d", "%d 9-17 * * 1-5", 10 * time.Minute, nil},
		{"3%d%%", "@daily", 1439 * time.Minute, []budget.Reason{budget.Drifted}},
	}
	budgets := make([]budget.Budget, n)
	for i := range budgets {
		s := shapes[i%len(shapes)]
		b := budget.Budget{Nodes: fill(s.nodes, i%9+1), Reasons: s.reasons}
		if s.schedule != "" {
			b.Schedule, b.Duration = new(fill(s.schedule, i%47+1)), &metav1.Duration{Duration: s.duration}
		}
		budgets[i] = b
	}
	return budgets
}

// fill puts n in the place of %d, if there is one.
func fill(format string, n int) string {
	return strings.NewReplacer("%d", strconv.Itoa(n), "%%", "%").Replace(format)
}

func compiledSet(n int) *budget.Set {
	set, errs := budget.Compile(manyBudgets(n), nil)
	if len(errs) > 0 {
		panic(errs.ToAggregate())
	}
	return set
}

var (
	noon  = time.Date(2026, 8, 24, 12, 0, 0, 0, time.UTC)
	year  = noon.AddDate(1, 0, 0)
	pool  = budget.Usage{Total: 120, Consuming: 1}
	sizes = []int{1, 10, 50}
)

func BenchmarkCompile(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("budgets=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			list := manyBudgets(n)
			for b.Loop() {
				budget.Compile(list, nil)
			}
		})
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("budgets=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			set, i := compiledSet(n), 0
			for b.Loop() {
				set.Evaluate(noon.Add(time.Duration(i%10000)*time.Minute), budget.Drifted, pool)
				i++
			}
		})
	}
}

func BenchmarkForecastYear(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("budgets=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			set := compiledSet(n)
			for b.Loop() {
				for range set.Forecast(noon, year, budget.Drifted, pool) {
				}
			}
		})
	}
}

func BenchmarkLintYear(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("budgets=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			list := manyBudgets(n)
			for b.Loop() {
				budget.Lint(list, noon, budget.LintOptions{Nodes: 120})
			}
		})
	}
}
