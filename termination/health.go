package termination

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Health is the arithmetic of one PDB.
type Health struct {
	Current  int32 `json:"current"`  // pods that are Ready and not being deleted
	Desired  int32 `json:"desired"`  // of those, how many must stay
	Expected int32 `json:"expected"` // how many there are meant to be
}

// Allowed is how many may be evicted now.
func (h Health) Allowed() int32 {
	if h.Expected <= 0 {
		return 0
	}
	return max(0, h.Current-h.Desired)
}

// AtBest is how many may be evicted when every expected pod is healthy.
func (h Health) AtBest() int32 { return max(0, h.Expected-h.Desired) }

// DesiredHealthy reports how many of expected pods a PDB wants healthy, and
// false if its spec can't be read. Both percentages round up, as in the PDB
// controller: maxUnavailable 30% of 3 lets 1 go, minAvailable 51% of 2 keeps 2.
// A spec with neither field wants none.
func DesiredHealthy(spec *policyv1.PodDisruptionBudgetSpec, expected int32) (int32, bool) {
	switch {
	case spec.MaxUnavailable != nil:
		n, ok := scaled(spec.MaxUnavailable, expected)
		return max(0, expected-n), ok
	case spec.MinAvailable != nil:
		return scaled(spec.MinAvailable, expected)
	}
	return 0, true
}

// scaled is the number, or the percentage of all rounded up; never below zero, and
// never more than an int32 holds.
func scaled(v *intstr.IntOrString, all int32) (int32, bool) {
	n, err := intstr.GetScaledValueFromIntOrPercent(v, int(all), true)
	return int32(min(max(n, 0), math.MaxInt32)), err == nil
}

// compute fills the accounts from specs and pods in place of the statuses.
// The PDBs are those of the accounts, in the same order.
func (l *Ledger) compute(pdbs []*policyv1.PodDisruptionBudget, pods []*corev1.Pod, opts LedgerOptions) {
	counts := make([]count, len(l.accounts))
	for _, pod := range present(pods) {
		if IsTerminal(pod) {
			continue
		}
		l.index.each(pod, func(e *entry[int]) bool {
			counts[e.value].add(pod, inFlight(pdbs[e.value], pod, opts.Now))
			return true
		})
	}
	for i, a := range l.accounts {
		a.observed = true
		a.health, a.syncError = counts[i].health(&a.spec, opts.Replicas)
		a.allowed = a.health.Allowed()
	}
}

// disruptionTimeout is how long the PDB controller waits for the deletion of a pod
// whose eviction was granted.
const disruptionTimeout = 2 * time.Minute

// inFlight reports whether the pod's eviction was granted so lately that its
// deletion may not be seen yet.
func inFlight(pdb *policyv1.PodDisruptionBudget, pod *corev1.Pod, now time.Time) bool {
	granted, ok := pdb.Status.DisruptedPods[pod.Name]
	return ok && !granted.Add(disruptionTimeout).Before(now)
}

// count is the pods that one PDB selects.
type count struct {
	pods, healthy int32
	owners        map[types.UID]int32 // pods of each controller
	orphans       int32               // pods that no controller has
}

func (c *count) add(pod *corev1.Pod, inFlight bool) {
	c.pods++
	if !inFlight && !IsTerminating(pod) && readiness(pod) == corev1.ConditionTrue {
		c.healthy++
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		c.orphans++
		return
	}
	if c.owners == nil {
		c.owners = map[types.UID]int32{}
	}
	c.owners[owner.UID]++
}

// health does what the PDB controller does: an integer minAvailable needs only
// the pods; everything else needs to know how many pods the controllers want.
func (c *count) health(spec *policyv1.PodDisruptionBudgetSpec, replicas map[types.UID]int32) (Health, string) {
	h := Health{Current: c.healthy, Expected: c.pods}
	if spec.MaxUnavailable != nil || spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.String {
		if c.orphans > 0 {
			return Health{Current: c.healthy}, fmt.Sprintf("%d of its pods have no controller, so nobody says how many there should be", c.orphans)
		}
		h.Expected = 0
		for uid, have := range c.owners {
			if want, ok := replicas[uid]; ok {
				have = want
			}
			h.Expected += have
		}
	}
	desired, ok := DesiredHealthy(spec, h.Expected)
	if !ok {
		return Health{Current: c.healthy}, "neither a number nor a percentage"
	}
	h.Desired = desired
	return h, ""
}
