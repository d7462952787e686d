package conformance

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
)

// large reads one of the snapshots of 500 nodes.
func large(t testing.TB, name string) (*snapshot, *disruption.Cluster) {
	var catalog json.RawMessage
	unpack(t, "catalog.json.gz", &catalog)
	s := &snapshot{}
	unpack(t, name, s)
	c, err := s.cluster(&File{Catalogs: map[string]json.RawMessage{s.Catalog: catalog}})
	require.NoError(t, err)
	return s, c
}

func unpack(t testing.TB, name string, into any) {
	f, err := os.Open(filepath.Join("testdata", "perf", name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded snapshots are not part of the module that importers download")
	}
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(r).Decode(into))
}

// On 500 nodes with 30% of their pods gone Karpenter deletes 41 at once, and saves
// 64.188 an hour; on the full cluster it finds nothing, by any method.
func TestLargeSnapshots(t *testing.T) {
	s, c := large(t, "slack-500.json.gz")
	pass, err := disruption.Prepare(c, s.options())
	require.NoError(t, err)
	outcome := pass.Ask(context.Background(), consolidation.MethodMulti)
	require.Len(t, outcome.Moves, 1)
	assert.Equal(t, consolidation.Delete, outcome.Moves[0].Decision)
	assert.Len(t, outcome.Moves[0].Nodes, 41)
	assert.InDelta(t, 64.188, outcome.Moves[0].Savings, 1e-6)

	s, c = large(t, "plain-500.json.gz")
	plan, err := disruption.Propose(context.Background(), c, s.options())
	require.NoError(t, err)
	assert.Empty(t, plan.Moves)
}

// BenchmarkLargeSnapshot asks what Karpenter was timed on: multi-node
// consolidation, and single-node consolidation of every node.
func BenchmarkLargeSnapshot(b *testing.B) {
	for _, name := range []string{"plain-500", "slack-500"} {
		s, c := large(b, name+".json.gz")
		pass, err := disruption.Prepare(c, s.options())
		require.NoError(b, err)
		for _, method := range []consolidation.Method{consolidation.MethodMulti, consolidation.MethodSingle} {
			b.Run(name+"/"+string(method), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					pass.Ask(context.Background(), method)
				}
			})
		}
	}
}
