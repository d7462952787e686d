package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/termination"
)

// rollout is what an edit does to one pool.
type rollout struct {
	pool      string
	now       time.Time
	horizon   time.Time
	pace      drift.Pace
	preflight drift.Preflight
	budgets   *budget.Set
	usage     budget.Usage
	timeline  drift.Timeline
	waiting   []drift.Candidate // drifted, but a pod holds them
}

// predict asks what the edit does to each pool that is named before and after.
func (c *config) predict(in *input) ([]rollout, error) {
	in.cluster.Now = c.now
	limits, errs := termination.CompileLimits(in.cluster.PodDisruptionBudgets, termination.LimitsOptions{})
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	f := newFleet(in.cluster, limits, c.now)
	var out []rollout
	for _, after := range in.after {
		i := slices.IndexFunc(in.before, func(p *disruption.NodePool) bool { return p.Name == after.Name })
		if i < 0 {
			continue // a new pool has no nodes that could drift
		}
		r, err := c.predictPool(in.before[i], after, f)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, errors.New("no NodePool is named both before and after")
	}
	slices.SortFunc(out, func(a, b rollout) int { return cmp.Compare(a.pool, b.pool) })
	return out, nil
}

func (c *config) predictPool(before, after *disruption.NodePool, f *fleet) (rollout, error) {
	set, errs := budget.Compile(after.Spec.Disruption.Budgets, nil)
	if len(errs) > 0 {
		return rollout{}, fmt.Errorf("NodePool %s: %w", after.Name, errs.ToAggregate())
	}
	edit := &drift.Edit{Pool: after.Name, Before: &before.Spec.Template, After: &after.Spec.Template}
	r := rollout{
		pool: after.Name, now: c.now, horizon: c.now.Add(c.horizon), pace: c.pace, budgets: set,
		preflight: drift.WouldDrift(edit, f.subjects(after.Name), drift.Options{}, c.now),
		usage:     budget.Count(f.budgetNodes(after.Name)).Usage(budget.Drifted, budget.Accounting{}),
	}
	r.timeline, r.waiting = r.preflight.Forecast(set, r.usage, c.pace, c.now, r.horizon)
	return r, nil
}

// fleet is the cluster, by node.
type fleet struct {
	cluster *disruption.Cluster
	limits  *termination.Limits
	keys    annotations.Keys
	nodes   map[string]*corev1.Node // by provider id
	pods    map[string][]*corev1.Pod
	now     time.Time
}

func newFleet(c *disruption.Cluster, limits *termination.Limits, now time.Time) *fleet {
	f := &fleet{
		cluster: c, limits: limits, now: now, keys: annotations.For(""),
		nodes: map[string]*corev1.Node{}, pods: map[string][]*corev1.Pod{},
	}
	for _, n := range c.Nodes {
		f.nodes[n.Spec.ProviderID] = n
	}
	for _, p := range c.Pods {
		f.pods[p.Spec.NodeName] = append(f.pods[p.Spec.NodeName], p)
	}
	return f
}

// claims of a pool whose node is known.
func (f *fleet) claims(pool string) (out []*disruption.NodeClaim) {
	for _, c := range f.cluster.NodeClaims {
		if c.Labels[f.keys.NodePool] == pool && f.nodes[c.Status.ProviderID] != nil {
			out = append(out, c)
		}
	}
	return out
}

// subjects are the nodes of a pool as drift judges them.
func (f *fleet) subjects(pool string) []drift.Subject {
	var out []drift.Subject
	for _, c := range f.claims(pool) {
		if !c.DeletionTimestamp.IsZero() {
			continue
		}
		s := drift.Subject{
			Node:           f.nodes[c.Status.ProviderID].Name,
			HasGracePeriod: c.Spec.TerminationGracePeriod != nil,
			Claim: drift.Claim{
				Name: c.Name, Labels: c.Labels, Annotations: c.Annotations, Created: c.CreationTimestamp.Time,
				Drifted: condition(c.Status.Conditions, drift.ConditionDrifted),
			},
		}
		f.askPods(&s)
		out = append(out, s)
	}
	return out
}

// askPods counts the pods that move, and finds one that must not.
func (f *fleet) askPods(s *drift.Subject) {
	for _, pod := range f.pods[s.Node] {
		if f.limits.IsCurrentlyReschedulable(pod, f.now) {
			s.ReschedulablePods++
		}
		if !f.limits.Rules().IsDisruptable(pod, f.now) {
			s.PodsBlock = cmp.Or(s.PodsBlock, "do-not-disrupt on pod "+pod.Namespace+"/"+pod.Name)
		}
	}
	if answer := f.limits.CanEvict(f.now, f.pods[s.Node]...); !answer.Allowed {
		s.PodsBlock = cmp.Or(s.PodsBlock, fmt.Sprintf("PDB %s of pod %s/%s", answer.Blocking[0], answer.Pod.Namespace, answer.Pod.Name))
	}
}

// budgetNodes are the nodes of a pool as its budgets count them.
func (f *fleet) budgetNodes(pool string) []budget.Node {
	var out []budget.Node
	for _, c := range f.claims(pool) {
		n := f.nodes[c.Status.ProviderID]
		out = append(out, budget.Node{
			Name:          n.Name,
			Uninitialized: n.Labels[f.keys.Initialized] != "true",
			Deleting:      !c.DeletionTimestamp.IsZero() || !n.DeletionTimestamp.IsZero(),
			NotReady:      !ready(n),
		})
	}
	return out
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func condition(conditions []metav1.Condition, kind string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
