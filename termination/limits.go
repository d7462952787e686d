package termination

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits answers what PodDisruptionBudgets permit, as Karpenter v1.14 reads
// them: from the status of each PDB, one pod at a time. It is compiled once,
// never changes, and costs the labels of a pod per question, not the number of
// PDBs. The eviction API's own arithmetic is that of a [Ledger].
type Limits struct {
	rules *Rules
	index pdbIndex[limit]
}

// limit is what matters of one PDB.
type limit struct {
	none        bool // status.disruptionsAllowed is 0
	alwaysAllow bool // unhealthyPodEvictionPolicy AlwaysAllow
	never       bool // it will not let a pod go while its spec stays as it is
}

// LimitsOptions is how PDBs are read. The zero value is Karpenter v1.14's way.
type LimitsOptions struct {
	// Domain of the annotations and the disrupted taint; "" is karpenter.sh.
	Domain string
	// SkipInvalid leaves out a PDB whose selector can't be read, as the eviction
	// API does, in place of refusing them all. The errors are returned either way.
	SkipInvalid bool
}

// CompileLimits reads the PDBs and keeps nothing of them. A selector that can't
// be read is an error by the path of its place in the list; the limits are then
// nil unless SkipInvalid is set, since a PDB that isn't understood might be the
// one that protects a pod.
//
// Selectors follow Kubernetes: an absent one matches nothing, an empty one every
// pod of the namespace.
func CompileLimits(pdbs []*policyv1.PodDisruptionBudget, opts LimitsOptions) (*Limits, field.ErrorList) {
	l := &Limits{rules: RulesFor(opts.Domain)}
	errs := l.index.build(pdbs, func(p *policyv1.PodDisruptionBudget) limit {
		policy := p.Spec.UnhealthyPodEvictionPolicy
		return limit{
			none:        p.Status.DisruptionsAllowed == 0,
			alwaysAllow: policy != nil && *policy == policyv1.AlwaysAllow,
			never:       neverAllows(&p.Spec),
		}
	})
	if len(errs) > 0 && !opts.SkipInvalid {
		return nil, errs
	}
	return l, errs
}

// neverAllows is Karpenter's test for a PDB that blocks for ever, by its literal
// spec: it knows "0%" but not "00%", and no minAvailable that the workload
// doesn't exceed.
func neverAllows(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if m := spec.MaxUnavailable; m != nil && (m.Type == intstr.Int && m.IntVal == 0 || m.Type == intstr.String && m.StrVal == "0%") {
		return true
	}
	m := spec.MinAvailable
	return m != nil && m.Type == intstr.String && m.StrVal == "100%"
}

// Rules returns the rules for pods that the limits use.
func (l *Limits) Rules() *Rules { return l.rules }

// Permission is what the PDBs say to an eviction.
type Permission struct {
	Allowed bool `json:"allowed"`
	// Code says why not; "" if allowed.
	Code Code `json:"code,omitempty"`
	// Pod is the one that may not be evicted; nil if allowed. It is the caller's own.
	Pod *corev1.Pod `json:"-"`
	// Blocking names the PDBs that forbid it, sorted.
	Blocking []types.NamespacedName `json:"-"`
}

// CanEvict reports whether each of the pods may be evicted now, taken on its
// own: three pods of one PDB that allows one eviction may, since the drain takes
// them one after the other. The first pod in the list that may not decides the
// answer. Whether they can go together is a question for a [Ledger].
//
// A pod that isn't evictable is passed over: nobody will call the eviction API
// for it. A pod matched by more than one PDB is blocked by all of them, whatever
// they allow, because the eviction API refuses it. A PDB with policy AlwaysAllow
// lets a pod go whose Ready condition is False (Unknown or missing isn't). Else
// a PDB blocks when status.disruptionsAllowed is 0.
//
// Nothing is allocated unless a pod is blocked.
func (l *Limits) CanEvict(now time.Time, pods ...*corev1.Pod) Permission {
	for _, pod := range present(pods) {
		if code := l.blocked(pod, now); code != "" {
			return Permission{Code: code, Pod: pod, Blocking: l.index.names(pod)}
		}
	}
	return Permission{Allowed: true}
}

// blocked is the code of what holds the pod, or "".
func (l *Limits) blocked(pod *corev1.Pod, now time.Time) Code {
	one, n := l.index.match(pod)
	switch {
	case n == 0 || !l.rules.IsEvictable(pod, now):
		return ""
	case n > 1:
		return MultiplePDBs
	case one.value.alwaysAllow && isUnready(pod):
		return ""
	case one.value.none:
		return PDBExhausted
	}
	return ""
}

// IsFullyBlocked reports whether the pod will never be evicted while its PDBs
// stay as they are: it is evictable and matched by more than one PDB, or by one
// with maxUnavailable 0 or "0%", or minAvailable "100%", that doesn't let it go
// for being unready. It doesn't depend on status.disruptionsAllowed, and it
// misses what only the number of replicas shows: see [Ledger.Structural].
func (l *Limits) IsFullyBlocked(pod *corev1.Pod, now time.Time) bool {
	one, n := l.index.match(pod)
	if n == 0 || !l.rules.IsEvictable(pod, now) {
		return false
	}
	return n > 1 || one.value.never && !(one.value.alwaysAllow && isUnready(pod))
}

// IsCurrentlyReschedulable reports whether the pod is to be placed elsewhere in
// a simulation: it is reschedulable and disruptable, and not fully blocked.
func (l *Limits) IsCurrentlyReschedulable(pod *corev1.Pod, now time.Time) bool {
	return IsReschedulable(pod) && l.rules.IsDisruptable(pod, now) && !l.IsFullyBlocked(pod, now)
}

// isUnready reports whether the Ready condition is there and False.
func isUnready(pod *corev1.Pod) bool { return readiness(pod) == corev1.ConditionFalse }

// readiness is the status of the pod's Ready condition, "" if it has none.
func readiness(pod *corev1.Pod) corev1.ConditionStatus {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status
		}
	}
	return ""
}

// compareNames orders by namespace, then name.
func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func sortNames(names []types.NamespacedName) []types.NamespacedName {
	slices.SortFunc(names, compareNames)
	return names
}
