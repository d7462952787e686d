package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption/examples/internal/golden"
)

func TestSample(t *testing.T) {
	for name, args := range map[string][]string{
		"sample": nil,
		"slow":   {"-now", "2026-03-16T15:30:00Z", "-per-node", "3h", "-days", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			svg := filepath.Join(t.TempDir(), "out.svg")
			require.Zero(t, run(append(args, "-svg", svg), time.Time{}, nil, &stdout, &stderr), stderr.String())
			require.Empty(t, stderr.String())
			text, _, _ := strings.Cut(stdout.String(), "\ndrawn to")
			golden.Compare(t, name+".txt", text)
			drawn, err := os.ReadFile(svg)
			require.NoError(t, err)
			golden.Compare(t, name+".svg", string(drawn))
		})
	}
}

// The nodes of the sample bear the hash of the pools before the edit, so without
// an edit only those drift that had drifted before.
func TestWithoutAnEditNothingDrifts(t *testing.T) {
	dump, err := os.ReadFile("sample/cluster.yaml")
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	args := []string{"-before", "sample/before.yaml", "-after", "sample/before.yaml", "-f", "-", "-now", "2026-03-13T15:00:00Z"}
	require.Zero(t, run(args, time.Time{}, bytes.NewReader(dump), &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "NodePool batch: 0 of 4 nodes would drift; 0 pods move")
	require.Contains(t, stdout.String(), "NodePool web: 0 of 8 nodes would drift, 1 drifted before; 4 pods move")
}

func TestBewareOfDoNotDisruptInTheTemplate(t *testing.T) {
	before, err := os.ReadFile("sample/before.yaml")
	require.NoError(t, err)
	after := filepath.Join(t.TempDir(), "after.yaml")
	edited := strings.Replace(string(before), "    metadata:\n      labels:\n", "    metadata:\n      annotations: {karpenter.sh/do-not-disrupt: \"true\"}\n      labels:\n", 1)
	require.NoError(t, os.WriteFile(after, []byte(edited), 0o600))
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-before", "sample/before.yaml", "-after", after, "-f", "sample/cluster.yaml"}, time.Date(2026, 3, 13, 15, 0, 0, 0, time.UTC), nil, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "7 of 8 nodes would drift")
	require.Contains(t, stdout.String(), "beware: do-not-disrupt in the template drifts every node")
}

func TestBadInput(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("kind: NodePool\nmetadata: {name: web}\nspec: {template: {spec: {expireAfter: soon}}}"), 0o600))
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no cluster":       {[]string{"-after", "sample/after.yaml"}, "-after needs -f"},
		"no such file":     {[]string{"-after", "nowhere.yaml", "-f", "sample/cluster.yaml"}, "nowhere.yaml"},
		"bad instant":      {[]string{"-now", "noon"}, `-now "noon"`},
		"unknown flag":     {[]string{"-wat"}, "wat"},
		"an argument":      {[]string{"after.yaml"}, "files are given with"},
		"no time per node": {[]string{"-per-node", "0s"}, "must be above zero"},
		"no pool at all":   {[]string{"-after", "sample/cluster.yaml", "-f", "sample/cluster.yaml"}, "no NodePool is named both before and after"},
		"no pool in after": {[]string{"-before", "sample/before.yaml", "-after", "sample/cluster.yaml", "-f", "sample/cluster.yaml"}, "sample/cluster.yaml: holds no NodePool"},
		"a broken pool":    {[]string{"-before", "sample/before.yaml", "-after", broken, "-f", "sample/cluster.yaml"}, "broken.yaml: documents[0].spec.template.spec.expireAfter"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, 2, run(tc.args, time.Time{}, strings.NewReader(""), &stdout, &stderr))
			require.Contains(t, stderr.String(), tc.want)
			require.Empty(t, stdout.String())
		})
	}
}

// An object that can't be read is named, and the roll-out of the rest is shown.
func TestABrokenObjectDoesNotHideTheOthers(t *testing.T) {
	cluster, err := os.ReadFile("sample/cluster.yaml")
	require.NoError(t, err)
	in := string(cluster) + "\n---\nkind: Node\napiVersion: v1\nmetadata: {name: odd}\nspec: {taints: 7}\n"
	args := []string{"-before", "sample/before.yaml", "-after", "sample/after.yaml", "-f", "-", "-now", "2026-03-13T15:00:00Z"}
	var stdout, stderr bytes.Buffer
	require.Equal(t, 2, run(args, time.Time{}, strings.NewReader(in), &stdout, &stderr))
	require.Contains(t, stdout.String(), "NodePool web: 7 of 8 nodes would drift")
	require.Regexp(t, `^rollout: -: documents\[\d+\]\.spec\.taints: Invalid value`, stderr.String())
}
