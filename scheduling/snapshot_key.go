package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// keyWriter writes what pods have in common as bytes; names is scratch memory.
type keyWriter struct {
	names []string
}

// appendClass appends everything that decides where the pod can go. Namespace
// and labels matter only to pods with topology constraints of their own.
func (k *keyWriter) appendClass(key []byte, pod *corev1.Pod, spreads []corev1.TopologySpreadConstraint) []byte {
	key = k.appendRequests(key, pod)
	key = k.appendStrings(key, pod.Spec.NodeSelector)
	key = appendInt(key, int64(len(pod.Spec.Tolerations)))
	for i := range pod.Spec.Tolerations {
		key = appendToleration(key, &pod.Spec.Tolerations[i])
	}
	for i := range pod.Spec.Containers {
		for _, p := range pod.Spec.Containers[i].Ports {
			if p.HostPort != 0 {
				key = appendParts(key, p.HostIP, string(p.Protocol))
				key = appendInt(key, int64(p.HostPort))
			}
		}
	}
	key = append(key, '|', byte(min(len(pod.Spec.ResourceClaims), 1)))
	if affinity := pod.Spec.Affinity; affinity != nil {
		key = appendMarshaled(key, affinity)
	}
	for i := range spreads {
		key = appendMarshaled(key, &spreads[i])
	}
	if len(spreads) > 0 || hasPodAffinity(pod) {
		key = append(key, '|')
		key = appendParts(key, pod.Namespace)
		key = k.appendStrings(key, pod.Labels)
	}
	return key
}

func hasPodAffinity(pod *corev1.Pod) bool {
	a := pod.Spec.Affinity
	return a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
}

func appendToleration(key []byte, t *corev1.Toleration) []byte {
	return appendParts(key, t.Key, string(t.Operator), t.Value, string(t.Effect))
}

// marshaler is what generated API types offer; its output is deterministic.
type marshaler interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

func appendMarshaled(key []byte, m marshaler) []byte {
	size := m.Size()
	key = appendInt(key, int64(size))
	key = slices.Grow(key, size)
	end := len(key) + size
	n, err := m.MarshalToSizedBuffer(key[len(key):end])
	if err != nil || n != size { // cannot happen: Size is what marshalling takes
		return key
	}
	return key[:end]
}

func (k *keyWriter) appendStrings(key []byte, m map[string]string) []byte {
	k.names = k.names[:0]
	for name := range m {
		k.names = append(k.names, name)
	}
	slices.Sort(k.names)
	key = appendInt(key, int64(len(k.names)))
	for _, name := range k.names {
		key = appendParts(key, name, m[name])
	}
	return key
}

// appendRequests appends what the pod's requests are computed from.
func (k *keyWriter) appendRequests(key []byte, pod *corev1.Pod) []byte {
	spec := &pod.Spec
	key = appendInt(key, int64(len(spec.Containers)))
	for i := range spec.Containers {
		key = k.appendResources(key, spec.Containers[i].Resources.Requests)
	}
	for i := range spec.InitContainers {
		key = append(key, 'i')
		if spec.InitContainers[i].RestartPolicy != nil {
			key = append(key, *spec.InitContainers[i].RestartPolicy...)
		}
		key = k.appendResources(key, spec.InitContainers[i].Resources.Requests)
	}
	if spec.Resources != nil {
		key = append(key, 'p')
		key = k.appendResources(key, spec.Resources.Requests)
	}
	key = k.appendResources(key, spec.Overhead)
	return k.appendResize(key, pod)
}

// appendResize appends the resources in the pod's status, which count while an
// in-place resize is on.
func (k *keyWriter) appendResize(key []byte, pod *corev1.Pod) []byte {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			st := &statuses[i]
			if len(st.AllocatedResources) == 0 && st.Resources == nil {
				continue
			}
			key = appendParts(append(key, 's'), st.Name)
			key = k.appendResources(key, st.AllocatedResources)
			if st.Resources != nil {
				key = k.appendResources(key, st.Resources.Requests)
			}
		}
	}
	if pod.Status.Resources != nil || len(pod.Status.AllocatedResources) > 0 {
		key = append(key, 'r')
		key = k.appendResources(key, pod.Status.AllocatedResources)
		if pod.Status.Resources != nil {
			key = k.appendResources(key, pod.Status.Resources.Requests)
		}
	}
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodResizePending {
			key = appendParts(append(key, 'z'), cond.Reason, string(cond.Status))
		}
	}
	return key
}

func (k *keyWriter) appendResources(key []byte, list corev1.ResourceList) []byte {
	key = appendInt(key, int64(len(list)))
	if len(list) <= 2 { // the usual two, without sorting
		cpu, hasCPU := list[corev1.ResourceCPU]
		memory, hasMemory := list[corev1.ResourceMemory]
		if hasCPU && hasMemory {
			return appendQuantity(appendQuantity(append(key, 'c'), cpu), memory)
		}
	}
	k.names = k.names[:0]
	for name := range list {
		k.names = append(k.names, string(name))
	}
	slices.Sort(k.names)
	for _, name := range k.names {
		key = appendQuantity(appendParts(key, name), list[corev1.ResourceName(name)])
	}
	return key
}

// appendQuantity appends the value to a billionth where that fits, so that only
// equal requests make one class.
func appendQuantity(key []byte, q resource.Quantity) []byte {
	if milli := q.MilliValue(); milli < 1<<32 {
		return appendInt(key, q.ScaledValue(resource.Nano))
	}
	return appendInt(append(key, 'm'), q.MilliValue())
}
