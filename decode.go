package disruption

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Decoded says what [Decode] found besides the cluster.
type Decoded struct {
	// Kinds counts the objects taken in, by kind, sorted.
	Kinds []KindCount
	// Ignored counts the objects of kinds that disruption doesn't read, sorted.
	Ignored []KindCount
	// Errors names every object that could not be read, by its place in the
	// input: documents[0].items[3].spec.disruption.budgets[0].nodes. All other
	// objects are in the cluster.
	Errors field.ErrorList
}

// KindCount is a kind, as "Node" or "NodePool", and how many there are.
type KindCount struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Decode reads a stream of JSON documents, each a Kubernetes object or a List of
// them, and adds what it finds to the cluster. It may be called again for a
// further file. An object that does not decode, or that has no name, or that is
// in the cluster already, is reported in Decoded.Errors and left out; the rest is
// kept. Input that is no JSON ends the stream: what came before it is kept, and
// the error names the document.
//
// The domain of NodePool and NodeClaim is not looked at, so that any provider's
// copy of these kinds is read; other kinds must be of their usual API groups.
func (c *Cluster) Decode(r io.Reader) (Decoded, error) {
	d := &decoder{into: c, taken: map[string]int{}, ignored: map[string]int{}, seen: c.names()}
	documents := json.NewDecoder(r)
	for i := 0; ; i++ {
		var raw json.RawMessage
		path := field.NewPath("documents").Index(i)
		switch err := documents.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return d.result(), nil
		case err != nil:
			return d.result(), field.Invalid(path, field.OmitValueType{}, "not JSON: "+err.Error())
		}
		d.document(raw, path)
	}
}

type decoder struct {
	into           *Cluster
	taken, ignored map[string]int
	seen           map[string]bool
	errors         field.ErrorList
}

// header is what every object says about itself.
type header struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

// document takes in an object or the items of a List. YAML streams may hold
// empty documents, which arrive as null and mean nothing.
func (d *decoder) document(raw json.RawMessage, path *field.Path) {
	if string(bytes.TrimSpace(raw)) == "null" {
		return
	}
	h, ok := d.header(raw, path)
	switch {
	case !ok:
	case strings.HasSuffix(h.Kind, "List"):
		for i, item := range h.Items {
			itemPath := path.Child("items").Index(i)
			if inner, ok := d.header(item, itemPath); ok {
				// The typed lists of the API leave the kind of their items out.
				if inner.Kind == "" {
					inner.Kind, inner.APIVersion = strings.TrimSuffix(h.Kind, "List"), h.APIVersion
				}
				d.object(inner, item, itemPath)
			}
		}
	default:
		d.object(h, raw, path)
	}
}

func (d *decoder) header(raw json.RawMessage, path *field.Path) (header, bool) {
	var h header
	if err := json.Unmarshal(raw, &h); err != nil {
		d.broken(path, err, raw, &h)
		return h, false
	}
	return h, true
}

// object decodes one object into its list of the cluster.
func (d *decoder) object(h header, raw json.RawMessage, path *field.Path) {
	add := d.into.adder(h.APIVersion, h.Kind)
	if add == nil {
		d.ignored[kindName(h.Kind)]++
		return
	}
	if h.Metadata.Name == "" {
		d.errors = append(d.errors, field.Required(path.Child("metadata", "name"), "an object needs a name"))
		return
	}
	key := objectKey(h.Kind, h.Metadata.Namespace, h.Metadata.Name)
	if d.seen[key] {
		d.errors = append(d.errors, field.Duplicate(path, key))
		return
	}
	object, commit := add()
	if err := json.Unmarshal(raw, object); err != nil {
		d.broken(path, err, raw, object)
		return
	}
	commit()
	d.seen[key] = true
	d.taken[h.Kind]++
}

// broken reports an object that does not decode, with the path of the field.
func (d *decoder) broken(path *field.Path, err error, raw json.RawMessage, into any) {
	at, value, cause := locate(raw, into, path)
	if cause == nil {
		cause = err
	}
	d.errors = append(d.errors, field.Invalid(at, value, cause.Error()))
	var facts struct {
		header
		Spec struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(raw, &facts) // as far as it goes
	d.into.Unreadable = append(d.into.Unreadable, Unreadable{
		Kind: facts.Kind, Namespace: facts.Metadata.Namespace, Name: facts.Metadata.Name,
		Node: facts.Spec.NodeName, Path: at.String(),
	})
}

func (d *decoder) result() Decoded {
	return Decoded{Kinds: counts(d.taken), Ignored: counts(d.ignored), Errors: d.errors}
}

func kindName(kind string) string {
	if kind == "" {
		return "(no kind)"
	}
	return kind
}

func objectKey(kind, namespace, name string) string {
	if namespace == "" {
		return fmt.Sprintf("%s %s", kind, name)
	}
	return fmt.Sprintf("%s %s/%s", kind, namespace, name)
}

func counts(m map[string]int) []KindCount {
	list := make([]KindCount, 0, len(m))
	for kind, n := range m {
		list = append(list, KindCount{kind, n})
	}
	slices.SortFunc(list, func(a, b KindCount) int { return strings.Compare(a.Kind, b.Kind) })
	return list
}
