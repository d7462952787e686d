package scheduling

import (
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// podClass is what pods that schedule alike have in common.
type podClass struct {
	need []amount
	// cpu and memory order the queue, in milli-units.
	cpu, memory int64
	ports       []hostPort
	// claims: the pod has resource claims (DRA).
	claims bool
	// stages are the pod as it is, and after each relaxation.
	stages []stage
	// terms are the inverse groups of its required anti-affinity.
	terms []int32
	// first remembers, for each stage with and without settling nodes, the first
	// node that fits while nothing has moved: plus two, 0 while it is not known.
	first []atomic.Int32
}

// stage is what a pod of the class asks for after some relaxations.
type stage struct {
	number int // in podClass.stages
	shape  *shape
	// links are its topology constraints.
	links []link
	// strict decides which domains the pod may be in.
	strict Requirements
}

// classifier groups pods into classes by the bytes of what matters.
type classifier struct {
	snapshot *Snapshot
	byKey    map[string]int32
	shapes   map[shapeKey]*shape
	tolerate map[string]int32 // ids of lists of tolerations
	key      []byte
	names    []string
}

type shapeKey struct{ wish, tolerations int32 }

func newClassifier(s *Snapshot) *classifier {
	return &classifier{snapshot: s, byKey: map[string]int32{}, shapes: map[shapeKey]*shape{}, tolerate: map[string]int32{}}
}

// classOf returns the pod's class, made when it is the first of its kind.
func (c *classifier) classOf(pod *corev1.Pod) int32 {
	spreads := c.snapshot.spreadsOf(pod)
	c.key = c.appendClass(c.key[:0], pod, spreads)
	if id, ok := c.byKey[string(c.key)]; ok {
		return id
	}
	id := int32(len(c.snapshot.pods.classes))
	c.byKey[string(c.key)] = id
	c.snapshot.pods.classes = append(c.snapshot.pods.classes, c.compile(pod, spreads))
	return id
}

func (c *classifier) compile(pod *corev1.Pod, spreads []corev1.TopologySpreadConstraint) *podClass {
	s := c.snapshot
	class := &podClass{ports: hostPortsOf(pod), claims: len(pod.Spec.ResourceClaims) > 0}
	requests := s.resources.needs(PodRequests(pod))
	class.need, class.cpu, class.memory = requests.amounts(), requests.of(cpuIndex), requests.of(memoryIndex)
	d := newPodDemand(pod, spreads)
	class.terms = s.topology.inverseOf(pod, d.anti)
	class.stages = append(class.stages, c.stage(pod, &d))
	for d.relax(s.preferNoSchedule) {
		class.stages = append(class.stages, c.stage(pod, &d))
	}
	for i := range class.stages {
		class.stages[i].number = i
	}
	class.first = make([]atomic.Int32, 2*len(class.stages))
	return class
}

func (c *classifier) stage(pod *corev1.Pod, d *podDemand) stage {
	s := c.snapshot
	st := stage{shape: c.shape(d.requirements(), d.tolerations), strict: d.strict()}
	st.links = s.topology.linksOf(s, pod, d, st.strict)
	return st
}

func (c *classifier) shape(reqs Requirements, tolerations []corev1.Toleration) *shape {
	w := c.snapshot.wishes.intern(reqs, c.snapshot.hosts.hosts)
	var key []byte
	for _, t := range tolerations {
		key = appendToleration(key, &t)
	}
	list, ok := c.tolerate[string(key)]
	if !ok {
		list = int32(len(c.tolerate))
		c.tolerate[string(key)] = list
	}
	sh := c.shapes[shapeKey{w.id, list}]
	if sh == nil {
		sh = &shape{wish: w, tolerations: tolerations}
		c.shapes[shapeKey{w.id, list}] = sh
	}
	return sh
}

// appendClass appends everything that decides where the pod can go. Namespace
// and labels matter only to pods with topology constraints of their own.
func (c *classifier) appendClass(key []byte, pod *corev1.Pod, spreads []corev1.TopologySpreadConstraint) []byte {
	key = c.appendRequests(key, pod)
	key = c.appendStrings(key, pod.Spec.NodeSelector)
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
		key = c.appendStrings(key, pod.Labels)
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

func (c *classifier) appendStrings(key []byte, m map[string]string) []byte {
	c.names = c.names[:0]
	for k := range m {
		c.names = append(c.names, k)
	}
	slices.Sort(c.names)
	key = appendInt(key, int64(len(c.names)))
	for _, k := range c.names {
		key = appendParts(key, k, m[k])
	}
	return key
}

// appendRequests appends what the pod's requests are computed from.
func (c *classifier) appendRequests(key []byte, pod *corev1.Pod) []byte {
	spec := &pod.Spec
	for i := range spec.Containers {
		key = c.appendResources(key, spec.Containers[i].Resources.Requests)
	}
	for i := range spec.InitContainers {
		key = append(key, 'i')
		if spec.InitContainers[i].RestartPolicy != nil {
			key = append(key, *spec.InitContainers[i].RestartPolicy...)
		}
		key = c.appendResources(key, spec.InitContainers[i].Resources.Requests)
	}
	if spec.Resources != nil {
		key = append(key, 'p')
		key = c.appendResources(key, spec.Resources.Requests)
	}
	key = c.appendResources(key, spec.Overhead)
	return c.appendResize(key, pod)
}

// appendResize appends the resources in the pod's status, which count while an
// in-place resize is on.
func (c *classifier) appendResize(key []byte, pod *corev1.Pod) []byte {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			st := &statuses[i]
			if len(st.AllocatedResources) == 0 && st.Resources == nil {
				continue
			}
			key = appendParts(append(key, 's'), st.Name)
			key = c.appendResources(key, st.AllocatedResources)
			if st.Resources != nil {
				key = c.appendResources(key, st.Resources.Requests)
			}
		}
	}
	if pod.Status.Resources != nil || len(pod.Status.AllocatedResources) > 0 {
		key = append(key, 'r')
		key = c.appendResources(key, pod.Status.AllocatedResources)
		if pod.Status.Resources != nil {
			key = c.appendResources(key, pod.Status.Resources.Requests)
		}
	}
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodResizePending {
			key = appendParts(append(key, 'z'), cond.Reason, string(cond.Status))
		}
	}
	return key
}

func (c *classifier) appendResources(key []byte, list corev1.ResourceList) []byte {
	key = appendInt(key, int64(len(list)))
	if len(list) <= 2 { // the usual two, without sorting
		cpu, hasCPU := list[corev1.ResourceCPU]
		memory, hasMemory := list[corev1.ResourceMemory]
		if hasCPU && hasMemory {
			return appendQuantity(appendQuantity(append(key, 'c'), cpu), memory)
		}
	}
	c.names = c.names[:0]
	for name := range list {
		c.names = append(c.names, string(name))
	}
	slices.Sort(c.names)
	for _, name := range c.names {
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
