package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
	"github.com/node-disruption/disruption/termination"
)

// consolidation returns the facts from which candidates are made.
func (f *fleet) consolidation(limits *termination.Limits, balancedK map[string]float64) consolidation.Cluster {
	c := consolidation.Cluster{
		Now:    f.cluster.Now,
		Pools:  make([]consolidation.Pool, len(f.pools)),
		Nodes:  make([]consolidation.Node, len(f.machines)),
		Limits: limits,
	}
	for i, p := range f.pools {
		c.Pools[i] = f.consolidationPool(p)
		c.Pools[i].BalancedK = balancedK[p.Name]
	}
	for i := range f.machines {
		c.Nodes[i] = f.machines[i].consolidation()
	}
	f.veto(c.Nodes)
	return c
}

func (f *fleet) consolidationPool(p *NodePool) consolidation.Pool {
	pool := consolidation.Pool{
		Name:             p.Name,
		Policy:           p.Spec.Disruption.ConsolidationPolicy,
		ConsolidateAfter: p.Spec.Disruption.consolidateAfter(),
		InstanceTypes:    f.cluster.Catalog.For(p.Name),
	}
	if p.Spec.Replicas != nil {
		replicas := int(*p.Spec.Replicas)
		pool.Replicas = &replicas
		pool.Requirements = f.templateRequirements(p)
	}
	if limit, ok := p.Spec.Limits["nodes"]; ok {
		n := int(limit.Value())
		pool.NodeLimit = &n
	}
	return pool
}

// templateRequirements are those of a claim made from the pool's template.
func (f *fleet) templateRequirements(p *NodePool) scheduling.Requirements {
	t := &p.Spec.Template
	rs := scheduling.NewRequirements(t.Spec.Requirements...).
		And(scheduling.LabelRequirements(t.Labels)).
		Add(scheduling.In(f.keys.NodePool, p.Name))
	if ref := t.Spec.NodeClassRef; ref != nil {
		rs = rs.Add(scheduling.In(annotations.NodeClassLabel(ref.Group, ref.Kind), ref.Name))
	}
	return rs
}

func (m *machine) consolidation() consolidation.Node {
	n := consolidation.Node{Node: m.node, Pods: m.pods, Nominated: m.nominated, InMove: m.inMove}
	if m.claim != nil {
		n.Claim = m.consolidationClaim()
	}
	return n
}

func (m *machine) consolidationClaim() *consolidation.Claim {
	c := m.claim
	claim := &consolidation.Claim{
		Name: c.Name, Labels: c.Labels, Created: c.CreationTimestamp.Time,
		ExpireAfter:    c.Spec.ExpireAfter.Duration,
		Deleting:       c.deleting(),
		Consolidatable: isTrue(c.Status.Conditions, conditionConsolidatable),
	}
	if grace := c.Spec.TerminationGracePeriod; grace != nil {
		claim.TerminationGracePeriod = &grace.Duration
	}
	if drifted := condition(c.Status.Conditions, conditionDrifted); drifted != nil && drifted.Status == metav1.ConditionTrue {
		claim.Drifted, claim.DriftReason = &drifted.LastTransitionTime.Time, drifted.Reason
	}
	if since := c.quietSince(); m.pool != nil && !since.IsZero() {
		if after := m.pool.Spec.Disruption.consolidateAfter(); after != nil {
			at := since.Add(*after)
			claim.QuietAt = &at
		}
	}
	return claim
}

// budgetNodes are the nodes of a pool as its budgets count them.
func (f *fleet) budgetNodes() map[string][]budget.Node {
	byPool := make(map[string][]budget.Node, len(f.pools))
	for i := range f.machines {
		m := &f.machines[i]
		if m.poolName != "" {
			byPool[m.poolName] = append(byPool[m.poolName], m.budgetNode(f))
		}
	}
	return byPool
}

func (m *machine) budgetNode(f *fleet) budget.Node {
	return budget.Node{
		Name:                m.name,
		Unmanaged:           m.claim == nil,
		Uninitialized:       !m.initialized(f.keys),
		InstanceTerminating: m.claim != nil && isTrue(m.claim.Status.Conditions, conditionInstanceTerminating),
		Deleting:            m.deleting(),
		InFlight:            m.inMove,
		NotReady:            !m.ready(),
	}
}

// moves reports whether a pod must find a new place when its node goes.
func moves(limits *termination.Limits, now time.Time) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return limits.IsCurrentlyReschedulable(pod, now) }
}

// Snapshot compiles the cluster for what-if questions, the way [Prepare] does.
// The cluster must not change while the snapshot is in use.
func (c *Cluster) Snapshot(o Options) (*scheduling.Snapshot, error) {
	if errs := c.missing(); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	f := newFleet(c, o.Domain)
	return f.compileSnapshot(o, f.compileLimits())
}

// Scheduling returns the facts and options that [Cluster.Snapshot] compiles, for
// a host that brings a simulator of its own. They share the cluster's objects;
// nils are passed over.
func (c *Cluster) Scheduling(o Options) (scheduling.Cluster, scheduling.Options) {
	f := newFleet(c.present(), o.Domain)
	return f.scheduling(), f.schedulingOptions(o, f.compileLimits())
}

func (f *fleet) schedulingOptions(o Options, limits *termination.Limits) scheduling.Options {
	s := o.Scheduling
	s.Domain, s.WellKnownLabels, s.Moves = o.Domain, f.cluster.Catalog.WellKnownLabels, moves(limits, f.cluster.Now)
	return s
}
