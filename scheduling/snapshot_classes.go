package scheduling

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
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
	// relaxations are what each stage after the first gave up.
	relaxations []dropped
	// terms are the inverse groups of its required anti-affinity.
	terms []int32
	// unreadable is what is wrong with one of its label selectors.
	unreadable error
}

// stage is what a pod of the class asks for after some relaxations.
type stage struct {
	id    int32 // counts all stages of the book
	shape *shape
	// links are its topology constraints.
	links []link
	// strict decides which domains the pod may be in.
	strict Requirements
}

// wish is an interned set of requirements.
type wish struct {
	id   int32
	reqs Requirements
}

// shape is what decides, beside room and topology, which nodes a pod can use.
type shape struct {
	id          int32
	wish        *wish
	tolerations []corev1.Toleration
}

// podBook holds the classes of pods and all that they ask about, whatever the
// nodes are. Snapshots derived from one another share it: what is in it never
// changes, and a snapshot that adds to it clones it first.
type podBook struct {
	classes []*podClass
	wishes  []*wish
	shapes  []*shape
	stages  int32
	links   int32
	// preferNoSchedule: pods may tolerate such taints as the last relaxation.
	preferNoSchedule bool
	// ignorePreferences: pods have none.
	ignorePreferences bool
	topology          topologyBook

	classIDs, wishIDs, tolerationIDs map[string]int32
	shapeIDs                         map[shapeKey]int32
	resources                        resourceTable
	write                            keyWriter
	key                              []byte
}

type shapeKey struct{ wish, tolerations int32 }

func newPodBook(namespaces []*corev1.Namespace, preferNoSchedule bool) *podBook {
	b := &podBook{
		preferNoSchedule: preferNoSchedule, resources: newSnapshotResources(),
		classIDs: map[string]int32{}, wishIDs: map[string]int32{}, tolerationIDs: map[string]int32{},
		shapeIDs: map[shapeKey]int32{},
	}
	b.topology = newTopologyBook(namespaces)
	return b
}

// clone copies the containers, so that the copy can grow.
func (b *podBook) clone() *podBook {
	c := *b
	c.classes, c.wishes, c.shapes = slices.Clone(b.classes), slices.Clone(b.wishes), slices.Clone(b.shapes)
	c.classIDs, c.wishIDs, c.tolerationIDs = maps.Clone(b.classIDs), maps.Clone(b.wishIDs), maps.Clone(b.tolerationIDs)
	c.shapeIDs = maps.Clone(b.shapeIDs)
	c.resources = resourceTable{names: slices.Clone(b.resources.names), index: maps.Clone(b.resources.index)}
	c.topology = b.topology.clone()
	c.write, c.key = keyWriter{}, nil
	return &c
}

// classOf returns the pod's class, made when it is the first of its kind.
func (b *podBook) classOf(pod *corev1.Pod, spreads []corev1.TopologySpreadConstraint) int32 {
	b.key = b.write.appendClass(b.key[:0], pod, spreads)
	if id, ok := b.classIDs[string(b.key)]; ok {
		return id
	}
	id := int32(len(b.classes))
	b.classIDs[string(b.key)] = id
	b.classes = append(b.classes, b.compile(pod, spreads))
	return id
}

func (b *podBook) compile(pod *corev1.Pod, spreads []corev1.TopologySpreadConstraint) *podClass {
	b.topology.err = nil
	class := &podClass{ports: hostPortsOf(pod), claims: len(pod.Spec.ResourceClaims) > 0}
	requests := b.resources.needs(PodRequests(pod))
	class.need, class.cpu, class.memory = requests.amounts(), requests.of(cpuIndex), requests.of(memoryIndex)
	d := newPodDemand(pod, spreads)
	if b.ignorePreferences {
		d.dropPreferences()
	}
	class.terms = b.inverseOf(pod, d.anti)
	b.compileStages(class, pod, d)
	class.unreadable = b.topology.err
	return class
}

func (b *podBook) compileStages(class *podClass, pod *corev1.Pod, d podDemand) {
	class.stages = append(class.stages, b.stage(pod, &d))
	for {
		given, ok := d.relax(b.preferNoSchedule)
		if !ok {
			return
		}
		class.relaxations = append(class.relaxations, given)
		class.stages = append(class.stages, b.stage(pod, &d))
	}
}

func (b *podBook) stage(pod *corev1.Pod, d *podDemand) stage {
	st := stage{id: b.stages, shape: b.shape(d.requirements(), d.tolerations), strict: d.strict()}
	st.links = b.linksOf(pod, d)
	b.stages++
	return st
}

func (b *podBook) wish(reqs Requirements) *wish {
	key := reqs.String()
	if id, ok := b.wishIDs[key]; ok {
		return b.wishes[id]
	}
	w := &wish{id: int32(len(b.wishes)), reqs: reqs}
	b.wishIDs[key] = w.id
	b.wishes = append(b.wishes, w)
	return w
}

func (b *podBook) shape(reqs Requirements, tolerations []corev1.Toleration) *shape {
	w := b.wish(reqs)
	var key []byte
	for i := range tolerations {
		key = appendToleration(key, &tolerations[i])
	}
	list, ok := b.tolerationIDs[string(key)]
	if !ok {
		list = int32(len(b.tolerationIDs))
		b.tolerationIDs[string(key)] = list
	}
	at := shapeKey{w.id, list}
	if id, ok := b.shapeIDs[at]; ok {
		return b.shapes[id]
	}
	sh := &shape{id: int32(len(b.shapes)), wish: w, tolerations: tolerations}
	b.shapeIDs[at] = sh.id
	b.shapes = append(b.shapes, sh)
	return sh
}
