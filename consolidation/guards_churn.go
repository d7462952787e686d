package consolidation

import (
	"math"
	"slices"
	"time"
)

// MinSavings refuses to move pods for little money. A bound of 0 is none; the
// move must reach each of the others. Empty and drifted nodes are not its
// business.
type MinSavings struct {
	// PerHour is the least saving per hour, in the currency of the prices.
	PerHour float64
	// Share is the least part of the nodes' price to be saved: 0.2 asks for
	// replacements that are at least 20% cheaper.
	Share float64
	// PerDisruption is the least saving per hour for a unit of disruption cost: for
	// each plain pod that moves, and each node.
	PerDisruption float64
}

// Check implements [Guard].
func (g MinSavings) Check(m *Move, _ GuardContext) *Reason {
	if !m.saves() {
		return nil
	}
	for _, bound := range []struct {
		least, got float64
		what       string
	}{
		{g.PerHour, m.Savings, "per hour"},
		{g.Share, m.Savings / m.Price, "of the nodes' price"},
		{g.PerDisruption, m.Savings / m.Disruption, "per unit of disruption"},
	} {
		if bound.least > 0 && !(bound.got >= bound.least) {
			r := reason(SavingsTooSmall, nodeObjects(m), "the move saves %.4g %s, at least %.4g is asked for", bound.got, bound.what, bound.least)
			return &r
		}
	}
	return nil
}

// ChurnLimit bounds how many nodes of one pool are disrupted in a window of time,
// by any method, whatever the budgets allow at once. The answer does not depend
// on how often moves are looked for.
type ChurnLimit struct {
	Nodes  int
	Window time.Duration
}

// Check implements [Guard].
func (g ChurnLimit) Check(m *Move, in GuardContext) *Reason {
	pools, count := m.poolNodes()
	for _, pool := range pools {
		past := in.History.disruptions(pool, in.Now.Add(-g.Window))
		excess := len(past) + count[pool] - g.Nodes
		if excess <= 0 {
			continue
		}
		r := reason(ChurnLimited, []string{object("NodePool", pool)},
			"node pool %s lost %d nodes in the last %v and would lose %d more, %d are allowed", pool, len(past), g.Window, count[pool], g.Nodes)
		if excess <= len(past) {
			until := past[excess-1].Add(g.Window)
			r.Until = &until
		}
		return &r
	}
	return nil
}

// disruptions are the instants, in order, at which the pool lost a node after t.
func (h History) disruptions(pool string, t time.Time) []time.Time {
	var list []time.Time
	for _, m := range h.Moves {
		for _, n := range m.Nodes {
			if n.Pool == pool && m.At.After(t) {
				list = append(list, m.At)
			}
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// PoolCooldown leaves a pool alone for a while after each move that took nodes of
// it.
type PoolCooldown struct{ Window time.Duration }

// Check implements [Guard].
func (g PoolCooldown) Check(m *Move, in GuardContext) *Reason {
	pools, _ := m.poolNodes()
	for _, pool := range pools {
		past := in.History.disruptions(pool, in.Now.Add(-g.Window))
		if len(past) == 0 {
			continue
		}
		until := past[len(past)-1].Add(g.Window)
		r := reason(PoolCooling, []string{object("NodePool", pool)}, "node pool %s lost a node less than %v ago", pool, g.Window)
		r.Until = &until
		return &r
	}
	return nil
}

// MinAge leaves nodes alone whose claim was created a short while ago, whatever
// the method: what came with the last burst of pods may be needed again at once,
// and its pods may still be starting.
type MinAge struct{ Age time.Duration }

// Check implements [Guard].
func (g MinAge) Check(m *Move, in GuardContext) *Reason {
	for _, c := range m.candidates {
		if c.facts.Claim == nil || in.Now.Sub(c.facts.Claim.Created) >= g.Age {
			continue
		}
		until := c.facts.Claim.Created.Add(g.Age)
		r := reason(TooYoung, []string{object("Node", c.Name)}, "node %s was created less than %v ago", c.Name, g.Age)
		r.Until = &until
		return &r
	}
	return nil
}

// PodCooldown leaves pods alone that were moved a short while ago: pods that were
// created since their owner last lost pods to a move.
type PodCooldown struct{ Window time.Duration }

// Check implements [Guard].
func (g PodCooldown) Check(m *Move, in GuardContext) *Reason {
	moved := in.History.lastMoved(in.Now.Add(-g.Window))
	for _, c := range m.candidates {
		for _, pod := range c.Reschedulable {
			at, ok := moved[OwnerOf(pod)]
			if !ok || pod.CreationTimestamp.Time.Before(at) {
				continue
			}
			until := at.Add(g.Window)
			r := reason(PodCooling, []string{podObject(pod)}, "pod %s/%s was moved less than %v ago", pod.Namespace, pod.Name, g.Window)
			r.Until = &until
			return &r
		}
	}
	return nil
}

// lastMoved is when each owner last lost pods to a move after t.
func (h History) lastMoved(t time.Time) map[string]time.Time {
	last := map[string]time.Time{}
	for _, m := range h.Moves {
		for _, n := range m.Nodes {
			for _, owner := range n.Owners {
				if m.At.After(t) && m.At.After(last[owner]) {
					last[owner] = m.At
				}
			}
		}
	}
	return last
}

// LoopDetector backs off from moves that keep coming back: the same owner's pods
// moved away from the same instance type of the same pool, Times times within
// Window. The first refusal lasts Backoff from the last of those moves, and each
// further one twice as long, but none longer than Longest (0: no bound).
type LoopDetector struct {
	Times   int
	Window  time.Duration
	Backoff time.Duration
	Longest time.Duration
}

// Check implements [Guard].
func (g LoopDetector) Check(m *Move, in GuardContext) *Reason {
	for _, c := range m.candidates {
		for _, owner := range owners(c.Reschedulable) {
			n, last := in.History.repeats(owner, c, in.Now.Add(-g.Window))
			until := last.Add(g.pause(n))
			if n == 0 || n < g.Times || !in.Now.Before(until) {
				continue
			}
			r := reason(Looping, []string{owner, object("Node", c.Name)},
				"%s was moved away from instance type %s of node pool %s %d times within %v", owner, c.InstanceType, c.Pool, n, g.Window)
			r.Until = &until
			return &r
		}
	}
	return nil
}

// pause is how long to back off after n moves.
func (g LoopDetector) pause(n int) time.Duration {
	longest := g.Longest
	if longest <= 0 {
		longest = math.MaxInt64
	}
	pause := min(g.Backoff, longest)
	for range n - g.Times {
		if pause > longest/2 {
			return longest
		}
		pause *= 2
	}
	return pause
}

// repeats counts the moves after t that took pods of the owner from a node of the
// candidate's pool and instance type.
func (h History) repeats(owner string, c *Candidate, t time.Time) (n int, last time.Time) {
	for _, m := range h.Moves {
		if !m.At.After(t) {
			continue
		}
		if slices.ContainsFunc(m.Nodes, func(p PastNode) bool {
			return p.Pool == c.Pool && p.InstanceType == c.InstanceType && slices.Contains(p.Owners, owner)
		}) {
			n++
			if m.At.After(last) {
				last = m.At
			}
		}
	}
	return n, last
}
