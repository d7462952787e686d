package disruption

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// locate finds the innermost field of raw that does not decode into the type of
// target, which must be a pointer. Kubernetes' own types (quantities, times) fail
// without saying where, so each part is tried alone. The cause is nil if every
// part decodes.
func locate(raw json.RawMessage, target any, path *field.Path) (at *field.Path, value any, cause error) {
	return locateIn(raw, reflect.TypeOf(target).Elem(), path)
}

func locateIn(raw json.RawMessage, t reflect.Type, path *field.Path) (*field.Path, any, error) {
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if err == nil {
		return path, nil, nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var at *field.Path
	var value any
	var cause error
	switch t.Kind() {
	case reflect.Struct:
		at, value, cause = locateField(raw, t, path)
	case reflect.Slice:
		at, value, cause = locateItem(raw, t.Elem(), path)
	case reflect.Map:
		at, value, cause = locateKey(raw, t.Elem(), path)
	}
	if cause != nil {
		return at, value, cause
	}
	return path, clip(raw), err
}

func locateField(raw json.RawMessage, t reflect.Type, path *field.Path) (*field.Path, any, error) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return path, nil, nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (name == "" || strings.Contains(options, "inline")) {
			if f.Type.Kind() == reflect.Struct {
				if at, value, cause := locateField(raw, f.Type, path); cause != nil {
					return at, value, cause
				}
			}
			continue
		}
		part, present := parts[name]
		if !f.IsExported() || !present {
			continue
		}
		if at, value, cause := locateIn(part, f.Type, path.Child(name)); cause != nil {
			return at, value, cause
		}
	}
	return path, nil, nil
}

func locateItem(raw json.RawMessage, t reflect.Type, path *field.Path) (*field.Path, any, error) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return path, nil, nil
	}
	for i, item := range items {
		if at, value, cause := locateIn(item, t, path.Index(i)); cause != nil {
			return at, value, cause
		}
	}
	return path, nil, nil
}

func locateKey(raw json.RawMessage, t reflect.Type, path *field.Path) (*field.Path, any, error) {
	var entries map[string]json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		return path, nil, nil
	}
	keys := make([]string, 0, len(entries))
	for key := range entries {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if at, value, cause := locateIn(entries[key], t, path.Key(key)); cause != nil {
			return at, value, cause
		}
	}
	return path, nil, nil
}

// clip keeps an error readable: the value itself, cut after 80 bytes.
func clip(raw json.RawMessage) string {
	s := string(bytes.TrimSpace(raw))
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return strings.Trim(s, `"`)
}
