package random

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// drawStorage makes classes, volumes, and claims of all states.
func (d *drawer) drawStorage() {
	wait, immediate := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	d.cluster.StorageClasses = []*storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "anywhere"}, Provisioner: "kubernetes.io/aws-ebs", VolumeBindingMode: &wait},
		{ObjectMeta: metav1.ObjectMeta{Name: "immediate"}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &immediate},
		{ObjectMeta: metav1.ObjectMeta{Name: "zonal"}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &wait, AllowedTopologies: d.topologies()},
	}
	for i := range 4 {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pv-%d", i)}}
		switch d.upTo(3, "source") {
		case 0:
			v.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{}
		case 1:
			v.Spec.Local = &corev1.LocalVolumeSource{}
		default:
			v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}
		}
		if !d.seldom("no affinity") {
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: d.volumeTerms()}
		}
		d.cluster.PersistentVolumes = append(d.cluster.PersistentVolumes, v)
	}
	for i := range 5 {
		for _, namespace := range []string{"default", "other"} {
			d.drawClaim(namespace, fmt.Sprintf("claim-%d", i))
		}
	}
}

func (d *drawer) topologies() []corev1.TopologySelectorTerm {
	var terms []corev1.TopologySelectorTerm
	for range rapidCount(d, "terms", 1, 2) {
		terms = append(terms, corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: corev1.LabelTopologyZone, Values: some(d, "zones", "a", "b", "c")},
		}})
	}
	return terms
}

func (d *drawer) volumeTerms() *corev1.NodeSelector {
	s := &corev1.NodeSelector{}
	for range rapidCount(d, "terms", 1, 2) {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key:      pick(d, "key", corev1.LabelTopologyZone, corev1.LabelTopologyZone, "failure-domain.beta.kubernetes.io/zone", corev1.LabelHostname),
			Operator: corev1.NodeSelectorOpIn,
		}}}
		e := &term.MatchExpressions[0]
		e.Values = some(d, "zones", "a", "b", "c")
		if e.Key == corev1.LabelHostname {
			e.Values = []string{pick(d, "host", "node-0", "node-1", "node-2")}
		}
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, term)
	}
	return s
}

func (d *drawer) drawClaim(namespace, name string) {
	if d.seldom("claim missing") {
		return
	}
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if class := pick(d, "class", "anywhere", "zonal", "zonal", "immediate", "unknown", ""); class != "" {
		c.Spec.StorageClassName = &class
	}
	if d.often("bound") {
		c.Spec.VolumeName = fmt.Sprintf("pv-%d", d.upTo(3, "volume"))
		if d.seldom("volume missing") {
			c.Spec.VolumeName = "pv-gone"
		}
		if !d.seldom("not completed") {
			c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		}
	}
	if d.seldom("lost") {
		c.Status.Phase = corev1.ClaimLost
	}
	d.cluster.PersistentVolumeClaims = append(d.cluster.PersistentVolumeClaims, c)
}

func (d *drawer) volumes(p *corev1.Pod) {
	if !d.sometimes("volumes") {
		return
	}
	for i := range rapidCount(d, "volumes", 1, 2) {
		v := corev1.Volume{Name: fmt.Sprintf("v%d", i)}
		if d.seldom("ephemeral") {
			v.Ephemeral = &corev1.EphemeralVolumeSource{}
		} else {
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim-%d", d.upTo(4, "claim"))}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
}
