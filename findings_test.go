package disruption_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/repair"
)

// withObjects is the example cluster and further objects.
func withObjects(t *testing.T, objects string) *disruption.Cluster {
	t.Helper()
	c := exampleCluster()
	decoded, err := c.Decode(strings.NewReader(objects))
	require.NoError(t, err)
	require.Empty(t, decoded.Errors)
	return c
}

// edited is the example cluster with a text of its dump replaced by another.
func edited(t *testing.T, old, replacement string) *disruption.Cluster {
	t.Helper()
	require.Contains(t, twoNodeCluster, old)
	c := &disruption.Cluster{Now: exampleCluster().Now, Catalog: exampleCluster().Catalog}
	decoded, err := c.Decode(strings.NewReader(strings.Replace(twoNodeCluster, old, replacement, 1)))
	require.NoError(t, err)
	require.Empty(t, decoded.Errors)
	return c
}

func findings(plan *disruption.Plan, code string) []disruption.Finding {
	return slices.DeleteFunc(slices.Clone(plan.Findings), func(f disruption.Finding) bool { return f.Code != code })
}

const (
	somePDB = `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"NAME","namespace":"shop"},
		"spec":{"SPEC","selector":{}},"status":{"expectedPods":EXPECTED,"currentHealthy":EXPECTED,"desiredHealthy":DESIRED,"disruptionsAllowed":1}}`
	somePod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"extra","namespace":"shop"},"spec":{"nodeName":"node-a","containers":[{"name":"c"}],EXTRA},"status":{"phase":"Running"}}`
)

func pdb(name, spec, desired, expected string) string {
	return strings.NewReplacer("NAME", name, `"SPEC"`, spec, "DESIRED", desired, "EXPECTED", expected).Replace(somePDB)
}

func pod(extra string) string { return strings.Replace(somePod, "EXTRA", extra, 1) }

// Each finding is there when it should be, with the object that it is about, and
// not when it shouldn't.
func TestFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster *disruption.Cluster
		code    string
		object  string // "" if nothing is found
		message string
	}{
		"a claim that was not launched": {
			withObjects(t, `{"kind":"NodeClaim","metadata":{"name":"young"}}`),
			disruption.FindingUnlaunched, "NodeClaim/young", "1 node claims have no provider id yet"},
		"two claims of one provider id": {
			withObjects(t, `{"kind":"NodeClaim","metadata":{"name":"twin"},"status":{"providerID":"a"}}`),
			disruption.FindingSharedProvider, "", "the provider id a; the first by name counts"},
		"a claim that bears the name of another node": {
			withObjects(t, `{"kind":"NodeClaim","metadata":{"name":"node-a"},"status":{"providerID":"c"}}`),
			disruption.FindingNameClash, "NodeClaim/node-a", "it is left out"},
		"a pool that isn't ready": {
			edited(t, `"type":"Ready","status":"True"}]}}`, `"type":"Ready","status":"False"}]}}`),
			disruption.FindingPoolNotReady, "NodePool/general", "opens no new nodes"},
		"a pool that is ready": {
			exampleCluster(), disruption.FindingPoolNotReady, "", ""},
		"a pool without limits": {
			exampleCluster(), disruption.FindingNoLimits, "NodePool/general", "has no limits"},
		"a pool with limits": {
			edited(t, `"spec":{"disruption"`, `"spec":{"limits":{"cpu":"100"},"disruption"`), disruption.FindingNoLimits, "", ""},
		"a static pool needs no limits": {
			edited(t, `"spec":{"disruption"`, `"spec":{"replicas":2,"disruption"`), disruption.FindingNoLimits, "", ""},
		"a policy that the API refuses": {
			edited(t, `"WhenEmptyOrUnderutilized"`, `"WhenUnderutilized"`), disruption.FindingPoolRefused, "NodePool/general", `consolidationPolicy "WhenUnderutilized"`},
		"a consolidateAfter that the API refuses": {
			edited(t, `"30s"`, `"500ms"`), disruption.FindingPoolRefused, "NodePool/general", "consolidateAfter 500ms"},
		"an instance type that the catalog doesn't have": {
			edited(t, `"node.kubernetes.io/instance-type":"large"`, `"node.kubernetes.io/instance-type":"huge"`),
			disruption.FindingNoPrices, "NodePool/general", "the price of 1 nodes"},
		"a job on a pool that consolidates at once": {
			exampleCluster(), disruption.FindingEager, "NodePool/general", "after 30s and runs 1 pods of jobs"},
		"a job on a pool that waits": {
			edited(t, `"30s"`, `"5m"`), disruption.FindingEager, "", ""},
		"a node that expires, and a pod that is protected for good": {
			edited(t, `"claim-b","labels":{"karpenter.sh/nodepool":"general"}},`, `"claim-b","labels":{"karpenter.sh/nodepool":"general"}},"spec":{"expireAfter":"720h"},`),
			disruption.FindingEndlessDrain, "Node/node-b", "pod shop/report may hold it for ever"},
		"a node that expires with a grace period": {
			edited(t, `"claim-b","labels":{"karpenter.sh/nodepool":"general"}},`, `"claim-b","labels":{"karpenter.sh/nodepool":"general"}},"spec":{"expireAfter":"720h","terminationGracePeriod":"1h"},`),
			disruption.FindingEndlessDrain, "", ""},
		"a PDB that wants every pod healthy": {
			withObjects(t, pdb("all", `"minAvailable":"100%"`, "3", "3")), disruption.FindingPDBNeverAllows, "PodDisruptionBudget/shop/all", "lets no pod go at any number of replicas"},
		"a PDB that can spare one": {
			withObjects(t, pdb("all", `"minAvailable":"50%"`, "2", "3")), disruption.FindingPDBNeverAllows, "", ""},
		"a PDB that rounds up to every pod": {
			withObjects(t, pdb("most", `"minAvailable":"51%"`, "2", "2")), disruption.FindingPDBNeverAllows, "PodDisruptionBudget/shop/most", "wants 2 of 2 pods healthy"},
		"a PDB on a single replica": {
			withObjects(t, pdb("one", `"minAvailable":1`, "1", "1")), disruption.FindingSingleReplica, "PodDisruptionBudget/shop/one", "wants 1 of 1 pods healthy"},
		"two PDBs on the same pods": {
			withObjects(t, pdb("x", `"maxUnavailable":1`, "1", "2")+pdb("y", `"maxUnavailable":1`, "1", "2")), disruption.FindingPDBOverlap, "Pod/shop/web", "1 pods have more than one PodDisruptionBudget (shop/x, shop/y)"},
		"an annotation that means nothing": {
			edited(t, `"karpenter.sh/do-not-disrupt":"true"`, `"karpenter.sh/do-not-disrupt":"yes"`), "bad-annotation-value", "Pod/shop/report", "yes"},
		"a preferred anti-affinity": {
			withObjects(t, pod(`"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"zone"}}]}}`)),
			disruption.FindingPreferencesHold, "", "the preferred anti-affinity of shop/extra"},
		"a spread that is merely wished for": {
			withObjects(t, pod(`"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}]`)),
			disruption.FindingPreferencesHold, "", "the ScheduleAnyway spread of shop/extra"},
		"a pod that is moved though its volume is unknown": {
			withObjects(t, pod(`"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"nowhere"}}]`)),
			disruption.FindingUnknownVolumes, "Pod/shop/extra", "1 pods are moved"},
		"a pod whose eviction costs nothing": {
			withObjects(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-c","labels":{"karpenter.sh/nodepool":"general","karpenter.sh/registered":"true","karpenter.sh/initialized":"true"}},"spec":{"providerID":"c"}}
				{"kind":"NodeClaim","metadata":{"name":"claim-c","labels":{"karpenter.sh/nodepool":"general"}},"status":{"providerID":"c"}}
				{"apiVersion":"v1","kind":"Pod","metadata":{"name":"cheap","namespace":"shop"},"spec":{"nodeName":"node-c","priority":-1000000000,"containers":[{"name":"c"}]},"status":{"phase":"Running"}}`),
			disruption.FindingEmptyByCost, "Node/node-c", "counts as empty though 1 pods run on it"},
		"nodes without any pool": {
			func() *disruption.Cluster { c := exampleCluster(); c.NodePools = nil; return c }(),
			disruption.FindingUnmanagedOnly, "", "there are no node pools"},
	} {
		t.Run(name, func(t *testing.T) {
			found := findings(propose(t, tc.cluster, disruption.Options{}), tc.code)
			if tc.message == "" {
				assert.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			assert.Contains(t, found[0].Message, tc.message)
			if tc.object != "" {
				assert.Contains(t, found[0].Objects, tc.object)
			}
		})
	}
}

// The forceful part needs no move and no budget: expiry now and soon, and sick
// nodes if there are policies.
func TestForceful(t *testing.T) {
	c := exampleCluster()
	c.NodeClaims[0].CreationTimestamp.Time = c.Now.Add(-2 * time.Hour)
	c.NodeClaims[1].CreationTimestamp.Time = c.Now.Add(-2 * time.Hour)
	hour, day := time.Hour, 25*time.Hour
	c.NodeClaims[0].Spec.ExpireAfter.Duration, c.NodeClaims[1].Spec.ExpireAfter.Duration = &hour, &day
	c.Nodes[1].Status.Conditions[0].Status = "False"
	c.Nodes[1].Status.Conditions[0].LastTransitionTime.Time = c.Now.Add(-time.Hour)

	f := propose(t, c, disruption.Options{}).Forceful
	require.Len(t, f.Expired, 1)
	assert.Equal(t, "node-a", f.Expired[0].Node)
	assert.Equal(t, c.Now.Add(-time.Hour), f.Expired[0].At)
	require.Len(t, f.Expiring, 1)
	assert.Equal(t, "node-b", f.Expiring[0].Node)
	assert.Empty(t, f.Repairs, "nobody asked")

	unmanaged := c.Nodes[0].DeepCopy()
	unmanaged.Name, unmanaged.Spec.ProviderID = "a-first", "elsewhere"
	c.Nodes = append(c.Nodes, unmanaged)
	f = propose(t, c, disruption.Options{ExpiringWithin: 22 * time.Hour, RepairPolicies: repair.AWS()}).Forceful
	assert.Empty(t, f.Expiring, "23 hours is too far ahead")
	assert.Len(t, f.Expired, 1, "a node without a claim has no life to end, and hides no other")
	require.Len(t, f.Repairs, 1)
	assert.Equal(t, "node-b", f.Repairs[0].Node)
	assert.True(t, f.Repairs[0].Now)
}

func TestANilInAListIsNamed(t *testing.T) {
	c := exampleCluster()
	c.Pods = append(c.Pods, nil)
	c.NodeClaims = append(c.NodeClaims, nil)
	_, err := disruption.Propose(t.Context(), c, disruption.Options{})
	assert.EqualError(t, err, "[nodeClaims[2]: Required value: is nil, pods[2]: Required value: is nil]")
	_, err = c.Snapshot(disruption.Options{})
	assert.Error(t, err)
	assert.Equal(t, disruption.ObservedTypes(exampleCluster(), ""), disruption.ObservedTypes(c, ""), "what is there is still read")
	facts, _ := c.Scheduling(disruption.Options{})
	assert.Len(t, facts.Pods, 2)
}

func TestTwoObjectsOfOneNameAreAnError(t *testing.T) {
	c := exampleCluster()
	c.Nodes = append(c.Nodes, c.Nodes[0])
	_, err := disruption.Propose(t.Context(), c, disruption.Options{})
	assert.ErrorContains(t, err, "Duplicate value")
}

func TestReplacementsInJSONNameTheirInstanceTypes(t *testing.T) {
	plan := propose(t, generated(30, false), disruption.Options{AllMethods: true})
	for _, m := range append(plan.Moves, plan.Outlook...) {
		for i := range m.Replacements {
			var r struct {
				Pool          string
				InstanceTypes []string
				Requests      map[string]string
			}
			require.NoError(t, json.Unmarshal([]byte(asJSON(t, m.Replacements[i])), &r))
			assert.Equal(t, m.Replacements[i].InstanceTypes[0].Name, r.InstanceTypes[0])
			assert.NotEmpty(t, r.Pool)
			assert.NotEmpty(t, r.Requests["cpu"])
			return
		}
	}
	t.Fatal("no move has a replacement")
}
