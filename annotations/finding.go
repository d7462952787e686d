package annotations

import (
	"fmt"
	"slices"
	"strings"
)

// FindingCode names a kind of finding. Its text is API.
type FindingCode string

const (
	// BadValue: the value has no effect, or another than it seems.
	BadValue FindingCode = "bad-annotation-value"
	// Legacy: a key that Karpenter no longer reads.
	Legacy FindingCode = "legacy-annotation"
	// NotRead: a marker of a system whose markers are not read.
	NotRead FindingCode = "annotation-not-read"
	// LookAlike: a key that is not read, but that looks like one of ours.
	LookAlike FindingCode = "annotation-look-alike"
	// Conflict: two markers that ask for opposite things.
	Conflict FindingCode = "conflicting-annotations"
)

// Finding is a marker that most likely doesn't do what its author meant.
type Finding struct {
	Code    FindingCode
	Key     string
	Value   string
	Message string
}

// String is the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s=%q: %s", f.Code, f.Key, f.Value, f.Message)
}

func (r *reading) report(code FindingCode, key, value, message string) {
	r.findings = append(r.findings, Finding{Code: code, Key: key, Value: value, Message: message})
}

// conflict reports the first mark with one meaning and the first with one of
// the others.
func (r *reading) conflict(one Meaning, others ...Meaning) {
	first := slices.IndexFunc(r.marks, func(m Mark) bool { return m.Meaning == one })
	second := slices.IndexFunc(r.marks, func(m Mark) bool { return slices.Contains(others, m.Meaning) })
	a, b := r.marks[first], r.marks[second]
	r.report(Conflict, a.Key, a.Value, fmt.Sprintf("asks for the opposite of %s=%q", b.Key, b.Value))
}

// lookAlikes reports keys that are almost ours: another domain, another
// spelling, or the right key as a label.
func (r *reading) lookAlikes() {
	if value, ok := r.labels[r.keys.DoNotDisrupt]; ok {
		r.report(LookAlike, r.keys.DoNotDisrupt, value, "is a label; only the annotation of this name counts")
	}
	var alike []string
	for key := range r.annotations {
		if !r.known[key] && resemblesOurs(key) {
			alike = append(alike, key)
		}
	}
	slices.Sort(alike)
	for _, key := range alike {
		r.report(LookAlike, key, r.annotations[key], "this key is not read; write "+r.keys.DoNotDisrupt)
	}
}

// resemblesOurs compares the name of a key, without its domain, case and
// hyphens.
func resemblesOurs(key string) bool {
	name := key[strings.LastIndex(key, "/")+1:]
	if len(name) > 24 || !strings.ContainsAny(name, "dD") {
		return false // most keys, at no cost
	}
	name = strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
	return slices.Contains([]string{"donotdisrupt", "donotevict", "donotconsolidate", "dontdisrupt", "donotdisrupted", "donotdisruption"}, name)
}
