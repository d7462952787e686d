package termination

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Tier is the place of a pod in the order of a drain. A tier is evicted when
// nothing of the ones before it is waiting.
type Tier int

// The tiers, in the order they leave. Critical pods are those with priority
// class system-cluster-critical or system-node-critical; a number as priority
// doesn't make a pod critical.
const (
	TierPlain Tier = iota
	TierDaemon
	TierCritical
	TierCriticalDaemon
)

var tierNames = [...]string{"plain", "daemon", "critical", "critical daemon"}

// String is the tier's name: plain, daemon, critical or critical daemon.
func (t Tier) String() string {
	if t < 0 || int(t) >= len(tierNames) {
		return fmt.Sprintf("tier %d", int(t))
	}
	return tierNames[t]
}

// MarshalText writes the tier's name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a tier's name.
func (t *Tier) UnmarshalText(text []byte) error {
	i := slices.Index(tierNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no tier: want one of %s", text, strings.Join(tierNames[:], ", "))
	}
	*t = Tier(i)
	return nil
}

// TierOf reports in which tier a drain evicts the pod.
func TierOf(pod *corev1.Pod) Tier {
	tier := TierPlain
	if IsDaemon(pod) {
		tier = TierDaemon
	}
	if c := pod.Spec.PriorityClassName; c == "system-cluster-critical" || c == "system-node-critical" {
		tier += TierCritical
	}
	return tier
}

// Drain is what a plan for one node is made from.
type Drain struct {
	// Pods of the node; nils are passed over.
	Pods []*corev1.Pod
	// Deadline at which the node's termination grace period ends; nil if none.
	Deadline *time.Time
	// Domain of the annotations and the disrupted taint; "" is karpenter.sh.
	Domain string
	// Limits, if given, say which PDBs hold a pod. They don't change what is
	// evicted: Karpenter asks the eviction API all the same, and takes its answer.
	Limits *Limits
	// Ledger, if given, makes the plan exact: only pods that the eviction API
	// will let go, all together, are evicted, and a forced deletion says which
	// PDBs it breaks. The plan doesn't charge the ledger; give [DrainPlan.Evict]
	// to [Ledger.Take] before planning the next node. It wins over Limits.
	Ledger *Ledger
}

// DrainPlan is what to do with the pods of a node at one instant. It holds the
// caller's pods, and nothing else of the input.
type DrainPlan struct {
	// ForceDelete are the pods whose time is up, in the order given. They are
	// deleted whatever their tier, PDBs and do-not-disrupt say.
	ForceDelete []ForcedDeletion `json:"forceDelete,omitempty"`
	// Evict are the pods to call the eviction API for, all of tier Tier: in the
	// order given, or by name if the plan is exact.
	Evict []*corev1.Pod `json:"-"`
	// Tier is the first that has pods whose time isn't up; the later ones wait.
	Tier Tier `json:"tier"`
	// Waiting says of every pod the drain waits for what it waits for, in the
	// order given. It includes the pods of ForceDelete and Evict.
	Waiting []Wait `json:"waiting,omitempty"`
	// NextChange is the first instant after now at which the plan changes by the
	// passing of time alone; nil if it doesn't.
	NextChange *time.Time `json:"nextChange,omitempty"`
}

// Done reports whether the node is drained: nothing is waiting.
func (p DrainPlan) Done() bool { return len(p.Waiting) == 0 }

// ForcedDeletion is a pod to delete without asking anybody.
type ForcedDeletion struct {
	Pod *corev1.Pod `json:"-"`
	// Grace is the grace period to delete it with: whole seconds to the deadline,
	// at least one second. Zero would remove the object before the kubelet has
	// stopped its containers.
	Grace time.Duration `json:"-"`
	// Breaks names the PDBs that would not have let the pod go now, sorted.
	// It is empty if the drain was given neither limits nor a ledger.
	Breaks []types.NamespacedName `json:"-"`
}

// PlanDrain reports what to do with the pods of a node at now.
//
// The drain waits for every pod that is drainable and not terminal, as in
// Karpenter v1.14. Past the instant deadline − terminationGracePeriodSeconds
// an active pod is deleted by force, with the grace that is left, so that it is
// gone at the deadline; so is a pod already terminating whose deletionTimestamp
// lies after the deadline. A pod without terminationGracePeriodSeconds never is.
// Of all others the first tier that has any is evicted: its terminating pods are
// waited for, and its pods protected by do-not-disrupt stall it.
//
// The plan is made afresh from the pods each time and keeps no memory, so a pod
// that became evictable is evicted whatever happened before.
func PlanDrain(d Drain, now time.Time) DrainPlan {
	p := planner{Drain: d, rules: RulesFor(d.Domain), now: now}
	p.collect()
	p.forceDelete()
	p.evict()
	for i := range p.plan.Waiting {
		p.plan.NextChange = earlier(p.plan.NextChange, p.plan.Waiting[i].Until)
	}
	return p.plan
}

type planner struct {
	Drain
	rules *Rules
	now   time.Time
	plan  DrainPlan
}

// collect lists the pods that the drain waits for.
func (p *planner) collect() {
	p.plan.Waiting = slices.Grow(p.plan.Waiting, len(p.Pods))
	for _, pod := range present(p.Pods) {
		if p.rules.IsWaitingEviction(pod, p.now) {
			p.plan.Waiting = append(p.plan.Waiting, Wait{Pod: pod, Tier: TierOf(pod), Until: p.nextChange(pod)})
		}
	}
}

// nextChange is the first instant after now at which time alone changes what is
// done with the pod: its protection ends, its deletion falls due, or it is stuck.
func (p *planner) nextChange(pod *corev1.Pod) *time.Time {
	if IsTerminating(pod) {
		ignored := after(pod.DeletionTimestamp.Add(stuckAfter))
		return &ignored
	}
	free := p.rules.protectedUntil(pod, p.now)
	due, ever := forceDue(pod, p.Deadline)
	switch {
	case !ever:
		return free
	case !p.now.Before(due):
		return nil
	}
	return earlier(&due, free)
}

// forceDue is the first instant at which the active pod is deleted by force; false
// if it never is.
func forceDue(pod *corev1.Pod, deadline *time.Time) (time.Time, bool) {
	grace := pod.Spec.TerminationGracePeriodSeconds
	if deadline == nil || grace == nil {
		return time.Time{}, false
	}
	// The product overflows beyond 292 years, as it does in Karpenter: such a
	// pod's time is never up.
	return after(deadline.Add(-time.Duration(*grace) * time.Second)), true
}

func (p *planner) forceDelete() {
	for i := range p.plan.Waiting {
		w := &p.plan.Waiting[i]
		if !p.timeIsUp(w.Pod) {
			continue
		}
		w.Code = DeadlineReached
		w.Blocking = p.broken(w.Pod)
		p.plan.ForceDelete = append(p.plan.ForceDelete, ForcedDeletion{Pod: w.Pod, Grace: graceLeft(*p.Deadline, p.now), Breaks: slices.Clone(w.Blocking)})
	}
}

func (p *planner) timeIsUp(pod *corev1.Pod) bool {
	if IsTerminating(pod) {
		return IsPastDeadline(pod, p.Deadline)
	}
	due, ever := forceDue(pod, p.Deadline)
	return ever && !p.now.Before(due)
}

// graceLeft is what remains until the deadline in whole seconds, never below one.
func graceLeft(deadline, now time.Time) time.Duration {
	return max(deadline.Sub(now).Truncate(time.Second), time.Second)
}

// broken names the PDBs that a forced deletion of the pod passes over: none for one
// that is terminating already.
func (p *planner) broken(pod *corev1.Pod) []types.NamespacedName {
	switch {
	case p.Ledger != nil:
		return p.Ledger.Ask(pod).PDBs()
	case p.Limits != nil:
		return p.Limits.CanEvict(p.now, pod).Blocking
	}
	return nil
}

// evict hands out the first tier that has pods whose time isn't up.
func (p *planner) evict() {
	var rest []*Wait
	for i := range p.plan.Waiting {
		if w := &p.plan.Waiting[i]; w.Code == "" {
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 {
		return
	}
	p.plan.Tier = slices.MinFunc(rest, func(a, b *Wait) int { return cmp.Compare(a.Tier, b.Tier) }).Tier
	for _, w := range rest {
		w.Code = p.code(w)
	}
	if p.Ledger != nil {
		p.takeTokens(rest)
		return
	}
	for _, w := range rest {
		if w.Code != Evicting {
			continue
		}
		p.plan.Evict = append(p.plan.Evict, w.Pod)
		if p.Limits == nil {
			continue
		}
		if permission := p.Limits.CanEvict(p.now, w.Pod); !permission.Allowed {
			w.Code, w.Blocking = permission.Code, permission.Blocking
		}
	}
}

// code is what the pod waits for, PDBs aside.
func (p *planner) code(w *Wait) Code {
	switch {
	case IsTerminating(w.Pod):
		return Terminating
	case w.Tier > p.plan.Tier:
		return EarlierTier
	case p.rules.DoNotDisrupt(w.Pod, p.now):
		return DoNotDisrupt
	}
	return Evicting
}

// takeTokens evicts what the ledger lets go, pod by pod in order of their names,
// from a copy of it.
func (p *planner) takeTokens(rest []*Wait) {
	ledger := p.Ledger.Clone()
	rest = slices.DeleteFunc(rest, func(w *Wait) bool { return w.Code != Evicting })
	slices.SortStableFunc(rest, func(a, b *Wait) int { return comparePods(a.Pod, b.Pod) })
	for _, w := range rest {
		answer := ledger.Take(w.Pod)
		if answer.Allowed {
			p.plan.Evict = append(p.plan.Evict, w.Pod)
			continue
		}
		w.Code, w.Blocking = answer.Code, answer.PDBs()
		if why, never := ledger.Structural(w.Pod); never {
			w.Fix = why.Fix
		}
	}
}

// protectedUntil is the instant at which do-not-disrupt lets go of the pod; nil
// if it doesn't protect it now, or has no known end.
func (r *Rules) protectedUntil(pod *corev1.Pod, now time.Time) *time.Time {
	if _, ok := pod.Annotations[r.keys.DoNotDisrupt]; !ok {
		return nil
	}
	protection := r.keys.PodProtection(pod, now)
	if !protection.Active() {
		return nil
	}
	return protection.Until
}

// present is the list without its nils.
func present[T any](list []*T) []*T {
	if !slices.Contains(list, nil) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(item *T) bool { return item == nil })
}

func comparePods(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// after is the first instant after t.
func after(t time.Time) time.Time { return t.Add(1) }

// earlier is the earlier of two instants, either of which may be missing.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}
