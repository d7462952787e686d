package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/examples/internal/dump"
	"github.com/node-disruption/disruption/scheduling"
)

// input is what was read, and what the reader must be told about it.
type input struct {
	cluster disruption.Cluster
	notes   []string // what was assumed or left out
	errors  []error  // what could not be read: file, document, field
}

// read takes in files ("-" is standard input), YAML or JSON, gzipped or not.
func read(files []string, stdin io.Reader) (*input, error) {
	in := &input{}
	for _, name := range files {
		data, err := dump.Content(name, stdin)
		if err != nil {
			return nil, err
		}
		in.add(name, data)
	}
	if len(in.cluster.Nodes) == 0 {
		in.errors = append(in.errors, fmt.Errorf("%s: no nodes found; wanted is the output of kubectl get nodepools,nodeclaims,nodes,pods,pdb,daemonsets -A -o yaml", strings.Join(files, ", ")))
		return nil, errors.Join(in.errors...)
	}
	return in, nil
}

// add takes in one stream of documents: what can be read of it.
func (in *input) add(name string, data []byte) {
	decoded, broken := dump.Add(&in.cluster, name, data)
	in.errors = append(in.errors, broken...)
	if len(decoded.Ignored) > 0 {
		var kinds []string
		for _, k := range decoded.Ignored {
			kinds = append(kinds, fmt.Sprintf("%d %s", k.Count, k.Kind))
		}
		in.notes = append(in.notes, name+": not read, as disruption doesn't depend on them: "+strings.Join(kinds, ", "))
	}
}

// assume fills in what a file written by hand leaves out, and says so.
func (in *input) assume() {
	var defaulted, ready []string
	for i, pool := range in.cluster.NodePools {
		if pool.UID == "" {
			in.cluster.NodePools[i] = disruption.Default(pool)
			defaulted = append(defaulted, pool.Name)
		}
		if len(pool.Status.Conditions) == 0 {
			in.cluster.NodePools[i] = disruption.AssumeReady(in.cluster.NodePools[i])
			ready = append(ready, pool.Name)
		}
	}
	if len(defaulted) > 0 {
		in.notes = append(in.notes, "never seen by an API server, so its defaults were added: node pools "+strings.Join(defaulted, ", "))
	}
	if len(ready) > 0 {
		in.notes = append(in.notes, "without any status, so taken as Ready: node pools "+strings.Join(ready, ", "))
	}
}

// readCatalog reads instance types with their prices.
func readCatalog(name string, stdin io.Reader) (*scheduling.Catalog, error) {
	data, err := dump.Content(name, stdin)
	if err != nil {
		return nil, err
	}
	return parseCatalog(name, data)
}

func parseCatalog(name string, data []byte) (*scheduling.Catalog, error) {
	stream, broken := dump.JSON(data)
	if len(broken) > 0 {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(broken...))
	}
	catalog, errs := scheduling.ParseCatalog(stream, scheduling.Options{})
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", name, errs.ToAggregate())
	}
	return catalog, nil
}
