package main

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// apply returns the cluster as it is once a move is done: the nodes are gone, the
// new ones are ready and have been quiet, and every pod is where the simulation
// put it. Pods of removed nodes that the simulation did not place are gone.
func apply(c *disruption.Cluster, m *consolidation.Move, prefix string) *disruption.Cluster {
	next := *c
	next.Nodes, next.NodeClaims = slices.Clone(c.Nodes), slices.Clone(c.NodeClaims)
	gone := map[string]bool{}
	for _, candidate := range m.Candidates() {
		gone[candidate.Name] = true
		claim := candidate.Facts().Claim.Name
		next.NodeClaims = slices.DeleteFunc(next.NodeClaims, func(n *disruption.NodeClaim) bool { return n.Name == claim })
	}
	next.Nodes = slices.DeleteFunc(next.Nodes, func(n *corev1.Node) bool { return gone[n.Name] })
	names := make([]string, len(m.Replacements))
	for i := range m.Replacements {
		names[i] = fmt.Sprintf("%s-%d", prefix, i)
		node, claim := launch(&m.Replacements[i], names[i], c)
		next.Nodes, next.NodeClaims = append(next.Nodes, node), append(next.NodeClaims, claim)
	}
	next.Pods = bind(c.Pods, m.Placements, gone, names)
	return &next
}

// bind moves the pods to where they were placed.
func bind(pods []*corev1.Pod, placements []scheduling.Placement, gone map[string]bool, newNodes []string) []*corev1.Pod {
	to := map[*corev1.Pod]string{}
	for i := range placements {
		switch at := &placements[i]; {
		case !at.Placed():
		case at.Node != "":
			to[at.Pod] = at.Node
		case at.NewNode < len(newNodes):
			to[at.Pod] = newNodes[at.NewNode]
		}
	}
	var next []*corev1.Pod
	for _, pod := range pods {
		if node, ok := to[pod]; ok {
			pod = pod.DeepCopy()
			pod.Spec.NodeName = node
			pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
		}
		if !gone[pod.Spec.NodeName] {
			next = append(next, pod)
		}
	}
	return next
}

// launch makes the node that the cheapest offering of the first instance type is.
func launch(r *consolidation.Replacement, name string, c *disruption.Cluster) (*corev1.Node, *disruption.NodeClaim) {
	keys := annotations.For("")
	it := r.InstanceTypes[0]
	requirements := r.Requirements.And(it.Requirements)
	if offering := cheapest(it, r, c); offering != nil {
		requirements = requirements.And(offering.Requirements)
	}
	labels := map[string]string{}
	for q := range requirements.All() {
		if values := q.Values(); !q.Complement() && len(values) == 1 {
			labels[q.Key()] = values[0]
		}
	}
	labels[keys.NodePool] = r.Pool
	onNode := maps.Clone(labels)
	maps.Copy(onNode, map[string]string{keys.Registered: "true", keys.Initialized: "true", corev1.LabelHostname: name})
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: onNode, CreationTimestamp: metav1.NewTime(c.Now)},
		Spec:       corev1.NodeSpec{ProviderID: "launched:///" + name},
		Status: corev1.NodeStatus{Capacity: it.Capacity, Allocatable: it.Allocatable(), Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		}},
	}
	for _, pool := range c.NodePools {
		if pool.Name == r.Pool {
			node.Spec.Taints = pool.Spec.Template.Spec.Taints
		}
	}
	return node, claimFor(node, labels)
}

func claimFor(node *corev1.Node, labels map[string]string) *disruption.NodeClaim {
	claim := &disruption.NodeClaim{}
	claim.Name, claim.Labels, claim.CreationTimestamp = "claim-"+node.Name, labels, node.CreationTimestamp
	claim.Status.ProviderID, claim.Status.NodeName = node.Spec.ProviderID, node.Name
	claim.Status.Capacity, claim.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	long := metav1.NewTime(node.CreationTimestamp.AddDate(0, 0, -1))
	for _, kind := range []string{"Launched", "Registered", "Initialized", "Consolidatable"} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, LastTransitionTime: long})
	}
	return claim
}

// cheapest is the available offering with the lowest price that would do.
func cheapest(it *scheduling.InstanceType, r *consolidation.Replacement, c *disruption.Cluster) *scheduling.Offering {
	demand := scheduling.Options{WellKnownLabels: c.Catalog.WellKnownLabels}.Demand(r.Requirements)
	var found *scheduling.Offering
	for i := range it.Offerings {
		if o := &it.Offerings[i]; o.Available && demand.Accepts(o) && (found == nil || o.Price < found.Price) {
			found = o
		}
	}
	return found
}
