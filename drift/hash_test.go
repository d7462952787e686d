package drift

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// template decodes a template, for tests that write it as JSON.
func template(t testing.TB, text string) *NodeClaimTemplate {
	t.Helper()
	out := &NodeClaimTemplate{}
	require.NoError(t, json.Unmarshal([]byte(text), out))
	return out
}

const fullTemplate = `{
  "metadata": {"labels": {"team": "a", "tier": "web"}, "annotations": {"note": "x"}},
  "spec": {
    "taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, {"key": "added", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"}],
    "startupTaints": [{"key": "startup", "value": "true", "effect": "NoExecute"}],
    "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    "terminationGracePeriod": "30m",
    "expireAfter": "720h"
  }
}`

// FuzzNodePoolHash feeds any JSON to the template: hashing never panics, gives
// the same answer twice, never fails, and doesn't mind the
// order of the JSON's keys.
func FuzzNodePoolHash(f *testing.F) {
	f.Add([]byte(fullTemplate))
	f.Add([]byte(`{"spec": {"taints": []}}`))                                // empty is not nil
	f.Add([]byte(`{"metadata": {"labels": {}}, "spec": {}}`))                // empty map
	f.Add([]byte(`{"spec": {"expireAfter": "Never"}}`))                      // as if absent
	f.Add([]byte(`{"spec": {"expireAfter": "0s", "nodeClassRef": {}}}`))     // pointers to zero
	f.Add([]byte(`{"spec": {"taints": [{}, {"timeAdded": null}]}}`))         // zero elements
	f.Add([]byte(`{"spec": {"requirements": [], "expireAfter": "-1h30m"}}`)) // ignored but not zero
	f.Fuzz(func(t *testing.T, data []byte) {
		var tmpl NodeClaimTemplate
		if json.Unmarshal(data, &tmpl) != nil {
			return
		}
		got := NodePoolHash(&tmpl)
		require.Equal(t, got, NodePoolHash(&tmpl))
		_, err := Hash(tmpl)
		require.NoError(t, err)

		// Through a map, keys come out sorted.
		var loose any
		require.NoError(t, json.Unmarshal(data, &loose))
		sorted, err := json.Marshal(loose)
		require.NoError(t, err)
		var again NodeClaimTemplate
		if json.Unmarshal(sorted, &again) == nil && !repeatsKeys(data, sorted) {
			require.Equal(t, got, NodePoolHash(&again))
		}
	})
}

// repeatsKeys tells texts in which a key occurs twice, also in another case:
// decoding these depends on order.
func repeatsKeys(data, sorted []byte) bool {
	var a, b NodeClaimTemplate
	_ = json.Unmarshal(data, &a)
	_ = json.Unmarshal(sorted, &b)
	left, _ := json.Marshal(a)
	right, _ := json.Marshal(b)
	return string(left) != string(right)
}

func BenchmarkNodePoolHash(b *testing.B) {
	tmpl := template(b, fullTemplate)
	b.ReportAllocs()
	for b.Loop() {
		NodePoolHash(tmpl)
	}
}
