package consolidation_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// Whatever prices and costs are, every answer can be written as JSON, and a bound is
// a number.
func TestAnswersAreWritableWhateverTheNumbers(t *testing.T) {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, math.MaxFloat64}
	for _, price := range odd {
		for _, other := range odd {
			c := nodesAt(price, 3)
			c.Pools[0].Policy = consolidation.Balanced
			c.Nodes[0].Pods[0].Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": "NaN"}
			nothing := onDemandAt("nothing", other)
			nothing.Capacity = corev1.ResourceList{"cpu": resource.MustParse("0")}
			c.Pools[0].InstanceTypes = append(c.Pools[0].InstanceTypes, nothing)
			p := planner(t, c, needs(capacity(onDemand), []*scheduling.InstanceType{onDemandAt("new", other)}), consolidation.Options{Explain: true})
			all := p.Fleet().Unlimited()
			best := p.Best(all)
			assert.False(t, math.IsNaN(best.Bound), "%v %v", price, other)
			answers := []any{best, p.Multi(all), p.Single(all, nil), p.Empty(all), p.Missed(nil, all), p.Fleet().Candidates(), p.Fleet().Totals()}
			for _, answer := range answers {
				_, err := json.Marshal(answer)
				require.NoError(t, err, "%v %v", price, other)
			}
		}
	}
}

func TestNumbersThatAreNoneReadAsNull(t *testing.T) {
	c := nodesAt(1, 1)
	c.Nodes[0].Pods[0].Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": "NaN"}
	p := planner(t, c, fits, consolidation.Options{})
	data, err := json.Marshal(p.Fleet().Candidates()[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"name": "n0", "pool": "general", "instanceType": "old", "zone": "a", "capacityType": "on-demand",
		"price": 1, "rescheduleDisruptionCost": null, "disruptionCost": null}`, string(data))
	data, err = json.Marshal(p.Fleet().Totals())
	require.NoError(t, err)
	assert.JSONEq(t, `{"general": {"cost": 1, "disruption": null}}`, string(data))
}

func TestOnlyBestWritesABound(t *testing.T) {
	for outcome, want := range map[*consolidation.Outcome]string{
		{Method: consolidation.MethodBest}:                      `{"method": "Best", "simulations": 0, "bound": 0}`,
		{Method: consolidation.MethodBest, Bound: math.Inf(1)}:  `{"method": "Best", "simulations": 0}`,
		{Method: consolidation.MethodSingle, Interrupted: true}: `{"method": "Single", "simulations": 0, "interrupted": true}`,
	} {
		data, err := json.Marshal(outcome)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(data))
	}
}

func TestAnEmptyClusterHasNoMoves(t *testing.T) {
	none := planner(t, consolidation.Cluster{}, nil, consolidation.Options{})
	for _, o := range []consolidation.Outcome{none.Empty(nil), none.StaticDrift(nil), none.Drift(nil), none.Multi(nil), none.Single(nil, nil), none.Best(nil)} {
		assert.Empty(t, o.Moves)
		assert.Empty(t, o.Stays)
	}
}
