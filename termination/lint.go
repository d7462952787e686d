package termination

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Codes of findings about a configuration.
const (
	// LintGraceLeqPodGrace: the node's grace period isn't longer than a pod's, so
	// that the pod is deleted at once: PDBs and do-not-disrupt are never consulted.
	LintGraceLeqPodGrace Code = "grace-leq-pod-grace"
	// LintGraceExceedsWindow: a drain that begins within the window may go on
	// long after it.
	LintGraceExceedsWindow Code = "grace-exceeds-window"
	// LintExpiryWithoutGrace: the node expires, and something can hold its drain
	// for ever, since no grace period ends it.
	LintExpiryWithoutGrace Code = "expiry-without-grace"
	// LintPDBNeverAllows: a PDB allows nothing even when every pod is healthy.
	LintPDBNeverAllows Code = "pdb-never-allows"
	// LintPDBOverlap: more than one PDB selects a pod, so it can't be evicted.
	LintPDBOverlap Code = "pdb-overlap"
	// LintUnboundedPod: a pod without terminationGracePeriodSeconds, which the
	// deadline never forces.
	LintUnboundedPod Code = "pod-without-grace"
)

// Finding is something that will not work as its author is likely to think.
type Finding struct {
	Code Code `json:"code"`
	// Pod concerned; nil if none in particular. It is the caller's own.
	Pod *corev1.Pod `json:"-"`
	// PDBs concerned, sorted.
	PDBs []types.NamespacedName `json:"-"`
	// Message says what will happen, and Fix what would change it.
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// String is the finding in one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s; %s", f.Code, f.Message, f.Fix) }

// Settings is how nodes of a pool come to their end, and what runs on them.
type Settings struct {
	// ExpireAfter and TerminationGracePeriod; nil is for ever.
	ExpireAfter, TerminationGracePeriod *time.Duration
	// Window is how long a maintenance window lasts; nil if there is none.
	Window *time.Duration
	Pods   []*corev1.Pod
	// Ledger of the PDBs; nil if there are none.
	Ledger *Ledger
	// Domain of the vocabulary; "" is karpenter.sh.
	Domain string
}

// Lint reports what is wrong with the settings: those of the nodes first, then
// pod by pod in the order of their names, then the PDBs.
func Lint(s Settings, now time.Time) []Finding {
	l := linter{Settings: s, rules: RulesFor(s.Domain), now: now}
	if s.Ledger == nil {
		l.Ledger = &Ledger{}
	}
	l.window()
	pods := slices.Clone(present(s.Pods))
	slices.SortStableFunc(pods, comparePods)
	for _, pod := range pods {
		if l.rules.IsWaitingEviction(pod, now) && !IsTerminating(pod) {
			l.pod(pod)
		}
	}
	for _, why := range l.Ledger.StructuralPDBs() {
		l.findings = append(l.findings, Finding{Code: LintPDBNeverAllows, PDBs: why.PDBs, Message: why.Message, Fix: why.Fix})
	}
	return l.findings
}

type linter struct {
	Settings
	rules    *Rules
	now      time.Time
	findings []Finding
}

func (l *linter) window() {
	if g := l.TerminationGracePeriod; g != nil && l.Window != nil && *g > *l.Window {
		l.findings = append(l.findings, Finding{
			Code:    LintGraceExceedsWindow,
			Message: fmt.Sprintf("a drain that begins within the window of %s may last %s", l.Window, g),
			Fix:     "shorten terminationGracePeriod, or begin no drain in the last part of the window",
		})
	}
}

func (l *linter) pod(pod *corev1.Pod) {
	l.overlap(pod)
	grace := l.TerminationGracePeriod
	if grace == nil {
		l.forever(pod)
		return
	}
	name := pod.Namespace + "/" + pod.Name
	switch own := pod.Spec.TerminationGracePeriodSeconds; {
	case own == nil:
		l.add(LintUnboundedPod, pod, name+" has no terminationGracePeriodSeconds, so the deadline never forces it", "set one; the API server's default is 30")
	case *grace <= ownGrace(pod):
		l.add(LintGraceLeqPodGrace, pod,
			fmt.Sprintf("the node's grace period of %s isn't longer than the %s of %s, which is deleted at once: neither PDBs nor do-not-disrupt are consulted", grace, ownGrace(pod), name),
			"make terminationGracePeriod longer than that of every pod, and by as much as evictions need")
	}
}

func (l *linter) overlap(pod *corev1.Pod) {
	if why, blocked := l.Ledger.Structural(pod); blocked && why.Code == MultiplePDBs {
		l.findings = append(l.findings, Finding{Code: LintPDBOverlap, Pod: pod, PDBs: why.PDBs, Message: pod.Namespace + "/" + pod.Name + ": " + why.Message, Fix: why.Fix})
	}
}

// forever finds what could hold the drain of an expired node without end.
func (l *linter) forever(pod *corev1.Pod) {
	if l.ExpireAfter == nil {
		return
	}
	name := pod.Namespace + "/" + pod.Name
	why, blocked := l.Ledger.Structural(pod)
	switch {
	case l.rules.DoNotDisrupt(pod, l.now) && l.rules.protectedUntil(pod, l.now) == nil:
		l.add(LintExpiryWithoutGrace, pod, name+" is protected by do-not-disrupt for good, and no grace period ends the drain of an expired node", "set terminationGracePeriod, or give do-not-disrupt a duration")
	case blocked:
		l.add(LintExpiryWithoutGrace, pod, name+" can never be evicted, and no grace period ends the drain of an expired node: "+why.Message, "set terminationGracePeriod, or "+why.Fix)
	}
}

func (l *linter) add(code Code, pod *corev1.Pod, message, fix string) {
	l.findings = append(l.findings, Finding{Code: code, Pod: pod, Message: message, Fix: fix})
}
