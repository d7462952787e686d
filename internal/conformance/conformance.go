// Package conformance replays recorded decisions of Karpenter v1.14 against
// the public API of this module.
//
// A file of cases is {"kind", "family", "source", "catalogs", "cases":
// [{"name", "in", "want"}]}, optionally gzipped. Each kind has a [replayer]:
// a function that decodes in, asks the library, and says how its answer
// differs from want.
package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is one file of recorded cases.
type File struct {
	Kind     string                     `json:"kind"`
	Family   string                     `json:"family"`
	Source   string                     `json:"source"`
	Catalogs map[string]json.RawMessage `json:"catalogs"`
	Cases    []Case                     `json:"cases"`
}

// Case is one recorded decision: the facts, and what Karpenter answered.
type Case struct {
	Name string          `json:"name"`
	In   json.RawMessage `json:"in"`
	Want json.RawMessage `json:"want"`
}

// Label is the kind as the command prints it: families of whole snapshots and
// of simulations are kinds of their own.
func (f *File) Label() string {
	if f.Family != "" && (f.Kind == "e2e" || f.Kind == "simulate") {
		return f.Kind + "-" + f.Family
	}
	return f.Kind
}

// Result is how the replay of one case ended. Diff is empty when we agree;
// otherwise it holds what we got and what was wanted.
type Result struct {
	Name     string
	Diff     string
	Diverges string // the reason, if the case is a named divergence
}

// replayer judges one case. It returns "" when the library's answer agrees
// with the recorded one, else a text that shows both.
type replayer func(f *File, c *Case) (diff string)

// Load reads one file of cases, gzipped or not.
func Load(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if data, err = io.ReadAll(r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	f := &File{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Find lists the files of cases below the given directories, sorted by path.
func Find(dirs ...string) ([]string, error) {
	var paths []string
	for _, dir := range dirs {
		for _, pattern := range []string{"*.json", "*.json.gz"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				return nil, err
			}
			paths = append(paths, found...)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// Replay judges every case of a file, in the file's order. A kind that has no
// replayer disagrees in every case.
func Replay(f *File) []Result {
	judge := replayers()[f.Kind]
	results := make([]Result, len(f.Cases))
	for i := range f.Cases {
		c := &f.Cases[i]
		results[i] = Result{Name: c.Name, Diff: "kind " + f.Kind + " is not known"}
		if judge != nil {
			results[i].Diff = safely(judge, f, c)
		}
		if results[i].Diff != "" {
			results[i].Diverges = divergesOnPurpose(f.Label(), c.Name, results[i].Diff)
		}
	}
	return results
}

// safely turns a panic of the library into a disagreement, so that one bad
// case does not hide the others.
func safely(judge replayer, f *File, c *Case) (diff string) {
	defer func() {
		if r := recover(); r != nil {
			diff = fmt.Sprintf("panic: %v", r)
		}
	}()
	return judge(f, c)
}
