package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/scheduling"
)

// input is what was read, and what the reader must be told about it.
type input struct {
	cluster disruption.Cluster
	notes   []string // what was assumed or left out
	errors  []string // objects that could not be read: file, document, field
}

// read takes in files ("-" is standard input), YAML or JSON, gzipped or not.
func read(files []string, stdin io.Reader) (*input, error) {
	in := &input{}
	for _, name := range files {
		data, err := content(name, stdin)
		if err != nil {
			return nil, err
		}
		in.add(name, data)
	}
	if len(in.cluster.Nodes) == 0 {
		in.errors = append(in.errors, strings.Join(files, ", ")+": no nodes found; wanted is the output of kubectl get nodepools,nodeclaims,nodes,pods,pdb,daemonsets -A -o yaml")
		return nil, errors.New(strings.Join(in.errors, "\n"))
	}
	return in, nil
}

// add takes in one stream of documents: what can be read of it.
func (in *input) add(name string, data []byte) {
	stream, broken := toJSON(data)
	decoded, err := in.cluster.Decode(bytes.NewReader(stream))
	for _, e := range decoded.Errors {
		broken = append(broken, e)
	}
	if err != nil {
		broken = append(broken, err)
	}
	for _, e := range broken {
		in.errors = append(in.errors, name+": "+e.Error())
	}
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

// content reads one file, unpacking gzip.
func content(name string, stdin io.Reader) ([]byte, error) {
	source := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		source = f
	}
	buffered := bufio.NewReader(source)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return io.ReadAll(unpacked)
	}
	return io.ReadAll(buffered)
}

// toJSON turns YAML documents into a stream of JSON documents, and names those
// that are none; null stands in for them. JSON passes through: converting it would
// only cost time.
func toJSON(data []byte) (stream []byte, broken []error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] == '{' {
		return data, nil
	}
	var out bytes.Buffer
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for i := 0; ; i++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), broken
		}
		if err != nil {
			return out.Bytes(), append(broken, fmt.Errorf("documents[%d]: %w", i, err))
		}
		object, err := documentJSON(document)
		if err != nil {
			broken = append(broken, fmt.Errorf("documents[%d]: %w", i, err))
		}
		out.Write(object)
		out.WriteByte('\n')
	}
}

// documentJSON converts one document, to null if it is none.
func documentJSON(document []byte) ([]byte, error) {
	converted, err := yaml.ToJSON(document)
	if err != nil {
		return []byte("null"), fmt.Errorf("not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if first := bytes.TrimSpace(converted); len(first) > 0 && first[0] != '{' && string(first) != "null" {
		return []byte("null"), fmt.Errorf("not a Kubernetes object but %.40s", first)
	}
	return converted, nil
}

// readCatalog reads instance types with their prices.
func readCatalog(name string, stdin io.Reader) (*scheduling.Catalog, error) {
	data, err := content(name, stdin)
	if err != nil {
		return nil, err
	}
	return parseCatalog(name, data)
}

func parseCatalog(name string, data []byte) (*scheduling.Catalog, error) {
	stream, broken := toJSON(data)
	if len(broken) > 0 {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(broken...))
	}
	catalog, errs := scheduling.ParseCatalog(stream, scheduling.Options{})
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", name, errs.ToAggregate())
	}
	return catalog, nil
}
