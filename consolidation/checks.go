package consolidation

import (
	corev1 "k8s.io/api/core/v1"
)

// checkNode lists what makes the node no candidate whatever the method, in
// Karpenter's order: its own answer is the first.
func (f *Fleet) checkNode(c *Candidate) []Reason {
	n := c.facts
	node := []string{object("Node", c.Name)}
	pool := []string{object("NodePool", c.Pool)}
	var all []Reason
	refuse := func(code Code, objects []string, message string, args ...any) {
		all = append(all, reason(code, objects, message, args...))
	}
	if n.InMove {
		refuse(InMove, node, "a move that is under way already takes the node")
	}
	if n.Claim == nil {
		refuse(Unmanaged, node, "no node claim manages the node")
	}
	if n.Node == nil {
		refuse(NotJoined, []string{object("NodeClaim", c.Name)}, "no node has joined for the claim yet")
	} else if n.Node.Labels[f.keys.Initialized] != "true" {
		refuse(NotInitialized, node, "the node isn't initialized yet")
	}
	if n.Claim != nil && n.Claim.Deleting {
		refuse(Deleting, node, "the node is being deleted")
	}
	if n.Nominated {
		refuse(Nominated, node, "the node is promised to a pending pod")
	}
	if n.Node != nil && f.keys.NodeProtection(n.Node).Active() {
		refuse(NodeDoNotDisrupt, node, "annotation %s is set on the node", f.keys.DoNotDisrupt)
	}
	switch {
	case c.Pool == "":
		refuse(NoPool, node, "label %s is missing", f.keys.NodePool)
	case c.pool == nil:
		refuse(UnknownPool, pool, "node pool %s does not exist", c.Pool)
	case len(c.pool.types) == 0:
		refuse(NoInstanceTypes, pool, "node pool %s has no instance types", c.Pool)
	}
	return all
}

// checkPods lists which pods can't be evicted: the first protected one, then the
// first that PodDisruptionBudgets hold back.
func (f *Fleet) checkPods(c *Candidate) []Reason {
	var all []Reason
	if r := f.protectedPod(c); r != nil {
		all = append(all, *r)
	}
	if r := f.budgetedPod(c.facts.Pods); r != nil {
		all = append(all, *r)
	}
	return all
}

func (f *Fleet) protectedPod(c *Candidate) *Reason {
	for _, pod := range c.facts.Pods {
		if !active(pod) {
			continue
		}
		if p := f.keys.PodProtection(pod, f.cluster.Now); p.Active() {
			r := reason(PodDoNotDisrupt, []string{podObject(pod)}, "pod %s/%s has annotation %s", pod.Namespace, pod.Name, f.keys.DoNotDisrupt)
			r.Until = p.Until
			return &r
		}
	}
	return nil
}

func (f *Fleet) budgetedPod(pods []*corev1.Pod) *Reason {
	if f.cluster.Evictions == nil {
		return nil
	}
	pod, pdbs := f.cluster.Evictions.Blocking(pods, f.cluster.Now)
	if len(pdbs) == 0 {
		return nil
	}
	objects := []string{podObject(pod)}
	for _, name := range pdbs {
		objects = append(objects, object("PodDisruptionBudget", name))
	}
	r := reason(PDBBlocks, objects, "PodDisruptionBudget %s allows no eviction of pod %s/%s", pdbs[0], pod.Namespace, pod.Name)
	if len(pdbs) > 1 {
		r = reason(SeveralPDBs, objects, "pod %s/%s has %d PodDisruptionBudgets, so it can't be evicted", pod.Namespace, pod.Name, len(pdbs))
	}
	return &r
}

func podObject(pod *corev1.Pod) string { return object("Pod", pod.Namespace, pod.Name) }

// Refusals lists why a node is no candidate of a method, in Karpenter's order:
// the first is the one that Karpenter would report. None means it is eligible.
func (f *Fleet) Refusals(c *Candidate, m Method) []Reason {
	all := append([]Reason(nil), c.node...)
	if !f.overlooksPods(c, m) {
		all = append(all, c.pods...)
	}
	if c.pool == nil {
		return all
	}
	return append(all, f.checkMethod(c, m)...)
}

func (f *Fleet) firstRefusal(c *Candidate, m Method) (Reason, bool) {
	switch {
	case len(c.node) > 0:
		return c.node[0], true
	case len(c.pods) > 0 && !f.overlooksPods(c, m):
		return c.pods[0], true
	}
	if own := f.checkMethod(c, m); len(own) > 0 {
		return own[0], true
	}
	return Reason{}, false
}

// overlooksPods: the grace period of the claim, not of its pool, decides.
func (f *Fleet) overlooksPods(c *Candidate, m Method) bool {
	return m.eventual() && c.facts.Claim != nil && c.facts.Claim.TerminationGracePeriod != nil
}

// checkMethod lists what one method has against a node of a known pool.
func (f *Fleet) checkMethod(c *Candidate, m Method) []Reason {
	switch m {
	case MethodEmpty:
		return f.checkEmpty(c)
	case MethodDrift, MethodStaticDrift:
		return f.checkDrift(c, m)
	}
	return f.checkUnderutilized(c)
}

func (f *Fleet) checkEmpty(c *Candidate) []Reason {
	node := []string{object("Node", c.Name)}
	all := append(c.checkStatic(), c.checkNever()...)
	if c.facts.Buffered {
		all = append(all, reason(Buffered, node, "the node holds spare capacity on purpose"))
	}
	if !c.Empty() {
		all = append(all, reason(NotEmpty, node, "the node has %d pods that must move", len(c.Reschedulable)))
	}
	return append(all, c.checkQuiet()...)
}

func (f *Fleet) checkDrift(c *Candidate, m Method) []Reason {
	var all []Reason
	if m == MethodDrift {
		all = c.checkStatic()
	} else if c.pool.Replicas == nil {
		all = []Reason{reason(NotStaticPool, []string{object("NodePool", c.Pool)}, "node pool %s is not static", c.Pool)}
	}
	if c.facts.Claim == nil || c.facts.Claim.Drifted == nil {
		all = append(all, reason(NotDrifted, []string{object("Node", c.Name)}, "the node has not drifted"))
	}
	return all
}

func (f *Fleet) checkUnderutilized(c *Candidate) []Reason {
	node := []string{object("Node", c.Name)}
	all := c.checkStatic()
	if c.typ == nil {
		all = append(all, reason(UnknownInstanceType, node, "instance type %q is not one of node pool %s", c.InstanceType, c.Pool))
	}
	if c.CapacityType == "" {
		all = append(all, reason(NoCapacityType, node, "label %s is missing", f.keys.CapacityType))
	}
	if c.Zone == "" {
		all = append(all, reason(NoZone, node, "label %s is missing", corev1.LabelTopologyZone))
	}
	all = append(all, c.checkNever()...)
	if c.Empty() {
		all = append(all, reason(Empty, node, "the node is empty, which is for the method Empty to delete"))
	}
	if c.pool.Policy == WhenEmpty {
		all = append(all, reason(WhenEmptyOnly, []string{object("NodePool", c.Pool)}, "node pool %s is consolidated when empty only, and the node has %d pods that must move", c.Pool, len(c.Reschedulable)))
	}
	return append(all, c.checkQuiet()...)
}

func (c *Candidate) checkStatic() []Reason {
	if c.pool.Replicas == nil {
		return nil
	}
	return []Reason{reason(StaticPool, []string{object("NodePool", c.Pool)}, "node pool %s is static", c.Pool)}
}

func (c *Candidate) checkNever() []Reason {
	if c.pool.ConsolidateAfter != nil {
		return nil
	}
	return []Reason{reason(NeverConsolidate, []string{object("NodePool", c.Pool)}, "node pool %s has consolidation disabled: consolidateAfter is Never", c.Pool)}
}

func (c *Candidate) checkQuiet() []Reason {
	claim := c.facts.Claim
	if claim != nil && claim.Consolidatable {
		return nil
	}
	r := reason(NotConsolidatable, []string{object("Node", c.Name)}, "the node has not been quiet for the consolidateAfter of node pool %s", c.Pool)
	if claim != nil {
		r.Until = claim.QuietAt
	}
	return []Reason{r}
}
