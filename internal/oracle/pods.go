package oracle

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

func comparePods(a, b *corev1.Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// collectPods finds the pods to place: pending ones, those of removed nodes
// (node by node, as asked), those of deleting nodes (by name).
func (r *run) collectPods() {
	for _, p := range r.sortedPods() {
		if pending(p) && r.validPending(p) {
			r.add(p, scheduling.FromPending)
		}
	}
	for _, name := range r.request.Remove {
		for i := range r.cluster.Nodes {
			if n := &r.cluster.Nodes[i]; r.isCalled(n, name) {
				r.addPodsOf(n, scheduling.FromRemoved)
			}
		}
	}
	for _, n := range r.deletingNodes() {
		r.addPodsOf(n, scheduling.FromDeleting)
	}
}

func (r *run) deletingNodes() []*scheduling.Node {
	var deleting []*scheduling.Node
	for i := range r.cluster.Nodes {
		if n := &r.cluster.Nodes[i]; isDeleting(n) {
			deleting = append(deleting, n)
		}
	}
	slices.SortFunc(deleting, func(a, b *scheduling.Node) int { return inOrder(r.identity(a), r.identity(b)) })
	return deleting
}

func (r *run) addPodsOf(n *scheduling.Node, origin scheduling.Origin) {
	for _, p := range r.sortedPods() {
		if n.Node != nil && p.Spec.NodeName == n.Node.Name && r.moves(p) {
			r.add(p, origin)
		}
	}
}

func (r *run) add(p *corev1.Pod, origin scheduling.Origin) {
	if !r.isMoving(p) {
		r.pods = append(r.pods, &moving{original: p, origin: origin, volumes: r.volumesOf(p)})
	}
}

func (r *run) isMoving(p *corev1.Pod) bool {
	return slices.ContainsFunc(r.pods, func(m *moving) bool { return m.original == p })
}

func (r *run) sortedPods() []*corev1.Pod {
	pods := slices.Clone(r.cluster.Pods)
	slices.SortFunc(pods, comparePods)
	return pods
}

func (r *run) moves(p *corev1.Pod) bool {
	if r.options.Moves != nil {
		return r.options.Moves(p)
	}
	return !terminal(p) && p.DeletionTimestamp == nil && !ownedBy(p, "apps/v1", "DaemonSet") && !ownedBy(p, "v1", "Node")
}

func terminal(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func ownedBy(p *corev1.Pod, apiVersion, kind string) bool {
	for _, o := range p.OwnerReferences {
		if o.APIVersion == apiVersion && o.Kind == kind {
			return true
		}
	}
	return false
}

// pending reports whether the scheduler found no node for the pod.
func pending(p *corev1.Pod) bool {
	unschedulable := false
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			unschedulable = true
		}
	}
	return unschedulable && p.Spec.NodeName == "" && p.Status.NominatedNodeName == "" && !terminal(p) && p.DeletionTimestamp == nil &&
		!ownedBy(p, "apps/v1", "DaemonSet") && !ownedBy(p, "v1", "Node")
}

// validPending reports whether a pending pod is taken in at all.
func (r *run) validPending(p *corev1.Pod) bool {
	if q := podRequirements(p); q.Has(r.keys.NodePool) && q.Get(r.keys.NodePool).Operator() == corev1.NodeSelectorOpDoesNotExist {
		return false
	}
	for k, v := range p.Spec.NodeSelector {
		if !r.validExpression(corev1.NodeSelectorRequirement{Key: k, Operator: corev1.NodeSelectorOpIn, Values: []string{v}}) {
			return false
		}
	}
	for _, term := range requiredTerms(p) {
		if len(term.MatchFields) > 0 {
			return false
		}
		for _, e := range term.MatchExpressions {
			if !r.validExpression(e) {
				return false
			}
		}
	}
	return r.validClaims(p)
}

func (r *run) validExpression(e corev1.NodeSelectorRequirement) bool {
	key := annotations.NormalizeLabel(e.Key)
	if r.restricted(key) || len(validation.IsQualifiedName(key)) > 0 {
		return false
	}
	for _, v := range e.Values {
		if len(validation.IsValidLabelValue(v)) > 0 {
			return false
		}
	}
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		if key == r.keys.CapacityType && !slices.ContainsFunc(e.Values, knownCapacityType) {
			return false
		}
		return len(e.Values) > 0
	case corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		return true
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, scheduling.OpGte, scheduling.OpLte:
		if len(e.Values) != 1 {
			return false
		}
		n, err := strconv.Atoi(e.Values[0])
		return err == nil && n >= 0
	}
	return false
}

func knownCapacityType(v string) bool {
	return v == annotations.CapacityTypeSpot || v == annotations.CapacityTypeOnDemand || v == annotations.CapacityTypeReserved
}

func (r *run) restricted(key string) bool {
	if slices.Contains(r.allow, key) {
		return false
	}
	domain, _, qualified := strings.Cut(key, "/")
	return key == corev1.LabelHostname || qualified && (domain == r.keys.Domain || strings.HasSuffix(domain, "."+r.keys.Domain))
}

func requiredTerms(p *corev1.Pod) []corev1.NodeSelectorTerm {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	return nil
}

// strictRequirements are the node selector and the first required term.
func strictRequirements(p *corev1.Pod) scheduling.Requirements {
	q := scheduling.LabelRequirements(p.Spec.NodeSelector)
	if terms := requiredTerms(p); len(terms) > 0 {
		q = q.And(scheduling.ExpressionRequirements(terms[0].MatchExpressions))
	}
	return q
}

// podRequirements add the heaviest preference to the strict requirements.
func podRequirements(p *corev1.Pod) scheduling.Requirements {
	q := strictRequirements(p)
	if i := heaviestNodePreference(p); i >= 0 {
		preferred := p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		q = q.And(scheduling.ExpressionRequirements(preferred.Preference.MatchExpressions))
	}
	return q
}

func heaviestNodePreference(p *corev1.Pod) int {
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return -1
	}
	terms := p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	return heaviest(len(terms), func(i int) int32 { return terms[i].Weight })
}

// heaviest returns the first index of the largest weight, -1 if there is none.
func heaviest(n int, weight func(int) int32) int {
	best := -1
	for i := range n {
		if best < 0 || weight(i) > weight(best) {
			best = i
		}
	}
	return best
}
