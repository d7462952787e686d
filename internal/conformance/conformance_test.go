package conformance

import (
	"path/filepath"
	"testing"
)

// Every recorded decision is replayed; a disagreement fails its own subtest.
func TestRecordedDecisions(t *testing.T) {
	paths, err := Find("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("the recorded cases are not part of the module that importers download")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			file, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range Replay(file) {
				if result.Diff != "" && result.Diverges == "" {
					t.Errorf("%s: %s", result.Name, result.Diff)
				}
			}
		})
	}
}
