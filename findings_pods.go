package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/scheduling"
	"github.com/node-disruption/disruption/termination"
)

// nodes are findings about nodes with their pods.
func (f *findings) nodes(plan *Plan) {
	f.emptyByCost()
	f.endlessDrains()
	f.eager()
	unknown := map[string]int{}
	for i := range plan.Nodes {
		if n := &plan.Nodes[i]; n.Claim != "" && n.Price == 0 {
			unknown[n.Pool]++
		}
	}
	for _, pool := range f.pass.poolNames() {
		if n := unknown[pool]; n > 0 {
			f.add(budget.SeverityInfo, FindingNoPrices, []string{"NodePool/" + pool}, "give the instance types with their prices",
				"the price of %d nodes of node pool %s is not known and counts as 0, so no saving is seen in removing them", n, pool)
		}
	}
}

// emptyByCost: the cost of an eviction can be so low that a node with running
// pods counts as empty, and goes without anybody asking where they fit.
func (f *findings) emptyByCost() {
	for _, c := range f.pass.planner.Fleet().Candidates() {
		if c.Empty() && len(c.Reschedulable) > 0 {
			f.add(budget.SeverityWarning, FindingEmptyByCost, []string{"Node/" + c.Name},
				"raise the pods' priority above -33554432 and their pod-deletion-cost above -134217728",
				"node %s counts as empty though %d pods run on it, because evicting them costs nothing by their priority and pod-deletion-cost; Karpenter deletes it without looking where they fit",
				c.Name, len(c.Reschedulable))
		}
	}
}

// endlessDrains: an expired node without a grace period waits for ever for a pod
// that is never let go.
func (f *findings) endlessDrains() {
	for i := range f.pass.fleet.machines {
		m := &f.pass.fleet.machines[i]
		if m.claim == nil || m.claim.Spec.TerminationGracePeriod != nil || m.claim.Spec.ExpireAfter.Duration == nil {
			continue
		}
		if pod := f.holder(m); pod != nil {
			f.add(budget.SeverityWarning, FindingEndlessDrain, []string{"Node/" + m.name, podObject(pod)}, "set terminationGracePeriod in the pool's template",
				"node %s expires, but nothing ends its drain: pod %s/%s may hold it for ever", m.name, pod.Namespace, pod.Name)
		}
	}
}

// holder is the first pod of a node that no drain gets rid of by itself: it is
// protected without an end, or its PodDisruptionBudget never lets it go.
func (f *findings) holder(m *machine) *corev1.Pod {
	now := f.pass.fleet.cluster.Now
	for _, pod := range m.pods {
		protection := f.pass.fleet.keys.PodProtection(pod, now)
		if termination.IsActive(pod) && protection.Active() && protection.Until == nil {
			return pod
		}
		if _, blocked := f.ledger.Structural(pod); blocked {
			return pod
		}
	}
	return nil
}

func podObject(pod *corev1.Pod) string { return "Pod/" + pod.Namespace + "/" + pod.Name }

// eager: without a quiet time every job that ends makes its node a candidate.
func (f *findings) eager() {
	jobs := map[string]int{}
	for i := range f.pass.fleet.machines {
		m := &f.pass.fleet.machines[i]
		for _, pod := range m.pods {
			if owner := controller(pod); owner != nil && owner.Kind == "Job" {
				jobs[m.poolName]++
			}
		}
	}
	for _, pool := range f.pass.fleet.pools {
		after := pool.Spec.Disruption.consolidateAfter()
		if n := jobs[pool.Name]; n > 0 && after != nil && *after < time.Minute && pool.Spec.Disruption.ConsolidationPolicy != "WhenEmpty" {
			f.add(budget.SeverityInfo, FindingEager, []string{"NodePool/" + pool.Name}, "raise consolidateAfter, or give jobs a pool of their own",
				"node pool %s consolidates after %s and runs %d pods of jobs: every one that ends may move the others", pool.Name, *after, n)
		}
	}
}

// disruptionBudgets are findings about PodDisruptionBudgets: those that never
// allow an eviction, and pods that have more than one.
func (f *findings) disruptionBudgets() {
	for _, s := range f.ledger.StructuralPDBs() {
		code := FindingPDBNeverAllows
		if s.Health.Expected == 1 && s.Code != termination.PDBSyncFailed {
			code = FindingSingleReplica
		}
		f.add(budget.SeverityWarning, code, []string{"PodDisruptionBudget/" + joinNames(s.PDBs)}, s.Fix, "PodDisruptionBudget %s", s.Message)
	}
	overlap := map[string][]*corev1.Pod{}
	for _, pod := range f.pass.fleet.cluster.Pods {
		permission := f.pass.limits.CanEvict(f.pass.fleet.cluster.Now, pod)
		if permission.Code == termination.MultiplePDBs {
			overlap[joinNames(permission.Blocking)] = append(overlap[joinNames(permission.Blocking)], pod)
		}
	}
	for names, pods := range overlap {
		first := slices.MinFunc(pods, comparePods)
		f.add(budget.SeverityWarning, FindingPDBOverlap, []string{podObject(first)}, "leave each pod one PodDisruptionBudget",
			"%d pods have more than one PodDisruptionBudget (%s); the eviction API refuses them, so their nodes are never drained by it", len(pods), names)
	}
}

func joinNames(names []types.NamespacedName) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = n.String()
	}
	return strings.Join(texts, ", ")
}

// preferences: what a pod merely prefers is required at first, and often opens a
// new node where an existing one would do.
func (f *findings) preferences() {
	owners := map[string]int{}
	for _, pod := range f.pass.fleet.cluster.Pods {
		if kind := preference(pod); kind != "" && pod.Spec.NodeName != "" && termination.IsReschedulable(pod) {
			owners[fmt.Sprintf("%s of %s/%s", kind, pod.Namespace, ownerName(pod))]++
		}
	}
	if len(owners) == 0 {
		return
	}
	names := make([]string, 0, len(owners))
	total := 0
	for name, n := range owners {
		names, total = append(names, name), total+n
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(owners[b]-owners[a], strings.Compare(a, b)) })
	f.add(budget.SeverityInfo, FindingPreferencesHold, nil, "make them required, or leave them out where they don't matter",
		"%d pods have preferences that are met as if required as long as any node, a new one too, can meet them; most by %s", total, names[0])
}

// preference names what a pod prefers about other pods, "" if nothing.
func preference(pod *corev1.Pod) string {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		return "the preferred anti-affinity"
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		if pod.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable == corev1.ScheduleAnyway {
			return "the ScheduleAnyway spread"
		}
	}
	return ""
}

// volumes: pods that a move puts elsewhere although what their volumes need is
// not known.
func (f *findings) volumes(plan *Plan) {
	pods := map[string]bool{}
	for _, moves := range [][]Move{plan.Moves, plan.Outlook} {
		for i := range moves {
			for j := range moves[i].Placements {
				if at := &moves[i].Placements[j]; at.VolumesUnknown && at.Origin == scheduling.FromRemoved {
					pods[podObject(at.Pod)] = true
				}
			}
		}
	}
	if len(pods) > 0 {
		f.add(budget.SeverityWarning, FindingUnknownVolumes, slices.Sorted(maps.Keys(pods)), "add claims, volumes and storage classes to the input, or refuse such pods by Options.Scheduling.RefuseUnknownVolumes",
			"%d pods are moved whose persistent volume claims, volumes or storage classes are missing; like Karpenter, the plan takes them for pods without volumes", len(pods))
	}
}
