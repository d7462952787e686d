package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// PreferencePolicy is Respect or Ignore.
type PreferencePolicy string

// The policies: "" is [PreferencesRespect].
const (
	// PreferencesRespect counts a preference as required, until the pod fits
	// nowhere with it. A pod may thus get a new node although it could do without.
	PreferencesRespect PreferencePolicy = "Respect"
	// PreferencesIgnore leaves out preferred node affinity, pod affinity and pod
	// anti-affinity, and spread constraints with ScheduleAnyway, as Karpenter's
	// setting of that name does. Pods still avoid PreferNoSchedule taints at first.
	PreferencesIgnore PreferencePolicy = "Ignore"
)

// PreferenceKind says what a [Preference] is.
type PreferenceKind string

// The kinds, in the order in which they are given up; of one kind the heaviest
// goes first.
const (
	// RequiredTerm: a required node affinity term that others stand in for.
	RequiredTerm             PreferenceKind = "RequiredTerm"
	PreferredPodAffinity     PreferenceKind = "PreferredPodAffinity"
	PreferredPodAntiAffinity PreferenceKind = "PreferredPodAntiAffinity"
	PreferredNodeAffinity    PreferenceKind = "PreferredNodeAffinity"
	// ScheduleAnyway: a soft topology spread constraint.
	ScheduleAnyway PreferenceKind = "ScheduleAnyway"
	// AvoidedTaints: taints with the effect PreferNoSchedule. They are told only
	// if the pod gave up avoiding them.
	AvoidedTaints PreferenceKind = "AvoidedTaints"
)

// Preference is something that a pod asks for but can do without.
type Preference struct {
	Kind PreferenceKind `json:"kind"`
	// Subject is the topology key or, for node affinity, the labels asked for.
	Subject string `json:"subject,omitempty"`
	Weight  int32  `json:"weight,omitempty"`
	// GivenUp: the pod found no place as long as it asked for this. One that was
	// not given up may be why the pod needs a new node.
	GivenUp bool `json:"givenUp"`
}

// String reads like "PreferredPodAntiAffinity kubernetes.io/hostname (weight
// 100), given up".
func (p Preference) String() string {
	text := string(p.Kind)
	if p.Subject != "" {
		text += " " + p.Subject
	}
	if p.Weight != 0 {
		text += fmt.Sprintf(" (weight %d)", p.Weight)
	}
	if p.GivenUp {
		text += ", given up"
	}
	return text
}

// dropped is what one relaxation gives up.
type dropped struct {
	kind   PreferenceKind
	key    string // of topology
	labels []corev1.NodeSelectorRequirement
	weight int32
}

func droppedTerm(kind PreferenceKind, term corev1.WeightedPodAffinityTerm) dropped {
	return dropped{kind: kind, key: term.PodAffinityTerm.TopologyKey, weight: term.Weight}
}

// preferences lists what the pod's relaxations give up, and which it took.
func (p *movingPod) preferences() []Preference {
	var list []Preference
	for i, d := range p.class.relaxations {
		given := i < p.stage
		if d.kind == AvoidedTaints && !given {
			continue
		}
		subject := d.key
		if d.labels != nil {
			subject = ExpressionRequirements(d.labels).String()
		}
		list = append(list, Preference{Kind: d.kind, Subject: subject, Weight: d.weight, GivenUp: given})
	}
	return list
}
