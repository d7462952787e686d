package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/node-disruption/disruption"
)

//go:embed sample
var sample embed.FS

// input is what was read. Clusters here hold what a file holds.
type input struct {
	before, after []*disruption.NodePool
	cluster       *disruption.Cluster
}

// read takes the three files, or the sample in place of all of them.
func (c *config) read(stdin io.Reader, stderr io.Writer) (*input, error) {
	open := func(path string) (io.ReadCloser, error) {
		if path == "-" {
			return io.NopCloser(stdin), nil
		}
		return os.Open(path)
	}
	before, after, cluster := c.before, c.after, c.cluster
	if after == "" {
		before, after, cluster = "sample/before.yaml", "sample/after.yaml", "sample/cluster.yaml"
		open = func(path string) (io.ReadCloser, error) { return sample.Open(path) }
	}
	var files [3]*disruption.Cluster
	for i, path := range []string{before, after, cluster} {
		if path == "" {
			continue
		}
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		files[i], err = decode(path, f, stderr)
		if f.Close(); err != nil {
			return nil, err
		}
	}
	in := &input{after: files[1].NodePools, cluster: files[2]}
	if in.before = in.cluster.NodePools; files[0] != nil {
		in.before = files[0].NodePools
	}
	return in, nil
}

// decode reads documents in YAML or JSON. An object that can't be read is
// reported and left out.
func decode(path string, r io.Reader, stderr io.Writer) (*disruption.Cluster, error) {
	var documents bytes.Buffer
	decoder := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(raw) > 0 && string(raw) != "null" {
			documents.Write(raw)
		}
	}
	cluster := &disruption.Cluster{}
	result, err := cluster.Decode(&documents)
	for _, e := range result.Errors {
		fmt.Fprintf(stderr, "%s: left out: %v\n", path, e)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cluster, nil
}
