package oracle

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/node-disruption/disruption/scheduling"
)

type kind string

const (
	spread   kind = "spread"
	affinity kind = "affinity"
	aversion kind = "anti-affinity"
)

// group is one constraint, shared by all pods that state it in the same words.
type group struct {
	kind       kind
	key        string
	namespaces []string
	selector   *metav1.LabelSelector
	maxSkew    int
	minDomains int
	filter     nodeFilter
	// counts holds every known domain.
	counts map[string]int
	owners map[string]bool // UIDs
}

// nodeFilter tells which nodes matter to a spread constraint.
type nodeFilter struct {
	// alternatives of which a node must meet one, if honorAffinity is set.
	alternatives               []scheduling.Requirements
	honorAffinity, honorTaints bool
	tolerations                []corev1.Toleration
}

func (f *nodeFilter) passes(taints []corev1.Taint, node scheduling.Requirements) bool {
	if f.honorTaints {
		if _, blocked := scheduling.Untolerated(taints, f.tolerations); blocked {
			return false
		}
	}
	return !f.honorAffinity || slices.ContainsFunc(f.alternatives, func(q scheduling.Requirements) bool { return node.Compatible(q, nil) == nil })
}

// id is what makes two constraints the same. Of the filter's requirements only
// the keys count, and minDomains does not.
func (g *group) id() string {
	var keys []string
	for _, q := range g.filter.alternatives {
		keys = append(keys, strings.Join(q.Keys(), ","))
	}
	slices.Sort(keys)
	var tolerations []string
	for _, t := range g.filter.tolerations {
		seconds := int64(-1)
		if t.TolerationSeconds != nil {
			seconds = *t.TolerationSeconds
		}
		tolerations = append(tolerations, fmt.Sprintf("%q %q %q %q %d", t.Key, t.Operator, t.Value, t.Effect, seconds))
	}
	slices.Sort(tolerations)
	return fmt.Sprintf("%s %q %q %d %s %q %t %t %q", g.kind, g.key, g.namespaces, g.maxSkew, selectorID(g.selector),
		keys, g.filter.honorAffinity, g.filter.honorTaints, tolerations)
}

func selectorID(s *metav1.LabelSelector) string {
	if s == nil {
		return "nil"
	}
	var parts []string
	for k, v := range s.MatchLabels {
		parts = append(parts, fmt.Sprintf("label %q %q", k, v))
	}
	for _, e := range s.MatchExpressions {
		values := slices.Clone(e.Values)
		slices.Sort(values)
		parts = append(parts, fmt.Sprintf("%q %q %q", e.Key, e.Operator, values))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%q", parts)
}

// selects reports whether a pod counts; nil selects none.
func (g *group) selects(p *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(g.selector)
	return err == nil && slices.Contains(g.namespaces, p.Namespace) && selector.Matches(labels.Set(p.Labels))
}

// topology is the groups of one simulation.
type topology struct {
	run    *run
	groups []*group
	// inverse groups are the required anti-affinity of pods, seen from the pods
	// that they keep away.
	inverse []*group
	// hostnames of the nodes, also of those opened so far.
	hostnames []string
}

func (r *run) prepareTopology() {
	t := &r.topology
	t.run = r
	for _, e := range r.nodes {
		t.hostnames = append(t.hostnames, e.hostname())
	}
	for _, p := range r.sortedPods() {
		node := r.nodeOf(p)
		if node == nil || terminal(p) || r.takesPart(p) {
			continue
		}
		for _, g := range t.registerInverse(p) {
			if domain, ok := node.domainOf(g.key); ok {
				g.counts[domain]++
			}
		}
	}
	for _, m := range r.pods {
		if !m.volumes.unreadable {
			t.register(m.original)
		}
	}
}

// takesPart reports whether the pod is to be placed and so not counted where it
// is. One whose volumes can't be read still counts there.
func (r *run) takesPart(p *corev1.Pod) bool {
	return slices.ContainsFunc(r.pods, func(m *moving) bool { return m.original == p && !m.volumes.unreadable })
}

// nodeOf is the node that the pod runs on, as the simulation sees it; nil if it
// doesn't exist.
func (r *run) nodeOf(p *corev1.Pod) *existing {
	for i := range r.cluster.Nodes {
		if n := &r.cluster.Nodes[i]; n.Node != nil && n.Node.Name == p.Spec.NodeName {
			return r.identity(n)
		}
	}
	return nil
}

// domainOf is the node's value of key; the name stands in for a missing hostname.
func (e *existing) domainOf(key string) (string, bool) {
	if v, ok := e.labels[key]; ok {
		return v, true
	}
	return e.name, key == corev1.LabelHostname
}

// know makes a domain known to all groups of the key.
func (t *topology) know(key, domain string) {
	if key == corev1.LabelHostname && !slices.Contains(t.hostnames, domain) {
		t.hostnames = append(t.hostnames, domain)
	}
	for _, g := range slices.Concat(t.groups, t.inverse) {
		if _, known := g.counts[domain]; g.key == key && !known {
			g.counts[domain] = 0
		}
	}
}

// register makes the pod an owner of exactly the groups that it states.
func (t *topology) register(p *corev1.Pod) {
	for _, g := range t.groups {
		delete(g.owners, string(p.UID))
	}
	t.registerInverse(p)
	for _, g := range slices.Concat(t.spreadsOf(p), t.termsOf(p)) {
		known := find(t.groups, g)
		if known == nil {
			known = g
			t.learnDomains(g, p, true)
			t.count(g)
			t.groups = append(t.groups, g)
		}
		known.owners[string(p.UID)] = true
	}
}

func (t *topology) registerInverse(p *corev1.Pod) []*group {
	var of []*group
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	for _, term := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		g := t.termGroup(p, aversion, term)
		known := find(t.inverse, g)
		if known == nil {
			known = g
			t.learnDomains(g, p, false)
			t.inverse = append(t.inverse, g)
		}
		known.owners[string(p.UID)] = true
		of = append(of, known)
	}
	return of
}

func find(groups []*group, g *group) *group {
	for _, other := range groups {
		if other.id() == g.id() {
			return other
		}
	}
	return nil
}

func (t *topology) spreadsOf(p *corev1.Pod) []*group {
	var groups []*group
	for _, c := range p.Spec.TopologySpreadConstraints {
		g := &group{kind: spread, key: c.TopologyKey, namespaces: []string{p.Namespace}, selector: c.LabelSelector, maxSkew: int(c.MaxSkew),
			filter: filterOf(p, c), counts: map[string]int{}, owners: map[string]bool{}}
		if c.MinDomains != nil {
			g.minDomains = int(*c.MinDomains)
		}
		for _, key := range c.MatchLabelKeys {
			if v, ok := p.Labels[key]; ok {
				if g.selector = g.selector.DeepCopy(); g.selector == nil {
					g.selector = &metav1.LabelSelector{}
				}
				g.selector.MatchExpressions = append(g.selector.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{v}})
			}
		}
		groups = append(groups, g)
	}
	return groups
}

func filterOf(p *corev1.Pod, c corev1.TopologySpreadConstraint) nodeFilter {
	f := nodeFilter{tolerations: p.Spec.Tolerations}
	f.honorAffinity = c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
	f.honorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	selector := scheduling.LabelRequirements(p.Spec.NodeSelector)
	for _, term := range requiredTerms(p) {
		f.alternatives = append(f.alternatives, selector.And(scheduling.ExpressionRequirements(term.MatchExpressions)))
	}
	if len(f.alternatives) == 0 {
		f.alternatives = []scheduling.Requirements{selector}
	}
	return f
}

// termsOf are the affinity and anti-affinity terms; preferred ones count as
// required until they are given up.
func (t *topology) termsOf(p *corev1.Pod) []*group {
	var groups []*group
	if p.Spec.Affinity == nil {
		return nil
	}
	if a := p.Spec.Affinity.PodAffinity; a != nil {
		for _, term := range a.RequiredDuringSchedulingIgnoredDuringExecution {
			groups = append(groups, t.termGroup(p, affinity, term))
		}
		for _, w := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			groups = append(groups, t.termGroup(p, affinity, w.PodAffinityTerm))
		}
	}
	if a := p.Spec.Affinity.PodAntiAffinity; a != nil {
		for _, term := range a.RequiredDuringSchedulingIgnoredDuringExecution {
			groups = append(groups, t.termGroup(p, aversion, term))
		}
		for _, w := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			groups = append(groups, t.termGroup(p, aversion, w.PodAffinityTerm))
		}
	}
	return groups
}

func (t *topology) termGroup(p *corev1.Pod, k kind, term corev1.PodAffinityTerm) *group {
	return &group{kind: k, key: term.TopologyKey, namespaces: t.namespaces(p, term), selector: term.LabelSelector, maxSkew: math.MaxInt32,
		counts: map[string]int{}, owners: map[string]bool{}}
}

// namespaces are those listed and those whose objects the selector matches;
// with neither, the pod's own.
func (t *topology) namespaces(p *corev1.Pod, term corev1.PodAffinityTerm) []string {
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return []string{p.Namespace}
	}
	names := slices.Clone(term.Namespaces)
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	for _, n := range t.run.cluster.Namespaces {
		if err == nil && selector.Matches(labels.Set(n.Labels)) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// learnDomains finds the domains that a new group knows: those of pools, those
// of hosts and, but for inverse groups, those of the simulation's nodes.
func (t *topology) learnDomains(g *group, p *corev1.Pod, ofNodes bool) {
	for _, pool := range t.run.pools {
		if _, blocked := scheduling.Untolerated(pool.Taints, p.Spec.Tolerations); blocked && (g.kind != spread || g.filter.honorTaints) {
			continue
		}
		own := poolRequirements(pool)
		if q := own.Get(g.key); !q.Complement() {
			g.know(q.Values())
		}
		for _, it := range pool.InstanceTypes {
			// What a pool excludes becomes known where types don't define the key.
			g.know(own.And(it.Requirements).Get(g.key).Values())
		}
	}
	if g.key == corev1.LabelHostname {
		g.know(t.hostnames)
	}
	if !ofNodes {
		return
	}
	for _, e := range t.run.nodes {
		if e.source.Node == nil || !g.filter.passes(e.taints, e.requirements()) {
			continue
		}
		if domain, ok := e.labels[g.key]; ok {
			g.know([]string{domain})
		}
	}
}

func (g *group) know(domains []string) {
	for _, d := range domains {
		g.counts[d] += 0
	}
}

// count adds the pods that run and stay. A nil selector counts all of them.
func (t *topology) count(g *group) {
	for _, p := range t.run.cluster.Pods {
		if terminal(p) || p.DeletionTimestamp != nil || t.run.takesPart(p) || !slices.Contains(g.namespaces, p.Namespace) {
			continue
		}
		if g.selector != nil && !g.selects(p) {
			continue
		}
		node := t.run.nodeOf(p)
		if node == nil || !g.filter.passes(node.taints, node.requirements()) {
			continue
		}
		if domain, ok := node.domainOf(g.key); ok {
			g.counts[domain]++
		}
	}
}

// record counts a placed pod wherever its node may end up. Filters judge what the
// node is by itself, if it exists.
func (t *topology) record(p *corev1.Pod, taints []corev1.Taint, itself, node scheduling.Requirements) {
	for _, g := range t.groups {
		if !g.selects(p) || !g.filter.passes(taints, itself) {
			continue
		}
		if q := node.Get(g.key); g.kind == aversion && !q.Complement() || q.Len() == 1 {
			g.add(q.Values())
		}
	}
	for _, g := range t.inverse {
		if q := node.Get(g.key); g.owners[string(p.UID)] && !q.Complement() {
			g.add(q.Values())
		}
	}
}

func (g *group) add(domains []string) {
	for _, d := range domains {
		g.counts[d]++
	}
}

// narrow judges each constraint against the node as it is, and returns what is
// left of the node's requirements; false if a constraint allows no domain.
func (t *topology) narrow(p *corev1.Pod, node scheduling.Requirements) (scheduling.Requirements, bool) {
	narrowed, strict := node, strictRequirements(p)
	judge := func(g *group) bool {
		allowed := g.allowed(p, node.Get(g.key), strict.Get(g.key))
		narrowed = narrowed.Add(scheduling.In(g.key, allowed...))
		return len(allowed) > 0
	}
	for _, g := range t.concerning(p) {
		if !judge(g) {
			return narrowed, false
		}
	}
	return narrowed, true
}

// concerning lists the constraints on a pod: its own, and the anti-affinity of
// others that selects it.
func (t *topology) concerning(p *corev1.Pod) []*group {
	var list []*group
	for _, g := range t.groups {
		if g.owners[string(p.UID)] {
			list = append(list, g)
		}
	}
	for _, g := range t.inverse {
		if g.selects(p) {
			list = append(list, g)
		}
	}
	return list
}

// definedOn reports whether an existing node has the keys of all constraints on
// the pod.
func (t *topology) definedOn(p *corev1.Pod, node scheduling.Requirements) bool {
	return !slices.ContainsFunc(t.concerning(p), func(g *group) bool { return !node.Has(g.key) })
}

// allowed returns the domains that the constraint leaves to the pod on a node.
func (g *group) allowed(p *corev1.Pod, node, pod scheduling.Requirement) []string {
	known := g.domains()
	if g.key == corev1.LabelHostname && !node.Complement() {
		// A node that is only being tried already counts as a domain.
		known = append(known, node.Values()...)
		slices.Sort(known)
		known = slices.Compact(known)
	}
	switch g.kind {
	case spread:
		return g.allowedSpread(p, known, node, pod)
	case affinity:
		return g.allowedAffinity(p, known, node, pod)
	}
	return keep(known, func(d string) bool { return node.Has(d) && pod.Has(d) && g.counts[d] == 0 })
}

func (g *group) domains() []string {
	var known []string
	for d := range g.counts {
		known = append(known, d)
	}
	slices.Sort(known)
	return known
}

func keep(domains []string, want func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(domains), func(d string) bool { return !want(d) })
}

func (g *group) allowedSpread(p *corev1.Pod, known []string, node, pod scheduling.Requirement) []string {
	lowest, self := g.lowest(known, pod), 0
	if g.selects(p) {
		self = 1
	}
	best := ""
	found := false
	for _, d := range known {
		if node.Has(d) && g.counts[d]+self-lowest <= g.maxSkew && (!found || g.counts[d] < g.counts[best]) {
			best, found = d, true
		}
	}
	if !found {
		return nil
	}
	return []string{best}
}

// lowest is the count of the emptiest domain that the pod allows.
func (g *group) lowest(known []string, pod scheduling.Requirement) int {
	if g.key == corev1.LabelHostname {
		return 0
	}
	lowest, domains := math.MaxInt32, 0
	for _, d := range known {
		if pod.Has(d) {
			lowest, domains = min(lowest, g.counts[d]), domains+1
		}
	}
	if domains < g.minDomains {
		return 0
	}
	return lowest
}

func (g *group) allowedAffinity(p *corev1.Pod, known []string, node, pod scheduling.Requirement) []string {
	occupied := keep(known, func(d string) bool { return g.counts[d] > 0 })
	if with := keep(occupied, func(d string) bool { return node.Has(d) && pod.Has(d) }); len(with) > 0 {
		return with
	}
	reachable := slices.ContainsFunc(occupied, pod.Has)
	if !g.selects(p) || reachable {
		return nil
	}
	first := keep(known, func(d string) bool { return node.Has(d) && pod.Has(d) })
	return first[:min(1, len(first))]
}
