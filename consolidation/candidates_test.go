package consolidation_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/termination"
)

// subject is a cluster of one node that nothing speaks against, to be spoiled.
type subject struct {
	cluster consolidation.Cluster
	pool    *consolidation.Pool
	node    *consolidation.Node
	pod     *corev1.Pod
	pdbs    []*policyv1.PodDisruptionBudget
}

func newSubject() *subject {
	s := &subject{pod: podOf("web-0", "web")}
	s.cluster = consolidation.Cluster{
		Now:   noon,
		Pools: []consolidation.Pool{pool("general", onDemandAt("m5", 1))},
		Nodes: []consolidation.Node{nodeOf("n", "general", "m5", s.pod)},
	}
	s.pool, s.node = &s.cluster.Pools[0], &s.cluster.Nodes[0]
	return s
}

func (s *subject) drifted() {
	since := noon.Add(-time.Minute)
	s.node.Claim.Drifted = &since
}

func (s *subject) pdb(allowed int32) {
	s.pdbs = append(s.pdbs, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	})
}

// refusals are the codes that speak against the node.
func (s *subject) refusals(t *testing.T, m consolidation.Method) []consolidation.Code {
	t.Helper()
	if s.pdbs != nil {
		limits, errs := termination.CompileLimits(s.pdbs, termination.LimitsOptions{})
		require.Empty(t, errs)
		s.cluster.Limits = limits
	}
	f := compile(t, s.cluster)
	c := f.Candidates()[0]
	got := codes(f.Refusals(c, m))
	assert.Equal(t, len(got) == 0, len(f.Eligible(m)) == 1, "Eligible and Refusals must agree")
	return got
}

func TestEveryRefusalHasItsReason(t *testing.T) {
	const (
		empty, multi, single   = consolidation.MethodEmpty, consolidation.MethodMulti, consolidation.MethodSingle
		driftOne, staticDrifts = consolidation.MethodDrift, consolidation.MethodStaticDrift
	)
	label := func(key string) func(*subject) { return func(s *subject) { delete(s.node.Node.Labels, key) } }
	for _, c := range []struct {
		name   string
		method consolidation.Method
		spoil  func(*subject)
		want   []consolidation.Code
	}{
		{"a node with pods may be consolidated", single, func(*subject) {}, nil},
		{"a node in a running move", single, func(s *subject) { s.node.InMove = true }, []consolidation.Code{consolidation.InMove}},
		{"a node without a claim", empty, func(s *subject) { s.node.Claim, s.node.Pods = nil, nil }, []consolidation.Code{consolidation.Unmanaged, consolidation.NotConsolidatable}},
		{"a claim without a node", single, func(s *subject) { s.node.Node = nil }, []consolidation.Code{consolidation.NotJoined}},
		{"a node that isn't initialised", multi, label("karpenter.sh/initialized"), []consolidation.Code{consolidation.NotInitialized}},
		{"a node being deleted", single, func(s *subject) { s.node.Claim.Deleting = true }, []consolidation.Code{consolidation.Deleting}},
		{"a node promised to a pending pod", single, func(s *subject) { s.node.Nominated = true }, []consolidation.Code{consolidation.Nominated}},
		{"a protected node", driftOne, func(s *subject) {
			s.drifted()
			s.node.Node.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
		}, []consolidation.Code{consolidation.NodeDoNotDisrupt}},
		{"a node's protection knows no duration", single, func(s *subject) {
			s.node.Node.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "30m"}
		}, nil},
		{"a node of no pool", single, label("karpenter.sh/nodepool"), []consolidation.Code{consolidation.NoPool}},
		{"a node of a pool that is gone", single, func(s *subject) { s.pool.Name = "other" }, []consolidation.Code{consolidation.UnknownPool}},
		{"a pool without instance types", empty, func(s *subject) { s.pool.InstanceTypes, s.node.Pods = nil, nil }, []consolidation.Code{consolidation.NoInstanceTypes}},
		{"a protected pod", single, func(s *subject) { s.pod.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} }, []consolidation.Code{consolidation.PodDoNotDisrupt}},
		{"a PDB that allows nothing", single, func(s *subject) { s.pdb(0) }, []consolidation.Code{consolidation.PDBBlocks}},
		{"a PDB that allows one", single, func(s *subject) { s.pdb(1) }, nil},
		{"two PDBs on a pod, though both allow", single, func(s *subject) { s.pdb(1); s.pdb(1) }, []consolidation.Code{consolidation.SeveralPDBs}},
		{"drift waits for pods without a grace period", driftOne, func(s *subject) { s.drifted(); s.pdb(0) }, []consolidation.Code{consolidation.PDBBlocks}},
		{"drift overlooks pods with a grace period on the claim", driftOne, func(s *subject) {
			s.drifted()
			s.pdb(0)
			s.node.Claim.TerminationGracePeriod = new(time.Duration)
		}, nil},
		{"consolidation never overlooks pods", single, func(s *subject) { s.pdb(0); s.node.Claim.TerminationGracePeriod = new(time.Duration) }, []consolidation.Code{consolidation.PDBBlocks}},
		{"a static pool is not consolidated", single, func(s *subject) { s.pool.Replicas = new(int) }, []consolidation.Code{consolidation.StaticPool}},
		{"a type that the pool lacks", single, func(s *subject) { s.node.Node.Labels[corev1.LabelInstanceTypeStable] = "m4" }, []consolidation.Code{consolidation.UnknownInstanceType}},
		{"no capacity type", single, label("karpenter.sh/capacity-type"), []consolidation.Code{consolidation.NoCapacityType}},
		{"no zone", single, label(corev1.LabelTopologyZone), []consolidation.Code{consolidation.NoZone}},
		{"consolidateAfter Never", single, func(s *subject) { s.pool.ConsolidateAfter = nil }, []consolidation.Code{consolidation.NeverConsolidate}},
		{"an empty node is for another method", single, func(s *subject) { s.node.Pods = nil }, []consolidation.Code{consolidation.Empty}},
		{"a pool that is consolidated when empty", single, func(s *subject) { s.pool.Policy = consolidation.WhenEmpty }, []consolidation.Code{consolidation.WhenEmptyOnly}},
		{"an empty node is not kept by the policy", single, func(s *subject) { s.node.Pods, s.pool.Policy = nil, consolidation.WhenEmpty }, []consolidation.Code{consolidation.Empty}},
		{"a node that isn't quiet", single, func(s *subject) { s.node.Claim.Consolidatable = false }, []consolidation.Code{consolidation.NotConsolidatable}},
		{"an empty node", empty, func(s *subject) { s.node.Pods = nil }, nil},
		{"an empty node of an unknown type goes too", empty, func(s *subject) {
			s.node.Pods = nil
			delete(s.node.Node.Labels, corev1.LabelInstanceTypeStable)
		}, nil},
		{"a node with a pod isn't empty", empty, func(*subject) {}, []consolidation.Code{consolidation.NotEmpty}},
		{"a node whose only pod costs nothing to evict is empty", empty, func(s *subject) {
			s.pod.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": "-134217728"}
		}, nil},
		{"a buffer is not empty", empty, func(s *subject) { s.node.Pods, s.node.Buffered = nil, true }, []consolidation.Code{consolidation.Buffered}},
		{"a node that hasn't drifted", driftOne, func(*subject) {}, []consolidation.Code{consolidation.NotDrifted}},
		{"drift asks neither quiet nor policy", driftOne, func(s *subject) {
			s.drifted()
			s.pool.ConsolidateAfter, s.pool.Policy = nil, consolidation.WhenEmpty
			s.node.Claim.Consolidatable = false
		}, nil},
		{"drift of a static pool is another method", driftOne, func(s *subject) { s.drifted(); s.pool.Replicas = new(int) }, []consolidation.Code{consolidation.StaticPool}},
		{"static drift of a dynamic pool", staticDrifts, (*subject).drifted, []consolidation.Code{consolidation.NotStaticPool}},
		{"Karpenter reports the first, we know all", single, func(s *subject) {
			s.node.Nominated = true
			s.pod.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
			s.pool.ConsolidateAfter = nil
		}, []consolidation.Code{consolidation.Nominated, consolidation.PodDoNotDisrupt, consolidation.NeverConsolidate}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSubject()
			c.spoil(s)
			assert.Equal(t, c.want, s.refusals(t, c.method))
		})
	}
}

func TestReasonsNameTheObjects(t *testing.T) {
	s := newSubject()
	s.pdb(0)
	s.pod.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "2h"}
	s.pod.Status.StartTime = &metav1.Time{Time: noon.Add(-time.Hour)}
	s.refusals(t, consolidation.MethodSingle)
	f := compile(t, s.cluster)
	reasons := f.Refusals(f.Candidates()[0], consolidation.MethodSingle)
	require.Len(t, reasons, 1, "a protected pod is not evictable, so its PDB does not block")
	assert.Equal(t, []string{"Pod/default/web-0"}, reasons[0].Objects)
	assert.Equal(t, noon.Add(time.Hour), *reasons[0].Until)

	s.pod.Annotations = nil
	reasons = compile(t, s.cluster).Refusals(compile(t, s.cluster).Candidates()[0], consolidation.MethodSingle)
	require.Len(t, reasons, 1)
	assert.Equal(t, []string{"Pod/default/web-0", "PodDisruptionBudget/default/web"}, reasons[0].Objects)
	assert.Equal(t, "PDBBlocks: PodDisruptionBudget default/web allows no eviction of pod default/web-0", reasons[0].String())
}

func TestCompileReportsBadInputByPath(t *testing.T) {
	_, err := consolidation.Compile(consolidation.Cluster{
		Pools: []consolidation.Pool{pool("a"), pool("a"), {Name: "b", BalancedK: 11}, pool("c", onDemandAt("m5", 1), nil), {Name: "d", BalancedK: math.NaN()}},
		Nodes: []consolidation.Node{nodeOf("n", "a", "m5"), {}, nodeOf("n", "a", "m5"), {Claim: &consolidation.Claim{Name: "m"}, Pods: []*corev1.Pod{podOf("web-0", "web"), nil}}},
	}, "")
	require.Error(t, err)
	for _, part := range []string{
		"pools[1].name: Duplicate", "pools[2].balancedK: Invalid", "pools[3].instanceTypes[1]: Required", "pools[4].balancedK: Invalid",
		"nodes[1]: Required", "nodes[2]: Duplicate", "nodes[3].pods[1]: Required",
	} {
		assert.Contains(t, err.Error(), part)
	}
}

func TestPriceIsThatOfTheNodesOwnOffering(t *testing.T) {
	off := typeAt("m5", map[string]float64{onDemand: 1, spot: 0.4})
	off.Offerings[1].Available = false
	c := consolidation.Cluster{
		Pools: []consolidation.Pool{pool("general", off)},
		Nodes: []consolidation.Node{nodeOf("dear", "general", "m5"), spotNode("gone", "general", "m5"), nodeOf("unknown", "general", "m4")},
	}
	f := compile(t, c)
	prices := map[string]float64{}
	for _, c := range f.Candidates() {
		prices[c.Name] = c.Price
	}
	assert.Equal(t, map[string]float64{"dear": 1, "gone": 0.4, "unknown": 0}, prices, "available or not; unknown counts as 0")
}

func TestAnotherDomainReadsItsOwnKeys(t *testing.T) {
	n := nodeOf("n", "general", "m5")
	for key, value := range map[string]string{"nodepool": "general", "initialized": "true", "capacity-type": onDemand} {
		delete(n.Node.Labels, "karpenter.sh/"+key)
		n.Node.Labels["nodes.example.com/"+key] = value
	}
	f, err := consolidation.Compile(consolidation.Cluster{
		Pools: []consolidation.Pool{pool("general", onDemandAt("m5", 1))}, Nodes: []consolidation.Node{n},
	}, "nodes.example.com")
	require.NoError(t, err)
	assert.Len(t, f.Eligible(consolidation.MethodEmpty), 1)
}

// A pool has totals only if some node of it could be disrupted gracefully: anything
// that speaks against its only node, be it the caller's veto, leaves it without.
func TestTotalsNeedANodeThatCouldGo(t *testing.T) {
	for name, spoil := range map[string]func(s *subject){
		"nothing":            func(*subject) {},
		"a veto":             func(s *subject) { s.node.Vetoes = []consolidation.Reason{{Code: "Frozen"}} },
		"a protected pod":    func(s *subject) { s.pod.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} },
		"a move that has it": func(s *subject) { s.node.InMove = true },
		"a promise to a pod": func(s *subject) { s.node.Nominated = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSubject()
			spoil(s)
			_, has := compile(t, s.cluster).Totals()["general"]
			assert.Equal(t, name == "nothing", has)
		})
	}
}

// A node without a claim bears its own labels, whether or not it says registered.
func TestUnmanagedNodesBearTheirOwnLabels(t *testing.T) {
	s := newSubject()
	s.node.Claim = nil
	delete(s.node.Node.Labels, "karpenter.sh/registered")
	delete(s.node.Node.Labels, "karpenter.sh/initialized")
	c := compile(t, s.cluster).Candidates()[0]
	assert.Equal(t, "a", c.Zone)
	assert.Equal(t, "m5", c.InstanceType)
}
