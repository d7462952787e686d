package oracle_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/internal/oracle"
	"github.com/node-disruption/disruption/internal/oracle/random"
	"github.com/node-disruption/disruption/scheduling"
)

// Thousands of random clusters, each a millisecond; -rapid.checks asks for more.
func init() { _ = flag.Set("rapid.checks", "3000") }

// render writes all that a result says, line by line.
func render(r scheduling.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "no pools %t, truncated %t\n", r.NoPools, r.Truncated)
	for _, p := range r.Placements {
		fmt.Fprintf(&b, "%s/%s origin %d: node %q uninitialised %t new %d\n", p.Pod.Namespace, p.Pod.Name, p.Origin, p.Node, p.Uninitialized, p.NewNode)
	}
	for i, n := range r.NewNodes {
		fmt.Fprintf(&b, "new %d: pool %s, pods %v, min values relaxed %t\n  %s\n  types", i, n.Pool, n.Pods, n.MinValuesRelaxed, n.Requirements)
		for _, it := range n.InstanceTypes {
			fmt.Fprintf(&b, " %s", it.Name)
		}
		fmt.Fprintf(&b, ", unpriced %d\n  requests", n.Unpriced)
		for _, name := range sortedResources(n) {
			fmt.Fprintf(&b, " %s", name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func sortedResources(n scheduling.NewNode) []string {
	var list []string
	for name, q := range n.Requests {
		if !q.IsZero() {
			list = append(list, fmt.Sprintf("%s=%d", name, q.MilliValue()))
		}
	}
	slices.Sort(list)
	return list
}

// difference shows where the simulators disagree; "" if they don't.
func difference(q random.Question) string {
	snapshot, err := scheduling.NewSnapshot(q.Cluster, q.Options)
	if err != nil {
		return err.Error()
	}
	slow := render(oracle.New(q.Cluster, q.Options).Simulate(q.Request))
	fast := render(snapshot.Simulate(q.Request))
	if slow == fast {
		return ""
	}
	return "-slow +fast:\n" + cmp.Diff(strings.Split(slow, "\n"), strings.Split(fast, "\n"))
}

// The fast simulator answers like the slow one, whatever the cluster.
func TestFastEqualsSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if q := random.Draw(t); difference(q) != "" {
			q = shrink(q, func(q random.Question) bool { return difference(q) != "" })
			t.Fatalf("%s%s", dump(q), difference(q))
		}
	})
}
