package disruption_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/repair"
)

// oddValues are what people and broken tools put where something else belongs.
var oddValues = []string{
	`null`, `""`, `" "`, `"x y"`, `"/"`, `"-1"`, `"0"`, `"1e400"`, `"99999999999999999999Gi"`, `"-5Gi"`, `"NaN"`, `"In"`, `"Exists"`, `"DoesNotExist"`, `"Gt"`,
	`"true"`, `"1h"`, `"-1h"`, `"Never"`, `"2026-11-24T22:00:00Z"`, `"0001-01-01T00:00:00Z"`, `"Job"`, `"Node"`, `"kubernetes.io/hostname"`,
	`"topology.kubernetes.io/zone"`, `"101%"`, `"-1%"`, `0`, `1`, `-1`, `2147483648`, `1e18`, `true`, `[]`, `[""]`, `[null]`, `{}`, `{"":""}`,
}

// disturb puts an odd value in one place of a document, or takes the place away,
// or, in a list, doubles it.
func disturb(t *rapid.T, v any) any {
	kind := rapid.IntRange(0, 9).Draw(t, "what")
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && kind > 0 {
			key := rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "key")
			if kind == 1 {
				delete(v, key)
			} else {
				v[key] = disturb(t, v[key])
			}
			return v
		}
	case []any:
		if len(v) > 0 && kind > 0 {
			i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
			if kind == 1 {
				return append(v, v[i])
			}
			v[i] = disturb(t, v[i])
			return v
		}
	}
	var odd any
	require.NoError(t, json.Unmarshal([]byte(rapid.SampledFrom(oddValues).Draw(t, "value")), &odd))
	return odd
}

// Whatever stands in the fields of objects that decode, nothing panics, and no
// object keeps the others from being judged.
func TestOddFieldsNeverHideTheRest(t *testing.T) {
	var documents []string
	for decoder := json.NewDecoder(strings.NewReader(twoNodeCluster + everyKind)); decoder.More(); {
		var raw json.RawMessage
		require.NoError(t, decoder.Decode(&raw))
		documents = append(documents, string(raw))
	}
	rapid.Check(t, func(t *rapid.T) {
		var stream bytes.Buffer
		for _, document := range documents {
			var v any
			require.NoError(t, json.Unmarshal([]byte(document), &v))
			for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "times") {
				v = disturb(t, v)
			}
			require.NoError(t, json.NewEncoder(&stream).Encode(v))
		}
		c := &disruption.Cluster{Now: time.Date(2026, 11, 24, 22, 0, 0, 0, time.UTC)}
		_, err := c.Decode(&stream)
		require.NoError(t, err)
		c.Catalog = exampleCluster().Catalog
		plan, err := disruption.Propose(context.Background(), c, disruption.Options{AllMethods: true, Explain: true, RepairPolicies: repair.AWS()})
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(plan.Nodes), len(c.Nodes))
		_, err = json.Marshal(plan)
		require.NoError(t, err)
		require.NotEmpty(t, plan.String())
	})
}
