package interruption

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/termination"
)

// Allotment is the part of the time left that one pod is given.
type Allotment struct {
	Pod  *corev1.Pod      `json:"-"` // the caller's own; in JSON namespace/name
	Tier termination.Tier `json:"tier"`
	// Start is when to delete the pod, Grace the grace period to give it.
	Start time.Time     `json:"start"`
	Grace time.Duration `json:"-"` // in JSON as text
	// Lost is the part of its own grace period that it isn't given.
	Lost time.Duration `json:"-"` // in JSON as text
	// Early: it goes together with an earlier tier, since the time isn't enough
	// to take the tiers one after the other.
	Early bool `json:"early,omitempty"`
}

// MarshalJSON names the pod, and writes durations as text.
func (a Allotment) MarshalJSON() ([]byte, error) {
	type plain Allotment
	return json.Marshal(struct {
		Pod string `json:"pod"`
		plain
		Grace metav1.Duration `json:"grace"`
		Lost  metav1.Duration `json:"lost,omitzero"`
	}{a.Pod.Namespace + "/" + a.Pod.Name, plain(a), metav1.Duration{Duration: a.Grace}, metav1.Duration{Duration: a.Lost}})
}

// Allot shares the time from now to the deadline out among the pods of a node
// that will be gone then, whatever PDBs and do-not-disrupt say. Only pods that a
// drain waits for count, and those that are terminating already are left as they
// are.
//
// Tiers go one after the other, each for as long as the longest grace period in
// it, if that can be. If it can't, each tier is given its part of the time in
// proportion to what it wants, in whole seconds, and a pod never more than its
// own grace. When there aren't two seconds a tier, all go at once with all the
// time there is, so that none starts to end when the machine is off. Grace is
// never below one second.
//
// Nil rules are those of Karpenter's own domain. The result is in order of start,
// tier and name.
func Allot(pods []*corev1.Pod, now, deadline time.Time, rules *termination.Rules) []Allotment {
	var tiers [4]time.Duration // the longest grace wanted
	var present [4]bool
	var list []Allotment
	if rules == nil {
		rules = termination.RulesFor("")
	}
	for _, pod := range pods {
		if pod == nil || !rules.IsWaitingEviction(pod, now) || termination.IsTerminating(pod) {
			continue
		}
		tier := termination.TierOf(pod)
		present[tier] = true
		tiers[tier] = max(tiers[tier], wanted(pod))
		list = append(list, Allotment{Pod: pod, Tier: tier})
	}
	parts, together := share(tiers, present, deadline.Sub(now))
	for i := range list {
		list[i].fill(parts, together, now)
	}
	slices.SortStableFunc(list, func(a, b Allotment) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Tier, b.Tier),
			cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return list
}

// wanted is the pod's own grace period, at least a second, at most a year.
func wanted(pod *corev1.Pod) time.Duration {
	const year = 365 * 24 * 3600
	seconds := int64(30)
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		seconds = min(max(*g, 1), year)
	}
	return time.Duration(seconds) * time.Second
}

// share gives each tier its part of the time left, or all of it to all of them.
func share(tiers [4]time.Duration, present [4]bool, left time.Duration) (parts [4]time.Duration, together bool) {
	var sum time.Duration
	count := 0
	for tier, want := range tiers {
		sum += want
		if present[tier] {
			count++
		}
	}
	if sum <= left {
		return tiers, false
	}
	if left < time.Duration(count)*2*time.Second {
		for tier := range parts {
			parts[tier] = max(time.Second, left.Truncate(time.Second))
		}
		return parts, true
	}
	// A second each to begin with, so that no part is nothing.
	spare := (left - time.Duration(count)*time.Second).Seconds()
	for tier, want := range tiers {
		if present[tier] {
			parts[tier] = time.Second + time.Duration(spare*want.Seconds()/sum.Seconds())*time.Second
		}
	}
	return parts, false
}

func (a *Allotment) fill(parts [4]time.Duration, together bool, now time.Time) {
	a.Start = now
	if !together {
		for _, before := range parts[:a.Tier] {
			a.Start = a.Start.Add(before)
		}
	}
	a.Early = together && a.Tier > termination.TierPlain
	own := wanted(a.Pod)
	a.Grace = min(own, parts[a.Tier])
	a.Lost = own - a.Grace
}
