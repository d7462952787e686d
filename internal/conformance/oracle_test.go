package conformance

import (
	"path/filepath"
	"testing"

	"github.com/node-disruption/disruption/internal/oracle"
	"github.com/node-disruption/disruption/scheduling"
)

func slow(cluster scheduling.Cluster, options scheduling.Options, request scheduling.Request) (scheduling.Result, error) {
	return oracle.New(cluster, options).Simulate(request), nil
}

// The slow simulator that the fast one is held against answers every recorded
// simulation as Karpenter did.
func TestOracleAgreesWithRecordedSimulations(t *testing.T) {
	paths, err := filepath.Glob("testdata/simulate-*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			file, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range file.Cases {
				if d := replaySimulateWith(slow, file, &file.Cases[i]); d != "" {
					t.Errorf("%s: %s", file.Cases[i].Name, d)
				}
			}
		})
	}
}
