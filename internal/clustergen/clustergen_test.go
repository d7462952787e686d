package clustergen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption/internal/clustergen"
)

// The same configuration gives the same cluster, another seed another one.
func TestSameSeedSameCluster(t *testing.T) {
	c := clustergen.Config{Nodes: 5, Seed: 7, Topology: 0.5, Selectors: 0.5, WellPacked: true}
	require.Equal(t, clustergen.New(c), clustergen.New(c))
	other := c
	other.Seed = 8
	require.NotEqual(t, clustergen.New(c).Pods, clustergen.New(other).Pods)
}

// No node holds more than it has.
func TestNodesAreNotOverfull(t *testing.T) {
	f := clustergen.New(clustergen.Config{Nodes: 20, Seed: 1, WellPacked: true})
	free := map[string]int64{}
	for _, n := range f.Nodes {
		free[n.Name] = n.Status.Allocatable.Cpu().MilliValue()
	}
	for _, p := range f.Pods {
		free[p.Spec.NodeName] -= p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	}
	for node, left := range free {
		require.GreaterOrEqual(t, left, int64(0), node)
	}
}
