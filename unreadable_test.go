package disruption_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
)

// An object that can't be read holds back the nodes that it may be about, and no
// others. Nodes a and b run pods of namespace shop, c one of namespace data, and d
// none.
func TestWhatAnUnreadableObjectHoldsBack(t *testing.T) {
	for name, tc := range map[string]struct {
		object disruption.Unreadable
		held   []string
	}{
		"a pod with its node":               {disruption.Unreadable{Kind: "Pod", Namespace: "x", Name: "p", Node: "node-b"}, []string{"node-b"}},
		"a pod that may be anywhere":        {disruption.Unreadable{Kind: "Pod", Namespace: "x", Name: "p"}, []string{"node-a", "node-b", "node-c", "node-d"}},
		"a PDB of a namespace":              {disruption.Unreadable{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "p"}, []string{"node-a", "node-b"}},
		"a PDB of an unknown namespace":     {disruption.Unreadable{Kind: "PodDisruptionBudget"}, []string{"node-a", "node-b", "node-c"}},
		"the pool":                          {disruption.Unreadable{Kind: "NodePool", Name: "general"}, []string{"node-a", "node-b", "node-c", "node-d"}},
		"another pool":                      {disruption.Unreadable{Kind: "NodePool", Name: "other"}, nil},
		"a pool without a name":             {disruption.Unreadable{Kind: "NodePool"}, []string{"node-a", "node-b", "node-c", "node-d"}},
		"a claim":                           {disruption.Unreadable{Kind: "NodeClaim", Name: "claim-b"}, []string{"node-b"}},
		"a node":                            {disruption.Unreadable{Kind: "Node", Name: "node-c"}, []string{"node-c"}},
		"a node that is known by no name":   {disruption.Unreadable{Kind: "Node"}, []string{"node-a", "node-b", "node-c", "node-d"}},
		"a volume, which pods may need":     {disruption.Unreadable{Kind: "PersistentVolume", Name: "v"}, []string{"node-a", "node-b", "node-c"}},
		"a kind that disruption has no use": {disruption.Unreadable{Kind: "Event", Name: "e"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := withObjects(t, `
				{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-c","labels":{"karpenter.sh/nodepool":"general","karpenter.sh/registered":"true","karpenter.sh/initialized":"true"}},"spec":{"providerID":"c"}}
				{"kind":"NodeClaim","metadata":{"name":"claim-c","labels":{"karpenter.sh/nodepool":"general"}},"status":{"providerID":"c"}}
				{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db","namespace":"data"},"spec":{"nodeName":"node-c","containers":[{"name":"c"}]},"status":{"phase":"Running"}}
				{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-d","labels":{"karpenter.sh/nodepool":"general","karpenter.sh/registered":"true","karpenter.sh/initialized":"true"}},"spec":{"providerID":"d"}}
				{"kind":"NodeClaim","metadata":{"name":"claim-d","labels":{"karpenter.sh/nodepool":"general"}},"status":{"providerID":"d"}}`)
			c.Unreadable = []disruption.Unreadable{tc.object}
			pass, err := disruption.Prepare(c, disruption.Options{})
			require.NoError(t, err)
			fleet := pass.Planner().Fleet()
			var held []string
			for _, candidate := range fleet.Candidates() {
				if slices.ContainsFunc(fleet.Refusals(candidate, consolidation.MethodSingle), func(r consolidation.Reason) bool { return r.Code == disruption.CodeUnreadable }) {
					held = append(held, candidate.Name)
				}
			}
			assert.Equal(t, tc.held, held)
			assert.Len(t, findings(pass.Plan(context.Background()), disruption.FindingUnreadable), 1)
		})
	}
}
