package annotations

// Dialect is the vocabulary of one system that moves pods and nodes.
type Dialect string

const (
	// Karpenter: do-not-disrupt, under the domain in use. Always read.
	Karpenter Dialect = "karpenter"
	// LegacyKarpenter: do-not-evict and do-not-consolidate, which Karpenter
	// ignores since v1.
	LegacyKarpenter Dialect = "legacy-karpenter"
	// ClusterAutoscaler: safe-to-evict, safe-to-evict-local-volumes and
	// scale-down-disabled.
	ClusterAutoscaler Dialect = "cluster-autoscaler"
	// ClusterAPI: the pod label drain=skip, and on nodes or machines
	// exclude-node-draining and delete-machine.
	ClusterAPI Dialect = "cluster-api"
	// Descheduler: evict and prefer-no-eviction.
	Descheduler Dialect = "descheduler"
)

// Dialects lists all dialects, our own first. The slice is the caller's.
func Dialects() []Dialect {
	return []Dialect{Karpenter, LegacyKarpenter, ClusterAutoscaler, ClusterAPI, Descheduler}
}

// Keys of other systems.
const (
	caSafeToEvict             = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	caSafeToEvictLocalVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	caScaleDownDisabled       = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	capiDrain                 = "cluster.x-k8s.io/drain" // a label
	capiExcludeDraining       = "machine.cluster.x-k8s.io/exclude-node-draining"
	capiDeleteMachine         = "cluster.x-k8s.io/delete-machine"
	deschedulerEvict          = "descheduler.alpha.kubernetes.io/evict"
	deschedulerPreferNo       = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
)

// Meaning is what a marker says, in words that belong to no system. Its text is
// API.
type Meaning string

const (
	// Veto: do not evict this pod, do not disrupt this node.
	Veto Meaning = "Veto"
	// SkipDrain: leave the pod, or the pods of this node, alone when the node is
	// drained; they go down with it. To whoever only evicts it is a veto.
	SkipDrain Meaning = "SkipDrain"
	// Consent: go ahead, even where the system's own caution would refuse.
	Consent Meaning = "Consent"
	// PreferNot: take others first.
	PreferNot Meaning = "PreferNot"
	// PreferVictim: take this one first.
	PreferVictim Meaning = "PreferVictim"
	// VolumesSafe: the local volumes it names may be lost.
	VolumesSafe Meaning = "VolumesSafe"
	// Nothing: the value has no effect, whatever its author believes.
	Nothing Meaning = "Nothing"
)

// target is the kind of object that a marker is looked for on.
type target int

const (
	onPod target = iota
	onNode
)

// marker is one key of a foreign dialect, and how its values are read.
type marker struct {
	dialect Dialect
	target  target
	key     string
	label   bool               // rather than an annotation
	values  map[string]Meaning // of the values that mean something
	any     Meaning            // of every value, where the key counts by being there
}

// markers of the foreign dialects, read as the systems they are from do.
func (k Keys) markers() []marker {
	legacy := k.Domain + "/"
	return []marker{
		{dialect: LegacyKarpenter, target: onPod, key: legacy + "do-not-evict", values: map[string]Meaning{"true": Veto}},
		{dialect: LegacyKarpenter, target: onNode, key: legacy + "do-not-consolidate", values: map[string]Meaning{"true": Veto}},
		{dialect: ClusterAutoscaler, target: onPod, key: caSafeToEvict, values: map[string]Meaning{"false": Veto, "true": Consent}},
		{dialect: ClusterAutoscaler, target: onPod, key: caSafeToEvictLocalVolumes, any: VolumesSafe},
		{dialect: ClusterAutoscaler, target: onNode, key: caScaleDownDisabled, values: map[string]Meaning{"true": Veto}},
		{dialect: ClusterAPI, target: onPod, key: capiDrain, label: true, values: map[string]Meaning{"skip": SkipDrain}},
		{dialect: ClusterAPI, target: onNode, key: capiExcludeDraining, any: SkipDrain},
		{dialect: ClusterAPI, target: onNode, key: capiDeleteMachine, any: PreferVictim},
		{dialect: Descheduler, target: onPod, key: deschedulerEvict, any: PreferVictim},
		{dialect: Descheduler, target: onPod, key: deschedulerPreferNo, any: PreferNot},
	}
}

// find looks the marker up on an object.
func (m marker) find(annotations, labels map[string]string) (value string, meaning Meaning, ok bool) {
	from := annotations
	if m.label {
		from = labels
	}
	if value, ok = from[m.key]; !ok {
		return "", "", false
	}
	if m.any != "" {
		return value, m.any, true
	}
	if meaning, ok = m.values[value]; !ok {
		meaning = Nothing
	}
	return value, meaning, true
}
