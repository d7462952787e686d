package disruption_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/repair"
)

const twoNodes = `{"apiVersion":"v1","kind":"List","items":[
 {"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},
 {"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}]}`

// everyKind has an object of each of the other kinds that are read.
const everyKind = `
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"team":"a"}}}
{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"agent","namespace":"shop"},"spec":{"selector":{"matchLabels":{"app":"agent"}},
 "template":{"metadata":{"labels":{"app":"agent"}},"spec":{"tolerations":[{"operator":"Exists"}],"containers":[{"name":"c","resources":{"requests":{"cpu":"50m"}}}]}}}}
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"db","namespace":"shop"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"app":"db"}}},
 "status":{"expectedPods":2,"currentHealthy":2,"desiredHealthy":1,"disruptionsAllowed":1}}
{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop"},"spec":{"volumeName":"v","storageClassName":"fast"}}
{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"csi":{"driver":"d","volumeHandle":"h"},
 "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["z"]}]}]}}}}
{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"d","volumeBindingMode":"WaitForFirstConsumer",
 "allowedTopologies":[{"matchLabelExpressions":[{"key":"topology.kubernetes.io/zone","values":["z"]}]}]}
{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n"},"spec":{"drivers":[{"name":"d","nodeID":"n","allocatable":{"count":3}}]}}
{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n","source":{"persistentVolumeName":"v"}}}
{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z","kubernetes.io/hostname":"n"}},
 "status":{"allocatable":{"cpu":"2","memory":"4Gi","pods":"10"}}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db-0","namespace":"shop","labels":{"app":"db"}},"spec":{"nodeName":"n",
 "affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"db"}}}]}},
 "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"db"}}}],
 "volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data"}}],"containers":[{"name":"c","ports":[{"hostPort":80,"containerPort":80}]}]}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"waiting","namespace":"shop","labels":{"app":"db"}},"spec":{"nodeSelector":{"topology.kubernetes.io/zone":"z"},"containers":[{"name":"c"}]}}
`

func decode(t *testing.T, input string) (*disruption.Cluster, disruption.Decoded) {
	t.Helper()
	c := &disruption.Cluster{}
	decoded, err := c.Decode(strings.NewReader(input))
	require.NoError(t, err)
	return c, decoded
}

func TestDecodeReadsListsAndStreamsOfDocuments(t *testing.T) {
	pool := `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"p"},"spec":{"disruption":{"consolidateAfter":"Never","budgets":[]}}}`
	typed := `{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"x","namespace":"n"}}]}`
	c, decoded := decode(t, twoNodes+"\n"+pool+" null "+typed)
	assert.Empty(t, decoded.Errors)
	assert.Equal(t, []disruption.KindCount{{Kind: "Node", Count: 2}, {Kind: "NodePool", Count: 1}, {Kind: "Pod", Count: 1}}, decoded.Kinds)
	require.Len(t, c.NodePools, 1)
	assert.NotNil(t, c.NodePools[0].Spec.Disruption.Budgets, "an empty list was set on purpose")
	assert.Nil(t, c.NodePools[0].Spec.Disruption.ConsolidateAfter.Duration, "Never")
}

func TestDecodeCountsKindsThatItDoesNotRead(t *testing.T) {
	_, decoded := decode(t, `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"}}
{"apiVersion":"example.com/v1","kind":"Node","metadata":{"name":"not-kubernetes"}} {"metadata":{"name":"kindless"}}`)
	assert.Equal(t, []disruption.KindCount{{Kind: "(no kind)", Count: 1}, {Kind: "Node", Count: 1}, {Kind: "ReplicaSet", Count: 1}}, decoded.Ignored)
	assert.Empty(t, decoded.Errors)
}

// A broken object is named by its place and field; all others are kept.
func TestDecodeNamesTheBrokenField(t *testing.T) {
	for name, tc := range map[string]struct{ object, path string }{
		"a quantity in a list": {
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a"},{"name":"b","resources":{"requests":{"cpu":"lots"}}}]}}`,
			"documents[1].spec.containers[1].resources.requests[cpu]"},
		"a duration": {
			`{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"p"},"spec":{"template":{"spec":{"expireAfter":"soon"}}}}`,
			"documents[1].spec.template.spec.expireAfter"},
		"a time": {
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","creationTimestamp":"yesterday"}}`,
			"documents[1].metadata.creationTimestamp"},
		"a number for a list": {
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"taints":3}}`,
			"documents[1].spec.taints"},
		"no name": {
			`{"apiVersion":"v1","kind":"Node","metadata":{}}`,
			"documents[1].metadata.name"},
		"an object that is there already": {
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`,
			"documents[1]"},
		"items that are no objects": {
			`{"apiVersion":"v1","kind":"List","items":[7]}`,
			"documents[1].items[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			c, decoded := decode(t, twoNodes+tc.object+`{"apiVersion":"v1","kind":"Node","metadata":{"name":"last"}}`)
			require.Len(t, decoded.Errors, 1)
			assert.Equal(t, tc.path, decoded.Errors[0].Field, "%v", decoded.Errors[0])
			assert.Len(t, c.Nodes, 3, "the rest is kept")
		})
	}
}

func TestDecodeKeepsWhatCameBeforeInputThatIsNoJSON(t *testing.T) {
	c := &disruption.Cluster{}
	_, err := c.Decode(strings.NewReader(twoNodes + "kind: Node"))
	assert.ErrorContains(t, err, "documents[1]: Invalid value: not JSON")
	assert.Len(t, c.Nodes, 2)
}

func TestDefaultFillsOnlyWhatIsAbsent(t *testing.T) {
	c, _ := decode(t, `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"bare"}}
{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"set"},"spec":{"disruption":{"consolidateAfter":"Never","consolidationPolicy":"WhenEmpty","budgets":[]},
 "template":{"spec":{"expireAfter":"Never"}}}}`)
	bare, set := disruption.Default(c.NodePools[0]), disruption.Default(c.NodePools[1])
	assert.Equal(t, "10%", bare.Spec.Disruption.Budgets[0].Nodes)
	assert.Zero(t, *bare.Spec.Disruption.ConsolidateAfter.Duration)
	assert.Equal(t, "720h0m0s", bare.Spec.Template.Spec.ExpireAfter.Duration.String())
	assert.EqualValues(t, "WhenEmptyOrUnderutilized", bare.Spec.Disruption.ConsolidationPolicy)
	assert.Equal(t, c.NodePools[1].Spec, set.Spec, "all was set")
	assert.Nil(t, c.NodePools[0].Spec.Disruption.Budgets, "the argument is not written to")
}

// Whatever can be decoded can be planned: nothing panics, nothing in one object
// keeps the others from being judged, and what was taken in is counted.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(twoNodeCluster))
	f.Add([]byte(everyKind))
	f.Add([]byte(twoNodes))                                                                               // a list
	f.Add([]byte(`{"kind":"NodePool","metadata":{"name":"p"},"spec":{"disruption":{"budgets":[{}]}}}`))   // an empty budget
	f.Add([]byte(`{"kind":"NodeClaim","metadata":{"name":"c"},"spec":{"requirements":[{"key":"a"}]}} [`)) // cut short
	f.Add([]byte(`{"kind":"List","items":[{"kind":"List","items":[{}]},null,1]}`))                        // lists in lists
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &disruption.Cluster{}
		decoded, _ := c.Decode(bytes.NewReader(data))
		taken := 0
		for _, k := range decoded.Kinds {
			taken += k.Count
		}
		if have := len(c.NodePools) + len(c.NodeClaims) + len(c.Nodes) + len(c.Pods) + len(c.PodDisruptionBudgets) + len(c.DaemonSets) +
			len(c.PersistentVolumeClaims) + len(c.PersistentVolumes) + len(c.StorageClasses) + len(c.CSINodes) + len(c.VolumeAttachments) + len(c.Namespaces); taken != have {
			t.Errorf("%d objects taken, %d counted", have, taken)
		}
		c.Now = time.Date(2026, 11, 24, 22, 0, 0, 0, time.UTC)
		c.Catalog = *disruption.ObservedTypes(c, "")
		plan, err := disruption.Propose(t.Context(), c, disruption.Options{AllMethods: true, Explain: true, RepairPolicies: repair.AWS()})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Nodes) < len(c.Nodes) || plan.String() == "" {
			t.Errorf("%d of %d nodes judged", len(plan.Nodes), len(c.Nodes))
		}
		if _, err := json.Marshal(plan); err != nil {
			t.Error(err)
		}
	})
}
