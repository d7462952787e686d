package random

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

func (d *drawer) drawPods() {
	for i := range rapidCount(d, "pods", 1, 14) {
		p := &corev1.Pod{ObjectMeta: d.meta(pick(d, "namespace", "default", "default", "other"), fmt.Sprintf("pod-%02d", i))}
		p.Labels = map[string]string{"app": d.label()}
		if d.often("version") {
			p.Labels["version"] = pick(d, "version", "1", "2")
		}
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: d.requests()}}}
		d.extras(p)
		d.constraints(p)
		d.volumes(p)
		d.place(p)
		d.cluster.Pods = append(d.cluster.Pods, p)
	}
}

func (d *drawer) requests() corev1.ResourceList {
	list := amounts(corev1.ResourceCPU, pick(d, "cpu", "0", "100m", "500m", "900m", "1500m"), corev1.ResourceMemory, pick(d, "memory", "0", "100Mi", "1Gi"))
	if d.seldom("gpu") {
		list[gpu] = resource.MustParse("1")
	}
	return list
}

// extras make the pod's requests and ports less simple.
func (d *drawer) extras(p *corev1.Pod) {
	if d.seldom("init container") {
		c := corev1.Container{Name: "init", Resources: corev1.ResourceRequirements{Requests: d.requests()}}
		if d.often("sidecar") {
			always := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if d.seldom("pod-level resources") {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts(corev1.ResourceCPU, "300m")}
	}
	if d.seldom("overhead") {
		p.Spec.Overhead = amounts(corev1.ResourceCPU, "50m")
	}
	if d.seldom("resize") {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", AllocatedResources: amounts(corev1.ResourceCPU, "700m")}}
	}
	if d.sometimes("host port") {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{
			HostPort: pick(d, "port", int32(80), 81), Protocol: pick(d, "protocol", corev1.ProtocolTCP, corev1.ProtocolUDP), HostIP: pick(d, "ip", "", "0.0.0.0", "10.0.0.1", "10.0.0.2", "::"),
		}}
	}
	if d.seldom("resource claim") {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device"}}
	}
}

func (d *drawer) constraints(p *corev1.Pod) {
	p.Spec.Tolerations = d.tolerations()
	if d.sometimes("node selector") {
		p.Spec.NodeSelector = map[string]string{}
		switch key := pick(d, "key", corev1.LabelTopologyZone, teamLabel, "failure-domain.beta.kubernetes.io/zone", reservationLabel); key {
		case teamLabel:
			p.Spec.NodeSelector[key] = d.team()
		case reservationLabel:
			p.Spec.NodeSelector[key] = "cr-1"
		default:
			p.Spec.NodeSelector[key] = d.zone()
		}
	}
	a := &corev1.Affinity{}
	if d.sometimes("node affinity") {
		a.NodeAffinity = &corev1.NodeAffinity{}
		if d.often("required") {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = d.nodeSelector()
		}
		for range d.upTo(2, "preferred") {
			a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: int32(1 + d.upTo(2, "weight")), Preference: corev1.NodeSelectorTerm{MatchExpressions: d.expressions()}})
		}
	}
	if d.sometimes("pod affinity") {
		a.PodAffinity = &corev1.PodAffinity{}
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = d.podTerms(p)
	}
	if d.sometimes("pod anti-affinity") {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = d.podTerms(p)
	}
	p.Spec.Affinity = a
	if d.percent(35, "spread") {
		for range rapidCount(d, "constraints", 1, 3) {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, d.spread(p))
		}
	}
}

func (d *drawer) tolerations() []corev1.Toleration {
	if !d.often("tolerations") {
		return nil
	}
	return []corev1.Toleration{pick(d, "toleration",
		corev1.Toleration{Operator: corev1.TolerationOpExists},
		corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists},
		corev1.Toleration{Key: "dedicated", Value: "1", Effect: corev1.TaintEffectNoSchedule},
		corev1.Toleration{Key: "soft", Operator: corev1.TolerationOpExists},
		corev1.Toleration{Operator: corev1.TolerationOpGt, Value: "0"},
	)}
}

func (d *drawer) nodeSelector() *corev1.NodeSelector {
	s := &corev1.NodeSelector{}
	for range rapidCount(d, "terms", 1, 3) {
		term := corev1.NodeSelectorTerm{MatchExpressions: d.expressions()}
		if d.percent(2, "match fields") {
			term.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-0"}}}
		}
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, term)
	}
	return s
}

func (d *drawer) expressions() []corev1.NodeSelectorRequirement {
	var list []corev1.NodeSelectorRequirement
	for range rapidCount(d, "expressions", 1, 2) {
		if d.seldom("odd expression") {
			list = append(list, d.oddExpression())
			continue
		}
		switch key := pick(d, "key", corev1.LabelTopologyZone, teamLabel, sizeLabel, d.keys.CapacityType, rackLabel); key {
		case sizeLabel:
			list = append(list, corev1.NodeSelectorRequirement{Key: key, Values: []string{pick(d, "size", "2", "4", "8")},
				Operator: pick(d, "operator", corev1.NodeSelectorOpIn, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, scheduling.OpGte, scheduling.OpLte)})
		case teamLabel, rackLabel:
			e := corev1.NodeSelectorRequirement{Key: key, Operator: pick(d, "operator", corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)}
			if e.Operator == corev1.NodeSelectorOpIn || e.Operator == corev1.NodeSelectorOpNotIn {
				e.Values = []string{pick(d, "value", "x", "y", "r1", "r2")}
			}
			list = append(list, e)
		case d.keys.CapacityType:
			list = append(list, corev1.NodeSelectorRequirement{Key: key, Operator: pick(d, "operator", corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn),
				Values: some(d, "capacity types", annotations.CapacityTypeSpot, annotations.CapacityTypeOnDemand, annotations.CapacityTypeReserved)})
		default:
			list = append(list, corev1.NodeSelectorRequirement{Key: key, Operator: pick(d, "operator", corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: some(d, "zones", "a", "b", "c")})
		}
	}
	return list
}

// oddExpression is one that keeps a pending pod out, or comes close to it.
func (d *drawer) oddExpression() corev1.NodeSelectorRequirement {
	e := corev1.NodeSelectorRequirement{
		Key:      pick(d, "odd key", d.keys.NodePool, d.keys.NodePool, d.keys.NodePool, corev1.LabelHostname, d.keys.Initialized, "-bad/key"),
		Operator: pick(d, "operator", corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, "Unheard"),
	}
	if e.Operator == corev1.NodeSelectorOpIn || e.Operator == corev1.NodeSelectorOpNotIn {
		e.Values = []string{pick(d, "odd value", "pool-0", "node-1", "true", "not a label value")}
	}
	return e
}

func (d *drawer) selector() *metav1.LabelSelector {
	switch d.upTo(9, "selector") {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: some(d, "apps", "web", "db")}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.label()}}
}

func (d *drawer) podTerms(p *corev1.Pod) (required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	for range rapidCount(d, "terms", 1, 2) {
		term := corev1.PodAffinityTerm{TopologyKey: d.key(), LabelSelector: d.selector()}
		if d.often("own label") {
			term.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
		}
		if d.sometimes("namespaces") {
			term.Namespaces = some(d, "namespaces", "default", "other", "nowhere")
		}
		if d.sometimes("namespace selector") {
			term.NamespaceSelector = pick(d, "selector", &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}})
		}
		if d.often("required") {
			required = append(required, term)
		} else {
			preferred = append(preferred, corev1.WeightedPodAffinityTerm{Weight: int32(1 + d.upTo(2, "weight")), PodAffinityTerm: term})
		}
	}
	return required, preferred
}

func (d *drawer) spread(p *corev1.Pod) corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: int32(1 + d.upTo(1, "maxSkew")), TopologyKey: d.key(), LabelSelector: d.selector(),
		WhenUnsatisfiable: pick(d, "when", corev1.DoNotSchedule, corev1.ScheduleAnyway),
	}
	if d.often("own label") {
		c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
	}
	if d.sometimes("minDomains") {
		n := int32(1 + d.upTo(3, "minDomains"))
		c.MinDomains = &n
	}
	policy := func(what string) *corev1.NodeInclusionPolicy {
		p := pick(d, what, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		return &p
	}
	if d.sometimes("affinity policy") {
		c.NodeAffinityPolicy = policy("affinity policy")
	}
	if d.sometimes("taints policy") {
		c.NodeTaintsPolicy = policy("taints policy")
	}
	if d.seldom("match label keys") && c.LabelSelector != nil {
		c.MatchLabelKeys = []string{"version"}
	}
	return c
}

// place binds the pod to a node, or leaves it pending.
func (d *drawer) place(p *corev1.Pod) {
	p.Status.Phase = pick(d, "phase", corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded)
	if d.seldom("terminating") {
		at := metav1.NewTime(now)
		p.DeletionTimestamp = &at
	}
	if d.percent(75, "bound") {
		p.Spec.NodeName = fmt.Sprintf("node-%d", d.upTo(6, "node"))
		if d.seldom("owned by a stateful set") {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "s", UID: "s"}}
		}
		return
	}
	p.Status.Phase = corev1.PodPending
	p.DeletionTimestamp = nil
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: pick(d, "reason", corev1.PodReasonUnschedulable, corev1.PodReasonUnschedulable, "SchedulingGated")}}
	if d.seldom("nominated") {
		p.Status.NominatedNodeName = "node-0"
	}
}
