package disruption_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

func propose(t testing.TB, c *disruption.Cluster, o disruption.Options) *disruption.Plan {
	t.Helper()
	plan, err := disruption.Propose(context.Background(), c, o)
	require.NoError(t, err)
	return plan
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// shuffled is the same cluster with every list in another order.
func shuffled(c *disruption.Cluster, seed uint64) *disruption.Cluster {
	r := rand.New(rand.NewPCG(seed, 7))
	s := *c
	shuffle := func(n int, swap func(i, j int)) { r.Shuffle(n, swap) }
	s.NodePools, s.NodeClaims, s.Nodes, s.Pods = slices.Clone(c.NodePools), slices.Clone(c.NodeClaims), slices.Clone(c.Nodes), slices.Clone(c.Pods)
	shuffle(len(s.NodePools), func(i, j int) { s.NodePools[i], s.NodePools[j] = s.NodePools[j], s.NodePools[i] })
	shuffle(len(s.NodeClaims), func(i, j int) { s.NodeClaims[i], s.NodeClaims[j] = s.NodeClaims[j], s.NodeClaims[i] })
	shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
	shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
	return &s
}

// The order in which objects are listed carries no meaning, and neither does the
// number of workers: the plan is the same to the byte.
func TestTheSamePlanInAnyOrderAndByAnyNumberOfWorkers(t *testing.T) {
	for _, packed := range []bool{false, true} {
		c := generated(60, packed)
		want := asJSON(t, propose(t, c, disruption.Options{AllMethods: true}))
		for seed := range uint64(4) {
			got := asJSON(t, propose(t, shuffled(c, seed), disruption.Options{AllMethods: true, Workers: int(seed) * 3}))
			assert.Equal(t, want, got)
		}
	}
}

// Proposing changes nothing of what it is given.
func TestTheClusterIsNotWrittenTo(t *testing.T) {
	c := generated(40, false)
	before := asJSON(t, c)
	propose(t, c, disruption.Options{AllMethods: true, Explain: true, Workers: 4})
	assert.Equal(t, before, asJSON(t, c))
}

// However the budgets are set, no pool loses more nodes to a move than they allow,
// and a tighter budget never lets more go.
func TestMovesStayWithinBudgets(t *testing.T) {
	c := generated(30, false)
	for _, node := range c.Nodes[:8] { // some are empty
		c.Pods = slices.DeleteFunc(c.Pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == node.Name })
	}
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 12).Draw(t, "limit")
		sizes := [2]int{}
		for i, n := range []int{limit, limit + 1} {
			pool := *c.NodePools[0]
			pool.Spec.Disruption.Budgets = []budget.Budget{{Nodes: fmt.Sprint(n)}}
			limited := *c
			limited.NodePools = []*disruption.NodePool{&pool}
			plan, err := disruption.Propose(context.Background(), &limited, disruption.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sizes[i] = plan.Totals.Removed
			if plan.Totals.Removed > n {
				t.Fatalf("%d nodes go, %d may", plan.Totals.Removed, n)
			}
		}
		if sizes[0] > sizes[1] {
			t.Fatalf("a budget of %d lets %d go, and one more only %d", limit, sizes[0], sizes[1])
		}
	})
}

// What can't be read holds back what it may be about, and nothing else.
func TestUnreadableObjectsHoldBackWhatTheyMayBeAbout(t *testing.T) {
	c := generated(12, false)
	bad := *c.Pods[0]
	bad.Name, bad.UID = "odd", "odd"
	bad.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}},
	}}}}
	for name, change := range map[string]func(c *disruption.Cluster) (node string){
		"a pod with a selector of an unknown kind": func(c *disruption.Cluster) string {
			c.Pods = append(slices.Clone(c.Pods), &bad)
			return bad.Spec.NodeName
		},
		"a pod that did not decode": func(c *disruption.Cluster) string {
			c.Unreadable = []disruption.Unreadable{{Kind: "Pod", Namespace: "n", Name: "x", Node: c.Nodes[3].Name}}
			return c.Nodes[3].Name
		},
		"a node pool with a requirement that means nothing": func(c *disruption.Cluster) string {
			pool := *c.NodePools[0]
			pool.Spec.Template.Spec.Requirements = append(slices.Clone(pool.Spec.Template.Spec.Requirements), scheduling.RequirementSpec{Key: "a", Operator: "Near"})
			c.NodePools = []*disruption.NodePool{&pool}
			return c.Nodes[0].Name
		},
		"a PodDisruptionBudget with a selector of an unknown kind": func(c *disruption.Cluster) string {
			none := intstr.FromInt32(1)
			c.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: c.Pods[0].Namespace}, Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}},
			}}}
			return c.Pods[0].Spec.NodeName
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := *c
			node := change(&changed)
			plan := propose(t, &changed, disruption.Options{AllMethods: true})
			for _, n := range plan.Nodes {
				if n.Name == node {
					reason, _, ok := n.First()
					require.True(t, ok)
					assert.Equal(t, disruption.CodeUnreadable, reason.Code)
				}
			}
			codes := map[string]bool{}
			for _, f := range plan.Findings {
				codes[f.Code] = true
			}
			assert.True(t, codes[disruption.FindingUnreadable])
		})
	}
}

// A context that is over ends the pass, and the plan says so.
func TestAnInterruptedPassSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	plan, err := disruption.Propose(ctx, generated(10, true), disruption.Options{})
	require.NoError(t, err)
	assert.NotEmpty(t, plan.Interrupted)
	assert.Empty(t, plan.Moves)
	assert.Len(t, plan.Nodes, 10)
}

// That a context may end changes nothing while it doesn't.
func TestAContextThatLivesChangesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := generated(20, false)
	plan, err := disruption.Propose(ctx, c, disruption.Options{AllMethods: true})
	require.NoError(t, err)
	assert.Empty(t, plan.Interrupted)
	assert.Equal(t, asJSON(t, propose(t, c, disruption.Options{AllMethods: true})), asJSON(t, plan))
}

// A node that says nothing of being ready uses up its pool's budget.
func TestANodeWithoutAReadyConditionCounts(t *testing.T) {
	c := exampleCluster()
	c.Nodes[1].Status.Conditions = nil
	plan := propose(t, c, disruption.Options{})
	assert.Empty(t, plan.Moves)
	assert.Equal(t, []budget.Charge{{Node: "node-b", Cause: budget.CauseNotReady}}, plan.Pools[0].Charged)
}

func TestTheFirstMethodThatFindsMovesEndsThePass(t *testing.T) {
	c := generated(12, false)
	c.Pods = slices.DeleteFunc(slices.Clone(c.Pods), func(p *corev1.Pod) bool { return p.Spec.NodeName == c.Nodes[0].Name })
	plan := propose(t, c, disruption.Options{})
	assert.Equal(t, consolidation.MethodEmpty, plan.Method)
	assert.Empty(t, plan.Outlook)
	all := propose(t, c, disruption.Options{AllMethods: true})
	if d := cmp.Diff(asJSON(t, plan.Moves), asJSON(t, all.Moves)); d != "" {
		t.Error("asking the other methods too changes what this pass does", d)
	}
	assert.NotEmpty(t, all.Outlook)
}

func TestUnlaunchedClaimsAreSaidAndMayEndThePass(t *testing.T) {
	c := generated(12, false)
	c.NodeClaims = append(slices.Clone(c.NodeClaims), &disruption.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "young"}})
	plan := propose(t, c, disruption.Options{})
	assert.NotEmpty(t, plan.Moves)
	assert.Equal(t, disruption.FindingUnlaunched, plan.Findings[0].Code)
	assert.Empty(t, propose(t, c, disruption.Options{SkipUnlaunched: true}).Moves)
}

func TestWithoutInstanceTypesNodesCanBeDeletedButNotReplaced(t *testing.T) {
	c := generated(12, false)
	c.Catalog = scheduling.Catalog{}
	assert.Empty(t, propose(t, c, disruption.Options{}).Moves, "Karpenter knows nothing of such nodes")
	c.Catalog = *disruption.ObservedTypes(c, "")
	plan := propose(t, c, disruption.Options{})
	require.NotEmpty(t, plan.Moves)
	assert.Equal(t, consolidation.Delete, plan.Moves[0].Decision)
}
