package repair

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// AWS returns the policies of Karpenter's AWS provider: a kubelet that is not
// ready, or silent, for 30 minutes; accelerators that fail for 10; and, from the
// node monitoring agent, storage, network, kernel or container runtime that fail
// for 30. The slice is the caller's.
func AWS() []Policy {
	const short, long = 10 * time.Minute, 30 * time.Minute
	return []Policy{
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Toleration: long},
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Toleration: long},
		{Type: "AcceleratedHardwareReady", Status: corev1.ConditionFalse, Toleration: short},
		{Type: "StorageReady", Status: corev1.ConditionFalse, Toleration: long},
		{Type: "NetworkingReady", Status: corev1.ConditionFalse, Toleration: long},
		{Type: "KernelReady", Status: corev1.ConditionFalse, Toleration: long},
		{Type: "ContainerRuntimeReady", Status: corev1.ConditionFalse, Toleration: long},
	}
}

// AKS returns policies for Azure Kubernetes Service: a kubelet that is not
// ready, or silent, for 10 minutes; and, from AKS's node problem detector, a
// machine that Azure is about to take back (spot) or to terminate, at once. These
// last two are interruptions rather than sickness: a breaker stops them too when
// many come together, so whoever handles interruptions elsewhere leaves them
// out. Their names, unlike the 10 minutes, are not backed by a recorded decision:
// compare them with the conditions of your own nodes first. The slice is the
// caller's.
func AKS() []Policy {
	const short = 10 * time.Minute
	return []Policy{
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Toleration: short},
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Toleration: short},
		{Type: "PreemptScheduled", Status: corev1.ConditionTrue},
		{Type: "TerminateScheduled", Status: corev1.ConditionTrue},
	}
}
