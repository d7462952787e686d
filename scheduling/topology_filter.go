package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodeFilter says on which nodes a spread constraint counts pods and finds
// domains: nodeAffinityPolicy and nodeTaintsPolicy of one pod.
type nodeFilter struct {
	id int32
	// any are alternatives; nil lets every node pass.
	any []*wish
	// tolerations must cover the node's taints, if honorTaints is set.
	tolerations []corev1.Toleration
	honorTaints bool
}

// filterOf makes the filter of one constraint, and the part of it by which
// Karpenter tells groups apart: of the requirements only the keys.
func (b *podBook) filterOf(d *podDemand, c *corev1.TopologySpreadConstraint) (*nodeFilter, []byte) {
	terms := filterTerms(d)
	f := nodeFilter{tolerations: d.tolerations}
	f.honorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	honorAffinity := c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
	identity := []byte{bool1(f.honorTaints), bool1(honorAffinity)}
	content := slices.Clone(identity)
	var keys []string
	for _, reqs := range terms {
		keys = append(keys, string(appendParts(nil, reqs.Keys()...)))
		if honorAffinity {
			content = appendParts(content, reqs.String())
		}
	}
	slices.Sort(keys)
	identity = appendParts(identity, keys...)
	for i := range d.tolerations {
		identity = appendToleration(append(identity, 't'), &d.tolerations[i])
		if f.honorTaints {
			content = appendToleration(content, &d.tolerations[i])
		}
	}
	return b.filter(f, terms, honorAffinity, content), identity
}

// filterTerms are the node selector with each required term, any of which will
// do here.
func filterTerms(d *podDemand) []Requirements {
	selector := LabelRequirements(d.selector)
	if len(d.required) == 0 {
		return []Requirements{selector}
	}
	terms := make([]Requirements, len(d.required))
	for i := range d.required {
		terms[i] = selector.And(ExpressionRequirements(d.required[i].MatchExpressions))
	}
	return terms
}

func (b *podBook) filter(f nodeFilter, terms []Requirements, honorAffinity bool, content []byte) *nodeFilter {
	t := &b.topology
	if i, ok := t.filterIDs[string(content)]; ok {
		return t.filters[i]
	}
	open := func(r Requirements) bool { return r.Len() == 0 }
	if honorAffinity && !slices.ContainsFunc(terms, open) {
		for _, reqs := range terms {
			f.any = append(f.any, b.wish(reqs))
		}
	}
	f.id = int32(len(t.filters))
	t.filterIDs[string(content)] = f.id
	t.filters = append(t.filters, &f)
	return &f
}

// passing finds the nodes that pass; nil stands for all.
func (s *Snapshot) passing(f *nodeFilter) bitset {
	if f.any == nil && !f.honorTaints {
		return nil
	}
	hosts := s.allHosts()
	if f.any != nil {
		clear(hosts)
		for _, w := range f.any {
			for i, word := range s.meets(w) {
				hosts[i] |= word
			}
		}
	}
	if f.honorTaints {
		s.keepTolerated(hosts, f.tolerations)
	}
	return hosts
}

// passes reports whether an existing node is counted; no filter passes all.
func (s *Snapshot) passes(f *nodeFilter, host int) bool {
	if f == nil {
		return true
	}
	hosts := s.topology.passing[f.id]
	return hosts == nil || hosts.has(host)
}
