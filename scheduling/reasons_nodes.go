package scheduling

import (
	"fmt"

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
		add(Overcommitted, "", "has less than nothing left of a resource")
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
			all = append(all, c.refusal(c.domains.values[d], t.count(c.activeGroup, d)))
		}
	}
	return all
}

// refusal says why the pod can't be in a domain that holds count pods.
func (c *check) refusal(domain string, count int32) Refusal {
	key := c.domains.key
	switch c.group.kind {
	case kindSpread:
		return Refusal{SpreadViolated, key, fmt.Sprintf("spread over %s: %s has %d pods, maxSkew is %d", key, domain, count, c.group.maxSkew)}
	case kindAffinity:
		return Refusal{NotNearPods, key, fmt.Sprintf("pod affinity: no matching pod in %s %s", key, domain)}
	case kindAnti:
		return Refusal{TooNearPods, key, fmt.Sprintf("pod anti-affinity: %s %s holds %d matching pods", key, domain, count)}
	}
	return Refusal{KeptAway, key, fmt.Sprintf("%d pods in %s %s keep it away by their anti-affinity", count, key, domain)}
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
