package termination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Ledger answers as the eviction API of Kubernetes does, and keeps account of
// the evictions granted since, over any number of pods and nodes. Where [Limits]
// reads a PDB as Karpenter v1.14 does, the ledger differs in the pod's favour: one
// that is pending, terminal or terminating needs no permission; it counts as
// unhealthy unless its Ready condition is True; and an unhealthy pod may go, without
// being charged, when enough others are healthy. Against the pod: a status that is
// older than the spec, or broken, lets nothing go.
//
// A ledger is changed by Take and Return and by nothing else. It isn't safe for
// concurrent use; Clone costs little, since only the accounts are copied.
type Ledger struct {
	index    pdbIndex[int]                // positions in accounts
	accounts []*account                   // by position
	byName   map[types.NamespacedName]int // positions
	charged  []int32                      // by position: tokens taken, less those returned
}

// account is what the ledger knows of one PDB; it never changes.
type account struct {
	name      types.NamespacedName
	position  int
	spec      policyv1.PodDisruptionBudgetSpec
	health    Health
	allowed   int32 // from the status, or computed
	observed  bool  // the status belongs to the latest spec
	disrupted int32 // pods on record as disrupted
	always    bool  // unhealthyPodEvictionPolicy AlwaysAllow
	syncError string
}

// maxDisruptedPods is the most that a PDB's status may list before the eviction
// API refuses to add to it.
const maxDisruptedPods = 2000

// LedgerOptions is where a ledger takes its numbers from. The zero value takes
// them from the status of each PDB, as the eviction API does.
type LedgerOptions struct {
	// FromSpec computes the numbers from the spec and the pods, as the PDB
	// controller would, in place of believing the status: for a manifest that
	// has none, or a status that lags.
	FromSpec bool
	// Replicas is how many pods each controller wants, by the controller's UID:
	// spec.replicas of the ReplicaSet, StatefulSet or the like that owns pods.
	// Controllers that are missing count as wanting the pods that they have.
	Replicas map[types.UID]int32
	// Now is when the numbers are computed. Pods that a PDB's status names as
	// disrupted are on their way out, and don't count as healthy, for two minutes;
	// if Now is zero, for ever.
	Now time.Time
}

// CompileLedger reads the PDBs, and the pods of the whole cluster, which may be
// nil unless opts.FromSpec is set; it keeps nothing of either.
//
// A PDB whose selector can't be read is left out, as in the eviction API, and
// reported by its path in the list; the ledger is never nil. Evictions granted a
// moment ago are in flight: the status has been charged for them already, and with
// FromSpec the pods that status.disruptedPods names don't count as healthy.
func CompileLedger(pdbs []*policyv1.PodDisruptionBudget, pods []*corev1.Pod, opts LedgerOptions) (*Ledger, field.ErrorList) {
	l := &Ledger{byName: make(map[types.NamespacedName]int, len(pdbs))}
	var read []*policyv1.PodDisruptionBudget // by position
	errs := l.index.build(pdbs, func(p *policyv1.PodDisruptionBudget) int {
		position := len(l.accounts)
		a := newAccount(p, position)
		l.accounts, l.byName[a.name] = append(l.accounts, a), position
		read = append(read, p)
		return position
	})
	if opts.FromSpec {
		l.compute(read, pods, opts)
	}
	l.charged = make([]int32, len(l.accounts))
	return l, errs
}

func newAccount(p *policyv1.PodDisruptionBudget, position int) *account {
	policy := p.Spec.UnhealthyPodEvictionPolicy
	return &account{
		name:     types.NamespacedName{Namespace: p.Namespace, Name: p.Name},
		position: position,
		spec:     *p.Spec.DeepCopy(),
		health: Health{
			Current: p.Status.CurrentHealthy, Desired: p.Status.DesiredHealthy, Expected: p.Status.ExpectedPods,
		},
		allowed:   p.Status.DisruptionsAllowed,
		observed:  p.Status.ObservedGeneration >= p.Generation,
		disrupted: int32(len(p.Status.DisruptedPods)),
		always:    policy != nil && *policy == policyv1.AlwaysAllow,
		syncError: syncError(p),
	}
}

// syncError is the PDB controller's own complaint, if it could not compute the
// status; it then allows nothing.
func syncError(p *policyv1.PodDisruptionBudget) string {
	for _, c := range p.Status.Conditions {
		if c.Type == policyv1.DisruptionAllowedCondition && c.Reason == policyv1.SyncFailedReason {
			return c.Message
		}
	}
	return ""
}

// Clone returns a ledger with the same accounts, charged apart from now on.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.charged = slices.Clone(l.charged)
	return &c
}

// Answer is what the eviction API says to an eviction.
type Answer struct {
	Allowed bool `json:"allowed"`
	// Code says why not; "" if allowed.
	Code Code `json:"code,omitempty"`
	// Status is the HTTP status of the refusal; 0 if allowed.
	Status int `json:"status,omitempty"`
	// RetryAfter is the API's own advice; zero if it gives none.
	RetryAfter time.Duration `json:"-"`
	// Pod is the one that is refused; nil if all are allowed. It is the caller's.
	Pod *corev1.Pod `json:"-"`

	first *account // of the PDBs that refuse it
	all   []*account
}

// PDBs names what refuses the pod, sorted. The slice is the caller's.
func (a Answer) PDBs() []types.NamespacedName {
	if a.first == nil {
		return nil
	}
	if a.all == nil {
		return []types.NamespacedName{a.first.name}
	}
	names := make([]types.NamespacedName, len(a.all))
	for i, account := range a.all {
		names[i] = account.name
	}
	return sortNames(names)
}

// Ask reports whether the eviction API would let the pod go now, given all that
// was taken before. It charges nothing.
func (l *Ledger) Ask(pod *corev1.Pod) Answer {
	answer, _ := l.ask(pod)
	return answer
}

// ask also returns the account to charge, if any.
//
// These are the rules of the eviction API in their order. A pod that has ended,
// is pending or is being deleted is simply deleted. Two PDBs are an internal
// error. A pod that isn't Ready goes free with policy AlwaysAllow, or when at
// least desiredHealthy (and not zero) others are healthy. Only then the PDB's
// allowance decides.
func (l *Ledger) ask(pod *corev1.Pod) (Answer, *account) {
	if needsNoPermission(pod) {
		return Answer{Allowed: true}, nil
	}
	one, n := l.index.match(pod)
	if n == 0 {
		return Answer{Allowed: true}, nil
	}
	if n > 1 {
		all := l.matching(pod)
		return Answer{Code: MultiplePDBs, Status: 500, Pod: pod, first: all[0], all: all}, nil
	}
	a := l.accounts[one.value]
	if a.excuses(pod) {
		return Answer{Allowed: true}, nil
	}
	refusal := Answer{Pod: pod, first: a}
	left := a.allowed - l.charged[a.position]
	switch {
	case !a.observed:
		refusal.Code, refusal.Status, refusal.RetryAfter = PDBUnobserved, 429, 10*time.Second
	case a.allowed < 0 || a.disrupted+l.charged[a.position] > maxDisruptedPods:
		refusal.Code, refusal.Status = PDBRefuses, 403
	case left <= 0:
		refusal.Code, refusal.Status = PDBExhausted, 429
	default:
		return Answer{Allowed: true}, a
	}
	return refusal, nil
}

// matching lists the accounts of the PDBs that select the pod.
func (l *Ledger) matching(pod *corev1.Pod) []*account {
	var all []*account
	l.index.each(pod, func(e *entry[int]) bool {
		all = append(all, l.accounts[e.value])
		return true
	})
	return all
}

// Take charges the evictions of all the pods, or of none: two nodes that each
// hold half of what the other needs would else wait for each other for ever.
// The answer is that of the first pod refused.
func (l *Ledger) Take(pods ...*corev1.Pod) Answer {
	taken := make([]int, 0, len(pods))
	for _, pod := range present(pods) {
		answer, charge := l.ask(pod)
		if !answer.Allowed {
			for _, position := range taken {
				l.charged[position]--
			}
			return answer
		}
		if charge != nil {
			l.charged[charge.position]++
			taken = append(taken, charge.position)
		}
	}
	return Answer{Allowed: true}
}

// Return gives back what taking the pods has charged, when their replacements
// are healthy, or when the evictions came to nothing. Pods must be as they were
// when they were taken; one that was taken for free is passed over.
func (l *Ledger) Return(pods ...*corev1.Pod) {
	for _, pod := range present(pods) {
		if one, n := l.index.match(pod); n == 1 && l.charged[one.value] > 0 && l.pays(pod, l.accounts[one.value]) {
			l.charged[one.value]--
		}
	}
}

// pays reports whether evicting the pod is charged to the account.
func (l *Ledger) pays(pod *corev1.Pod, a *account) bool {
	return !needsNoPermission(pod) && !a.excuses(pod)
}

// needsNoPermission reports whether the eviction API deletes the pod without a
// look at PDBs.
func needsNoPermission(pod *corev1.Pod) bool {
	return IsTerminal(pod) || IsTerminating(pod) || pod.Status.Phase == corev1.PodPending
}

// excuses reports whether the pod goes free for being unhealthy.
func (a *account) excuses(pod *corev1.Pod) bool {
	return readiness(pod) != corev1.ConditionTrue && (a.always || a.health.Current >= a.health.Desired && a.health.Desired > 0)
}

// Left reports how many more evictions of healthy pods the PDB allows; false if
// the ledger doesn't know it.
func (l *Ledger) Left(pdb types.NamespacedName) (int, bool) {
	position, known := l.byName[pdb]
	if !known {
		return 0, false
	}
	return int(max(0, l.accounts[position].allowed-l.charged[position])), true
}
