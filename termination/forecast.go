package termination

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// DrainNode is a node that might be drained.
type DrainNode struct {
	Name string
	Pods []*corev1.Pod
	// GracePeriod is the node's terminationGracePeriod; nil if it has none.
	GracePeriod *time.Duration
}

// ForecastOptions is what a forecast assumes. The zero value assumes that no PDB
// is in the way and that replacements are healthy at once.
type ForecastOptions struct {
	// Ledger of the cluster's PDBs; it isn't charged.
	Ledger *Ledger
	// Recovery is how long a replacement takes to be healthy. Until then the token
	// that its predecessor took is not returned.
	Recovery time.Duration
	// Domain of the vocabulary; "" is karpenter.sh.
	Domain string
}

// Forecast is how the drain of some nodes would go, if it began at an instant.
// Two courses bound it: in the fast one every pod ends as soon as it is told to,
// and PDBs that wait for unhealthy pods find them healthy; in the slow one every
// pod takes all of its grace, and no unhealthy pod recovers.
type Forecast struct {
	Start time.Time      `json:"start"`
	Nodes []NodeForecast `json:"nodes"` // by name
	// Earliest and Latest instants at which all nodes are drained; nil if never,
	// or if nothing makes sure that they ever are.
	Earliest *time.Time `json:"earliest,omitempty"`
	Latest   *time.Time `json:"latest,omitempty"`
}

// NodeForecast is the forecast of one node.
type NodeForecast struct {
	Name     string     `json:"name"`
	Deadline *time.Time `json:"deadline,omitempty"` // nil if the node has no grace period
	// Earliest and Latest instants at which it is drained, as for the forecast.
	Earliest *time.Time `json:"earliest,omitempty"`
	Latest   *time.Time `json:"latest,omitempty"`
	// Pods that the drain waits for, in the order in which the fast course tells
	// them to go.
	Pods []PodForecast `json:"pods,omitempty"`
}

// PodForecast is the forecast of one pod.
type PodForecast struct {
	Pod  *corev1.Pod `json:"-"` // the caller's own
	Tier Tier        `json:"tier"`
	// Fast and Slow are what becomes of it in the two courses. Mostly, but not
	// always, it is gone earlier in the fast one: where pods compete for the tokens
	// of a PDB, others may be there first.
	Fast Departure `json:"fast"`
	Slow Departure `json:"slow"`
}

// Departure is how a pod leaves its node.
type Departure struct {
	// Told is when it is evicted or deleted, or when the drain began if it was
	// terminating already. Gone is when it has left. Both nil if it never is.
	Told *time.Time `json:"told,omitempty"`
	Gone *time.Time `json:"gone,omitempty"`
	// Forced: deleted for the deadline, whatever PDBs and do-not-disrupt say.
	Forced bool `json:"forced,omitempty"`
	// Grace that it is given, and how much of its own, or of what was left of it,
	// it loses to the deadline. The fraction of a second before a forced deletion
	// isn't counted.
	Grace time.Duration `json:"-"`
	Lost  time.Duration `json:"-"`
	// Held is the last thing that the pod waited for before it was told to go;
	// its Code is "" if nothing held it.
	Held Wait `json:"-"`
}

// ForecastDrain lays out the drain of the nodes before anybody commits to it: when each
// pod is evicted or deleted, with which grace, and when the nodes are drained.
//
// It plays [PlanDrain] forward in its exact mode, all nodes at the same time and
// sharing the PDBs' tokens. Nothing of the input is changed. What comes after
// the drain, volumes and the instance, isn't in it.
func ForecastDrain(nodes []DrainNode, start time.Time, opts ForecastOptions) Forecast {
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b DrainNode) int { return cmp.Compare(a.Name, b.Name) })
	fast, slow := play(nodes, start, opts, true), play(nodes, start, opts, false)
	f := Forecast{Start: start}
	for i, node := range nodes {
		f.Nodes = append(f.Nodes, forecastNode(node, start, fast[i], slow[i]))
	}
	f.Earliest = lastOf(f.Nodes, func(n NodeForecast) *time.Time { return n.Earliest })
	f.Latest = lastOf(f.Nodes, func(n NodeForecast) *time.Time { return n.Latest })
	return f
}

func forecastNode(node DrainNode, start time.Time, fast, slow []departing) NodeForecast {
	f := NodeForecast{Name: node.Name, Deadline: deadlineOf(node, start)}
	for i := range fast {
		f.Pods = append(f.Pods, PodForecast{Pod: fast[i].original, Tier: TierOf(fast[i].original), Fast: fast[i].Departure, Slow: slow[i].Departure})
	}
	least := start.Add(minDrain)
	gone := func(course func(PodForecast) *time.Time) *time.Time {
		last := lastOf(f.Pods, course)
		if last == nil && len(f.Pods) > 0 || last != nil && last.After(least) {
			return last
		}
		return &least
	}
	ends := [2]*time.Time{gone(func(p PodForecast) *time.Time { return p.Fast.Gone }), gone(func(p PodForecast) *time.Time { return p.Slow.Gone })}
	// Who hurries may take a token that another would have used better.
	f.Earliest = slices.MinFunc(ends[:], compareInstants)
	f.Latest = slices.MaxFunc(ends[:], compareInstants)
	slices.SortStableFunc(f.Pods, func(a, b PodForecast) int {
		return cmp.Or(compareInstants(a.Fast.Told, b.Fast.Told), cmp.Compare(a.Tier, b.Tier), comparePods(a.Pod, b.Pod))
	})
	return f
}

func deadlineOf(node DrainNode, start time.Time) *time.Time {
	if node.GracePeriod == nil {
		return nil
	}
	deadline := start.Add(*node.GracePeriod)
	return &deadline
}

// lastOf is the last of some instants; nil if there are none, or one is missing.
func lastOf[T any](list []T, instant func(T) *time.Time) *time.Time {
	var last *time.Time
	for _, item := range list {
		t := instant(item)
		if t == nil {
			return nil
		}
		if last == nil || t.After(*last) {
			last = t
		}
	}
	return last
}

// compareInstants orders by time; what never comes is last.
func compareInstants(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

// Certainty says whether a drain ends in time.
type Certainty string

const (
	// Certain: even the slow course ends in time.
	Certain Certainty = "Certain"
	// Possible: the fast course does, the slow one doesn't.
	Possible Certainty = "Possible"
	// Impossible: not even the fast course does.
	Impossible Certainty = "Impossible"
)

// Feasibility answers whether a drain ends by some instant.
type Feasibility struct {
	Certainty Certainty `json:"certainty"`
	By        time.Time `json:"by"`
	// Late lists the pods that are still there then: in the fast course if it is
	// impossible, else in the slow one. By node, in their order.
	Late []PodForecast `json:"late,omitempty"`
}

// By reports whether all nodes are drained by an instant, and which pods keep
// them from it.
func (f Forecast) By(instant time.Time) Feasibility {
	if late := f.late(instant, func(p PodForecast) Departure { return p.Fast }); len(late) > 0 || !endsBy(f.Earliest, instant, f.Nodes) {
		return Feasibility{Certainty: Impossible, By: instant, Late: late}
	}
	if late := f.late(instant, func(p PodForecast) Departure { return p.Slow }); len(late) > 0 {
		return Feasibility{Certainty: Possible, By: instant, Late: late}
	}
	return Feasibility{Certainty: Certain, By: instant}
}

func endsBy(end *time.Time, instant time.Time, nodes []NodeForecast) bool {
	return len(nodes) == 0 || end != nil && !end.After(instant)
}

func (f Forecast) late(instant time.Time, course func(PodForecast) Departure) []PodForecast {
	var late []PodForecast
	for _, node := range f.Nodes {
		for _, pod := range node.Pods {
			if gone := course(pod).Gone; gone == nil || gone.After(instant) {
				late = append(late, pod)
			}
		}
	}
	return late
}

// String says it in one line a pod.
func (f Feasibility) String() string {
	at := stamp(f.By)
	switch f.Certainty {
	case Certain:
		return "finishes by " + at
	case Possible:
		return "may not finish by " + at + f.list(func(p PodForecast) Departure { return p.Slow })
	}
	return "cannot finish by " + at + f.list(func(p PodForecast) Departure { return p.Fast })
}

func (f Feasibility) list(course func(PodForecast) Departure) string {
	text := ""
	for _, p := range f.Late {
		text += "\n  " + p.Pod.Namespace + "/" + p.Pod.Name + " " + course(p).String()
	}
	return text
}

// String says when and how the pod leaves, and what held it until then.
func (d Departure) String() string {
	held := ""
	if d.Held.Code != "" {
		held = "; " + d.Held.what()
	}
	if d.Told == nil {
		return "never goes" + held
	}
	verb := "is evicted"
	if d.Forced {
		verb = "is deleted by force"
	}
	return fmt.Sprintf("%s at %s with %s of grace, gone by %s%s", verb, stamp(*d.Told), d.Grace, stamp(*d.Gone), held)
}
