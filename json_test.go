package disruption_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption"
)

// What JSON can't write, such as the cost of a pod whose deletion cost is "NaN",
// doesn't spoil the rest of the plan.
func TestAPlanIsAlwaysJSON(t *testing.T) {
	for _, cost := range []string{"NaN", "Inf", "-Inf", "1e308"} {
		c := exampleCluster()
		for i := range c.Pods {
			pod := c.Pods[i].DeepCopy()
			if pod.Annotations == nil {
				pod.Annotations = map[string]string{}
			}
			pod.Annotations["controller.kubernetes.io/pod-deletion-cost"] = cost
			c.Pods[i] = pod
		}
		pool := *c.NodePools[0]
		pool.Spec.Disruption.ConsolidationPolicy = "Balanced"
		c.NodePools = []*disruption.NodePool{&pool}
		var plan struct {
			Nodes []struct{ Name string }
			Pools []struct{ Disruption *float64 }
		}
		require.NoError(t, json.Unmarshal([]byte(asJSON(t, propose(t, c, disruption.Options{AllMethods: true, Explain: true}))), &plan), cost)
		assert.Len(t, plan.Nodes, 2)
		assert.Equal(t, cost == "NaN", plan.Pools[0].Disruption == nil)
	}
}

// A move in JSON has what consolidation says of it, and what the plan adds.
func TestMovesInJSON(t *testing.T) {
	plan := propose(t, exampleCluster(), disruption.Options{})
	require.Len(t, plan.Moves, 1)
	assert.JSONEq(t, `{"method":"Single","decision":"delete","nodes":["node-a"],"price":0.1,"savings":0.1,"disruption":2,"score":{"approved":true,"savings":0.1},
		"reason":"Underutilized","pods":[{"pod":"shop/web","from":"node-a","to":"node-b"}]}`, asJSON(t, plan.Moves[0]))
}
