package disruption_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
)

// slowHost carries out what a Loop asks for, but each launch and each drain takes
// its time.
type slowHost struct {
	cluster *disruption.Cluster
	loop    disruption.Loop
	ready   map[string]time.Time // when a new claim's node will be initialised
	gone    map[string]time.Time // when a deleted claim will have gone
	started int
}

// disrupting counts, by pool, the nodes that a command has tainted or whose claim
// is deleted.
func (h *slowHost) disrupting() map[string]int {
	byPool := map[string]int{}
	for _, c := range h.cluster.NodeClaims {
		if _, deleted := h.gone[c.Name]; deleted {
			byPool[c.Labels["karpenter.sh/nodepool"]]++
		}
	}
	for _, c := range h.loop.InFlight {
		for _, target := range c.Targets {
			byPool[target.Pool]++
		}
	}
	return byPool
}

func (h *slowHost) step(t *rapid.T) {
	now := h.cluster.Now
	h.cluster.NodeClaims = slices.DeleteFunc(h.cluster.NodeClaims, func(c *disruption.NodeClaim) bool {
		at, deleted := h.gone[c.Name]
		if !deleted || at.After(now) {
			return false
		}
		delete(h.gone, c.Name)
		h.cluster.Nodes = slices.DeleteFunc(h.cluster.Nodes, func(n *corev1.Node) bool { return n.Spec.ProviderID == c.Status.ProviderID })
		return true
	})
	for i, c := range h.cluster.NodeClaims {
		if at, waiting := h.ready[c.Name]; waiting && !at.After(now) {
			initialized := *c
			initialized.Status.Conditions = []metav1.Condition{{Type: "Initialized", Status: metav1.ConditionTrue}}
			h.cluster.NodeClaims[i] = &initialized
		}
	}
	loop, actions, err := h.loop.Step(context.Background(), h.cluster, 0, disruption.Options{Methods: []consolidation.Method{consolidation.MethodDrift}})
	require.NoError(t, err)
	h.loop = loop
	for _, a := range actions {
		switch a.Verb {
		case disruption.Taint:
			h.started += len(a.Nodes)
		case disruption.LaunchNode:
			name := fmt.Sprintf("new-%d-%d", a.Command, a.Index)
			h.cluster.NodeClaims = append(h.cluster.NodeClaims, &disruption.NodeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Status: disruption.NodeClaimStatus{ProviderID: name}})
			h.ready[name] = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "launch")) * time.Second)
			h.loop = h.loop.Launched(a.Command, a.Index, name)
		case disruption.DeleteClaims:
			for _, name := range a.Claims {
				h.gone[name] = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "drain")) * time.Second)
				h.mark(name)
			}
		}
	}
}

// mark gives a claim its deletion timestamp.
func (h *slowHost) mark(name string) {
	for i, c := range h.cluster.NodeClaims {
		if c.Name == name {
			deleted := *c
			deleted.DeletionTimestamp = &metav1.Time{Time: h.cluster.Now}
			h.cluster.NodeClaims[i] = &deleted
		}
	}
}

// However fast or slow the loop runs and however long launches and drains take, no
// more nodes are on their way out at any time than the budget allows; and in the
// end every drifted node has gone.
func TestBudgetsHoldAcrossPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	rapid.Check(t, func(t *rapid.T) {
		c := *generated(6, false)
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		for i, pool := range c.NodePools {
			limited := *pool
			limited.Spec.Disruption.Budgets = []budget.Budget{{Nodes: fmt.Sprint(limit)}}
			c.NodePools[i] = &limited
		}
		for i, claim := range c.NodeClaims {
			drifted := *claim
			drifted.Status.Conditions = append(slices.Clone(claim.Status.Conditions), metav1.Condition{Type: "Drifted", Status: metav1.ConditionTrue, Reason: "NodePoolDrifted"})
			c.NodeClaims[i] = &drifted
		}
		h := &slowHost{cluster: &c, ready: map[string]time.Time{}, gone: map[string]time.Time{}}
		for steps := 0; h.started < 6 || len(h.gone) > 0; steps++ {
			require.Less(t, steps, 3000, "the roll-out ends")
			h.step(t)
			for pool, n := range h.disrupting() {
				require.LessOrEqual(t, n, limit, pool)
			}
			c.Now = c.Now.Add(time.Duration(rapid.IntRange(5, 120).Draw(t, "pause")) * time.Second)
		}
		require.Equal(t, 6, h.started, "each node once")
	})
}
