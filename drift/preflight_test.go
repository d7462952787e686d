package drift

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/scheduling"
)

func TestChangesNameTheField(t *testing.T) {
	tests := map[string]struct {
		before, after string
		want          []string
	}{
		"nothing":               {fullTemplate, fullTemplate, nil},
		"a label":               {`{"metadata":{"labels":{"team":"a"}}}`, `{"metadata":{"labels":{"team":"b","tier":"web"}}}`, []string{`metadata.labels[team]: "a" → "b"`, `metadata.labels[tier]: absent → "web"`}},
		"an empty label":        {`{"metadata":{"labels":{"team":""}}}`, `{"metadata":{"labels":{"x":"1"}}}`, []string{`metadata.labels[team]: "" → absent`, `metadata.labels[x]: absent → "1"`}},
		"an annotation":         {`{}`, `{"metadata":{"annotations":{"note":"x"}}}`, []string{`metadata.annotations[note]: absent → "x"`}},
		"no labels any more":    {`{"metadata":{"labels":{}}}`, `{}`, []string{`metadata.labels: {} → absent`}},
		"an empty list":         {`{}`, `{"spec":{"taints":[]}}`, []string{`spec.taints: absent → []`}},
		"a taint":               {`{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`, `{"spec":{"taints":[{"key":"a","value":"x","effect":"NoSchedule"}]}}`, []string{`spec.taints[a:NoSchedule]: {"key":"a","effect":"NoSchedule"} → {"key":"a","value":"x","effect":"NoSchedule"}`}},
		"taints in other order": {`{"spec":{"taints":[{"key":"a"},{"key":"b"}]}}`, `{"spec":{"taints":[{"key":"b"},{"key":"a"}]}}`, nil},
		"equal taints cancel":   {`{"spec":{"taints":[{"key":"a"},{"key":"a"}]}}`, `{"spec":{"taints":[]}}`, nil},
		"the node class":        {`{"spec":{"nodeClassRef":{"name":"a"}}}`, `{"spec":{"nodeClassRef":{"name":"b"}}}`, []string{`spec.nodeClassRef.name: "a" → "b"`}},
		"a node class at all":   {`{}`, `{"spec":{"nodeClassRef":{}}}`, []string{`spec.nodeClassRef: absent → {"kind":"","name":"","group":""}`}},
		"the life":              {`{"spec":{"expireAfter":"720h"}}`, `{"spec":{"expireAfter":"Never"}}`, []string{`spec.expireAfter: "720h" → "Never"`}},
		"the same life":         {`{"spec":{"expireAfter":"24h"}}`, `{"spec":{"expireAfter":"1440m"}}`, nil},
		"the grace period":      {`{}`, `{"spec":{"terminationGracePeriod":"0s"}}`, []string{`spec.terminationGracePeriod: absent → "0s"`}},
		"a spec at all":         {`{}`, `{"spec":{"requirements":[]}}`, []string{`spec: {} → {"requirements":[]}`}},
		"a requirement":         {`{"spec":{"requirements":[{"key":"a","operator":"Exists"}]}}`, `{"spec":{"requirements":[{"key":"a","operator":"In","values":["b"]}]}}`, []string{`spec.requirements[a]: Exists → In [b]`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Changes(template(t, test.before), template(t, test.after)) {
				got = append(got, c.String())
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// drawTemplate makes templates that are often nearly alike, with lists and maps
// that are absent or empty, and taints that occur twice.
func drawTemplate(t *rapid.T) *NodeClaimTemplate {
	pick := func(options ...string) string { return rapid.SampledFrom(options).Draw(t, "pick") }
	taints := pick(``, `"taints":[],`, `"taints":[{"key":"a"}],`, `"taints":[{"key":"a"},{"key":"a"}],`, `"taints":[{"key":"a","value":"x"},{"key":"a"}],`,
		`"taints":[{"key":"a","timeAdded":"2026-01-01T00:00:00Z"}],`)
	text := fmt.Sprintf(`{"metadata":{%s},"spec":{%s%s%s%s}}`,
		pick(``, `"labels":{}`, `"labels":{"a":""}`, `"labels":{"a":"1"}`, `"annotations":{"a":"1"}`, `"annotations":{}`),
		taints,
		pick(``, `"expireAfter":"0s",`, `"expireAfter":"Never",`, `"expireAfter":"60m",`, `"expireAfter":"1h",`),
		pick(``, `"nodeClassRef":{},`, `"nodeClassRef":{"name":"a"},`, `"nodeClassRef":{"kind":"a"},`),
		pick(`"terminationGracePeriod":null`, `"terminationGracePeriod":"0s"`, `"requirements":[]`, `"startupTaints":[{"key":"a"}]`),
	)
	var out NodeClaimTemplate
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return &out
}

// The named changes and the hash tell the same story: some field is named if and
// only if the hashes differ.
func TestChangesExplainTheHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTemplate(t), drawTemplate(t)
		hashed := false
		for _, c := range Changes(a, b) {
			hashed = hashed || c.Hashed
		}
		require.Equal(t, NodePoolHash(a) != NodePoolHash(b), hashed, "%v", Changes(a, b))
	})
}

func subject(name string, labels map[string]string, hash string, pods int) Subject {
	return Subject{Node: name, Claim: Claim{Name: "claim-" + name, Labels: labels, Annotations: hashed(hash, "v3")}, ReschedulablePods: pods}
}

func TestWouldDriftCountsNodesAndPods(t *testing.T) {
	before := template(t, `{"metadata":{"labels":{"team":"a"}},"spec":{"expireAfter":"720h"}}`)
	after := template(t, `{"metadata":{"labels":{"team":"a"}},"spec":{"expireAfter":"336h"}}`)
	stale := subject("stale", nil, "1", 2)
	ami := subject("ami", nil, NodePoolHash(after), 1)
	ami.Claim.Drifted = &metav1.Condition{Status: metav1.ConditionTrue, Reason: "AMIDrift", Message: "ami-1", LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}
	nodes := []Subject{
		subject("b", nil, NodePoolHash(before), 3), subject("a", nil, NodePoolHash(before), 0), stale, ami,
		subject("new", nil, NodePoolHash(after), 7),
	}
	got := WouldDrift(&Edit{Pool: "p", Before: before, After: after}, nodes, Options{}, noon)
	assert.Equal(t, []int{2, 2, 1, 6}, []int{got.Drifting, got.Already, got.Healed, got.Pods})
	require.Len(t, got.Nodes, 5)
	assert.Equal(t, "a", got.Nodes[0].Node)
	assert.Equal(t, NodePoolDrifted, got.Nodes[0].After.Reason)
	assert.Equal(t, `spec.expireAfter: "720h" → "336h"`, got.Nodes[0].After.Detail)
	assert.Equal(t, Reason("AMIDrift"), got.Nodes[1].After.Reason, "what the cloud said stays")
	assert.True(t, got.Nodes[3].Heals(), "the edit is the template that this node was made from")

	var queue []string
	for _, c := range got.Candidates(noon) {
		queue = append(queue, c.Node)
	}
	assert.Equal(t, []string{"a", "ami", "b", "stale"}, queue, "without pods first, then since when")

	nodes[1].PodsBlock = "pod default/x has do-not-disrupt"
	got = WouldDrift(&Edit{Pool: "p", Before: before, After: after}, nodes, Options{}, noon)
	one := compileBudgets(t, `[{"nodes":"1"}]`)
	line, held := got.Forecast(one, budget.Usage{Total: 5}, Pace{}, noon, minutes(60))
	assert.Equal(t, minutes(30), *line.Done, "three nodes, one after the other")
	require.Len(t, held, 1)
	assert.Equal(t, "a", held[0].Node)

	nodes[1].HasGracePeriod = true
	got = WouldDrift(&Edit{Pool: "p", Before: before, After: after}, nodes, Options{}, noon)
	line, held = got.Forecast(one, budget.Usage{Total: 5}, Pace{}, noon, minutes(60))
	assert.Equal(t, minutes(40), *line.Done, "drift is eventual")
	assert.Empty(t, held)
}

func TestWouldDriftByRequirement(t *testing.T) {
	before := template(t, `{"spec":{"requirements":[{"key":"node.kubernetes.io/instance-type","operator":"In","values":["m5.large"]}]}}`)
	wider := template(t, `{"spec":{"requirements":[{"key":"node.kubernetes.io/instance-type","operator":"In","values":["m5.large","m5.2xlarge"]}]}}`)
	unknown := template(t, `{"spec":{"requirements":[{"key":"node.kubernetes.io/instance-type","operator":"In","values":["m5.large"]},{"key":"team","operator":"In","values":["a"]}]}}`)
	nodes := []Subject{
		subject("with", map[string]string{corev1.LabelInstanceTypeStable: "m5.large", "team": "a"}, NodePoolHash(before), 1),
		subject("without", map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}, NodePoolHash(before), 1),
	}
	got := WouldDrift(&Edit{Pool: "p", Before: before, After: wider}, nodes, Options{}, noon)
	assert.Equal(t, 0, got.Drifting, "a widened requirement drifts nobody")
	assert.Len(t, got.Changes, 1)

	got = WouldDrift(&Edit{Pool: "p", Before: before, After: unknown}, nodes, Options{}, noon)
	assert.Equal(t, 1, got.Drifting)
	require.NotNil(t, got.Nodes[1].After.Mismatch)
	assert.True(t, got.Nodes[1].After.Mismatch.Undefined, "a label that the node doesn't have")
}

func compileBudgets(t testing.TB, text string) *budget.Set {
	var budgets []budget.Budget
	require.NoError(t, json.Unmarshal([]byte(text), &budgets))
	set, errs := budget.Compile(budgets, nil)
	require.Empty(t, errs)
	return set
}

func names(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("n%02d", i))
	}
	return out
}

func TestForecastFollowsTheBudgets(t *testing.T) {
	pace := Pace{PerNode: 10 * time.Minute, Every: time.Minute}
	day := noon.Add(24 * time.Hour)
	starts := func(line Timeline) (out []string) {
		for _, s := range line.Slots {
			out = append(out, s.Start.Format("15:04"))
		}
		return out
	}

	line := Forecast(names(4), compileBudgets(t, `[{"nodes":"2"}]`), budget.Usage{Total: 10}, pace, noon, day)
	assert.Equal(t, []string{"12:00", "12:01", "12:10", "12:11"}, starts(line))
	assert.Equal(t, minutes(21), *line.Done)

	line = Forecast(names(2), compileBudgets(t, `[{"nodes":"2"}]`), budget.Usage{Total: 10, Consuming: 1}, pace, noon, day)
	assert.Equal(t, []string{"12:00", "12:10"}, starts(line), "a node that isn't ready takes one of the two")

	line = Forecast(names(3), compileBudgets(t, `[]`), budget.Usage{Total: 10}, pace, noon, day)
	assert.Equal(t, []string{"12:00", "12:01", "12:02"}, starts(line), "one a pass, without budgets")

	closedTill := compileBudgets(t, `[{"nodes":"0","schedule":"0 12 * * *","duration":"2h"},{"nodes":"1"}]`)
	line = Forecast(names(2), closedTill, budget.Usage{Total: 10}, pace, noon, day)
	assert.Equal(t, []string{"14:00", "14:10"}, starts(line))

	openTill := compileBudgets(t, `[{"nodes":"0","schedule":"5 12 * * *","duration":"2h"},{"nodes":"1"}]`)
	line = Forecast(names(2), openTill, budget.Usage{Total: 10}, pace, noon, day)
	assert.Equal(t, []string{"12:00", "14:05"}, starts(line), "what has begun goes on after the window closed")

	line = Forecast(names(2), compileBudgets(t, `[{"nodes":"0"}]`), budget.Usage{Total: 10}, pace, noon, day)
	assert.Nil(t, line.Done)
	assert.Equal(t, names(2), line.Left)

	line = Forecast(nil, compileBudgets(t, `[{"nodes":"0"}]`), budget.Usage{}, pace, noon, day)
	assert.Equal(t, noon, *line.Done)
}

// A slow twin walks second by second, and starts a node whenever the budgets, the
// pace and what runs let it.
func TestForecastAgreesWithAWalkThroughTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, errs := budget.Compile([]budget.Budget{
			{Nodes: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "always"))},
			{Nodes: "0", Schedule: ptr("*/20 * * * *"), Duration: &metav1.Duration{Duration: time.Duration(rapid.IntRange(1, 15).Draw(t, "closed")) * time.Minute}},
		}, nil)
		require.Empty(t, errs)
		usage := budget.Usage{Total: 10, Consuming: rapid.IntRange(0, 1).Draw(t, "consuming")}
		pace := Pace{
			PerNode: time.Duration(rapid.IntRange(30, 900).Draw(t, "seconds")) * time.Second,
			Every:   time.Duration(rapid.IntRange(1, 120).Draw(t, "every")) * time.Second,
		}
		limit := noon.Add(2 * time.Hour)
		left := names(rapid.IntRange(0, 6).Draw(t, "nodes"))
		fast := Forecast(left, set, usage, pace, noon, limit)

		var slow []Slot
		next := noon
		for at := noon; at.Before(limit) && len(left) > 0; at = at.Add(time.Second) {
			running := 0
			for _, s := range slow {
				if at.Before(s.End) {
					running++
				}
			}
			if !at.Before(next) && running < set.Evaluate(at, budget.Drifted, usage).Allowed {
				slow = append(slow, Slot{left[0], at, at.Add(pace.PerNode)})
				left, next = left[1:], at.Add(pace.Every)
			}
		}
		require.Equal(t, slow, fast.Slots)
		require.Equal(t, len(left), len(fast.Left))
	})
}

func ptr[T any](v T) *T { return &v }

func TestReportStorm(t *testing.T) {
	drifted := []Candidate{candidate("a", time.Hour, 2), candidate("b", 2*time.Hour, 3), candidate("c", time.Minute, 0)}
	drifted[0].Reason, drifted[1].Reason, drifted[2].Reason = "AMIDrift", NodePoolDrifted, "AMIDrift"
	pools := []PoolStatus{
		{Name: "q", Nodes: 4, Drifted: drifted, Budgets: compileBudgets(t, `[{"nodes":"1"}]`), Usage: budget.Usage{Total: 4}},
		{Name: "p", Nodes: 2, Budgets: compileBudgets(t, `[]`)},
		{Name: "z", Nodes: 3, Drifted: drifted[:1], Budgets: compileBudgets(t, `[{"nodes":"0"}]`), Usage: budget.Usage{Total: 3}},
	}
	got := ReportStorm(pools, Pace{}, noon, noon.Add(time.Hour))
	require.Len(t, got, 3)
	q := got[1]
	assert.Equal(t, "pool q: 3 of 4 nodes drifted, done 2026-03-15T12:30:00Z", q.String())
	assert.Equal(t, []ReasonCount{{"AMIDrift", 2}, {NodePoolDrifted, 1}}, q.Reasons)
	assert.Equal(t, noon.Add(-2*time.Hour), *q.Since)
	assert.Equal(t, 5, q.Pods)
	assert.InDelta(t, 0.75, q.Share(), 0)
	assert.Equal(t, "pool p: 0 of 2 nodes drifted", got[0].String())
	assert.Equal(t, "pool z: 1 of 3 nodes drifted, 1 of them beyond the forecast", got[2].String())
}

func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{10, 500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pool := testPool()
			for i := range 60 {
				pool.InstanceTypes = append(pool.InstanceTypes, &scheduling.InstanceType{
					Name:      fmt.Sprint("type-", i),
					Offerings: []scheduling.Offering{offering("a", "spot"), offering("b", "spot"), offering("c", "spot"), offering("a", "on-demand"), offering("b", "on-demand"), offering("c", "on-demand")},
				})
			}
			pool.Requirements = append(pool.Requirements[:0], in(keys.CapacityType, "spot", "on-demand"), in(corev1.LabelArchStable, "amd64"))
			claims := make([]Claim, n)
			for i := range claims {
				c := testClaim()
				c.Labels[corev1.LabelInstanceTypeStable] = fmt.Sprint("type-", i%60)
				c.Labels[corev1.LabelTopologyZone] = string(rune('a' + i%3))
				c.Labels[corev1.LabelArchStable], c.Labels[corev1.LabelOSStable] = "amd64", "linux"
				c.Labels[keys.NodePool], c.Labels["team"], c.Labels["example.com/tier"] = "default", "a", "web"
				claims[i] = *c
			}
			b.ReportAllocs()
			for b.Loop() {
				checker := Compile(pool, Options{})
				for i := range claims {
					v, err := checker.Evaluate(&claims[i], noon)
					if err != nil || v.Outcome != Matches {
						b.Fatal(v, err)
					}
				}
			}
		})
	}
}

func BenchmarkPropose(b *testing.B) {
	for _, n := range []int{10, 500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			candidates := make([]Candidate, n)
			for i := range candidates {
				candidates[i] = candidate(fmt.Sprint("node-", i*7919%n), time.Duration(i%97)*time.Minute, i%3)
			}
			allowed := map[string]int{"p": 1}
			b.ReportAllocs()
			for b.Loop() {
				Propose(candidates, allowed, canned{}, MoveOptions{})
			}
		})
	}
}

func BenchmarkForecast(b *testing.B) {
	set := compileBudgets(b, `[{"nodes":"10%"},{"nodes":"0","schedule":"0 8 * * mon-fri","duration":"10h"}]`)
	for _, n := range []int{10, 500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			nodes := names(n)
			b.ReportAllocs()
			for b.Loop() {
				Forecast(nodes, set, budget.Usage{Total: n}, Pace{}, noon, noon.AddDate(1, 0, 0))
			}
		})
	}
}
