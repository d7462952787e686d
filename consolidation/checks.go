package consolidation

import (
	corev1 "k8s.io/api/core/v1"
)

// check is one condition that a candidate must not meet. The lists below are in
// Karpenter's order: the first that a node meets is what Karpenter reports.
type check struct {
	code    Code
	refuses func(f *Fleet, c *Candidate) bool
	explain func(f *Fleet, c *Candidate) Reason
}

// nodeChecks hold for every method.
var nodeChecks = []check{
	{InMove, func(_ *Fleet, c *Candidate) bool { return c.facts.InMove }, onNode("a move that is under way already takes the node")},
	{Unmanaged, func(_ *Fleet, c *Candidate) bool { return c.facts.Claim == nil }, onNode("no node claim manages the node")},
	{NotJoined, func(_ *Fleet, c *Candidate) bool { return c.facts.Node == nil }, onNode("no node has joined for the claim yet")},
	{NotInitialized, (*Fleet).notInitialized, onNode("the node isn't initialized yet")},
	{Deleting, func(_ *Fleet, c *Candidate) bool { return c.facts.Claim != nil && c.facts.Claim.Deleting }, onNode("the node is being deleted")},
	{Nominated, func(_ *Fleet, c *Candidate) bool { return c.facts.Nominated }, onNode("the node is promised to a pending pod")},
	{NodeDoNotDisrupt, (*Fleet).nodeProtected, onNode("annotation do-not-disrupt is set on the node")},
	{NoPool, func(_ *Fleet, c *Candidate) bool { return c.Pool == "" }, onNode("the node has no label that names its node pool")},
	{UnknownPool, func(_ *Fleet, c *Candidate) bool { return c.Pool != "" && c.pool == nil }, onPool("does not exist")},
	{NoInstanceTypes, func(_ *Fleet, c *Candidate) bool { return c.pool != nil && len(c.pool.types) == 0 }, onPool("has no instance types")},
}

// The checks of the methods ask only about nodes of a known pool.
var (
	emptyChecks = []check{static, never,
		{Buffered, func(_ *Fleet, c *Candidate) bool { return c.facts.Buffered }, onNode("the node holds spare capacity on purpose")},
		{NotEmpty, func(_ *Fleet, c *Candidate) bool { return !c.Empty() }, onNode("the node has pods that must move")},
		unquiet,
	}
	driftChecks       = []check{static, undrifted}
	staticDriftChecks = []check{
		{NotStaticPool, func(_ *Fleet, c *Candidate) bool { return c.pool.Replicas == nil }, onPool("is not static")},
		undrifted,
	}
	underutilizedChecks = []check{static,
		{UnknownInstanceType, func(_ *Fleet, c *Candidate) bool { return c.typ == nil }, onNode("its node pool does not have the node's instance type")},
		{NoCapacityType, func(_ *Fleet, c *Candidate) bool { return c.CapacityType == "" }, onNode("the node has no label with its capacity type")},
		{NoZone, func(_ *Fleet, c *Candidate) bool { return c.Zone == "" }, onNode("the node has no label with its zone")},
		never,
		{Empty, func(_ *Fleet, c *Candidate) bool { return c.Empty() }, onNode("the node is empty, so another method deletes it")},
		{WhenEmptyOnly, func(_ *Fleet, c *Candidate) bool { return c.pool.Policy == WhenEmpty && !c.Empty() }, onPool("is consolidated only where nodes are empty, and this one is not")},
		unquiet,
	}
	static    = check{StaticPool, func(_ *Fleet, c *Candidate) bool { return c.pool.Replicas != nil }, onPool("is static")}
	never     = check{NeverConsolidate, func(_ *Fleet, c *Candidate) bool { return c.pool.ConsolidateAfter == nil }, onPool("has consolidation disabled: its consolidateAfter is Never")}
	unquiet   = check{NotConsolidatable, (*Fleet).notQuiet, (*Fleet).explainNotQuiet}
	undrifted = check{NotDrifted, func(_ *Fleet, c *Candidate) bool { return c.facts.Claim == nil || c.facts.Claim.Drifted == nil }, onNode("the node has not drifted")}
)

func (m Method) checks() []check {
	switch m {
	case MethodEmpty:
		return emptyChecks
	case MethodStaticDrift:
		return staticDriftChecks
	case MethodDrift:
		return driftChecks
	}
	return underutilizedChecks
}

func onNode(message string) func(*Fleet, *Candidate) Reason {
	return func(_ *Fleet, c *Candidate) Reason {
		return Reason{Message: message, Objects: []string{object("Node", c.Name)}}
	}
}

func onPool(message string) func(*Fleet, *Candidate) Reason {
	return func(_ *Fleet, c *Candidate) Reason {
		return Reason{Message: "node pool " + c.Pool + " " + message, Objects: []string{object("NodePool", c.Pool)}}
	}
}

func (f *Fleet) notInitialized(c *Candidate) bool {
	return c.facts.Node != nil && c.facts.Node.Labels[f.keys.Initialized] != "true"
}

func (f *Fleet) nodeProtected(c *Candidate) bool {
	return c.facts.Node != nil && f.keys.NodeProtection(c.facts.Node).Active()
}

func (f *Fleet) notQuiet(c *Candidate) bool {
	return c.facts.Claim == nil || !c.facts.Claim.Consolidatable
}

func (f *Fleet) explainNotQuiet(c *Candidate) Reason {
	r := onNode("the node has not been quiet for the consolidateAfter of its node pool")(f, c)
	if claim := c.facts.Claim; claim != nil {
		r.Until = claim.QuietAt
	}
	return r
}

// checkPods lists which pods can't be evicted: the first protected one, then the
// first that PodDisruptionBudgets hold back.
func (f *Fleet) checkPods(pods []*corev1.Pod) []Reason {
	var all []Reason
	if r := f.protectedPod(pods); r != nil {
		all = append(all, *r)
	}
	if r := f.budgetedPod(pods); r != nil {
		all = append(all, *r)
	}
	return all
}

func (f *Fleet) protectedPod(pods []*corev1.Pod) *Reason {
	for _, pod := range pods {
		if f.rules.IsDisruptable(pod, f.cluster.Now) {
			continue
		}
		r := reason(PodDoNotDisrupt, []string{podObject(pod)}, "pod %s/%s has annotation %s", pod.Namespace, pod.Name, f.keys.DoNotDisrupt)
		r.Until = f.keys.PodProtection(pod, f.cluster.Now).Until
		return &r
	}
	return nil
}

func (f *Fleet) budgetedPod(pods []*corev1.Pod) *Reason {
	if f.cluster.Limits == nil {
		return nil
	}
	permission := f.cluster.Limits.CanEvict(f.cluster.Now, pods...)
	if permission.Allowed {
		return nil
	}
	pod, pdbs := permission.Pod, permission.Blocking
	objects := []string{podObject(pod)}
	for _, name := range pdbs {
		objects = append(objects, object("PodDisruptionBudget", name.Namespace, name.Name))
	}
	r := reason(PDBBlocks, objects, "PodDisruptionBudget %s allows no eviction of pod %s/%s", pdbs[0], pod.Namespace, pod.Name)
	if len(pdbs) > 1 {
		r = reason(SeveralPDBs, objects, "pod %s/%s has %d PodDisruptionBudgets, so it can't be evicted", pod.Namespace, pod.Name, len(pdbs))
	}
	return &r
}

func podObject(pod *corev1.Pod) string { return object("Pod", pod.Namespace, pod.Name) }

// Refusals lists why a node is no candidate of a method, in Karpenter's order:
// the first is the one that Karpenter reports. None means that it is eligible.
func (f *Fleet) Refusals(c *Candidate, m Method) []Reason { return f.refusals(c, m, false) }

// refusals stops after the first if that is enough.
func (f *Fleet) refusals(c *Candidate, m Method, first bool) []Reason {
	var all []Reason
	walk := func(checks []check) {
		for i := range checks {
			if first && len(all) > 0 {
				return
			}
			if checks[i].refuses(f, c) {
				r := checks[i].explain(f, c)
				r.Code = checks[i].code
				all = append(all, r)
			}
		}
	}
	all = append(all, c.facts.Vetoes...)
	walk(nodeChecks)
	if !overlooksPods(c, m) {
		all = append(all, c.blocked...)
	}
	if c.pool != nil {
		walk(m.checks())
	}
	if first && len(all) > 1 {
		all = all[:1:1]
	}
	return all
}

// disruptable: nothing about the node or its pods keeps it from graceful
// disruption, whatever the methods and its pool say.
func (f *Fleet) disruptable(c *Candidate) bool {
	return len(c.blocked) == 0 && len(c.facts.Vetoes) == 0 && f.passes(c, nodeChecks)
}

// eligible is whether there are no refusals, without wording them.
func (f *Fleet) eligible(c *Candidate, m Method) bool {
	return len(c.facts.Vetoes) == 0 && f.passes(c, nodeChecks) && (len(c.blocked) == 0 || overlooksPods(c, m)) && f.passes(c, m.checks())
}

func (f *Fleet) passes(c *Candidate, checks []check) bool {
	for i := range checks {
		if checks[i].refuses(f, c) {
			return false
		}
	}
	return true
}

// overlooksPods: the grace period of the claim, not of its pool, decides.
func overlooksPods(c *Candidate, m Method) bool {
	return m.eventual() && c.facts.Claim != nil && c.facts.Claim.TerminationGracePeriod != nil
}
