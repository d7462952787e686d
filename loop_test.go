package disruption_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
)

// host carries out what a Loop asks for on a cluster in memory.
type host struct {
	t       *testing.T
	cluster *disruption.Cluster
	loop    disruption.Loop
	options disruption.Options
	done    []disruption.Verb
}

func (h *host) step() []disruption.Action {
	h.t.Helper()
	loop, actions, err := h.loop.Step(context.Background(), h.cluster, 0, h.options)
	require.NoError(h.t, err)
	// What is kept survives a restart.
	data, err := json.Marshal(loop)
	require.NoError(h.t, err)
	h.loop = disruption.Loop{}
	require.NoError(h.t, json.Unmarshal(data, &h.loop))
	for _, a := range actions {
		h.done = append(h.done, a.Verb)
		if a.Verb == disruption.LaunchNode {
			h.launch(a)
		}
		if a.Verb == disruption.DeleteClaims {
			h.delete(a)
		}
	}
	return actions
}

func (h *host) launch(a disruption.Action) {
	claim := &disruption.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "replacement"}}
	claim.Status.ProviderID = "new"
	h.cluster.NodeClaims = append(slices.Clone(h.cluster.NodeClaims), claim)
	h.loop = h.loop.Launched(a.Command, a.Index, claim.Name)
}

func (h *host) delete(a disruption.Action) {
	gone := func(name string) bool { return slices.Contains(a.Nodes, name) }
	h.cluster.Nodes = slices.DeleteFunc(slices.Clone(h.cluster.Nodes), func(n *corev1.Node) bool { return gone(n.Name) })
	h.cluster.NodeClaims = slices.DeleteFunc(slices.Clone(h.cluster.NodeClaims), func(c *disruption.NodeClaim) bool { return slices.Contains(a.Claims, c.Name) })
}

func (h *host) later(d time.Duration) { h.cluster.Now = h.cluster.Now.Add(d) }

func newHost(t *testing.T) *host {
	c := *generated(12, false)
	return &host{t: t, cluster: &c}
}

func verbs(actions []disruption.Action) []disruption.Verb {
	list := make([]disruption.Verb, len(actions))
	for i, a := range actions {
		list[i] = a.Verb
	}
	return list
}

func TestLoopDecidesWaitsValidatesAndDeletes(t *testing.T) {
	h := newHost(t)
	h.options.Consolidation.DeleteOnly = true
	first := h.step()
	require.Equal(t, []disruption.Verb{disruption.Wait}, verbs(first))
	assert.Equal(t, h.cluster.Now.Add(disruption.ValidationDelay), *first[0].Until)
	h.later(14 * time.Second)
	assert.Equal(t, []disruption.Verb{disruption.Wait}, verbs(h.step()), "too early")
	h.later(time.Second)
	before := len(h.cluster.Nodes)
	assert.Equal(t, []disruption.Verb{disruption.Taint, disruption.DeleteClaims}, verbs(h.step()))
	assert.Equal(t, before-len(first[0].Nodes), len(h.cluster.Nodes))
	assert.Empty(t, h.loop.InFlight)
}

func TestLoopDropsADecisionThatNoLongerHolds(t *testing.T) {
	h := newHost(t)
	victim := h.step()[0].Nodes[0]
	for i, node := range h.cluster.Nodes {
		if node.Name == victim {
			marked := node.DeepCopy()
			marked.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
			h.cluster.Nodes = slices.Clone(h.cluster.Nodes)
			h.cluster.Nodes[i] = marked
		}
	}
	h.later(disruption.ValidationDelay)
	actions := h.step()
	require.Equal(t, disruption.Drop, actions[0].Verb)
	assert.Equal(t, consolidation.Churn, actions[0].Reasons[0].Code)
}

// replacing is a host whose first command is a replacement in flight.
func replacing(t *testing.T) *host {
	h := newHost(t)
	node := h.cluster.Nodes[0]
	for i, claim := range h.cluster.NodeClaims {
		if claim.Status.NodeName == node.Name {
			drifted := *claim
			drifted.Status.Conditions = append(slices.Clone(claim.Status.Conditions), metav1.Condition{Type: "Drifted", Status: metav1.ConditionTrue, Reason: "NodePoolDrifted"})
			h.cluster.NodeClaims = slices.Clone(h.cluster.NodeClaims)
			h.cluster.NodeClaims[i] = &drifted
		}
	}
	for i, n := range h.cluster.Nodes { // no room anywhere else
		full := n.DeepCopy()
		full.Spec.Taints = append(full.Spec.Taints, corev1.Taint{Key: "full", Effect: corev1.TaintEffectNoSchedule})
		h.cluster.Nodes[i] = full
	}
	h.options.Methods = []consolidation.Method{consolidation.MethodDrift}
	require.Equal(t, []disruption.Verb{disruption.Taint, disruption.LaunchNode}, verbs(h.step()))
	require.Equal(t, "replacement", h.loop.InFlight[0].Launches[0].Claim)
	return h
}

func TestLoopWaitsForReplacementsBeforeItDeletes(t *testing.T) {
	h := replacing(t)
	h.later(time.Minute)
	assert.Equal(t, []disruption.Verb{disruption.Wait}, verbs(h.step()))
	last := len(h.cluster.NodeClaims) - 1
	ready := *h.cluster.NodeClaims[last]
	ready.Status.Conditions = []metav1.Condition{{Type: "Initialized", Status: metav1.ConditionTrue}}
	h.cluster.NodeClaims[last] = &ready
	assert.Equal(t, []disruption.Verb{disruption.DeleteClaims}, verbs(h.step()))
	assert.Empty(t, h.loop.InFlight)
}

func TestLoopGivesUpWhenAReplacementIsGoneOrLate(t *testing.T) {
	h := replacing(t)
	h.later(10 * time.Minute)
	assert.Equal(t, disruption.Wait, h.step()[0].Verb, "ten minutes are allowed")
	h.later(time.Second)
	late := h.step()[0]
	assert.Equal(t, disruption.Untaint, late.Verb)
	assert.Equal(t, disruption.CodeTimedOut, late.Reasons[0].Code)

	h = replacing(t)
	h.cluster.NodeClaims = h.cluster.NodeClaims[:len(h.cluster.NodeClaims)-1]
	gone := h.step()[0]
	assert.Equal(t, disruption.Untaint, gone.Verb)
	assert.Equal(t, disruption.CodeReplaceGone, gone.Reasons[0].Code)
}

func TestLoopLeavesAConsolidatedClusterAloneUntilItChanges(t *testing.T) {
	c := *generated(20, true)
	asked := func(l disruption.Loop, generation int64) disruption.Loop {
		next, actions, err := l.Step(context.Background(), &c, generation, disruption.Options{})
		require.NoError(t, err)
		require.Empty(t, actions)
		return next
	}
	l := asked(disruption.Loop{}, 7)
	require.NotNil(t, l.Consolidated)
	c.Now = c.Now.Add(time.Minute)
	assert.Equal(t, l.Consolidated.At, asked(l, 7).Consolidated.At, "nothing has changed, so nobody looked")
	assert.Equal(t, c.Now, asked(l, 8).Consolidated.At)
	c.Now = c.Now.Add(disruption.ConsolidatedFor)
	assert.Equal(t, c.Now, asked(l, 7).Consolidated.At, "after five minutes all the same")
}

// A claim without an instance ends the pass only for those who ask for that.
func TestLoopAndUnlaunchedClaims(t *testing.T) {
	h := newHost(t)
	h.cluster.NodeClaims = append(slices.Clone(h.cluster.NodeClaims), &disruption.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "young"}})
	h.options.SkipUnlaunched = true
	assert.Empty(t, h.step())
	assert.Nil(t, h.loop.Pending)
	h.options.SkipUnlaunched = false
	assert.Equal(t, []disruption.Verb{disruption.Wait}, verbs(h.step()))
}

// Time alone can open a budget, so a cluster that only a budget holds back is
// looked at again at every step.
func TestLoopLooksAgainWhereOnlyABudgetBinds(t *testing.T) {
	c := *generated(12, false)
	pool := *c.NodePools[0]
	pool.Spec.Disruption.Budgets = []budget.Budget{{Nodes: "0"}}
	c.NodePools = []*disruption.NodePool{&pool}
	next, actions, err := disruption.Loop{}.Step(context.Background(), &c, 7, disruption.Options{})
	require.NoError(t, err)
	assert.Empty(t, actions)
	assert.Nil(t, next.Consolidated)
}

func TestLoopGivesUpWhatTheHostCouldNotDo(t *testing.T) {
	h := replacing(t)
	h.loop = h.loop.Failed(h.loop.InFlight[0].ID, "no capacity in any zone").Failed(99, "another")
	gone := h.step()[0]
	assert.Equal(t, disruption.Untaint, gone.Verb)
	assert.Equal(t, consolidation.Reason{Code: disruption.CodeFailed, Message: "no capacity in any zone"}, gone.Reasons[0])
	assert.Empty(t, h.loop.InFlight)
}

func TestLoopIgnoresNewsOfCommandsThatAreGone(t *testing.T) {
	h := replacing(t)
	assert.Equal(t, h.loop, h.loop.Launched(99, 0, "x"))
	assert.Equal(t, h.loop, h.loop.Launched(h.loop.InFlight[0].ID, 5, "x"))
	assert.Equal(t, h.loop, h.loop.Launched(h.loop.InFlight[0].ID, -1, "x"))
}

func TestLoopForgetsAPendingDecisionWithoutCommands(t *testing.T) {
	h := newHost(t)
	h.loop.Pending = &disruption.Pending{Since: h.cluster.Now}
	h.step()
	assert.NotEmpty(t, h.loop.Pending.Commands, "it decides anew")
}

// What the loop did is what its guards remember, across restarts, for as long as
// they are told to.
func TestLoopRemembersForItsGuards(t *testing.T) {
	h := newHost(t)
	h.options.Consolidation.DeleteOnly = true
	h.options.Consolidation.Guards = []consolidation.Guard{consolidation.PoolCooldown{Window: time.Hour}}
	first := h.step()[0]
	h.later(disruption.ValidationDelay)
	h.step()
	require.Len(t, h.loop.History.Moves, 1)
	past := h.loop.History.Moves[0]
	assert.Equal(t, h.cluster.Now, past.At)
	assert.Len(t, past.Nodes, len(first.Nodes))
	assert.NotEmpty(t, past.Nodes[0].Owners)

	h.later(59 * time.Minute)
	assert.Empty(t, h.step(), "the pool rests")
	h.later(2 * time.Minute)
	assert.Equal(t, []disruption.Verb{disruption.Wait}, verbs(h.step()), "and is looked at again")

	h.options.Remember = 30 * time.Minute
	h.step()
	assert.Empty(t, h.loop.History.Moves)
}

func TestCommandTimeoutGrowsWithTheQueue(t *testing.T) {
	assert.Equal(t, 10*time.Minute, disruption.CommandTimeout(1))
	assert.Equal(t, 800*time.Second, disruption.CommandTimeout(10_000))
	assert.Equal(t, time.Hour, disruption.CommandTimeout(1_000_000))
}
