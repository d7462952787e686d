package drift

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/scheduling"
)

// FieldChange is one field in which two templates differ.
type FieldChange struct {
	// Path within the template, such as metadata.labels[team],
	// spec.taints[dedicated:NoSchedule] or spec.expireAfter.
	Path string `json:"path"`
	// Old and New values as JSON, those of a requirement as "In [a b]"; "" where
	// the field is absent, which is not the same as "[]" or "{}".
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Hashed fields make every node of the pool drift. Requirements are not: each
	// node is compared with them by itself.
	Hashed bool `json:"hashed"`
}

// String reads "spec.expireAfter: "720h" → "336h"".
func (c FieldChange) String() string {
	return c.Path + ": " + orAbsent(c.Old) + " → " + orAbsent(c.New)
}

func orAbsent(text string) string { return cmp.Or(text, "absent") }

// Changes names the fields in which two templates differ, by path. At least one
// of them is Hashed if, and only if, the hashes differ: what the hash doesn't
// see, such as the order of taints, is no change.
func Changes(before, after *NodeClaimTemplate) []FieldChange {
	d := differ{}
	d.strings("metadata.labels", before.Labels, after.Labels)
	d.strings("metadata.annotations", before.Annotations, after.Annotations)
	a, b := &before.Spec, &after.Spec
	d.taints("spec.taints", a.Taints, b.Taints)
	d.taints("spec.startupTaints", a.StartupTaints, b.StartupTaints)
	d.classRef(a.NodeClassRef, b.NodeClassRef)
	d.value("spec.terminationGracePeriod", present(a.TerminationGracePeriod), present(b.TerminationGracePeriod))
	d.value("spec.expireAfter", a.ExpireAfter, b.ExpireAfter)
	if hashOf(*before) != hashOf(*after) && len(d) == 0 {
		// An empty field that the hash ignores can make the difference between a
		// spec and none.
		d.add("spec", toJSON(a), toJSON(b))
	}
	d.requirements(a.Requirements, b.Requirements)
	slices.SortStableFunc(d, func(a, b FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return d
}

// differ collects differences.
type differ []FieldChange

func (d *differ) add(path, before, after string) {
	*d = append(*d, FieldChange{Path: path, Old: before, New: after, Hashed: true})
}

// value compares two values by their hash.
func (d *differ) value(path string, before, after any) {
	if hashOf(before) != hashOf(after) {
		d.add(path, toJSON(before), toJSON(after))
	}
}

func (d *differ) strings(path string, before, after map[string]string) {
	for _, key := range unionKeys(before, after) {
		a, b := valueJSON(before, key), valueJSON(after, key)
		if a != b {
			d.add(path+"["+key+"]", a, b)
		}
	}
	d.emptiness(path, before == nil, after == nil, len(before)+len(after) == 0, "{}")
}

// emptiness tells an absent list or map from an empty one.
func (d *differ) emptiness(path string, absentBefore, absentAfter, bothEmpty bool, empty string) {
	switch {
	case absentBefore == absentAfter || !bothEmpty:
	case absentBefore:
		d.add(path, "", empty)
	default:
		d.add(path, empty, "")
	}
}

// taints compares two lists as the hash does: order plays no part, and of equal
// taints each two cancel each other.
func (d *differ) taints(path string, before, after []corev1.Taint) {
	a, b := uncancelled(before), uncancelled(after)
	gone, come := map[string][]string{}, map[string][]string{}
	for h, t := range a {
		if _, stays := b[h]; !stays {
			gone[taintName(t)] = append(gone[taintName(t)], toJSON(t))
		}
	}
	for h, t := range b {
		if _, was := a[h]; !was {
			come[taintName(t)] = append(come[taintName(t)], toJSON(t))
		}
	}
	for _, name := range unionKeys(gone, come) {
		d.add(path+"["+name+"]", joined(gone[name]), joined(come[name]))
	}
	d.emptiness(path, before == nil, after == nil, len(a)+len(b) == 0, "[]")
}

func uncancelled(taints []corev1.Taint) map[uint64]corev1.Taint {
	odd := map[uint64]corev1.Taint{}
	for _, t := range taints {
		h := hashOf(t)
		if _, twice := odd[h]; twice {
			delete(odd, h)
			continue
		}
		odd[h] = t
	}
	return odd
}

func taintName(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

func (d *differ) classRef(before, after *NodeClassReference) {
	if before == nil || after == nil {
		d.value("spec.nodeClassRef", present(before), present(after))
		return
	}
	d.value("spec.nodeClassRef.kind", before.Kind, after.Kind)
	d.value("spec.nodeClassRef.name", before.Name, after.Name)
	d.value("spec.nodeClassRef.group", before.Group, after.Group)
}

// present keeps nil apart from a pointer to a zero value: they hash alike unless
// they are fields of a struct.
func present[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

// requirements compares by key, and by what the requirements of a key mean.
func (d *differ) requirements(before, after []scheduling.RequirementSpec) {
	a, b := byKey(before), byKey(after)
	for _, key := range unionKeys(a, b) {
		if a[key] != b[key] {
			*d = append(*d, FieldChange{Path: "spec.requirements[" + key + "]", Old: a[key], New: b[key]})
		}
	}
}

// byKey renders each requirement without its key: "In [a b]".
func byKey(specs []scheduling.RequirementSpec) map[string]string {
	m := map[string]string{}
	for r := range scheduling.NewRequirements(specs...).All() {
		m[r.Key()] = strings.TrimPrefix(r.String(), r.Key()+" ")
	}
	return m
}

func unionKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func valueJSON(m map[string]string, key string) string {
	if v, ok := m[key]; ok {
		return toJSON(v)
	}
	return ""
}

// toJSON renders a value for a human; nothing for nil and for Never.
func toJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if text := string(data); text != "null" {
		return text
	}
	return ""
}

func joined(parts []string) string {
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// hashOf hashes parts of a template, which always have a hash.
func hashOf(v any) uint64 {
	h, _ := Hash(v)
	return h
}
