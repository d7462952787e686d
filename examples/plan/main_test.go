package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption/examples/internal/dump"
	"github.com/node-disruption/disruption/examples/internal/golden"
)

func execute(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func TestTheSampleIsPlanned(t *testing.T) {
	code, stdout, stderr := execute("")
	require.Zero(t, code, stderr)
	golden.Compare(t, "sample.txt", stdout)
	for _, line := range strings.Split(stdout, "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), width, line)
	}
}

// Every kind of verdict occurs in the sample, so that a reader sees each once.
func TestTheSampleShowsEveryKindOfVerdict(t *testing.T) {
	_, stdout, _ := execute("")
	for _, code := range []string{
		"(Empty)", "(Drift)", "(Single)", "PodDoNotDisrupt", "PDBBlocks", "SeveralPDBs", "NodeDoNotDisrupt", "NotInitialized", "Deleting",
		"Unmanaged", "WhenEmptyOnly", "BudgetSpent", "NotCheaper", "ScoreTooLow", "PodsUnplaced", "replace ", "delete ", "sick:", "terminating:",
	} {
		assert.Contains(t, stdout, code)
	}
}

func TestExplainTellsEverythingAboutOneNode(t *testing.T) {
	code, stdout, stderr := execute("", "-explain", "n10-steady")
	require.Zero(t, code, stderr)
	golden.Compare(t, "explain.txt", stdout)
}

func TestExplainForMachines(t *testing.T) {
	code, stdout, stderr := execute("", "-explain", "n04-full", "-o", "json")
	require.Zero(t, code, stderr)
	var e struct {
		Node  struct{ Name string }
		Alone struct {
			Decision string
			Price    float64
			Nearest  []struct{ InstanceType string }
		}
		Placements []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &e))
	assert.Equal(t, "n04-full", e.Node.Name)
	assert.Equal(t, "no-op", e.Alone.Decision)
	assert.Equal(t, 0.153, e.Alone.Price)
	assert.NotEmpty(t, e.Alone.Nearest)
	assert.NotEmpty(t, e.Placements)

	code, stdout, _ = execute("", "-explain", "n16-system", "-o", "json")
	require.Zero(t, code)
	assert.NotContains(t, stdout, `"alone": {`+"\n    \"method", "nobody's node is not judged")
}

// An edit of a NodePool is tried on the cluster before anybody applies it.
func TestWhatIfTellsWhatAnEditWouldChange(t *testing.T) {
	code, stdout, stderr := execute("", "-what-if", filepath.Join("testdata", "edit.yaml"))
	require.Zero(t, code, stderr)
	golden.Compare(t, "what-if.txt", stdout)
	code, stdout, _ = execute("", "-what-if", filepath.Join("testdata", "edit.yaml"), "-o", "json")
	require.Zero(t, code)
	var c struct{ Nodes []struct{ Node string } }
	require.NoError(t, json.Unmarshal([]byte(stdout), &c))
	assert.NotEmpty(t, c.Nodes)

	code, _, stderr = execute("kind: [", "-what-if", "-")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "-: documents[0]: not YAML")
}

// What pods merely prefer is told with their places, and can be left out.
func TestPreferencesAreToldAndCanBeIgnored(t *testing.T) {
	pod := `---
apiVersion: v1
kind: Pod
metadata: {name: wishful, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: wishful, uid: w, controller: true}]}
spec:
  nodeName: n10-steady
  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, preference: {matchExpressions: [{key: disk, operator: In, values: [gold]}]}}]}}
  containers: [{name: c, resources: {requests: {cpu: 10m}}}]
status: {phase: Running}
`
	args := []string{"-f", "-", "-now", sampleNow, "-explain", "n10-steady"}
	_, stdout, _ := execute(string(sample)+pod, args...)
	assert.Contains(t, stdout, "PreferredNodeAffinity disk In [gold] (weight 7), given up")
	_, stdout, _ = execute(string(sample)+pod, append(args, "-preferences", "Ignore")...)
	assert.NotContains(t, stdout, "PreferredNodeAffinity")
}

func TestOutputForMachines(t *testing.T) {
	code, stdout, stderr := execute("", "-o", "json")
	require.Zero(t, code, stderr)
	var plan struct {
		Method string
		Moves  []struct{ Nodes []string }
		Nodes  []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &plan))
	assert.Equal(t, "Empty", plan.Method)
	assert.Equal(t, []string{"n01-empty"}, plan.Moves[0].Nodes)
	assert.Len(t, plan.Nodes, 16)
	code, stdout, _ = execute("", "-o", "html")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "<td>n10-steady")
}

// The same cluster in any of the forms that people have gives the same plan.
func TestFormsOfInput(t *testing.T) {
	asJSON, broken := dump.JSON(sample)
	require.Empty(t, broken)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(sample)
	require.NoError(t, w.Close())
	types := write("types.json", sampleTypes)
	args := []string{"-instance-types", types, "-now", sampleNow, "-o", "json"}
	_, want, _ := execute("", args...)
	for _, file := range []string{write("a.yaml", sample), write("a.json", asJSON), write("a.yaml.gz", packed.Bytes())} {
		code, got, stderr := execute("", append(args, "-f", file)...)
		require.Zero(t, code, stderr)
		assert.JSONEq(t, want, got, file)
	}
	code, got, _ := execute(string(sample), append(args, "-f", "-")...)
	assert.Zero(t, code)
	assert.JSONEq(t, want, got, "standard input")
}

func TestWithoutPricesDeletionsAreStillPlanned(t *testing.T) {
	code, stdout, stderr := execute(string(sample), "-f", "-", "-now", sampleNow)
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "no -instance-types given: prices are unknown, and nodes can be deleted but not replaced")
	assert.Contains(t, stdout, "delete n01-empty")
	assert.NotContains(t, stdout, "replace n")
}

func TestAClusterWithoutNodePoolsSaysWhatItCannotKnow(t *testing.T) {
	code, stdout, stderr := execute(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"lonely"}}`, "-f", "-")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "THIS PASS  no node is disrupted")
	assert.Contains(t, stdout, "Unmanaged")
	assert.Contains(t, stdout, "no-node-pools")
}

func TestAnUnreadableObjectIsNamedAndItsNodeIsLeftAlone(t *testing.T) {
	broken := string(sample) + `---
apiVersion: v1
kind: Pod
metadata: {name: odd, namespace: shop}
spec: {nodeName: n01-empty, containers: [{name: c, resources: {requests: {cpu: many}}}]}
`
	code, stdout, stderr := execute(broken, "-f", "-", "-now", sampleNow)
	assert.Equal(t, 2, code)
	assert.Regexp(t, `^plan: -: documents\[\d+\]\.spec\.containers\[0\]\.resources\.requests\[cpu\]: Invalid value: "many"`, stderr)
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "spec.containers[0].resources.requests[cpu]")
	assert.NotContains(t, stdout, "delete n01-empty")
	assert.Contains(t, stdout, "Unreadable")
}

// A document that is no YAML costs only itself.
func TestABrokenDocumentDoesNotHideTheOthers(t *testing.T) {
	code, stdout, stderr := execute(string(sample)+"\n---\nkind: [\n---\nkind: Node\nmetadata: {name: last}\n", "-f", "-", "-now", sampleNow)
	assert.Equal(t, 2, code)
	assert.Regexp(t, `^plan: -: documents\[\d+\]: not YAML`, stderr)
	assert.Contains(t, stdout, "last")
	assert.Contains(t, stdout, "delete n01-empty")
}

// Bad usage and unreadable input end with 2 and a message that says where.
func TestBadUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"a file that isn't there":    {"", []string{"-f", "nowhere.yaml"}, "nowhere.yaml"},
		"an unknown flag":            {"", []string{"-x"}, "flag provided but not defined"},
		"an argument":                {"", []string{"dump.yaml"}, "files are given with -f"},
		"an output that isn't known": {"", []string{"-o", "xml"}, "want table, json or html"},
		"a time that isn't one":      {"", []string{"-now", "noon"}, `-now "noon"`},
		"an explanation as a page":   {"", []string{"-explain", "n01-empty", "-o", "html"}, "-explain prints a table or json"},
		"a policy of another name":   {"", []string{"-preferences", "never"}, "want Respect or Ignore"},
		"two questions at once":      {"", []string{"-what-if", "a.yaml", "-explain", "n01-empty"}, "-what-if is for itself"},
		"an edit that isn't there":   {"", []string{"-what-if", "nowhere.yaml"}, "nowhere.yaml"},
		"a node that isn't there":    {"", []string{"-explain", "n99"}, `no such node; there are n01-empty`},
		"broken YAML":                {"kind: Node\nmetadata: [", []string{"-f", "-"}, "-: documents[0]: not YAML"},
		"YAML that is no object":     {"just words", []string{"-f", "-"}, "-: documents[0]: not a Kubernetes object"},
		"nothing":                    {"", []string{"-f", "-"}, "-: no nodes found"},
		"broken instance types":      {string(sample), []string{"-f", "-", "-instance-types", "main.go"}, "main.go"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := execute(tc.stdin, tc.args...)
			assert.Equal(t, 2, code)
			assert.Contains(t, stderr, tc.want)
		})
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	_, plain, _ := execute("")
	_, painted, _ := execute("", "-color", "always")
	assert.NotContains(t, plain, "\x1b[")
	assert.Contains(t, painted, "\x1b[1m")
}
