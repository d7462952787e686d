package annotations

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReadOptions chooses whose markers count. The zero value reads Karpenter's own
// and nothing else, as Karpenter does.
type ReadOptions struct {
	// Domain of our own keys; "" is karpenter.sh.
	Domain string
	// Dialects that are read beside Karpenter's.
	Dialects []Dialect
	// Precedence decides conflicts between a veto and a consent: the first
	// dialect in it that has either wins. Those not listed come after it,
	// together, and among them any veto wins.
	Precedence []Dialect
}

// Mark is a marker that was found.
type Mark struct {
	Dialect Dialect
	Key     string
	Value   string
	Meaning Meaning
	Until   *time.Time // end of a veto, if it is known to end
}

// Stance is what all markers on a pod or node together ask for.
type Stance struct {
	// Veto: hands off. It ends at Until, unless that is nil.
	Veto  bool
	Until *time.Time
	// Consent: evict in spite of your own caution (local storage, no owner).
	Consent bool
	// PreferNot and PreferVictim order the choice; neither forbids anything.
	PreferNot    bool
	PreferVictim bool
	// SafeVolumes are the local volumes of a pod that may be lost.
	SafeVolumes []string
	// Marks lists what was read and had a meaning, in the order of [Dialects].
	Marks []Mark
	// Findings lists conflicts, values without effect and look-alikes.
	Findings []Finding
}

// Reader reads markers. It is immutable and safe for concurrent use.
type Reader struct {
	options ReadOptions
	keys    Keys
	markers []marker
	known   map[string]bool // keys that are no look-alikes
}

// Compile prepares the reading of any number of objects. The options are copied.
func Compile(options ReadOptions) *Reader {
	options.Dialects, options.Precedence = slices.Clone(options.Dialects), slices.Clone(options.Precedence)
	r := &Reader{options: options, keys: For(options.Domain)}
	r.markers = r.keys.markers()
	r.known = map[string]bool{r.keys.DoNotDisrupt: true}
	for _, m := range r.markers {
		r.known[m.key] = true
	}
	return r
}

// Pod reports what the markers on a pod ask for at now.
//
// A veto beats a consent unless the options set a precedence: a Cluster
// Autoscaler "safe-to-evict: true" doesn't lift a do-not-disrupt. Markers of
// dialects that aren't read change nothing and come back as findings.
func (r *Reader) Pod(pod *corev1.Pod, now time.Time) Stance {
	o := reading{Reader: r, annotations: pod.Annotations, labels: pod.Labels}
	o.own(r.keys.PodProtection(pod, now))
	o.foreign(onPod)
	o.lookAlikes()
	return o.stance()
}

// Node reports what the markers on a node, node claim or machine ask for.
func (r *Reader) Node(obj metav1.Object) Stance {
	o := reading{Reader: r, annotations: obj.GetAnnotations(), labels: obj.GetLabels()}
	o.own(r.keys.NodeProtection(obj))
	o.foreign(onNode)
	o.lookAlikes()
	return o.stance()
}

// reading collects the marks of one object.
type reading struct {
	*Reader
	annotations map[string]string
	labels      map[string]string
	marks       []Mark
	findings    []Finding
}

// own takes in do-not-disrupt.
func (r *reading) own(p Protection) {
	key := r.keys.DoNotDisrupt
	switch value := r.annotations[key]; p.State {
	case Protected:
		r.marks = append(r.marks, Mark{Dialect: Karpenter, Key: key, Value: value, Meaning: Veto, Until: p.Until})
	case Invalid:
		r.report(BadValue, key, value, p.Err.Detail)
	}
}

// foreign takes in the markers of the dialects that are read, and reports those
// of the others.
func (r *reading) foreign(on target) {
	for _, m := range r.markers {
		value, meaning, ok := m.find(r.annotations, r.labels)
		if !ok || m.target != on {
			continue
		}
		read := slices.Contains(r.options.Dialects, m.dialect)
		switch {
		case m.dialect == LegacyKarpenter && !read:
			r.report(Legacy, m.key, value, "Karpenter ignores it since v1; write "+r.keys.DoNotDisrupt)
		case !read:
			r.report(NotRead, m.key, value, "a marker of "+string(m.dialect)+", which is not read here")
		case meaning == Nothing && value != "false":
			r.report(BadValue, m.key, value, "a value that "+string(m.dialect)+" does not know")
		case m.any != "" && meaning != VolumesSafe && value == "false":
			r.report(BadValue, m.key, value, "counts by being there, whatever its value")
		}
		if read && meaning != Nothing {
			r.marks = append(r.marks, Mark{Dialect: m.dialect, Key: m.key, Value: value, Meaning: meaning})
		}
	}
}

// stance sums up the marks.
func (r *reading) stance() Stance {
	s := Stance{Marks: r.marks}
	r.decide(&s)
	for _, m := range r.marks {
		switch m.Meaning {
		case PreferNot:
			s.PreferNot = true
		case PreferVictim:
			s.PreferVictim = true
		case VolumesSafe:
			s.SafeVolumes = append(s.SafeVolumes, volumeNames(m.Value)...)
		}
	}
	if s.PreferVictim && (s.Veto || s.PreferNot) {
		r.conflict(PreferVictim, Veto, SkipDrain, PreferNot)
	}
	s.Findings = r.findings
	return s
}

// decide settles veto and consent, by precedence if there is one.
func (r *reading) decide(s *Stance) {
	var vetoes, consents []Mark
	for _, m := range r.marks {
		switch m.Meaning {
		case Veto, SkipDrain:
			vetoes = append(vetoes, m)
		case Consent:
			consents = append(consents, m)
		}
	}
	if len(vetoes) > 0 && len(consents) > 0 {
		r.conflict(Consent, Veto, SkipDrain)
		if r.precedence(consents) < r.precedence(vetoes) {
			vetoes = nil
		} else {
			consents = nil
		}
	}
	s.Veto, s.Consent = len(vetoes) > 0, len(consents) > 0
	s.Until = lastEnd(vetoes)
}

// precedence is the rank of the marks' foremost dialect.
func (r *reading) precedence(marks []Mark) int {
	rank := len(r.options.Precedence)
	for _, m := range marks {
		if i := slices.Index(r.options.Precedence, m.Dialect); i >= 0 {
			rank = min(rank, i)
		}
	}
	return rank
}

// lastEnd is when the last veto ends: never, if one has no end.
func lastEnd(vetoes []Mark) *time.Time {
	var last *time.Time
	for _, m := range vetoes {
		if m.Until == nil {
			return nil
		}
		if last == nil || m.Until.After(*last) {
			last = m.Until
		}
	}
	return last
}

func volumeNames(list string) []string {
	var names []string
	for _, name := range strings.Split(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
