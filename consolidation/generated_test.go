package consolidation_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/internal/clustergen"
	"github.com/node-disruption/disruption/scheduling"
)

// generated compiles a generated cluster for both packages.
func generated(t testing.TB, config clustergen.Config, edits ...func(*consolidation.Cluster)) (*consolidation.Fleet, *scheduling.Snapshot) {
	t.Helper()
	g := clustergen.New(config)
	snapshot, err := scheduling.NewSnapshot(g.Cluster(), scheduling.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cluster := facts(g)
	for _, edit := range edits {
		edit(&cluster)
	}
	fleet, err := consolidation.Compile(cluster, "")
	if err != nil {
		t.Fatal(err)
	}
	return fleet, snapshot
}

// facts are a generated cluster as this package takes it.
func facts(g *clustergen.Fleet) consolidation.Cluster {
	pods := map[string][]*corev1.Pod{}
	for _, pod := range g.Pods {
		pods[pod.Spec.NodeName] = append(pods[pod.Spec.NodeName], pod)
	}
	c := consolidation.Cluster{Now: g.Now}
	for i := range g.Pools {
		c.Pools = append(c.Pools, consolidation.Pool{
			Name: g.Pools[i].Name, ConsolidateAfter: g.Pools[i].ConsolidateAfter, InstanceTypes: g.Pools[i].InstanceTypes,
		})
	}
	for i, n := range g.Nodes {
		claim := &g.Claims[i]
		c.Nodes = append(c.Nodes, consolidation.Node{Node: n, Pods: pods[n.Name], Claim: &consolidation.Claim{
			Name: claim.Name, Labels: claim.Labels, Created: claim.Created, Consolidatable: true,
		}})
	}
	return c
}
