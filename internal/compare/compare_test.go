package main

import (
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/internal/conformance"
)

const recorded = "../conformance/testdata/e2e-plain.json.gz"

// After a move every pod is on a node that is there, and the cluster costs as much
// less as the move said.
func TestAMoveIsAppliedWhole(t *testing.T) {
	file, err := conformance.Load(recorded)
	if err != nil {
		t.Skip("recorded cases are not part of the module")
	}
	moves := 0
	for i := range file.Cases[:12] {
		cluster, options, err := file.Cluster(&file.Cases[i])
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			pass, err := disruption.Prepare(cluster, options)
			if err != nil {
				t.Fatal(err)
			}
			before := cost(pass.Planner().Fleet())
			for _, m := range movesOf(pass, searches[1]) {
				moves++
				cluster = apply(cluster, m, fmt.Sprintf("pass-%d", n))
				before -= m.Savings
			}
			checkBound(t, cluster)
			if pass, err = disruption.Prepare(cluster, options); err != nil {
				t.Fatal(err)
			}
			if after := cost(pass.Planner().Fleet()); math.Abs(after-before) > 1e-9 {
				t.Errorf("%s costs %v, not %v", file.Cases[i].Name, after, before)
			}
		}
	}
	if moves == 0 {
		t.Error("no move was applied")
	}
}

func checkBound(t *testing.T, c *disruption.Cluster) {
	t.Helper()
	nodes := map[string]bool{"": true}
	for _, n := range c.Nodes {
		nodes[n.Name] = true
	}
	for _, pod := range c.Pods {
		if !nodes[pod.Spec.NodeName] {
			t.Errorf("pod %s is on node %s, which is gone", pod.Name, pod.Spec.NodeName)
		}
	}
}

func TestNothingToCompareIsAnError(t *testing.T) {
	if err := run(io.Discard, t.TempDir()); err == nil {
		t.Error("a table of nothing was printed")
	}
}
