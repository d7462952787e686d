package dump

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption"
)

const two = "kind: Node\napiVersion: v1\nmetadata: {name: a}\n---\n---\nkind: Node\napiVersion: v1\nmetadata: {name: b}\n"

func TestContentUnpacks(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(two))
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "a.yaml.gz")
	require.NoError(t, os.WriteFile(path, packed.Bytes(), 0o600))
	data, err := Content(path, nil)
	require.NoError(t, err)
	assert.Equal(t, two, string(data))

	data, err = Content("-", strings.NewReader(two))
	require.NoError(t, err)
	assert.Equal(t, two, string(data))

	_, err = Content("-", bytes.NewReader(packed.Bytes()[:packed.Len()/2]))
	assert.ErrorContains(t, err, "-: unexpected EOF")
}

// Each thing that can't be read is named, and costs only itself.
func TestAddKeepsWhatCanBeRead(t *testing.T) {
	var c disruption.Cluster
	_, errs := Add(&c, "dump.yaml", []byte(two+"---\nkind: [\n---\njust words\n---\nkind: Node\napiVersion: v1\nmetadata: {name: c}\nspec: {taints: 7}\n---\nkind: Node\napiVersion: v1\nmetadata: {name: d}\n"))
	assert.Len(t, c.Nodes, 3)
	require.Len(t, errs, 3)
	assert.ErrorContains(t, errs[0], "dump.yaml: documents[2]: not YAML")
	assert.ErrorContains(t, errs[1], "dump.yaml: documents[3]: not a Kubernetes object but \"just words\"")
	assert.ErrorContains(t, errs[2], "dump.yaml: documents[4].spec.taints: Invalid value")
}

func TestJSONPassesThrough(t *testing.T) {
	var c disruption.Cluster
	_, errs := Add(&c, "dump.json", []byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}} {"kind"`))
	assert.Len(t, c.Nodes, 1)
	require.Len(t, errs, 1)
	assert.ErrorContains(t, errs[0], "dump.json: documents[1]: Invalid value: not JSON")
}

func TestComplainsLineByLine(t *testing.T) {
	var out bytes.Buffer
	Complain(&out, "plan", errors.Join(errors.New("one"), errors.New("two")))
	assert.Equal(t, "plan: one\nplan: two\n", out.String())
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte("kind: Node\nmetadata: {name: a}\n---\n---\nkind: List\nitems: [1]")) // documents, an empty one, an item that is none
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":7}}`))      // JSON with a wrong type
	f.Fuzz(func(t *testing.T, data []byte) {
		_, errs := Add(&disruption.Cluster{}, "f", data)
		for _, err := range errs {
			assert.ErrorContains(t, err, "f: documents[")
		}
	})
}
