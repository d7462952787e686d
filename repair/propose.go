package repair

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Propose answers for a whole fleet: who is repaired now, who waits until when,
// who is held back by which breaker, and with what numbers.
//
// A node is repaired when a policy that it matches is due, exactly one claim has
// it, and the breaker allows. The breaker counts the nodes with the pool label
// of the claim that match any policy, tolerated or not; for a claim without a
// pool it counts all nodes. Budgets are not asked. A node whose claim is being
// deleted is not deleted again, but its deadline is still pulled forward.
//
// Names of nodes must be unique. Neither nodes nor state are changed.
func Propose(nodes []Node, o *Options, state State, now time.Time) Plan {
	p := pass{options: o, now: now, next: state.clone(), groups: map[Group]*group{}}
	p.observe(nodes)
	p.weather()
	for _, c := range p.queue() {
		p.decide(c)
	}
	return p.plan()
}

// Count reads the breaker of a pool, or of all nodes for pool "", the way
// [Propose] does in a first pass without failure domains.
func (o *Options) Count(nodes []Node, pool string, now time.Time) Count {
	s, all, sick := o.settings(pool), 0, 0
	for i := range nodes {
		if pool != "" && nodes[i].Pool != pool {
			continue
		}
		all++
		if _, ok := o.evaluate(&nodes[i], s, now); ok {
			sick++
		}
	}
	return s.Breaker.Read(all, sick)
}

// evaluate is [Evaluate] with the options' view of time, and requests.
func (o *Options) evaluate(n *Node, s *Settings, now time.Time) (Match, bool) {
	m, sick := evaluate(n.Node, s.Policies, o.Since, now)
	if n.Requested && !(sick && m.DueAt(now)) {
		return Match{Policy: -1, Due: now}, true
	}
	return m, sick
}

// pass is the work of one Propose.
type pass struct {
	options  *Options
	now      time.Time
	next     State
	groups   map[Group]*group
	seen     []observation
	inFlight int
}

// group is the nodes that share a breaker.
type group struct {
	settings *Settings
	count    Count
	inFlight int
	storm    bool
	stormEnd *time.Time
}

// observation is what the pass knows of one node.
type observation struct {
	node     *Node
	claim    *Claim // nil unless there is exactly one
	group    Group  // whose breaker and settings hold for it
	settings *Settings
	match    Match
	sick     bool
	countsIn []Group // the groups in whose reading it counts already
	finding  Finding
	action   *Action
}

func (ob *observation) name() string { return ob.node.Node.Name }

// at returns now, for the caller to keep.
func (p *pass) at() *time.Time {
	now := p.now
	return &now
}

// under reports whether a remedy is at work: the claim is being deleted, or a
// step of the ladder still has time.
func (p *pass) under(ob *observation) bool {
	if ob.claim != nil && ob.claim.Deleting {
		return true
	}
	attempts := p.next.Nodes[ob.name()].Attempts
	for i := range ob.settings.Policies {
		if s, _ := running(ob.settings.Policies[i].Ladder, attempts, p.now); s != nil {
			return true
		}
	}
	return false
}

// observe looks at every node, and counts.
func (p *pass) observe(nodes []Node) {
	p.seen = make([]observation, len(nodes))
	known := make(map[string]bool, len(p.next.Nodes))
	for i := range nodes {
		ob := &p.seen[i]
		p.look(ob, &nodes[i])
		p.count(ob)
		if _, ok := p.next.Nodes[ob.name()]; ok {
			known[ob.name()] = true
		}
	}
	maps.DeleteFunc(p.next.Nodes, func(name string, _ NodeState) bool { return !known[name] })
}

// look fills in one observation, and remembers sickness.
func (p *pass) look(ob *observation, n *Node) {
	pool := n.Pool
	if len(n.Claims) == 1 {
		ob.claim = &n.Claims[0]
		pool = ob.claim.Pool
	}
	ob.node, ob.group = n, p.groupOf(n, pool)
	ob.settings = p.groups[ob.group].settings
	ob.match, ob.sick = p.options.evaluate(n, ob.settings, p.now)
	ob.finding = Finding{Node: ob.name(), Pool: pool, Code: CodeHealthy}
	if ob.claim != nil {
		ob.finding.Claim = ob.claim.Name
	}
	if ob.sick {
		match := ob.match
		ob.finding.Code, ob.finding.Match, ob.finding.Until = CodeNotYet, &match, &match.Due
	}
	p.remember(ob)
}

// remember updates what is kept of a node, and tells recovering from healthy.
func (p *pass) remember(ob *observation) {
	old, known := p.next.Nodes[ob.name()]
	delay := p.options.HealthyDelay
	switch {
	case ob.sick && (known || delay != 0):
		old.LastSick = p.at()
	case ob.sick || !known:
		return
	case old.LastSick != nil && (delay < 0 || p.now.Sub(*old.LastSick) < delay):
		ob.finding.Code = CodeRecovering
		if delay > 0 {
			end := old.LastSick.Add(delay)
			ob.finding.Until = &end
		}
	default:
		old = NodeState{Attempts: remembered(ob.settings.Policies, old.Attempts, p.now)}
	}
	p.next.setNode(ob.name(), old)
}

// groupOf returns the group that a node of a pool falls in, known to the pass.
func (p *pass) groupOf(n *Node, pool string) Group {
	g := Group{Pool: pool}
	if label := p.options.FailureDomain; label != "" {
		g.Domain = n.Node.Labels[label]
	}
	if p.groups[g] == nil {
		p.groups[g] = &group{settings: p.options.settings(pool)}
	}
	return g
}

// count adds a node to the readings of its label's pool and of the whole.
func (p *pass) count(ob *observation) {
	whole := p.groupOf(ob.node, "")
	p.countIn(ob, whole)
	if own := p.groupOf(ob.node, ob.node.Pool); own != whole {
		p.countIn(ob, own)
	}
	if ob.sick && p.under(ob) {
		p.groups[ob.group].inFlight++
		p.inFlight++
	}
}

func (p *pass) countIn(ob *observation, in Group) {
	g := p.groups[in]
	g.count.Nodes++
	sick := ob.sick
	if g.settings != ob.settings {
		_, sick = p.options.evaluate(ob.node, g.settings, p.now)
	}
	switch {
	case sick || ob.finding.Code == CodeRecovering:
		g.count.Sick++
	case p.options.Strict && p.under(ob):
		g.count.Leaving++
	default:
		return
	}
	ob.countsIn = append(ob.countsIn, in)
}

// weather reads every breaker, and moves storms on.
func (p *pass) weather() {
	var storms map[Group]StormState
	for key, g := range p.groups {
		b := g.settings.Breaker
		g.count.Min, g.count.Max, g.count.Err = b.bounds(g.count.Nodes)
		if p.options.Storm == (Storm{}) {
			continue
		}
		var old *StormState
		if s, ok := p.next.Storms[key]; ok {
			old = &s
		}
		s, end := p.options.Storm.step(old, b, g.count, p.now)
		if s == nil {
			continue
		}
		if storms == nil {
			storms = map[Group]StormState{}
		}
		storms[key], g.storm, g.stormEnd = *s, true, end
	}
	p.next.Storms = storms
}

// queue is the sick nodes that are due or beyond repair, in the order in which
// they are decided.
func (p *pass) queue() []*observation {
	var due []*observation
	for i := range p.seen {
		if ob := &p.seen[i]; ob.sick && ob.match.DueAt(p.now) {
			due = append(due, ob)
		}
	}
	slices.SortFunc(due, func(a, b *observation) int {
		return cmp.Or(
			cmp.Compare(b.priority(), a.priority()),
			a.match.Due.Compare(b.match.Due),
			cmp.Compare(a.name(), b.name()),
		)
	})
	return due
}

func (ob *observation) policy() *Policy {
	if ob.match.Policy < 0 {
		return &Policy{}
	}
	return &ob.settings.Policies[ob.match.Policy]
}

func (ob *observation) priority() int { return ob.policy().Priority }

// plan puts the answer together.
func (p *pass) plan() Plan {
	out := Plan{State: p.next, Findings: make([]Finding, 0, len(p.seen))}
	for i := range p.seen {
		f := p.seen[i].finding
		out.Findings = append(out.Findings, f)
		if f.Until != nil && f.Until.After(p.now) && (out.NextCheck == nil || f.Until.Before(*out.NextCheck)) {
			out.NextCheck = f.Until
		}
	}
	slices.SortFunc(out.Findings, func(a, b Finding) int { return cmp.Compare(a.Node, b.Node) })
	for _, ob := range p.queue() {
		if ob.action != nil {
			out.Actions = append(out.Actions, *ob.action)
		}
	}
	for key, g := range p.groups {
		out.Groups = append(out.Groups, Reading{key, g.count})
	}
	slices.SortFunc(out.Groups, func(a, b Reading) int {
		return cmp.Or(cmp.Compare(a.Group.Pool, b.Group.Pool), cmp.Compare(a.Group.Domain, b.Group.Domain))
	})
	return out
}
