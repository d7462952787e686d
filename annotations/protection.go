package annotations

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// State says what became of a do-not-disrupt annotation. Its text is API.
type State string

const (
	// Absent: there is no such annotation.
	Absent State = "Absent"
	// Protected: the object must not be disrupted now.
	Protected State = "Protected"
	// Elapsed: a protection of limited length has ended.
	Elapsed State = "Elapsed"
	// Off: the value is "false", a plain no that is worth no warning.
	Off State = "Off"
	// Invalid: the value means nothing, so it is as if absent. Somebody should
	// hear of it, for the author believes that the object is protected.
	Invalid State = "Invalid"
)

// Protection is what a do-not-disrupt annotation amounts to at an instant.
type Protection struct {
	State State
	// Until is the instant the protection ends, if it has an end that is known:
	// nil for a permanent one, and for a pod that has not started yet.
	Until *time.Time
	// Err says why the value is invalid, by the path of the annotation.
	Err *field.Error
}

// Active reports whether the object is protected.
func (p Protection) Active() bool { return p.State == Protected }

// PodProtection reports what do-not-disrupt on pod means at now.
//
// The rule is Karpenter v1.14's: exactly "true" protects for good; a positive
// Go duration protects from status.startTime on, until just before that much
// time has passed, and a pod that has no start time yet is protected. Any other
// value ("True", "1d", "0s", "-5m", "") is as if absent and comes back as
// [Invalid], except for "false", which is [Off]. The pod's phase plays no part.
// Whether a node's deadline overrides the protection is not decided here.
func (k Keys) PodProtection(pod *corev1.Pod, now time.Time) Protection {
	value, ok := pod.Annotations[k.DoNotDisrupt]
	if !ok {
		return Protection{State: Absent}
	}
	length, err := ParseDoNotDisrupt(value)
	switch {
	case value == "false":
		return Protection{State: Off}
	case err != nil:
		return k.invalid(value, err)
	case length == Forever || pod.Status.StartTime == nil:
		return Protection{State: Protected}
	}
	return protectionFrom(pod.Status.StartTime.Time, length, now)
}

// protectionFrom is the protection that began at start, seen at now.
func protectionFrom(start time.Time, length time.Duration, now time.Time) Protection {
	until := start.Add(length)
	if now.Sub(start) < length {
		return Protection{State: Protected, Until: &until}
	}
	return Protection{State: Elapsed, Until: &until}
}

// NodeProtection reports what do-not-disrupt on a node or node claim means.
//
// Only "true" counts, as in Karpenter v1.14: a duration, which would be valid
// on a pod, is [Invalid] here.
func (k Keys) NodeProtection(obj metav1.Object) Protection {
	value, ok := obj.GetAnnotations()[k.DoNotDisrupt]
	switch {
	case !ok:
		return Protection{State: Absent}
	case value == "true":
		return Protection{State: Protected}
	case value == "false":
		return Protection{State: Off}
	}
	if _, err := ParseDoNotDisrupt(value); err == nil {
		return k.invalid(value, fmt.Errorf("a node knows no time limit, only \"true\""))
	}
	return k.invalid(value, fmt.Errorf("only \"true\" protects a node"))
}

func (k Keys) invalid(value string, why error) Protection {
	return Protection{State: Invalid, Err: field.Invalid(annotationPath(k.DoNotDisrupt), value, why.Error())}
}

func annotationPath(key string) *field.Path {
	return field.NewPath("metadata", "annotations").Key(key)
}

// Forever is the length of a protection that does not end.
const Forever time.Duration = 1<<63 - 1

// ParseDoNotDisrupt reads the value of do-not-disrupt on a pod: [Forever] for
// "true", else a positive Go duration. The error says what is wrong and, for
// the usual slips, what to write instead.
func ParseDoNotDisrupt(value string) (time.Duration, error) {
	if value == "true" {
		return Forever, nil
	}
	length, err := time.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("neither \"true\" nor a duration%s", hint(value))
	}
	if length <= 0 {
		return 0, fmt.Errorf("a duration must be positive")
	}
	return length, nil
}
