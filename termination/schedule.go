package termination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Schedule is what a node's grace period means for its pods.
type Schedule struct {
	Start    time.Time `json:"start"`
	Deadline time.Time `json:"deadline"`
	// Deletions, one for each pod that the drain waits for, by the instant they
	// fall due, then by the pods' names.
	Deletions []ScheduledDeletion `json:"deletions,omitempty"`
	// Unbounded lists pods without terminationGracePeriodSeconds, which are never
	// deleted by force and may hold the node beyond its deadline, by name.
	Unbounded []*corev1.Pod `json:"-"`
}

// ScheduledDeletion is when a pod that is still there is deleted by force.
type ScheduledDeletion struct {
	Pod *corev1.Pod `json:"-"` // the caller's own
	// After is the instant after which it falls due, and not at it: deadline −
	// terminationGracePeriodSeconds, or the start if that has passed by then.
	After time.Time `json:"after"`
	// Immediately: it falls due at the very start, so that PDBs and do-not-disrupt
	// are never consulted for it.
	Immediately bool `json:"immediately,omitempty"`
	// Grace it is given if deleted at once, and how much of its own it loses to
	// the node's shorter one. The fraction of a second that passes until the first
	// look after the instant isn't counted as lost.
	Grace time.Duration `json:"-"`
	Lost  time.Duration `json:"-"`
}

// ScheduleOf reports for each pod when it is deleted at the latest, if the drain
// of its node begins at start with a grace period. Pods that evictions take
// earlier are gone by then.
//
// A pod with 300 s on a node with one hour is deleted after 55 minutes; one with
// two hours at once, with one hour of its two. A node is gone at its deadline at
// the latest, but for the last second that a pod deleted at the deadline is given.
// Nil rules are those of Karpenter's own domain.
func ScheduleOf(pods []*corev1.Pod, start time.Time, gracePeriod time.Duration, rules *Rules) Schedule {
	rules = rules.orDefault()
	s := Schedule{Start: start, Deadline: start.Add(gracePeriod)}
	for _, pod := range present(pods) {
		switch {
		case !rules.IsWaitingEviction(pod, start):
		case IsTerminating(pod):
			if IsPastDeadline(pod, &s.Deadline) {
				s.Deletions = append(s.Deletions, s.now(pod, pod.DeletionTimestamp.Sub(start)))
			}
		case pod.Spec.TerminationGracePeriodSeconds == nil:
			s.Unbounded = append(s.Unbounded, pod)
		default:
			s.Deletions = append(s.Deletions, s.active(pod))
		}
	}
	slices.SortFunc(s.Unbounded, comparePods)
	slices.SortFunc(s.Deletions, func(a, b ScheduledDeletion) int {
		if c := a.After.Compare(b.After); c != 0 {
			return c
		}
		return comparePods(a.Pod, b.Pod)
	})
	return s
}

func (s Schedule) active(pod *corev1.Pod) ScheduledDeletion {
	own := ownGrace(pod)
	due := s.Deadline.Add(-own)
	if due.Before(s.Start) {
		return s.now(pod, own)
	}
	return ScheduledDeletion{Pod: pod, After: due, Immediately: due.Equal(s.Start), Grace: graceLeft(s.Deadline, after(due))}
}

// now is a deletion at the start of a pod that would have had own grace left.
func (s Schedule) now(pod *corev1.Pod, own time.Duration) ScheduledDeletion {
	grace := graceLeft(s.Deadline, s.Start)
	return ScheduledDeletion{Pod: pod, After: s.Start, Immediately: true, Grace: grace, Lost: max(0, own-grace)}
}
