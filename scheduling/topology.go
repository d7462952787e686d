package scheduling

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// topologyKind says how a group restricts pods.
type topologyKind uint8

const (
	kindSpread topologyKind = iota
	kindAffinity
	kindAnti
	// kindInverse counts the pods that have a required anti-affinity term, and
	// keeps the pods that the term selects away from them.
	kindInverse
)

// topologyGroup is the constraints that Karpenter pools in one simulation,
// since they have the same identity. What is not part of that identity, the
// first pod that registers decides: see [variant].
type topologyGroup struct {
	id         int32
	kind       topologyKind
	table      int32 // of its key, in topologyBook.keys
	maxSkew    int64
	namespaces []string // sorted
	selector   labels.Selector
	// noSelector: the constraint has none. It selects no pod while placing, but
	// its initial count takes every pod of the namespaces.
	noSelector bool
}

// variant is a group as one pod would register it.
type variant struct {
	id         int32
	group      *topologyGroup
	minDomains int32 // 0: none
	filter     *nodeFilter
	// tolerations decide from which pools the known domains are taken, if
	// honorTaints is set.
	tolerations []corev1.Toleration
	honorTaints bool
}

// link ties a stage of a pod class to a variant.
type link struct {
	*variant
	id int32 // counts all links of the book
	// self: the constraint selects the pod itself.
	self bool
}

// topologyBook interns all groups of the book.
type topologyBook struct {
	keys     []string
	groups   []*topologyGroup
	variants []*variant
	inverse  []*variant // one a group of kindInverse
	filters  []*nodeFilter

	keyIDs, groupIDs, variantIDs, filterIDs map[string]int32
	inverseIDs                              map[int32]int32 // by group
	namespaces                              []*corev1.Namespace
	err                                     error // of a selector of the pod being read
}

func newTopologyBook(namespaces []*corev1.Namespace) topologyBook {
	return topologyBook{
		keyIDs: map[string]int32{}, groupIDs: map[string]int32{}, variantIDs: map[string]int32{},
		filterIDs: map[string]int32{}, inverseIDs: map[int32]int32{},
		namespaces: namespaces,
	}
}

func (t topologyBook) clone() topologyBook {
	t.keys, t.groups, t.variants = slices.Clone(t.keys), slices.Clone(t.groups), slices.Clone(t.variants)
	t.inverse, t.filters = slices.Clone(t.inverse), slices.Clone(t.filters)
	t.keyIDs, t.groupIDs, t.variantIDs = maps.Clone(t.keyIDs), maps.Clone(t.groupIDs), maps.Clone(t.variantIDs)
	t.filterIDs, t.inverseIDs = maps.Clone(t.filterIDs), maps.Clone(t.inverseIDs)
	return t
}

// linksOf interns the topology constraints of a pod as far as d still has them.
func (b *podBook) linksOf(pod *corev1.Pod, d *podDemand) []link {
	count := len(d.spreads) + len(d.affinity) + len(d.softNear) + len(d.anti) + len(d.softApart)
	if count == 0 {
		return nil
	}
	links := make([]link, 0, count)
	for i := range d.spreads {
		links = append(links, b.spreadLink(pod, d, &d.spreads[i]))
	}
	for i := range d.affinity {
		links = append(links, b.termLink(pod, d, kindAffinity, &d.affinity[i]))
	}
	for i := range d.softNear {
		links = append(links, b.termLink(pod, d, kindAffinity, &d.softNear[i].PodAffinityTerm))
	}
	for i := range d.anti {
		links = append(links, b.termLink(pod, d, kindAnti, &d.anti[i]))
	}
	for i := range d.softApart {
		links = append(links, b.termLink(pod, d, kindAnti, &d.softApart[i].PodAffinityTerm))
	}
	return links
}

func (b *podBook) spreadLink(pod *corev1.Pod, d *podDemand, c *corev1.TopologySpreadConstraint) link {
	t := &b.topology
	filter, identity := b.filterOf(d, c)
	g := topologyGroup{kind: kindSpread, maxSkew: int64(c.MaxSkew), namespaces: []string{pod.Namespace}}
	g.selector, g.noSelector = t.selector(withMatchLabels(c.LabelSelector, pod.Labels, c.MatchLabelKeys))
	v := variant{filter: filter, tolerations: d.tolerations}
	v.honorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	if c.MinDomains != nil {
		v.minDomains = *c.MinDomains
	}
	return b.link(pod, c.TopologyKey, g, v, identity)
}

func (b *podBook) termLink(pod *corev1.Pod, d *podDemand, kind topologyKind, term *corev1.PodAffinityTerm) link {
	t := &b.topology
	g := topologyGroup{kind: kind, maxSkew: math.MaxInt32, namespaces: t.namespacesOf(pod, term)}
	g.selector, g.noSelector = t.selector(term.LabelSelector)
	return b.link(pod, term.TopologyKey, g, variant{tolerations: d.tolerations, honorTaints: true}, nil)
}

func (b *podBook) link(pod *corev1.Pod, key string, g topologyGroup, v variant, filterIdentity []byte) link {
	v.group = b.topology.group(key, g, filterIdentity)
	b.links++
	return link{variant: b.topology.variant(v), id: b.links - 1, self: v.group.selects(pod.Namespace, pod.Labels)}
}

// inverseOf interns the inverse groups of the required anti-affinity of a pod.
func (b *podBook) inverseOf(pod *corev1.Pod, terms []corev1.PodAffinityTerm) []int32 {
	var ids []int32
	t := &b.topology
	for i := range terms {
		g := topologyGroup{kind: kindInverse, maxSkew: math.MaxInt32, namespaces: t.namespacesOf(pod, &terms[i])}
		g.selector, g.noSelector = t.selector(terms[i].LabelSelector)
		group := t.group(terms[i].TopologyKey, g, nil)
		id, ok := t.inverseIDs[group.id]
		if !ok {
			id = int32(len(t.inverse))
			t.inverseIDs[group.id] = id
			t.inverse = append(t.inverse, &variant{id: id, group: group})
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (t *topologyBook) group(key string, g topologyGroup, filterIdentity []byte) *topologyGroup {
	id := append([]byte{byte(g.kind), bool1(g.noSelector)}, filterIdentity...)
	id = appendParts(appendInt(id, g.maxSkew), key, g.selector.String())
	id = appendParts(id, g.namespaces...)
	if i, ok := t.groupIDs[string(id)]; ok {
		return t.groups[i]
	}
	g.id, g.table = int32(len(t.groups)), t.keyID(key)
	t.groupIDs[string(id)] = g.id
	t.groups = append(t.groups, &g)
	return &g
}

func (t *topologyBook) keyID(key string) int32 {
	id, ok := t.keyIDs[key]
	if !ok {
		id = int32(len(t.keys))
		t.keyIDs[key] = id
		t.keys = append(t.keys, key)
	}
	return id
}

// variant interns what the identity of the group leaves open.
func (t *topologyBook) variant(v variant) *variant {
	id := appendInt(appendInt(nil, int64(v.group.id)), int64(v.minDomains))
	id = append(id, bool1(v.honorTaints))
	if v.filter != nil {
		id = appendInt(id, int64(v.filter.id))
	}
	if v.honorTaints {
		for i := range v.tolerations {
			id = appendToleration(id, &v.tolerations[i])
		}
	}
	if i, ok := t.variantIDs[string(id)]; ok {
		return t.variants[i]
	}
	v.id = int32(len(t.variants))
	t.variantIDs[string(id)] = v.id
	t.variants = append(t.variants, &v)
	return &v
}

func bool1(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// selects reports whether the group counts a pod that is placed.
func (g *topologyGroup) selects(namespace string, set labels.Set) bool {
	_, in := slices.BinarySearch(g.namespaces, namespace)
	return in && !g.noSelector && g.selector.Matches(set)
}

// selector compiles a label selector; nil selects nothing, which is also what
// a bad one is replaced with once its error is noted.
func (t *topologyBook) selector(s *metav1.LabelSelector) (sel labels.Selector, none bool) {
	sel, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.err = cmp.Or(t.err, err)
		return labels.Nothing(), true
	}
	return sel, s == nil
}

// withMatchLabels adds `key In [value]` for each of keys that the pod has.
func withMatchLabels(s *metav1.LabelSelector, set map[string]string, keys []string) *metav1.LabelSelector {
	if len(keys) == 0 {
		return s
	}
	merged := s.DeepCopy()
	for _, key := range keys {
		if value, ok := set[key]; ok {
			if merged == nil {
				merged = &metav1.LabelSelector{}
			}
			merged.MatchExpressions = append(merged.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
	}
	return merged
}

// namespacesOf a term: its list and the namespaces that its selector picks
// among those that exist; the pod's own if it names neither.
func (t *topologyBook) namespacesOf(pod *corev1.Pod, term *corev1.PodAffinityTerm) []string {
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return []string{pod.Namespace}
	}
	names := slices.Clone(term.Namespaces)
	if term.NamespaceSelector != nil {
		selector, _ := t.selector(term.NamespaceSelector)
		for _, ns := range t.namespaces {
			if selector.Matches(labels.Set(ns.Labels)) {
				names = append(names, ns.Name)
			}
		}
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}
