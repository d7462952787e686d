package termination

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Volumes is what is attached to a node, and by whom it is used.
type Volumes struct {
	NodeName string
	// Pods of the node; those of other nodes don't count.
	Pods []*corev1.Pod
	// Claims of the pods' namespaces.
	Claims []*corev1.PersistentVolumeClaim
	// Attachments of any node.
	Attachments []*storagev1.VolumeAttachment
	// Domain of the disrupted taint; "" is karpenter.sh.
	Domain string
}

// BlockingAttachments lists the attachments that must be gone before the node's
// instance may be: those of a persistent volume, but for volumes of pods that
// the drain leaves where they are, which nobody will detach. It follows pod, claim
// and volume; a claim that is missing is passed over, and a terminal pod's
// volume blocks like any other. An inline attachment, which names no persistent
// volume, never blocks.
//
// The result is in the order of the attachments, and holds the caller's own.
func BlockingAttachments(v Volumes, now time.Time) []*storagev1.VolumeAttachment {
	staying := v.staying(now)
	var blocking []*storagev1.VolumeAttachment
	for _, a := range present(v.Attachments) {
		name := a.Spec.Source.PersistentVolumeName
		if a.Spec.NodeName == v.NodeName && name != nil && !staying[*name] {
			blocking = append(blocking, a)
		}
	}
	return blocking
}

// staying names the persistent volumes of pods that are not drained. A claim
// that isn't bound yet adds the empty name, as in Karpenter.
func (v Volumes) staying(now time.Time) map[string]bool {
	rules := RulesFor(v.Domain)
	volumes := map[types.NamespacedName]string{}
	for _, c := range present(v.Claims) {
		volumes[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = c.Spec.VolumeName
	}
	staying := map[string]bool{}
	for _, pod := range present(v.Pods) {
		if pod.Spec.NodeName != v.NodeName || rules.IsDrainable(pod, now) {
			continue
		}
		for i := range pod.Spec.Volumes {
			if name, ok := volumes[types.NamespacedName{Namespace: pod.Namespace, Name: claimName(pod, &pod.Spec.Volumes[i])}]; ok {
				staying[name] = true
			}
		}
	}
	return staying
}

// claimName is the claim that a volume of the pod uses, or "".
func claimName(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}
