package scheduling

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// refusals lists all that keeps a pod from an existing node, in the order in
// which it is judged, and the share of its requests that the node lacks.
// Topology must have been prepared for the pod.
func (w *workspace) refusals(h int, p *movingPod, st *stage) (all []Refusal, short float64) {
	host := &w.s.hosts.hosts[h]
	add := func(code Code, subject, format string, args ...any) {
		all = append(all, Refusal{Code: code, Subject: subject, Message: fmt.Sprintf(format, args...)})
	}
	if w.r.SkipSettling && !p.exempt && host.settling {
		add(Settling, "", "its consolidateAfter has not elapsed")
	}
	if taint, untolerated := Untolerated(host.taints, st.shape.tolerations); untolerated {
		add(UntoleratedTaint, taintText(taint), "untolerated taint %s", taintText(taint))
	}
	if m := w.s.labelsOf(h).Compatible(st.shape.wish.reqs, nil); m != nil {
		add(LabelMismatch, m.Key, "%s", m.String())
	}
	if w.s.overLimit(h) {
		add(TooManyVolumes, "", "has more volumes attached than it may")
	} else if w.s.free.free(h)[0] < 0 {
		var r Refusal
		r, short = w.s.overcommitment(h, p)
		all = append(all, r)
	} else {
		all, short = w.shortages(all, h, p)
	}
	var filled *filledHost
	if slot := w.slots[h]; slot > 0 {
		filled = &w.filled[slot-1]
	}
	if len(p.class.ports) > 0 && !w.portsFree(h, p.class.ports, filled) {
		add(HostPortTaken, portsText(p.class.ports), "a host port of %s is taken", portsText(p.class.ports))
	}
	all = append(all, w.volumeRefusals(h, p, filled)...)
	return append(all, w.topologyRefusals(h)...), short
}

// labelsOf are a node's labels as requirements, the hostname among them.
func (s *Snapshot) labelsOf(h int) Requirements {
	host := &s.hosts.hosts[h]
	labels := LabelRequirements(host.labels)
	if !labels.Has(corev1.LabelHostname) {
		labels = labels.Add(In(corev1.LabelHostname, host.name))
	}
	return labels
}

func (w *workspace) shortages(all []Refusal, h int, p *movingPod) ([]Refusal, float64) {
	free, short := w.s.free.free(h), 0.0
	if slot := w.slots[h]; slot > 0 {
		free = w.filled[slot-1].free
	}
	for _, a := range p.class.need {
		if have := free[a.resource]; have < a.milli {
			name := w.s.resources.names[a.resource]
			asked, left := quantity(name, a.milli), quantity(name, have)
			all = append(all, Refusal{Insufficient, string(name),
				fmt.Sprintf("insufficient %s: %s asked, %s free", name, asked.String(), left.String())})
			short += float64(a.milli-have) / float64(a.milli)
		}
	}
	return all, short
}

// overcommitment says of what a node that takes no pod has less than nothing
// left, and how far it is from having room for this pod.
func (s *Snapshot) overcommitment(h int, p *movingPod) (Refusal, float64) {
	width := len(s.resources.names)
	used := make([]int64, width)
	s.usage(h, used, make([]int64, width))
	allocatable := s.hosts.hosts[h].allocatable()
	for _, name := range slices.Sorted(maps.Keys(allocatable)) {
		r := s.resources.index[name]
		left := saturate(milliDown(allocatable[name]), -used[r])
		if left >= 0 {
			continue
		}
		over := quantity(name, -left)
		asked := max(1, p.class.asks(r))
		return Refusal{Overcommitted, string(name), fmt.Sprintf("overcommitted: its pods use %s of %s more than it has", over.String(), name)},
			float64(asked-left) / float64(asked)
	}
	return Refusal{Overcommitted, "", "overcommitted: the DaemonSets that must still come need more than is left"}, 1
}

// asks is how much of a resource pods of the class need.
func (c *podClass) asks(resource int) int64 {
	for _, a := range c.need {
		if int(a.resource) == resource {
			return a.milli
		}
	}
	return 0
}

func (w *workspace) volumeRefusals(h int, p *movingPod, filled *filledHost) []Refusal {
	if p.volume < 0 {
		return nil
	}
	set := &w.s.volumes.sets[p.volume]
	switch {
	case set.lost:
		return []Refusal{{VolumeElsewhere, "", "a volume of the pod doesn't exist"}}
	case !w.volumesFit(h, &volumeSet{alternatives: set.alternatives}, filled):
		return []Refusal{{VolumeElsewhere, "", "the pod's volumes can't be had there"}}
	case !w.volumesFit(h, &volumeSet{attached: set.attached}, filled):
		return []Refusal{{TooManyVolumes, "", "it can't attach the pod's volumes as well"}}
	}
	return nil
}

func (w *workspace) topologyRefusals(h int) []Refusal {
	t := &w.topology
	var all []Refusal
	for i := range t.checks {
		c := &t.checks[i]
		if d := c.domains.ids[h]; d < 0 {
			all = append(all, Refusal{MissingTopologyKey, c.domains.key, fmt.Sprintf("has no label %s", c.domains.key)})
		} else if !t.suits(c, d) {
			all = append(all, c.refusal(c.domains.values[d], t.count(c.activeGroup, d), t.floor(c)))
		}
	}
	return all
}

// refusal says why the pod can't be in a domain that holds count pods. A spread
// measures its skew from the floor.
func (c *check) refusal(domain string, count, floor int32) Refusal {
	key := c.domains.key
	switch c.group.kind {
	case kindSpread:
		return Refusal{SpreadViolated, key, c.spreadText(domain, count, floor)}
	case kindAffinity:
		return Refusal{NotNearPods, key, fmt.Sprintf("pod affinity: no matching pod in %s %s", key, domain)}
	case kindAnti:
		return Refusal{TooNearPods, key, fmt.Sprintf("pod anti-affinity: %s %s holds %s", key, domain, plural(count, "matching pod"))}
	}
	return Refusal{KeptAway, key, fmt.Sprintf("kept away by the anti-affinity of %s in %s %s", plural(count, "pod"), key, domain)}
}

func (c *check) spreadText(domain string, count, floor int32) string {
	if !c.known.has(int(max(0, slices.Index(c.domains.values, domain)))) && !c.domains.hostname {
		return fmt.Sprintf("spread over %s: %s is not among the domains that count", c.domains.key, domain)
	}
	text := fmt.Sprintf("spread over %s: %s has %s, the emptiest domain %d, maxSkew is %d",
		c.domains.key, domain, plural(count, "matching pod"), floor, c.group.maxSkew)
	if c.minDomains > 0 {
		text += fmt.Sprintf(", minDomains is %d", c.minDomains)
	}
	return text
}

func plural(n int32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func portsText(ports []hostPort) string {
	text := ""
	for i, p := range ports {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d/%s", p.port, p.protocol)
	}
	return text
}
