package scheduling_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func list(cpu, memory, pods string) corev1.ResourceList {
	l := corev1.ResourceList{corev1.ResourceCPU: quantity(cpu), corev1.ResourceMemory: quantity(memory)}
	if pods != "" {
		l[corev1.ResourcePods] = quantity(pods)
	}
	return l
}
