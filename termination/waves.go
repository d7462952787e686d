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
	Rounds [][]string
	// Alone lists the nodes in Rounds that need more tokens of some PDB than it
	// has even at its best: each has a round of its own and drains pod by pod.
	Alone []string
	// Never says which nodes can't be drained by evictions at all, by name.
	Never []Stuck
	// Least is the smallest number of times that some PDB must be filled again,
	// plus one, and Binding that PDB. Without PDBs it is one.
	Least   int
	Binding types.NamespacedName
	// LowerBound is the least time that the evictions of all nodes take: the rounds
	// of Binding but the last, each as long as a replacement takes to be healthy.
	LowerBound time.Duration
}

// Stuck is a node that holds a pod whose PDBs never let it go.
type Stuck struct {
	Node string
	Pod  *corev1.Pod // the caller's own
	Why  Structural
}

// PlanWaves groups nodes into rounds of drains. Recovery is how long a pod takes
// to be replaced by a healthy one; it bears on LowerBound alone.
//
// Each PDB lends as many tokens at a time as it would allow with every expected
// pod healthy. Nodes are taken in the order of their names, each into the first
// round that has all its tokens, so that two nodes never hold what the other
// waits for. Only evictable pods count.
func PlanWaves(l *Ledger, nodes []NodePods, rules *Rules, recovery time.Duration, now time.Time) Waves {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b NodePods) int { return cmp.Compare(a.Name, b.Name) })
	w := waver{ledger: l, rules: rules, now: now, total: make([]int32, len(l.accounts))}
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
	for _, pod := range node.Pods {
		if !w.rules.IsEvictable(pod, w.now) {
			continue
		}
		if why, blocked := w.ledger.Structural(pod); blocked {
			w.waves.Never = append(w.waves.Never, Stuck{Node: node.Name, Pod: pod, Why: why})
			return
		}
		if one, n := w.ledger.index.match(pod); n == 1 && w.ledger.pays(pod, w.ledger.accounts[one.value]) {
			need[one.value]++
		}
	}
	alone := false
	for position, n := range need {
		w.total[position] += n
		alone = alone || n > w.ledger.accounts[position].atBest()
	}
	if alone {
		w.waves.Alone = append(w.waves.Alone, node.Name)
		w.waves.Rounds = append(w.waves.Rounds, []string{node.Name})
		w.left = append(w.left, nil)
		return
	}
	w.join(node.Name, need)
}

// join puts the node into the first round that has all its tokens left.
func (w *waver) join(name string, need map[int]int32) {
	for i, left := range w.left {
		if left != nil && covers(left, need) {
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

// bound finds the PDB that must be filled most often.
func (w *waver) bound(recovery time.Duration) {
	w.waves.Least = min(1, len(w.waves.Rounds))
	for i, a := range w.ledger.accounts {
		best := a.atBest()
		if best == 0 || w.total[i] == 0 {
			continue
		}
		rounds := int((w.total[i] + best - 1) / best)
		if rounds > w.waves.Least || rounds == w.waves.Least && rounds > 1 && compareNames(a.name, w.waves.Binding) < 0 {
			w.waves.Least, w.waves.Binding = rounds, a.name
		}
	}
	w.waves.LowerBound = time.Duration(max(0, w.waves.Least-1)) * recovery
}

// atBest is how many tokens the PDB lends when every expected pod is healthy:
// as many as it does now, where its status doesn't say what is expected.
func (a *account) atBest() int32 { return max(a.health.AtBest(), a.allowed) }

// String is the plan in one line.
func (w Waves) String() string {
	text := counted(len(w.Rounds), "round")
	if w.Least > 1 {
		text += fmt.Sprintf(", at least %d for %s, %s or more", w.Least, w.Binding, w.LowerBound)
	}
	if len(w.Never) > 0 {
		text += ", and " + counted(len(w.Never), "node") + " that can't be drained"
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
