package main

import (
	"embed"
	"errors"
	"fmt"
	"io"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/examples/internal/dump"
)

//go:embed sample
var sample embed.FS

// input is what was read. Clusters here hold what a file holds.
type input struct {
	before, after []*disruption.NodePool
	cluster       *disruption.Cluster
}

// read takes the three files, or the sample in place of all of them. Objects that
// can't be read are left out, and named in errors.
func (c *config) read(stdin io.Reader) (in *input, unreadable error, err error) {
	content := func(path string) ([]byte, error) { return dump.Content(path, stdin) }
	before, after, cluster := c.before, c.after, c.cluster
	if after == "" {
		before, after, cluster = "sample/before.yaml", "sample/after.yaml", "sample/cluster.yaml"
		content = sample.ReadFile
	}
	var files [3]disruption.Cluster
	var broken []error
	for i, path := range []string{before, after, cluster} {
		if path == "" {
			continue
		}
		data, err := content(path)
		if err != nil {
			return nil, nil, err
		}
		_, errs := dump.Add(&files[i], path, data)
		broken = append(broken, errs...)
	}
	in = &input{before: files[0].NodePools, after: files[1].NodePools, cluster: &files[2]}
	for i, path := range []string{before, after} {
		if path != "" && len(files[i].NodePools) == 0 {
			broken = append(broken, fmt.Errorf("%s: holds no NodePool that can be read", path))
		}
	}
	if before == "" {
		in.before = in.cluster.NodePools
	}
	return in, errors.Join(broken...), nil
}
