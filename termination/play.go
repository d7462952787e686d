package termination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultGrace is what the API server gives a pod that asks for none.
const defaultGrace = 30 * time.Second

// departing is a pod on its way out in a simulated drain.
type departing struct {
	original *corev1.Pod
	pod      *corev1.Pod // a copy, deleted as the simulation goes
	Departure
}

// simulation is one course of the drain of some nodes.
type simulation struct {
	nodes  []DrainNode
	pods   [][]departing // by node
	start  time.Time
	now    time.Time
	fast   bool
	opts   ForecastOptions
	ledger *Ledger
	loans  []loan // tokens taken
	// returned: tokens came back that no node has been offered yet.
	returned bool
	agenda   []agenda // by node
}

// agenda says when there is something to do about a node again.
type agenda struct {
	next    *time.Time // when time alone changes its plan, or a pod is gone
	thirsty bool       // some pod waits for a token
}

// loan is the token of an evicted pod, given back when its replacement is healthy.
type loan struct {
	pod *corev1.Pod
	due time.Time
}

// play runs one course to its end and returns the pods' departures by node.
func play(nodes []DrainNode, start time.Time, opts ForecastOptions, fast bool) [][]departing {
	s := &simulation{nodes: nodes, start: start, now: start, fast: fast, opts: opts}
	if opts.Ledger != nil {
		s.ledger = opts.Ledger.Clone()
		if fast {
			s.ledger = opts.Ledger.recovered()
		}
	}
	rules := RulesFor(opts.Domain)
	for _, node := range nodes {
		var pods []departing
		for _, pod := range present(node.Pods) {
			if rules.IsWaitingEviction(pod, start) {
				pods = append(pods, s.arrive(pod))
			}
		}
		s.pods = append(s.pods, pods)
		s.agenda = append(s.agenda, agenda{next: &start})
	}
	s.run()
	return s.pods
}

// arrive takes a pod into the simulation. One that is terminating has been told.
func (s *simulation) arrive(pod *corev1.Pod) departing {
	d := departing{original: pod, pod: pod}
	if !IsTerminating(pod) {
		return d
	}
	left := pod.DeletionTimestamp.Sub(s.now)
	if left <= 0 {
		// It is late already: the drain disregards it once it is stuck.
		left = after(pod.DeletionTimestamp.Add(stuckAfter)).Sub(s.now)
	}
	s.told(&d, left)
	return d
}

// told notes that the pod has been told to go now, with this grace.
func (s *simulation) told(d *departing, grace time.Duration) {
	told, gone := s.now, s.leaves(grace)
	d.Told, d.Gone, d.Grace = &told, &gone, grace
}

// leaves is when a pod that is given this grace now has left.
func (s *simulation) leaves(grace time.Duration) time.Time {
	if s.fast {
		return s.now
	}
	return s.now.Add(grace)
}

// run moves from one instant at which something changes to the next.
func (s *simulation) run() {
	for {
		acted, next := s.act()
		if acted {
			continue
		}
		if next == nil {
			return
		}
		s.now = *next
		s.settle()
	}
}

// settle gives back the tokens that are due.
func (s *simulation) settle() {
	s.loans = slices.DeleteFunc(s.loans, func(l loan) bool {
		if l.due.After(s.now) {
			return false
		}
		s.ledger.Return(l.pod)
		s.returned = true
		return true
	})
}

// act takes the plans of the nodes that have something on their agenda, and
// reports whether they did anything, and the next instant at which something may
// change.
func (s *simulation) act() (acted bool, next *time.Time) {
	returned := s.returned
	s.returned = false
	for i := range s.nodes {
		a := &s.agenda[i]
		if due := a.next != nil && !a.next.After(s.now); due || a.thirsty && returned {
			acted = s.visit(i) || acted
		}
		next = earlier(next, a.next)
	}
	for _, l := range s.loans {
		due := l.due
		next = earlier(next, &due)
	}
	if acted {
		s.settle()
	}
	return acted, next
}

// visit takes the plan of node i, and writes its agenda.
func (s *simulation) visit(i int) (acted bool) {
	plan, present := s.plan(i)
	for _, f := range plan.ForceDelete {
		acted = s.force(present[f.Pod], f, *deadlineOf(s.nodes[i], s.start)) || acted
	}
	for _, pod := range plan.Evict {
		s.evict(present[pod])
		acted = true
	}
	a := agenda{next: plan.NextChange}
	for _, w := range plan.Waiting {
		s.wait(present[w.Pod], w)
		a.thirsty = a.thirsty || w.Code == PDBExhausted
	}
	for _, d := range present {
		if d.Gone != nil {
			a.next = earlier(a.next, d.Gone)
		}
	}
	if acted {
		now := s.now
		a.next = &now
	}
	s.agenda[i] = a
	return acted
}

// plan is what PlanDrain says about node i now, with the pods still there.
func (s *simulation) plan(i int) (DrainPlan, map[*corev1.Pod]*departing) {
	present := map[*corev1.Pod]*departing{}
	var pods []*corev1.Pod
	for j := range s.pods[i] {
		d := &s.pods[i][j]
		if d.Gone == nil || d.Gone.After(s.now) {
			present[d.pod] = d
			pods = append(pods, d.pod)
		}
	}
	drain := Drain{Pods: pods, Deadline: deadlineOf(s.nodes[i], s.start), Domain: s.opts.Domain, Ledger: s.ledger}
	return PlanDrain(drain, s.now), present
}

// force deletes the pod, and reports whether that is news.
func (s *simulation) force(d *departing, f ForcedDeletion, deadline time.Time) bool {
	if d.Forced {
		return false
	}
	until := metav1.NewTime(s.now.Add(f.Grace))
	own := ownGrace(d.pod)
	if IsTerminating(d.pod) {
		own = d.pod.DeletionTimestamp.Sub(s.now)
	}
	s.told(d, f.Grace)
	d.Forced = true
	// The instant by which "after" is later than its limit costs no second.
	d.Lost = max(0, own-max(f.Grace, deadline.Sub(s.now))).Truncate(time.Second)
	d.pod = d.pod.DeepCopy()
	d.pod.DeletionTimestamp = &until
	return true
}

func (s *simulation) evict(d *departing) {
	taken := d.pod
	if s.ledger != nil && s.ledger.Take(taken).Allowed {
		s.loans = append(s.loans, loan{pod: taken, due: s.leaves(ownGrace(taken)).Add(s.opts.Recovery)})
	}
	s.told(d, ownGrace(taken))
	until := metav1.NewTime(s.now.Add(d.Grace))
	d.pod = taken.DeepCopy()
	d.pod.DeletionTimestamp = &until
}

// wait remembers what holds the pod, as long as it hasn't been told to go.
func (s *simulation) wait(d *departing, w Wait) {
	if d == nil || d.Told != nil {
		return
	}
	w.Pod = d.original
	d.Held = w
}

func ownGrace(pod *corev1.Pod) time.Duration {
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return time.Duration(min(*g, int64(1<<33))) * time.Second
	}
	return defaultGrace
}

// recovered is a ledger in which every expected pod is healthy.
func (l *Ledger) recovered() *Ledger {
	c := l.Clone()
	c.accounts = make([]*account, len(l.accounts))
	for i, a := range l.accounts {
		b := *a
		b.allowed, b.observed, b.disrupted = a.atBest(), true, 0
		b.health.Current = max(a.health.Current, a.health.Expected)
		c.accounts[i] = &b
	}
	return c
}
