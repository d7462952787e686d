package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/termination"
)

// Finding is something in the cluster or its configuration that most likely
// isn't what its author meant, or that holds disruption up.
type Finding struct {
	// Code is stable: one of those of budget.Lint and of package annotations, or
	// one of the Finding codes here.
	Code     string          `json:"code"`
	Severity budget.Severity `json:"severity"`
	Message  string          `json:"message"`
	// Objects that it is about, "Kind/name" or "Kind/namespace/name".
	Objects []string `json:"objects,omitempty"`
	// Fix says what to do about it, "" if that depends.
	Fix string `json:"fix,omitempty"`
}

// Codes of findings about a cluster.
const (
	FindingUnreadable      = "unreadable-object"
	FindingUnlaunched      = "unlaunched-claims"
	FindingSharedProvider  = "shared-provider-id"
	FindingNameClash       = "name-clash"
	FindingPoolNotReady    = "pool-not-ready"
	FindingPoolRefused     = "pool-refused-by-api"
	FindingNoLimits        = "pool-without-limits"
	FindingNoPrices        = "unknown-price"
	FindingEager           = "eager-consolidation"
	FindingEmptyByCost     = "empty-by-cost"
	FindingEndlessDrain    = "drain-may-never-end"
	FindingPDBNeverAllows  = "pdb-never-allows"
	FindingPDBOverlap      = "pdb-overlap"
	FindingSingleReplica   = "single-replica-pdb"
	FindingPreferencesHold = "preferences-hold-nodes"
	FindingUnmanagedOnly   = "no-node-pools"
	FindingUnknownVolumes  = "unknown-volumes"
)

// findings collects.
type findings struct {
	pass *Pass
	// ledger tells which PodDisruptionBudgets block for good.
	ledger *termination.Ledger
	list   []Finding
}

func (f *findings) add(severity budget.Severity, code string, objects []string, fix, message string, args ...any) {
	f.list = append(f.list, Finding{Code: code, Severity: severity, Message: fmt.Sprintf(message, args...), Objects: objects, Fix: fix})
}

func (p *Pass) reportFindings(plan *Plan) {
	// What is wrong with selectors is said elsewhere.
	ledger, _ := termination.CompileLedger(p.fleet.cluster.PodDisruptionBudgets, nil, termination.LedgerOptions{})
	f := &findings{pass: p, ledger: ledger}
	f.facts()
	f.pools()
	f.nodes(plan)
	f.disruptionBudgets()
	f.markers()
	f.preferences()
	f.volumes(plan)
	rank := func(s budget.Severity) int {
		return slices.Index([]budget.Severity{budget.SeverityError, budget.SeverityWarning, budget.SeverityInfo}, s)
	}
	slices.SortStableFunc(f.list, func(a, b Finding) int {
		return cmp.Or(rank(a.Severity)-rank(b.Severity), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	plan.Findings = f.list
}

// facts are findings about the input itself.
func (f *findings) facts() {
	fleet := f.pass.fleet
	for i := range fleet.unreadable {
		u := &fleet.unreadable[i]
		f.add(budget.SeverityError, FindingUnreadable, []string{u.Kind + "/" + u.Name}, "correct the object",
			"%s can't be read, so what it may be about is left alone: %s", u.key(), u.Path)
	}
	if n := len(fleet.unlaunched); n > 0 {
		f.add(budget.SeverityWarning, FindingUnlaunched, claimObjects(fleet.unlaunched), "",
			"%d node claims have no provider id yet; Karpenter disrupts nothing until they do", n)
	}
	for _, id := range fleet.shared {
		f.add(budget.SeverityWarning, FindingSharedProvider, nil, "delete the claims that are left over",
			"more than one node claim has the provider id %s; the first by name counts", id)
	}
	for _, name := range fleet.clashing {
		f.add(budget.SeverityWarning, FindingNameClash, []string{"NodeClaim/" + name}, "",
			"node claim %s has no node, and its name is that of another node; it is left out", name)
	}
	if len(fleet.pools) == 0 && len(fleet.cluster.Nodes) > 0 {
		f.add(budget.SeverityInfo, FindingUnmanagedOnly, nil, "add the NodePools and NodeClaims to the input",
			"there are no node pools, so no node can be disrupted: what may go, and at what price, can't be known from nodes and pods alone")
	}
}

func claimObjects(claims []*NodeClaim) []string {
	names := make([]string, len(claims))
	for i, c := range claims {
		names[i] = "NodeClaim/" + c.Name
	}
	return names
}

// pools are findings about the configuration of pools.
func (f *findings) pools() {
	for _, pool := range f.pass.fleet.pools {
		objects := []string{"NodePool/" + pool.Name}
		f.budgets(pool, objects)
		if !isTrue(pool.Status.Conditions, conditionReady) {
			f.add(budget.SeverityWarning, FindingPoolNotReady, objects, "look at the pool's conditions",
				"node pool %s is not Ready, so it opens no new nodes; its nodes can only be deleted, or replaced by other pools", pool.Name)
		}
		if pool.Spec.Replicas == nil && len(pool.Spec.Limits) == 0 {
			f.add(budget.SeverityInfo, FindingNoLimits, objects, "set spec.limits",
				"node pool %s has no limits: a mistake in a workload may open nodes without end", pool.Name)
		}
		f.policy(pool, objects)
	}
}

// policy holds spec.disruption against what the API admits.
func (f *findings) policy(pool *NodePool, objects []string) {
	switch policy := pool.Spec.Disruption.ConsolidationPolicy; policy {
	case "", consolidation.WhenEmpty, consolidation.WhenEmptyOrUnderutilized, consolidation.Balanced:
	default:
		f.add(budget.SeverityError, FindingPoolRefused, objects, "use WhenEmpty, WhenEmptyOrUnderutilized or Balanced",
			"node pool %s has the consolidationPolicy %q, which the API refuses; it counts as WhenEmptyOrUnderutilized", pool.Name, policy)
	}
	if after := pool.Spec.Disruption.consolidateAfter(); after != nil && (*after < 0 || *after%time.Second != 0) {
		f.add(budget.SeverityError, FindingPoolRefused, objects, "use whole hours, minutes and seconds, or Never",
			"node pool %s has the consolidateAfter %s, which the API refuses", pool.Name, *after)
	}
}

// budgets asks package budget.
func (f *findings) budgets(pool *NodePool, objects []string) {
	options := budget.LintOptions{Nodes: f.pass.budgets[pool.Name].tally.Total}
	if grace := pool.Spec.Template.Spec.TerminationGracePeriod; grace != nil {
		options.TerminationGracePeriod = &grace.Duration
	}
	for _, found := range budget.Lint(pool.Spec.Disruption.Budgets, f.pass.fleet.cluster.Now, options) {
		f.add(found.Severity, string(found.Code), objects, found.Fix, "node pool %s: %s", pool.Name, found.Message)
	}
}

// markers asks package annotations about every pod and node. Equal findings of
// the pods of one owner are told once.
func (f *findings) markers() {
	type subject struct{ kind, namespace, owner, code, message string }
	counted := map[subject]int{}
	objects := map[subject]string{}
	reader := annotations.Compile(annotations.ReadOptions{Domain: f.pass.options.Domain})
	for _, pod := range f.pass.fleet.cluster.Pods {
		if len(pod.Annotations) == 0 && len(pod.Labels) == 0 {
			continue
		}
		for _, found := range reader.Pod(pod, f.pass.fleet.cluster.Now).Findings {
			s := subject{"Pod", pod.Namespace, ownerName(pod), string(found.Code), marker(found)}
			if object := "Pod/" + pod.Namespace + "/" + pod.Name; counted[s] == 0 || object < objects[s] {
				objects[s] = object
			}
			counted[s]++
		}
	}
	for _, node := range f.pass.fleet.cluster.Nodes {
		for _, found := range reader.Node(node).Findings {
			s := subject{"Node", "", node.Name, string(found.Code), marker(found)}
			counted[s]++
			objects[s] = "Node/" + node.Name
		}
	}
	for s, n := range counted {
		where := s.kind + " " + s.owner
		if s.kind == "Pod" {
			where = fmt.Sprintf("%d pods of %s/%s", n, s.namespace, s.owner)
		}
		f.add(budget.SeverityWarning, s.code, []string{objects[s]}, "", "%s: %s", where, s.message)
	}
}

func marker(f annotations.Finding) string { return fmt.Sprintf("%s=%q: %s", f.Key, f.Value, f.Message) }
