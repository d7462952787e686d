// Package dump reads dumps of clusters for the example programs: YAML or JSON, one
// document or many, Lists or single objects, gzipped or not.
//
// What can't be read is named by file, document and field, and costs only itself.
// Documents are counted from 0, empty ones left out.
package dump

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
)

// Content reads a file, "-" being standard input, and unpacks it if it is gzipped.
func Content(name string, stdin io.Reader) ([]byte, error) {
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
	if magic, _ := buffered.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return io.ReadAll(buffered)
	}
	unpacked, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// Add takes the objects of a file's content into the cluster. The errors name all
// that can't be read; what was read is in the cluster all the same.
func Add(c *disruption.Cluster, name string, data []byte) (disruption.Decoded, []error) {
	stream, broken := JSON(data)
	decoded, err := c.Decode(bytes.NewReader(stream))
	for _, e := range decoded.Errors {
		broken = append(broken, e)
	}
	if err != nil {
		broken = append(broken, err)
	}
	for i, e := range broken {
		broken[i] = fmt.Errorf("%s: %w", name, e)
	}
	return decoded, broken
}

// JSON turns YAML documents into a stream of JSON documents, and names those that
// are none; null stands in for them. JSON passes through: converting it would only
// cost time.
func JSON(data []byte) (stream []byte, broken []error) {
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

// Complain writes an error to standard error, each line of it with the program's
// name.
func Complain(stderr io.Writer, program string, err error) {
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintf(stderr, "%s: %s\n", program, line)
	}
}
