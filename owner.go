package disruption

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controller is the owner that controls a pod, or else its first, or nil.
func controller(pod *corev1.Pod) *metav1.OwnerReference {
	if c := metav1.GetControllerOfNoCopy(pod); c != nil {
		return c
	}
	if len(pod.OwnerReferences) > 0 {
		return &pod.OwnerReferences[0]
	}
	return nil
}

// ownerName is the name of what controls a pod, or its own.
func ownerName(pod *corev1.Pod) string {
	if c := controller(pod); c != nil {
		return c.Name
	}
	return pod.Name
}
