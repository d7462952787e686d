package consolidation

import corev1 "k8s.io/api/core/v1"

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func active(pod *corev1.Pod) bool { return !terminal(pod) && pod.DeletionTimestamp == nil }

func ownedBy(pod *corev1.Pod, apiVersion, kind string) bool {
	for i := range pod.OwnerReferences {
		if o := &pod.OwnerReferences[i]; o.APIVersion == apiVersion && o.Kind == kind {
			return true
		}
	}
	return false
}

func ownedByDaemonSet(pod *corev1.Pod) bool { return ownedBy(pod, "apps/v1", "DaemonSet") }

// reschedulable: the pod must find a new place when its node goes.
func reschedulable(pod *corev1.Pod) bool {
	moves := active(pod) || pod.DeletionTimestamp != nil && ownedBy(pod, "apps/v1", "StatefulSet")
	return moves && !ownedByDaemonSet(pod) && !ownedBy(pod, "v1", "Node")
}
