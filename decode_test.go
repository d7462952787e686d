package disruption_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption"
)

const twoNodes = `{"apiVersion":"v1","kind":"List","items":[
 {"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},
 {"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}]}`

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

func FuzzDecode(f *testing.F) {
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
	})
}
