package random

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

func (d *drawer) drawNodes() {
	for i := range rapidCount(d, "nodes", 1, 6) {
		n := scheduling.Node{InMove: d.seldom("in a move")}
		labels := d.nodeLabels()
		claim := &scheduling.Claim{
			Name: fmt.Sprintf("claim-%d", i), Labels: labels, Taints: d.taints(), Deleting: d.seldom("claim deleting"),
			Capacity: d.nodeAmounts(), QuietSince: now.Add(-pick(d, "quiet", 30*time.Second, time.Minute, 2*time.Hour)),
		}
		claim.Allocatable = claim.Capacity
		if d.sometimes("startup taint") {
			claim.StartupTaints = []corev1.Taint{{Key: "starting", Effect: corev1.TaintEffectNoSchedule}}
		}
		if d.seldom("claim without node") {
			n.Claim = claim
			d.cluster.Nodes = append(d.cluster.Nodes, n)
			continue
		}
		n.Node = d.kubeNode(i, claim)
		if !d.seldom("unmanaged") {
			n.Claim = claim
		} else if d.sometimes("node deleting") {
			at := metav1.NewTime(now)
			n.Node.DeletionTimestamp = &at
		}
		d.cluster.Nodes = append(d.cluster.Nodes, n)
		d.drawCSINode(n.Node.Name)
	}
}

func (d *drawer) nodeLabels() map[string]string {
	labels := map[string]string{
		d.keys.NodePool:                d.cluster.Pools[d.upTo(len(d.cluster.Pools)-1, "pool")].Name,
		d.keys.CapacityType:            pick(d, "capacity type", annotations.CapacityTypeSpot, annotations.CapacityTypeOnDemand),
		corev1.LabelInstanceTypeStable: "type-0",
		corev1.LabelArchStable:         "amd64",
		sizeLabel:                      pick(d, "size", "2", "4", "8"),
	}
	if !d.seldom("no zone") {
		labels[corev1.LabelTopologyZone] = d.zone()
	}
	if d.often("team of the node") {
		labels[teamLabel] = d.team()
	}
	if d.often("rack") {
		labels[rackLabel] = pick(d, "rack", "r1", "r2")
	}
	return labels
}

func (d *drawer) nodeAmounts() corev1.ResourceList {
	list := amounts(corev1.ResourceCPU, pick(d, "cpu", "1", "2", "4"), corev1.ResourceMemory, pick(d, "memory", "2Gi", "8Gi"), corev1.ResourcePods, pick(d, "pods", "2", "4", "10"))
	if d.sometimes("gpus") {
		list[gpu] = resource.MustParse("1")
	}
	return list
}

func (d *drawer) kubeNode(i int, claim *scheduling.Claim) *corev1.Node {
	n := &corev1.Node{ObjectMeta: d.meta("", fmt.Sprintf("node-%d", i))}
	n.Labels = map[string]string{}
	for k, v := range claim.Labels {
		n.Labels[k] = v
	}
	if !d.seldom("no hostname") {
		n.Labels[corev1.LabelHostname] = n.Name
	}
	n.Spec.Taints = append(d.taints(), claim.Taints...)
	n.Status.Capacity, n.Status.Allocatable = claim.Capacity, claim.Allocatable
	state := pick(d, "state", 0, 1, 2, 2, 2, 2, 2, 2)
	if state > 0 {
		n.Labels[d.keys.Registered] = "true"
	} else {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: d.keys.UnregisteredTaint, Effect: corev1.TaintEffectNoExecute})
	}
	if state > 1 {
		n.Labels[d.keys.Initialized] = "true"
	} else {
		n.Status.Allocatable = amounts(corev1.ResourceCPU, "0", corev1.ResourceMemory, "3Gi")
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	}
	if d.seldom("startup taint still there") {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "starting", Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

func (d *drawer) drawCSINode(node string) {
	if !d.sometimes("attach limits") {
		return
	}
	driver := storagev1.CSINodeDriver{Name: "ebs.csi.aws.com"}
	if !d.seldom("no allocatable") {
		driver.Allocatable = &storagev1.VolumeNodeResources{}
		if !d.seldom("no count") {
			count := int32(d.upTo(2, "count"))
			driver.Allocatable.Count = &count
		}
	}
	d.cluster.CSINodes = append(d.cluster.CSINodes, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver}}})
}

func (d *drawer) drawDaemons() {
	for i := range d.upTo(2, "daemon sets") {
		set := &appsv1.DaemonSet{ObjectMeta: d.meta("default", fmt.Sprintf("daemon-%d", i))}
		template := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: amounts(corev1.ResourceCPU, pick(d, "cpu", "100m", "500m")),
			Limits:   amounts(corev1.ResourceMemory, "100Mi"),
		}}}}
		template.Tolerations = d.tolerations()
		if d.sometimes("selects a size") {
			template.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: d.nodeSelector()}}
		}
		if d.sometimes("host port") {
			template.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, Protocol: corev1.ProtocolTCP}}
		}
		if d.seldom("resource claim") {
			template.ResourceClaims = []corev1.PodResourceClaim{{Name: "device"}}
		}
		set.Spec.Template.Spec = template
		d.cluster.DaemonSets = append(d.cluster.DaemonSets, set)
		for _, n := range d.cluster.Nodes {
			if n.Node != nil && d.often("daemon runs") {
				d.cluster.Pods = append(d.cluster.Pods, d.daemonPod(set, n.Node.Name))
			}
		}
	}
}

func (d *drawer) daemonPod(set *appsv1.DaemonSet, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: d.meta("default", set.Name+"-"+node), Spec: *set.Spec.Template.Spec.DeepCopy()}
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: set.UID, Controller: &yes}}
	p.Spec.NodeName = node
	p.Status.Phase = corev1.PodRunning
	if d.seldom("grown") {
		p.Spec.Containers[0].Resources.Requests = amounts(corev1.ResourceCPU, "1500m")
	}
	return p
}
