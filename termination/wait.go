package termination

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Wait says why a drain is not done with a pod.
type Wait struct {
	// Pod is the caller's own.
	Pod *corev1.Pod `json:"-"`
	// Tier the pod belongs to.
	Tier Tier `json:"tier"`
	// Code is what it waits for: Evicting and DeadlineReached are acts of this
	// plan, the others are obstacles.
	Code Code `json:"code"`
	// Blocking names the PDBs that hold the pod or are passed over, sorted.
	Blocking []types.NamespacedName `json:"-"`
	// Until is the first instant at which time alone changes what is done with
	// the pod; nil if it doesn't. Rules that say "after" fall due a nanosecond
	// after their limit.
	Until *time.Time `json:"until,omitempty"`
	// Fix says what would free a pod whose PDBs never let it go; "" if waiting may
	// help, or if the plan isn't exact.
	Fix string `json:"-"`
}

// Lift says what would end the wait, "" if nothing needs to be done.
func (w Wait) Lift() string {
	switch w.Code {
	case DoNotDisrupt:
		return "remove the do-not-disrupt annotation"
	case PDBExhausted:
		return cmp.Or(w.Fix, "more healthy pods under "+joinNames(w.Blocking))
	case MultiplePDBs:
		return cmp.Or(w.Fix, "leave only one of "+joinNames(w.Blocking)+" to select the pod")
	case PDBUnobserved, PDBRefuses:
		return cmp.Or(w.Fix, "a newer status of "+joinNames(w.Blocking))
	}
	return ""
}

// String is one line that a human can act on.
func (w Wait) String() string {
	return fmt.Sprintf("%s/%s %s%s", w.Pod.Namespace, w.Pod.Name, w.what(), w.until())
}

func (w Wait) what() string {
	switch w.Code {
	case Evicting:
		return "is being evicted"
	case DeadlineReached:
		if len(w.Blocking) > 0 {
			return "is deleted by force for the node's deadline, against " + joinNames(w.Blocking)
		}
		return "is deleted by force for the node's deadline"
	case Terminating:
		return "is terminating, and may take until " + stamp(w.Pod.DeletionTimestamp.Time)
	case EarlierTier:
		return fmt.Sprintf("waits for the tiers before its own (%s)", w.Tier)
	case DoNotDisrupt:
		return "is protected by do-not-disrupt"
	case MultiplePDBs:
		return "is selected by more than one PDB, which the eviction API refuses: " + joinNames(w.Blocking)
	}
	return fmt.Sprintf("is held (%s) by %s", w.Code, joinNames(w.Blocking))
}

func (w Wait) until() string {
	switch {
	case w.Until == nil || w.Code == Evicting || w.Code == DeadlineReached:
		return ""
	case w.Code == Terminating:
		return "; ignored after " + stamp(*w.Until)
	}
	return "; next change at " + stamp(*w.Until)
}

// stamp shows an instant to the second.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func joinNames(names []types.NamespacedName) string { return strings.Join(nameTexts(names), ", ") }

// nameTexts are the names as namespace/name.
func nameTexts(names []types.NamespacedName) []string {
	var texts []string
	for _, n := range names {
		texts = append(texts, n.String())
	}
	return texts
}
