package termination

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// progressVersion is that of the JSON form of [Progress].
const progressVersion = 1

// Progress is the memory of a drain: since when each pod waits for what it waits
// for, and what came of the attempts to evict it. Decisions don't depend on it,
// so losing it loses no more than the story. It is plain data: keep it as JSON,
// and go on with it after a restart.
type Progress struct {
	Version int `json:"version"`
	// Started is when the drain was first seen, Seen when it was last.
	Started time.Time `json:"started"`
	Seen    time.Time `json:"seen"`
	// Pods that are waited for, by namespace, name and UID.
	Pods []PodProgress `json:"pods"`
	// Gone counts the pods that were waited for and are no more.
	Gone int `json:"gone"`
}

// PodProgress is how it stands with one pod.
type PodProgress struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	Tier      Tier      `json:"tier"`
	// Code is what the pod waits for, Since when it began to, Until the first
	// instant at which time alone changes that.
	Code  Code       `json:"code"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until,omitempty"`
	// PDBs that hold it, as namespace/name.
	PDBs []string `json:"pdbs,omitempty"`
	// Lift says what would end the wait.
	Lift string `json:"lift,omitempty"`
	// Attempts to evict or delete it, with the outcome of the last.
	Attempts int     `json:"attempts,omitempty"`
	Outcome  Outcome `json:"outcome,omitempty"`
	Refusal  Code    `json:"refusal,omitempty"`
}

func (p PodProgress) compare(q PodProgress) int {
	return cmp.Or(cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Name, q.Name), cmp.Compare(p.UID, q.UID))
}

// ParseProgress reads what [json.Marshal] has made of a Progress.
func ParseProgress(data []byte) (Progress, *field.Error) {
	var p Progress
	if err := json.Unmarshal(data, &p); err != nil {
		return Progress{}, field.Invalid(nil, "JSON", err.Error())
	}
	if p.Version != progressVersion {
		return Progress{}, field.Invalid(field.NewPath("version"), p.Version, fmt.Sprintf("only version %d is known", progressVersion))
	}
	return p, nil
}

// Observe returns the progress as it is with what a plan of the drain, made at
// now, says. A pod that waits for the same as before does so since then. The
// receiver, which is the zero value at first, is not changed.
func (p Progress) Observe(plan DrainPlan, now time.Time) Progress {
	next := Progress{Version: progressVersion, Started: p.Started, Seen: now, Gone: p.Gone, Pods: []PodProgress{}}
	if p.Started.IsZero() {
		next.Started = now
	}
	before := make(map[podKey]PodProgress, len(p.Pods))
	for _, pod := range p.Pods {
		before[podKey{pod.Namespace, pod.Name, pod.UID}] = pod
	}
	for _, w := range plan.Waiting {
		old, known := before[keyOf(w.Pod)]
		delete(before, keyOf(w.Pod))
		next.Pods = append(next.Pods, progressOf(w, old, known, now))
	}
	next.Gone += len(before)
	slices.SortFunc(next.Pods, PodProgress.compare)
	return next
}

// podKey tells pods apart, even those of a manifest, which have no UID.
type podKey struct {
	namespace, name string
	uid             types.UID
}

func keyOf(pod *corev1.Pod) podKey { return podKey{pod.Namespace, pod.Name, pod.UID} }

func progressOf(w Wait, old PodProgress, known bool, now time.Time) PodProgress {
	pod := PodProgress{
		Namespace: w.Pod.Namespace, Name: w.Pod.Name, UID: w.Pod.UID,
		Tier: w.Tier, Code: w.Code, Since: now, PDBs: nameTexts(w.Blocking), Lift: w.Lift(),
		Attempts: old.Attempts, Outcome: old.Outcome, Refusal: old.Refusal,
	}
	if w.Until != nil {
		until := *w.Until
		pod.Until = &until
	}
	if known && old.Code == w.Code && slices.Equal(old.PDBs, pod.PDBs) {
		pod.Since = old.Since
	}
	return pod
}

// Record returns the progress with the attempts of a [Report] counted. The
// receiver is not changed.
func (p Progress) Record(attempts []Attempt) Progress {
	p.Pods = slices.Clone(p.Pods)
	for _, a := range attempts {
		for i := range p.Pods {
			if pod := &p.Pods[i]; keyOf(a.Pod) == (podKey{pod.Namespace, pod.Name, pod.UID}) {
				pod.Attempts++
				pod.Outcome, pod.Refusal = a.Outcome, a.Code
			}
		}
	}
	return p
}

// String says how it stands, one line a pod, the longest wait first.
func (p Progress) String() string {
	pods := slices.Clone(p.Pods)
	slices.SortFunc(pods, func(a, b PodProgress) int { return cmp.Or(a.Since.Compare(b.Since), a.compare(b)) })
	text := fmt.Sprintf("%s gone, %d to go since %s", counted(p.Gone, "pod"), len(pods), stamp(p.Started))
	for _, pod := range pods {
		text += "\n  " + pod.String(p.Seen)
	}
	return text
}

// String is one line about the pod, seen at now.
func (p PodProgress) String(now time.Time) string {
	text := fmt.Sprintf("%s/%s: %s for %s", p.Namespace, p.Name, p.Code, now.Sub(p.Since).Truncate(time.Second))
	if len(p.PDBs) > 0 {
		text += " by " + strings.Join(p.PDBs, ", ")
	}
	if p.Attempts > 0 {
		text += fmt.Sprintf(", %s, the last %s", counted(p.Attempts, "attempt"), cmp.Or(string(p.Refusal), string(p.Outcome)))
	}
	if p.Until != nil {
		text += ", next change at " + stamp(*p.Until)
	}
	if p.Lift != "" {
		text += "; to lift it: " + p.Lift
	}
	return text
}
