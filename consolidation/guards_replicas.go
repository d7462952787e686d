package consolidation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/termination"
)

// KeepSingleReplicas leaves alone the only active pod of an owner: to evict it
// would mean an outage, whether or not a PodDisruptionBudget says so. Pods
// without an owner count as single.
type KeepSingleReplicas struct{}

// Check implements [Guard].
func (KeepSingleReplicas) Check(m *Move, in GuardContext) *Reason {
	return checkReplicas(m, in, func(taken, all int, pod *corev1.Pod) *Reason {
		if all != 1 {
			return nil
		}
		r := reason(SingleReplica, []string{podObject(pod)}, "pod %s/%s is the only replica of its owner", pod.Namespace, pod.Name)
		return &r
	})
}

// KeepOneReplica refuses a move that takes all active pods of an owner which has
// several. Single replicas are a matter of [KeepSingleReplicas].
type KeepOneReplica struct{}

// Check implements [Guard].
func (KeepOneReplica) Check(m *Move, in GuardContext) *Reason {
	return checkReplicas(m, in, func(taken, all int, pod *corev1.Pod) *Reason {
		if all < 2 || taken < all {
			return nil
		}
		r := reason(AllReplicas, []string{OwnerOf(pod)}, "all %d replicas of %s are on the nodes of the move", all, OwnerOf(pod))
		return &r
	})
}

// checkReplicas asks about each owner of the move's pods: how many of its active
// pods the move takes, and how many there are. Owners stand in the order of their
// names.
func checkReplicas(m *Move, in GuardContext, ask func(taken, all int, pod *corev1.Pod) *Reason) *Reason {
	taken := map[string][]*corev1.Pod{}
	for _, c := range m.candidates {
		for _, pod := range c.Reschedulable {
			if termination.IsActive(pod) {
				owner := ownerOrSelf(pod)
				taken[owner] = append(taken[owner], pod)
			}
		}
	}
	list := make([]string, 0, len(taken))
	for owner := range taken {
		list = append(list, owner)
	}
	slices.Sort(list)
	all := in.Fleet.replicas()
	for _, owner := range list {
		if r := ask(len(taken[owner]), all[owner], taken[owner][0]); r != nil {
			return r
		}
	}
	return nil
}

func ownerOrSelf(pod *corev1.Pod) string {
	if owner := OwnerOf(pod); owner != "" {
		return owner
	}
	return podObject(pod)
}

// replicas counts the active pods of each owner, once for the life of the fleet.
func (f *Fleet) replicas() map[string]int {
	f.replicaOnce.Do(func() {
		f.replicaCount = map[string]int{}
		for _, c := range f.candidates {
			for _, pod := range c.facts.Pods {
				if termination.IsActive(pod) {
					f.replicaCount[ownerOrSelf(pod)]++
				}
			}
		}
	})
	return f.replicaCount
}

// WholeMovePDBs refuses a move that the PodDisruptionBudgets would stop halfway:
// it sums the evictions that the move needs, where Karpenter looks at each pod
// alone. The ledger is not changed; without one nothing is refused.
type WholeMovePDBs struct{ Ledger *termination.Ledger }

// Check implements [Guard].
func (g WholeMovePDBs) Check(m *Move, in GuardContext) *Reason {
	if g.Ledger == nil {
		return nil
	}
	ledger := g.Ledger.Clone()
	for _, c := range m.candidates {
		for _, pod := range c.facts.Pods {
			if !in.Fleet.rules.IsEvictable(pod, in.Now) {
				continue
			}
			answer := ledger.Take(pod)
			if answer.Allowed {
				continue
			}
			objects := []string{podObject(pod)}
			for _, pdb := range answer.PDBs() {
				objects = append(objects, object("PodDisruptionBudget", pdb.Namespace, pdb.Name))
			}
			r := reason(PDBExceeded, objects, "the move evicts more pods than %s allows together", objects[len(objects)-1])
			return &r
		}
	}
	return nil
}
