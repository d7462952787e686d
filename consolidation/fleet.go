package consolidation

import (
	"cmp"
	"math"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
	"github.com/node-disruption/disruption/termination"
)

// Fleet is a compiled [Cluster]: what each node costs, and what keeps it from
// being disrupted. It is immutable and safe for concurrent use; all methods
// share the costs of its pods.
type Fleet struct {
	cluster Cluster
	keys    annotations.Keys
	rules   *termination.Rules
	pools   map[string]*pool
	// candidates has an entry for every node, eligible or not, by name.
	candidates []*Candidate
	byName     map[string]*Candidate

	replicaOnce  sync.Once
	replicaCount map[string]int
}

// pool is a Pool with what its nodes add up to.
type pool struct {
	*Pool
	types map[string]*scheduling.InstanceType
	// cost and disruption of the whole pool; cost is 0 if no price is known.
	cost, disruption float64
	// active, deleting and inMove count the pool's claims.
	active, deleting, inMove int
}

// Candidate is one node with all that decides about it. It is shared: don't
// write to it.
type Candidate struct {
	Name         string `json:"name"`
	Pool         string `json:"pool"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// Price per hour of the offering with the node's type, zone and capacity type,
	// available or not; 0 if there is none.
	Price float64 `json:"price"`
	// RescheduleDisruptionCost is 1 + what it costs to evict the reschedulable
	// pods. A node where it is at most 1 counts as empty, even if it has pods.
	RescheduleDisruptionCost float64 `json:"rescheduleDisruptionCost"`
	// DisruptionCost is the older measure, see the function [DisruptionCost].
	DisruptionCost float64 `json:"disruptionCost"`
	// Reschedulable are the pods that must find a new place.
	Reschedulable []*corev1.Pod `json:"-"`

	facts  *Node
	labels map[string]string
	pool   *pool
	typ    *scheduling.InstanceType
	// wholeDisruption is the share in the disruption of its pool of a node that
	// can't be disrupted. Unlike the reschedule disruption cost, which counts for
	// the others, it counts mirror pods and terminating ones.
	wholeDisruption float64
	// blocked says which pods can't be evicted.
	blocked []Reason

	loadOnce sync.Once
	loadSum  load
}

// SavingsRatio is the price over the reschedule disruption cost: candidates are
// ordered by it.
func (c *Candidate) SavingsRatio() float64 {
	return SavingsRatio(c.Price, c.RescheduleDisruptionCost)
}

// Empty reports whether nothing is lost if the node goes.
func (c *Candidate) Empty() bool { return c.RescheduleDisruptionCost <= 1 }

// Facts returns what the candidate was made from. It is shared.
func (c *Candidate) Facts() *Node { return c.facts }

// Source is the candidate as a score sees it.
func (c *Candidate) Source() Source {
	return Source{Name: c.Name, Pool: c.Pool, Price: c.Price, RescheduleDisruptionCost: c.RescheduleDisruptionCost}
}

// Compile reads a cluster for the methods of a [Planner]. Domain is that of the
// labels and annotations, "" for karpenter.sh. Two pools or two nodes of one
// name, a nil pod or instance type, and a k out of bounds, are errors.
func Compile(cluster Cluster, domain string) (*Fleet, error) {
	f := &Fleet{
		cluster: cluster,
		keys:    annotations.For(domain),
		rules:   termination.RulesFor(domain),
		pools:   make(map[string]*pool, len(cluster.Pools)),
		byName:  make(map[string]*Candidate, len(cluster.Nodes)),
	}
	if errs := append(f.addPools(), f.addNodes()...); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	slices.SortFunc(f.candidates, func(a, b *Candidate) int { return compareNames(a.Name, b.Name) })
	for _, c := range f.candidates {
		f.count(c)
	}
	return f, nil
}

func (f *Fleet) addPools() field.ErrorList {
	var errs field.ErrorList
	for i := range f.cluster.Pools {
		p := &f.cluster.Pools[i]
		path := field.NewPath("pools").Index(i)
		if f.pools[p.Name] != nil {
			errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
		}
		if k := p.BalancedK; k != 0 && !(k >= 1 && k <= 10) {
			errs = append(errs, field.Invalid(path.Child("balancedK"), k, "must be between 1 and 10"))
		}
		types := make(map[string]*scheduling.InstanceType, len(p.InstanceTypes))
		for j, t := range p.InstanceTypes {
			if t == nil {
				errs = append(errs, field.Required(path.Child("instanceTypes").Index(j), ""))
				continue
			}
			types[t.Name] = t
		}
		f.pools[p.Name] = &pool{Pool: p, types: types}
	}
	return errs
}

func (f *Fleet) addNodes() field.ErrorList {
	var errs field.ErrorList
	for i := range f.cluster.Nodes {
		n := &f.cluster.Nodes[i]
		name := n.name()
		switch path := field.NewPath("nodes").Index(i); {
		case name == "":
			errs = append(errs, field.Required(path, "a node or a claim with a name"))
		case f.byName[name] != nil:
			errs = append(errs, field.Duplicate(path, name))
		case slices.Contains(n.Pods, nil):
			errs = append(errs, field.Required(path.Child("pods").Index(slices.Index(n.Pods, nil)), ""))
		default:
			c := f.candidate(n)
			f.byName[name] = c
			f.candidates = append(f.candidates, c)
		}
	}
	return errs
}

// candidate computes everything about one node that needs no other.
func (f *Fleet) candidate(n *Node) *Candidate {
	c := &Candidate{Name: n.name(), facts: n, labels: f.labels(n)}
	labels := c.labels
	c.Pool = labels[f.keys.NodePool]
	c.InstanceType = labels[corev1.LabelInstanceTypeStable]
	c.Zone = labels[corev1.LabelTopologyZone]
	c.CapacityType = labels[f.keys.CapacityType]
	if c.pool = f.pools[c.Pool]; c.pool != nil {
		c.typ = c.pool.types[c.InstanceType]
		c.Price = f.priceOf(c.typ, c.Zone, c.CapacityType)
	}
	f.addCosts(c)
	c.blocked = f.checkPods(n.Pods)
	return c
}

// addCosts sums what the pods of a node cost, each of which is priced once.
func (f *Fleet) addCosts(c *Candidate) {
	c.RescheduleDisruptionCost, c.wholeDisruption = 1, 1
	for _, pod := range c.facts.Pods {
		cost := EvictionCost(pod)
		c.DisruptionCost += cost
		if termination.IsReschedulable(pod) {
			c.Reschedulable = append(c.Reschedulable, pod)
			c.RescheduleDisruptionCost += math.Max(0, cost)
		}
		if !termination.IsTerminal(pod) && !termination.IsDaemon(pod) {
			c.wholeDisruption += math.Max(0, cost)
		}
	}
	if claim := c.facts.Claim; claim != nil {
		c.DisruptionCost *= LifetimeRemaining(claim.Created, claim.ExpireAfter, f.cluster.Now)
	}
}

// labels are the claim's until the node has taken them over.
func (f *Fleet) labels(n *Node) map[string]string {
	switch {
	case n.Node == nil && n.Claim == nil:
		return nil
	case n.Node == nil:
		return n.Claim.Labels
	case n.Claim == nil || n.Node.Labels[f.keys.Registered] == "true" || n.Node.Labels[f.keys.Initialized] == "true":
		return n.Node.Labels
	}
	return n.Claim.Labels
}

// priceOf is the price of the first offering of that zone and capacity type,
// available or not, whatever its reservation; 0 if none is known.
func (f *Fleet) priceOf(t *scheduling.InstanceType, zone, capacityType string) float64 {
	if t == nil || zone == "" || capacityType == "" {
		return 0
	}
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if sells(o, corev1.LabelTopologyZone, zone) && sells(o, f.keys.CapacityType, capacityType) {
			if math.IsNaN(o.Price) {
				return 0
			}
			return o.Price
		}
	}
	return 0
}

func sells(o *scheduling.Offering, key, value string) bool {
	r := o.Requirements.Get(key)
	return !r.Complement() && r.Has(value)
}

// count adds the node to what its pool holds: the cost goes by the labels of the
// claim, the disruption by those of the node.
func (f *Fleet) count(c *Candidate) {
	if claim := c.facts.Claim; claim != nil {
		if p := f.pools[claim.Labels[f.keys.NodePool]]; p != nil {
			t := p.types[claim.Labels[corev1.LabelInstanceTypeStable]]
			p.cost += f.priceOf(t, claim.Labels[corev1.LabelTopologyZone], claim.Labels[f.keys.CapacityType])
			switch {
			case c.facts.InMove:
				p.inMove++
			case claim.Deleting:
				p.deleting++
			default:
				p.active++
			}
		}
	}
	switch {
	case c.pool == nil:
	case f.disruptable(c):
		c.pool.disruption += c.RescheduleDisruptionCost
	default:
		c.pool.disruption += c.wholeDisruption
	}
}

// Candidates returns every node of the fleet by name, eligible or not.
func (f *Fleet) Candidates() []*Candidate { return slices.Clone(f.candidates) }

// Candidate returns the node of that name.
func (f *Fleet) Candidate(name string) (*Candidate, bool) {
	c, ok := f.byName[name]
	return c, ok
}

// Eligible returns the nodes that a method may take, by savings ratio, dearest
// first, ties by name.
func (f *Fleet) Eligible(m Method) []*Candidate {
	var eligible []*Candidate
	for _, c := range f.candidates {
		if f.eligible(c, m) {
			eligible = append(eligible, c)
		}
	}
	slices.SortFunc(eligible, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(b.SavingsRatio(), a.SavingsRatio()), compareNames(a.Name, b.Name))
	})
	return eligible
}

// Totals returns what pools cost and what their disruption adds up to, by pool:
// only pools with a node that could be disrupted gracefully are in it. If no
// price of a pool's claims is known, those of these nodes stand in for them.
func (f *Fleet) Totals() map[string]Totals {
	totals := map[string]Totals{}
	for _, c := range f.candidates {
		if f.disruptable(c) {
			t := totals[c.Pool]
			totals[c.Pool] = Totals{Cost: t.Cost + c.Price, Disruption: c.pool.disruption}
		}
	}
	for name, t := range totals {
		if cost := f.pools[name].cost; cost != 0 {
			totals[name] = Totals{Cost: cost, Disruption: t.Disruption}
		}
	}
	return totals
}
