package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file, or rewrites it.
func golden(t *testing.T, name string, got []byte) {
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

func TestTheSample(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "drain.svg")
	var out, errs bytes.Buffer
	code := run([]string{"-svg", svg, "-by", "2026-11-24T22:30:00Z"}, nil, &out, &errs)
	assert.Equal(t, 1, code, "it can't end in time")
	assert.Empty(t, errs.String())
	golden(t, "sample.txt", out.Bytes())
	drawing, err := os.ReadFile(svg)
	require.NoError(t, err)
	golden(t, "sample.svg", drawing)
}

func TestJSON(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, 1, run([]string{"-o", "json", "-by", "2026-11-24T22:30:00Z"}, nil, &out, &errs))
	var answer struct {
		Forecast struct {
			Nodes []struct{ Name, Latest string }
		}
		Waves       struct{ Never []struct{ Node, Pod string } }
		Findings    []struct{ Code, Fix string }
		Feasibility struct{ Certainty string }
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &answer))
	assert.Equal(t, "node-a", answer.Forecast.Nodes[0].Name)
	assert.NotEmpty(t, answer.Forecast.Nodes[0].Latest)
	assert.Equal(t, "shop/db-0", answer.Waves.Never[0].Pod)
	assert.Equal(t, "pdb-never-allows", answer.Findings[0].Code)
	assert.Equal(t, "Impossible", answer.Feasibility.Certainty)
}

func TestOneNodeFromStandardInput(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"-f", "-", "-node", "node-c", "-now", sampleNow}, bytes.NewReader(sample), &out, &errs)
	assert.Zero(t, code, errs.String())
	assert.Contains(t, out.String(), "node-c: never drained, no deadline")
	assert.NotContains(t, out.String(), "node-a:")
}

func TestWhatCannotBeAnswered(t *testing.T) {
	many := strings.Repeat("apiVersion: v1\nkind: Node\nmetadata: {name: NAME}\n---\n", 11)
	for i := range 11 {
		many = strings.Replace(many, "NAME", "n"+string(rune('a'+i)), 1)
	}
	for _, c := range []struct {
		name  string
		args  []string
		stdin string
		want  string
	}{
		{"a node that isn't there", []string{"-node", "node-x"}, "", `-node "node-x": there is no such node`},
		{"no nodes", []string{"-f", "-"}, "kind: List\napiVersion: v1\nitems: []\n", "no nodes found"},
		{"too many nodes", []string{"-f", "-"}, many, "say which to drain with -node"},
		{"no YAML", []string{"-f", "-"}, "a: b: c", "drain: -: documents[0]: not YAML"},
		{"no file", []string{"-f", "missing.yaml"}, "", "missing.yaml"},
		{"no time", []string{"-now", "noon"}, "", `-now "noon": want a time like`},
		{"no such output", []string{"-o", "xml"}, "", `-o "xml": want text or json`},
		{"no time to end by", []string{"-by", "noon"}, "", `-by "noon": want a time like`},
		{"a file without -f", []string{"dump.yaml"}, "", "files are given with -f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			assert.Equal(t, 2, run(c.args, strings.NewReader(c.stdin), &out, &errs))
			assert.Contains(t, errs.String(), c.want)
		})
	}
}

// Spans of seconds and of years have a picture too.
func TestAnySpanHasAPicture(t *testing.T) {
	for _, args := range [][]string{
		{"-recovery", "100000h"}, {"-recovery", "0s"}, {"-now", "9999-12-31T23:59:59Z"}, {"-now", "0001-01-01T00:00:00Z"}, {"-now", "2026-12-24T22:00:00Z"}, {"-node", "node-a, ,node-b"},
	} {
		var out, errs bytes.Buffer
		assert.Zero(t, run(append(args, "-svg", filepath.Join(t.TempDir(), "drain.svg")), nil, &out, &errs), "%v: %s", args, errs.String())
		assert.Contains(t, out.String(), "node-a")
	}
}

func TestPartlyBrokenInputIsAnsweredAndEndsWith2(t *testing.T) {
	broken := append(bytes.Clone(sample), []byte(`---
apiVersion: v1
kind: Pod
metadata: {name: odd, namespace: shop}
spec: {terminationGracePeriodSeconds: soon}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: odd, namespace: shop}
spec: {selector: {matchExpressions: [{key: app, operator: Like}]}}
---
a: b: c
`)...)
	broken = bytes.Replace(broken, []byte("name: general-a,"), []byte("name: general-a, annotations: {karpenter.sh/nodeclaim-termination-timestamp: soon},"), 1)
	var out, errs bytes.Buffer
	assert.Equal(t, 2, run([]string{"-f", "-", "-now", sampleNow}, bytes.NewReader(broken), &out, &errs))
	assert.Contains(t, out.String(), "node-b: drained between")
	for _, want := range []string{
		"drain: -: documents[", "].spec.terminationGracePeriodSeconds: Invalid value",
		"left out, as the eviction API does: podDisruptionBudgets[4].spec.selector: Invalid value: \"shop/odd\"",
		"not YAML", "node claim general-a: metadata.annotations[karpenter.sh/nodeclaim-termination-timestamp]",
	} {
		assert.Contains(t, errs.String(), want)
	}
}
