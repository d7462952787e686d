package drift

import (
	"encoding/json"
	"testing"
	"time"

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

// FuzzNillableDuration reads any JSON: no panic, and what was read is written
// back as it was.
func FuzzNillableDuration(f *testing.F) {
	f.Add([]byte(`"24h"`))
	f.Add([]byte(`"Never"`))
	f.Add([]byte(`null`))            // leaves the zero value, Never
	f.Add([]byte(`"\u0032\u0034h"`)) // 24h, escaped
	f.Add([]byte(`"1d"`))            // no Go duration
	f.Fuzz(func(t *testing.T, data []byte) {
		var d, again NillableDuration
		if json.Unmarshal(data, &d) != nil {
			return
		}
		text, err := json.Marshal(d)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, d.Duration, again.Duration)
	})
}

func TestNillableDuration(t *testing.T) {
	var d NillableDuration
	require.NoError(t, json.Unmarshal([]byte(`"24h"`), &d))
	require.NoError(t, json.Unmarshal([]byte(`"Never"`), &d))
	require.Equal(t, NillableDuration{}, d, "Never takes back what was there")
	require.ErrorContains(t, json.Unmarshal([]byte(`"1d"`), &d), `neither a duration nor "Never"`)
	require.Error(t, json.Unmarshal([]byte(`24`), &d))

	day := 24 * time.Hour
	for _, test := range []struct {
		in   NillableDuration
		want string
	}{{NillableDuration{Duration: &day}, `"24h0m0s"`}, {NillableDuration{}, `"Never"`}, {NillableDuration{Duration: &day, Raw: []byte(`"24h"`)}, `"24h"`}} {
		text, err := json.Marshal(test.in)
		require.NoError(t, err)
		require.Equal(t, test.want, string(text))
	}
}

// A template is written back as it was read, down to lists that are empty.
func TestTemplatesKeepNilAndEmptyApart(t *testing.T) {
	for _, text := range []string{
		`{"spec":{}}`,
		`{"metadata":{"labels":{}},"spec":{"taints":[],"requirements":[]}}`,
		`{"metadata":{"annotations":{"a":""}},"spec":{"startupTaints":[],"nodeClassRef":{"kind":"","name":"","group":""},"expireAfter":"24h"}}`,
	} {
		data, err := json.Marshal(template(t, text))
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
}

// Whole templates, against sums that a program outside Go made from the
// definition of the hash.
func TestTemplatesHashAsDefined(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"every field, with empty maps, lists and values": {`{
			"metadata": {"labels": {"tier": "", "team": "a"}, "annotations": {}},
			"spec": {
				"taints": [{"key": "b", "effect": "NoExecute"}, {"key": "a", "value": "1", "effect": "NoSchedule"}],
				"startupTaints": [],
				"requirements": [{"key": "x", "operator": "Exists"}],
				"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
				"terminationGracePeriod": "1m30s",
				"expireAfter": "36h"
			}}`, "14156650989678823631"},
		"zero durations and an empty class are not absent": {
			`{"spec": {"nodeClassRef": {}, "terminationGracePeriod": "0s", "expireAfter": "0s"}}`, "15075520962245808566"},
		"nothing is the hash of the type's name": {`{"spec": {}}`, "17307646073972311821"},
		"fields that a template lacks don't count": {
			`{"spec": {"kubelet": {"maxPods": 110}, "expireAfter": "Never"}}`, "17307646073972311821"},
	} {
		require.Equal(t, tc.want, NodePoolHash(template(t, tc.text)), name)
	}
}

type stringer struct{ n int }

func (s stringer) String() string { return "s" }

type loop struct{ Next *loop }

type tagged struct {
	A     string
	Skip  string   `hash:"ignore"`
	Dash  string   `hash:"-"`
	Text  stringer `hash:"string"`
	Set   []int    `hash:"set"`
	inner string
}

// The parts of the algorithm that no template reaches, against sums done by hand
// from its definition.
func TestHashFollowsItsDefinition(t *testing.T) {
	must := func(v any) uint64 {
		h, err := Hash(v)
		require.NoError(t, err)
		return h
	}
	one, offset := 1, fnvOffset
	require.Equal(t, uint64(0xcbf29ce484222325), must(""), "no bytes give the offset")
	require.Equal(t, offset*fnvPrime^'a', must("a"))
	require.Equal(t, must(1), must(&one), "pointers are looked through")
	require.Equal(t, must(0), must(nil))
	require.Equal(t, must(0), must((*int)(nil)), "nil counts as zero")
	require.Equal(t, must(""), must((*string)(nil)))
	require.NotEqual(t, must(int32(1)), must(int64(1)), "sizes count")
	require.Equal(t, must(uint8(1)), must(true))
	require.Equal(t, must([]int{1, 2}), must([]int{2, 1}), "slices are sets")
	require.NotEqual(t, must([2]int{1, 2}), must([2]int{2, 1}), "arrays are not")
	require.Equal(t, uint64(0), must([]int{1, 1}), "equal elements cancel")
	require.Equal(t, finish(0), must(map[string]int{}))
	require.Equal(t, finish(pair(must("a"), must("b"))), must(map[string]string{"a": "b"}))
	require.Equal(t, must(map[string]any{"a": "b", "c": ""}), must(map[string]string{"c": "", "a": "b"}), "whatever holds them")
	require.Equal(t, pair(pair(0, must(7)), must(8)), must([2]int{7, 8}))
	require.Equal(t, must("tagged"), must(tagged{Skip: "x", Dash: "y", inner: "z"}), "skipped fields leave the name")
	require.Equal(t, finish(must("tagged")^pair(must("A"), must("x"))), must(tagged{A: "x"}))
	require.Equal(t, finish(must("tagged")^pair(must("Text"), must("s"))), must(tagged{Text: stringer{1}}))
	require.Equal(t, finish(must("tagged")^pair(must("Set"), finish(must([]int{3})))), must(tagged{Set: []int{3}}))
	require.Equal(t, must(noonTime), must(noonTime.In(time.FixedZone("x", 3600))), "instants, not zones")
	require.NotEqual(t, must(1.5), must(float32(1.5)))
	require.Equal(t, must(complex64(1)), must(complex64(1)))

	for _, v := range []any{func() {}, make(chan int), uintptr(1), complex128(1), (**int)(nil), struct {
		A int `hash:"string"`
	}{1}, map[string]any{"a": func() {}}, []any{func() {}}, [1]any{func() {}}, map[any]int{complex128(1): 1}} {
		_, err := Hash(v)
		require.Error(t, err, "%T", v)
	}
	self := &loop{}
	self.Next = self
	_, err := Hash(self)
	require.ErrorContains(t, err, "nested too deeply")
	type pointer *pointer
	var p pointer
	p = &p
	_, err = Hash(p)
	require.ErrorContains(t, err, "nested too deeply")
}

var noonTime = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
