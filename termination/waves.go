package termination

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodePods is the pods of one node.
type NodePods struct {
	Name string
	Pods []*corev1.Pod
}

// Waves says in how many rounds a set of nodes can be drained, when the pods of
// a round must be replaced before the next may begin.
type Waves struct {
	// Rounds of nodes that can go at the same time, each sorted by name. Every
	// node holds all the tokens that its pods need, or waits.
	Rounds [][]string `json:"rounds"`
	// PodByPod lists the nodes in Rounds that need more tokens of some PDB than it
	// has even at its best, by name: in their round they hold all of them, and use
	// each several times.
	PodByPod []string `json:"podByPod,omitempty"`
	// Never says which nodes can't be drained by evictions at all, by name.
	Never []Stuck `json:"never,omitempty"`
	// Refills is how often Binding, the PDB that is short most often, must get its
	// tokens back before all nodes of Rounds are drained; 0 and no name if none must.
	Refills int                  `json:"refills"`
	Binding types.NamespacedName `json:"-"`
	// LowerBound is the least time that the evictions of all nodes take: each refill
	// takes as long as a replacement needs to be healthy.
	LowerBound time.Duration `json:"-"`
}

// Stuck is a node that holds a pod which nothing but a deadline ever moves.
type Stuck struct {
	Node string      `json:"node"`
	Pod  *corev1.Pod `json:"-"` // the caller's own
	Why  Structural  `json:"why"`
}

// PlanWaves groups nodes into rounds of drains. Recovery is how long a pod takes
// to be replaced by a healthy one; it bears on LowerBound alone.
//
// Each PDB lends as many tokens at a time as it would allow with every expected
// pod healthy. Nodes are taken in the order of their names, each into the first
// round that has all its tokens, so that two nodes never hold what the other
// waits for. Only pods that a drain evicts count; one that do-not-disrupt protects
// for a time counts as if that were over. A nil ledger has no
// PDBs, and nil rules are those of Karpenter's own domain.
func PlanWaves(l *Ledger, nodes []NodePods, rules *Rules, recovery time.Duration, now time.Time) Waves {
	if l == nil {
		l = &Ledger{}
	}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b NodePods) int { return cmp.Compare(a.Name, b.Name) })
	w := waver{ledger: l, rules: rules.orDefault(), now: now, total: make([]int32, len(l.accounts))}
	for _, node := range nodes {
		w.place(node)
	}
	w.bound(recovery)
	return w.waves
}

type waver struct {
	ledger *Ledger
	rules  *Rules
	now    time.Time
	waves  Waves
	left   [][]int32 // tokens by round and position
	total  []int32   // tokens needed in all, by position
}

func (w *waver) place(node NodePods) {
	need := map[int]int32{}
	for _, pod := range present(node.Pods) {
		if IsTerminating(pod) || !w.rules.IsWaitingEviction(pod, w.now) {
			continue
		}
		if why, blocked := w.stuck(pod); blocked {
			w.waves.Never = append(w.waves.Never, Stuck{Node: node.Name, Pod: pod, Why: why})
			return
		}
		if one, n := w.ledger.index.match(pod); n == 1 && w.ledger.pays(pod, w.ledger.accounts[one.value]) {
			need[one.value]++
		}
	}
	podByPod := false
	for position, n := range need {
		w.total[position] += n
		if best := w.ledger.accounts[position].atBest(); n > best {
			need[position], podByPod = best, true
		}
	}
	if podByPod {
		w.waves.PodByPod = append(w.waves.PodByPod, node.Name)
	}
	w.join(node.Name, need)
}

// stuck reports whether nothing but a deadline would ever move the pod.
func (w *waver) stuck(pod *corev1.Pod) (Structural, bool) {
	if w.rules.DoNotDisrupt(pod, w.now) && w.rules.protectedUntil(pod, w.now) == nil {
		return Structural{
			Code:    DoNotDisrupt,
			Message: "do-not-disrupt protects the pod without an end",
			Fix:     "remove the do-not-disrupt annotation",
		}, true
	}
	return w.ledger.Structural(pod)
}

// join puts the node into the first round that has all its tokens left.
func (w *waver) join(name string, need map[int]int32) {
	for i, left := range w.left {
		if covers(left, need) {
			w.waves.Rounds[i] = append(w.waves.Rounds[i], name)
			spend(left, need)
			return
		}
	}
	left := make([]int32, len(w.ledger.accounts))
	for i, a := range w.ledger.accounts {
		left[i] = a.atBest()
	}
	spend(left, need)
	w.left = append(w.left, left)
	w.waves.Rounds = append(w.waves.Rounds, []string{name})
}

func covers(left []int32, need map[int]int32) bool {
	for position, n := range need {
		if left[position] < n {
			return false
		}
	}
	return true
}

func spend(left []int32, need map[int]int32) {
	for position, n := range need {
		left[position] -= n
	}
}

// bound finds the PDB that must get its tokens back most often.
func (w *waver) bound(recovery time.Duration) {
	for i, a := range w.ledger.accounts {
		best := a.atBest()
		if best == 0 || w.total[i] == 0 {
			continue
		}
		refills := int((w.total[i] - 1) / best)
		if refills > w.waves.Refills || refills == w.waves.Refills && refills > 0 && compareNames(a.name, w.waves.Binding) < 0 {
			w.waves.Refills, w.waves.Binding = refills, a.name
		}
	}
	w.waves.LowerBound = time.Duration(w.waves.Refills) * recovery
}

// atBest is how many tokens the PDB lends when every expected pod is healthy:
// as many as it does now, where its status doesn't say what is expected.
func (a *account) atBest() int32 { return max(a.health.AtBest(), a.allowed) }

// String is the plan in one line.
func (w Waves) String() string {
	text := counted(len(w.Rounds), "round")
	if w.Refills > 0 {
		text += fmt.Sprintf("; %s must recover %s, which takes %s or more", w.Binding, counted(w.Refills, "time"), w.LowerBound)
	}
	if len(w.Never) > 0 {
		text += "; " + counted(len(w.Never), "node") + " can't be drained"
	}
	return text
}

// counted is "1 node" or "3 nodes".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
