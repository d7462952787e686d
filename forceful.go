package disruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/node-disruption/disruption/repair"
	"github.com/node-disruption/disruption/termination"
)

// Forceful is what happens whatever budgets say.
type Forceful struct {
	// Expired nodes are due to be deleted; Expiring are those that will be within
	// [Options.ExpiringWithin]. Soonest first.
	Expired  []Expiring `json:"expired,omitempty"`
	Expiring []Expiring `json:"expiring,omitempty"`
	// Repairs are the nodes that would be replaced for being sick, and those that
	// are sick but stay for now; filled if [Options.RepairPolicies] are given.
	Repairs []Repair `json:"repairs,omitempty"`
	// Terminating nodes, and what each waits for, by name.
	Terminating []Terminating `json:"terminating,omitempty"`
}

// Expiring is a node with the end of its life.
type Expiring struct {
	Node  string    `json:"node"`
	Claim string    `json:"claim"`
	At    time.Time `json:"at"`
	// GoneBy bounds its drain; nil if nothing does.
	GoneBy *time.Time `json:"goneBy,omitempty"`
}

// Repair is a sick node.
type Repair struct {
	Node string `json:"node"`
	// Now: it would be repaired in this pass.
	Now bool `json:"now"`
	// Code and Message say how it stands; see package repair.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Terminating is a node that is being deleted.
type Terminating struct {
	Node  string    `json:"node"`
	Since time.Time `json:"since"`
	// Deadline at which its pods are deleted by force; nil if there is none.
	Deadline *time.Time `json:"deadline,omitempty"`
	// Waiting has a line for each pod that the drain waits for.
	Waiting []string `json:"waiting,omitempty"`
	// Problem is why the drain can't be judged, "" if it can.
	Problem string `json:"problem,omitempty"`
}

func (p *Pass) reportForceful(plan *Plan) {
	now := plan.Now
	for i := range p.fleet.machines {
		m := &p.fleet.machines[i]
		if m.claim == nil {
			continue
		}
		switch e := termination.ExpiryOf(m.terminationClaim(), now); {
		case e.Due:
			plan.Forceful.Expired = append(plan.Forceful.Expired, Expiring{m.name, m.claim.Name, *e.At, e.GoneBy})
		case e.At != nil && m.claim.DeletionTimestamp == nil && e.At.Sub(now) <= p.expiringWithin():
			plan.Forceful.Expiring = append(plan.Forceful.Expiring, Expiring{m.name, m.claim.Name, *e.At, e.GoneBy})
		}
		if !m.claim.DeletionTimestamp.IsZero() {
			plan.Forceful.Terminating = append(plan.Forceful.Terminating, p.terminating(m, now))
		}
	}
	soonest := func(a, b Expiring) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Node, b.Node)) }
	slices.SortFunc(plan.Forceful.Expired, soonest)
	slices.SortFunc(plan.Forceful.Expiring, soonest)
	plan.Forceful.Repairs = p.repairs(now)
}

func (p *Pass) expiringWithin() time.Duration {
	return cmp.Or(p.options.ExpiringWithin, 24*time.Hour)
}

func (m *machine) terminationClaim() *termination.Claim {
	c := &termination.Claim{ObjectMeta: m.claim.ObjectMeta, ExpireAfter: m.claim.Spec.ExpireAfter.Duration}
	if grace := m.claim.Spec.TerminationGracePeriod; grace != nil {
		c.TerminationGracePeriod = &grace.Duration
	}
	return c
}

// terminating says what the drain of a node waits for.
func (p *Pass) terminating(m *machine, now time.Time) Terminating {
	t := Terminating{Node: m.name, Since: m.claim.DeletionTimestamp.Time}
	deadline, ok, err := p.fleet.keys.TerminationDeadline(m.claim)
	switch {
	case err != nil:
		t.Problem = err.Error()
		return t
	case ok:
		t.Deadline = &deadline
	case m.claim.Spec.TerminationGracePeriod != nil:
		by := t.Since.Add(m.claim.Spec.TerminationGracePeriod.Duration)
		t.Deadline = &by
	}
	drain := termination.PlanDrain(termination.Drain{Pods: m.pods, Deadline: t.Deadline, Domain: p.options.Domain, Limits: p.limits}, now)
	for _, wait := range drain.Waiting {
		t.Waiting = append(t.Waiting, wait.String())
	}
	return t
}

// repairs asks package repair about the nodes that are not healthy.
func (p *Pass) repairs(now time.Time) []Repair {
	if len(p.options.RepairPolicies) == 0 {
		return nil
	}
	options := &repair.Options{Settings: repair.Settings{Policies: p.options.RepairPolicies}}
	plan := repair.Propose(p.repairNodes(), options, repair.State{}, now)
	acting := map[string]bool{}
	for _, action := range plan.Actions {
		acting[action.Node] = true
	}
	var list []Repair
	for i := range plan.Findings {
		f := &plan.Findings[i]
		if f.Code != repair.CodeHealthy {
			list = append(list, Repair{Node: f.Node, Now: acting[f.Node], Code: string(f.Code), Message: f.String()})
		}
	}
	return list
}

func (p *Pass) repairNodes() []repair.Node {
	var nodes []repair.Node
	for i := range p.fleet.machines {
		m := &p.fleet.machines[i]
		if m.node == nil {
			continue
		}
		n := repair.Node{Node: m.node, Pool: m.node.Labels[p.fleet.keys.NodePool]}
		if c := m.claim; c != nil {
			claim := repair.Claim{Name: c.Name, Pool: c.Labels[p.fleet.keys.NodePool], Deleting: !c.DeletionTimestamp.IsZero()}
			if deadline, ok, _ := p.fleet.keys.TerminationDeadline(c); ok {
				claim.Deadline = &deadline
			}
			n.Claims = []repair.Claim{claim}
		}
		nodes = append(nodes, n)
	}
	return nodes
}
