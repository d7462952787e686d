package consolidation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/scheduling"
	"github.com/node-disruption/disruption/termination"
)

// UtilizationCeiling leaves busy nodes alone: those where pods request more than
// the given share of what is allocatable. A ceiling of 0 is none. It asks only
// about moves that save money by moving pods.
type UtilizationCeiling struct{ CPU, Memory float64 }

// Check implements [Guard].
func (g UtilizationCeiling) Check(m *Move, _ GuardContext) *Reason {
	if !m.saves() {
		return nil
	}
	for _, c := range m.candidates {
		load := c.load()
		for _, bound := range []struct {
			ceiling, share float64
			what           string
		}{{g.CPU, load.cpu.share(), "CPU"}, {g.Memory, load.memory.share(), "memory"}} {
			if bound.ceiling > 0 && bound.share > bound.ceiling {
				r := reason(TooBusy, []string{object("Node", c.Name)},
					"pods request %.0f%% of the %s of node %s, the ceiling is %.0f%%", 100*bound.share, bound.what, c.Name, 100*bound.ceiling)
				return &r
			}
		}
	}
	return nil
}

// use is how much of one resource a node has, how much of it its pods request,
// and how much those that must move do, in thousandths.
type use struct{ allocatable, requested, moving float64 }

func (u use) share() float64 {
	if u.allocatable <= 0 {
		return 0
	}
	return u.requested / u.allocatable
}

func (u use) free() float64 { return max(0, u.allocatable-u.requested) }

// load is what the pods of a node request of its CPU and memory.
type load struct{ cpu, memory use }

// load is computed once for the life of the fleet, when it is first asked for.
func (c *Candidate) load() load {
	c.loadOnce.Do(func() {
		if c.facts.Node == nil {
			return
		}
		allocatable := c.facts.Node.Status.Allocatable
		c.loadSum.cpu.allocatable = milli(allocatable, corev1.ResourceCPU)
		c.loadSum.memory.allocatable = milli(allocatable, corev1.ResourceMemory)
		for _, pod := range c.facts.Pods {
			if !termination.IsTerminal(pod) {
				c.loadSum.add(scheduling.PodRequests(pod), termination.IsReschedulable(pod))
			}
		}
	})
	return c.loadSum
}

func (l *load) add(requests corev1.ResourceList, moving bool) {
	cpu, memory := milli(requests, corev1.ResourceCPU), milli(requests, corev1.ResourceMemory)
	l.cpu.requested += cpu
	l.memory.requested += memory
	if moving {
		l.cpu.moving += cpu
		l.memory.moving += memory
	}
}

func milli(list corev1.ResourceList, name corev1.ResourceName) float64 {
	q := list[name]
	return q.AsApproximateFloat64() * 1000
}

// Headroom keeps room for loads that come again and again: every class of pods
// that the history saw at least Times times within Window must still fit, in its
// largest number, on the nodes that remain, beside the pods that the move puts
// there. Only CPU and memory are looked at; nodes that are cordoned, not ready or
// to be launched don't count.
type Headroom struct {
	Times  int
	Window time.Duration
}

// Check implements [Guard].
func (g Headroom) Check(m *Move, in GuardContext) *Reason {
	loads := in.History.recurring(g.Times, in.Now.Add(-g.Window))
	if len(loads) == 0 {
		return nil
	}
	rooms := roomAfter(m, in.Fleet)
	for _, l := range loads {
		if left := fit(rooms, l); left > 0 {
			r := reason(NoHeadroom, []string{l.Class},
				"%d of the %d pods of %s, which came %d times or more within %v, would find no room", left, l.Pods, l.Class, g.Times, g.Window)
			return &r
		}
	}
	return nil
}

// recurring are the classes seen often enough after t, by name, each with its
// largest appearance.
func (h History) recurring(times int, t time.Time) []PastLoad {
	count := map[string]int{}
	largest := map[string]PastLoad{}
	for _, l := range h.Loads {
		if !l.At.After(t) {
			continue
		}
		if count[l.Class]++; l.Pods >= largest[l.Class].Pods {
			largest[l.Class] = l
		}
	}
	var list []PastLoad
	for class, l := range largest {
		if count[class] >= max(1, times) {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b PastLoad) int { return compareNames(a.Class, b.Class) })
	return list
}

type room struct{ cpu, memory float64 }

// roomAfter is what the remaining nodes have free once the move is done, by name.
func roomAfter(m *Move, f *Fleet) []room {
	gone := map[string]bool{}
	for _, name := range m.Nodes {
		gone[name] = true
	}
	taken := map[string]room{}
	for i := range m.Placements {
		at := &m.Placements[i]
		if at.Node == "" {
			continue
		}
		requests := scheduling.PodRequests(at.Pod)
		t := taken[at.Node]
		taken[at.Node] = room{t.cpu + milli(requests, corev1.ResourceCPU), t.memory + milli(requests, corev1.ResourceMemory)}
	}
	var rooms []room
	for _, c := range f.candidates {
		if gone[c.Name] || !c.hosts() {
			continue
		}
		l, t := c.load(), taken[c.Name]
		rooms = append(rooms, room{l.cpu.free() - t.cpu, l.memory.free() - t.memory})
	}
	return rooms
}

// hosts reports whether new pods may come to the node at all.
func (c *Candidate) hosts() bool {
	node := c.facts.Node
	if node == nil || node.Spec.Unschedulable || c.facts.InMove || c.facts.Claim != nil && c.facts.Claim.Deleting {
		return false
	}
	return !slices.ContainsFunc(node.Status.Conditions, func(cond corev1.NodeCondition) bool {
		return cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue
	})
}

// fit places the pods first-fit, takes the room away, and returns how many don't
// fit.
func fit(rooms []room, l PastLoad) int {
	cpu, memory := milli(l.Requests, corev1.ResourceCPU), milli(l.Requests, corev1.ResourceMemory)
	left := l.Pods
	for i := range rooms {
		for left > 0 && rooms[i].cpu >= cpu && rooms[i].memory >= memory {
			rooms[i].cpu -= cpu
			rooms[i].memory -= memory
			left--
		}
	}
	return left
}
