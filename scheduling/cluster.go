package scheduling

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Cluster is the facts that a simulation stands on. Its objects are read, never
// written, and must not change while a [Snapshot] made from them is in use.
type Cluster struct {
	Now   time.Time
	Pools []Pool
	Nodes []Node

	// Pods of all namespaces, bound and pending.
	Pods                   []*corev1.Pod
	DaemonSets             []*appsv1.DaemonSet
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim
	PersistentVolumes      []*corev1.PersistentVolume
	StorageClasses         []*storagev1.StorageClass
	CSINodes               []*storagev1.CSINode
	Namespaces             []*corev1.Namespace
}

// Pool is what a simulation needs to know of a node pool: the template of its
// new nodes, and whether it may open any.
type Pool struct {
	Name string
	// Requirements, Labels and Taints are those of the template. Startup taints
	// play no part in a simulation.
	Requirements []RequirementSpec
	Labels       map[string]string
	Taints       []corev1.Taint
	NodeClass    NodeClassRef
	// Weight orders pools, heaviest first; equal weights by name, descending.
	Weight int32
	// Limits bounds what all nodes of the pool may have in sum; the key "nodes"
	// bounds their number. Nil means no limit.
	Limits corev1.ResourceList
	// A static pool (replicas set), one that is not Ready, and one being deleted
	// open no nodes; the nodes they have stay destinations.
	Static, NotReady, Deleting bool
	// ConsolidateAfter is how long a node must have been quiet before pods of
	// consolidated nodes may move to it; nil means Never, which counts like 0.
	ConsolidateAfter *time.Duration
	// InstanceTypes that the pool may launch. Shared, never written.
	InstanceTypes []*InstanceType
}

// NodeClassRef names the cloud's class of nodes. New nodes bear the label
// <Group>/<kind in lower case> with the value Name.
type NodeClassRef struct {
	Group, Kind, Name string
}

// Node is one machine: a Kubernetes node, the claim that asked for it, or both.
type Node struct {
	// Node is nil for a claim that has a provider id but no node yet.
	Node *corev1.Node
	// Claim is nil for a node that nobody's pool manages: it takes pods, and
	// counts as registered and initialised.
	Claim *Claim
	// InMove says that a running move is about to delete this node.
	InMove bool
}

// Claim is what a simulation needs to know of a node claim.
type Claim struct {
	Name                  string
	Labels, Annotations   map[string]string
	Taints, StartupTaints []corev1.Taint
	Capacity, Allocatable corev1.ResourceList
	// Deleting: the claim has a deletion timestamp or its condition
	// InstanceTerminating is True.
	Deleting bool
	// QuietSince is the time of the last pod event, or else when the condition
	// Initialized turned True; zero while that condition isn't True.
	QuietSince time.Time
}

// Options of a [Snapshot]. The zero value is Karpenter v1.14 with its defaults.
type Options struct {
	// Domain of the labels and annotations; "" is karpenter.sh.
	Domain string
	// WellKnownLabels are a provider's own labels that a pool may leave
	// undefined, in addition to annotations.Keys.WellKnownLabels.
	WellKnownLabels []string
	// ReservationLabel is the provider's label for the id of a capacity
	// reservation, "" if it has none.
	ReservationLabel string
	// MinValues says what happens when a pool's minValues can't be met.
	MinValues MinValuesPolicy
	// Preferences says whether what pods prefer counts as long as it can be had.
	Preferences PreferencePolicy
	// Moves reports whether a pod of a removed or deleting node must find a new
	// place; nil means every active pod that no DaemonSet and no Node owns.
	// It is asked once per pod, while the snapshot is compiled.
	Moves func(*corev1.Pod) bool
	// DefaultSpread are the topology spread constraints of pods that have none
	// of their own, like the default constraints of kube-scheduler's
	// configuration; Karpenter has none. Their label selectors are ignored:
	// SelectorOf gives one for each pod, which in kube-scheduler is that of the
	// services and controllers it belongs to. A pod for which it returns nil gets
	// no constraints, as does every pod while SelectorOf is nil.
	DefaultSpread []corev1.TopologySpreadConstraint
	SelectorOf    func(*corev1.Pod) *metav1.LabelSelector
	// RefuseUnknownVolumes refuses a pod that must move and needs a claim, volume
	// or class that isn't there. Karpenter places it as if it had no volumes and,
	// at the first try, no topology constraints; see
	// [Placement.VolumesUnknown].
	RefuseUnknownVolumes bool
	// AllowResourceClaims lets pods with resource claims (DRA) be placed as if
	// they had none. By default they are refused with a reason.
	AllowResourceClaims bool
}

// MinValuesPolicy is Strict or BestEffort.
type MinValuesPolicy string

// The policies: "" is [MinValuesStrict].
const (
	MinValuesStrict     MinValuesPolicy = "Strict"
	MinValuesBestEffort MinValuesPolicy = "BestEffort"
)

func (o *Options) validate() field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("options")
	switch o.MinValues {
	case "", MinValuesStrict, MinValuesBestEffort:
	default:
		errs = append(errs, field.NotSupported(path.Child("minValues"), o.MinValues, []MinValuesPolicy{MinValuesStrict, MinValuesBestEffort}))
	}
	switch o.Preferences {
	case "", PreferencesRespect, PreferencesIgnore:
	default:
		errs = append(errs, field.NotSupported(path.Child("preferences"), o.Preferences, []PreferencePolicy{PreferencesRespect, PreferencesIgnore}))
	}
	return errs
}

// missing reports the nil pointers in the cluster's lists.
func (c *Cluster) missing() field.ErrorList {
	errs := nils(field.NewPath("pods"), c.Pods)
	errs = append(errs, nils(field.NewPath("daemonSets"), c.DaemonSets)...)
	errs = append(errs, nils(field.NewPath("persistentVolumeClaims"), c.PersistentVolumeClaims)...)
	errs = append(errs, nils(field.NewPath("persistentVolumes"), c.PersistentVolumes)...)
	errs = append(errs, nils(field.NewPath("storageClasses"), c.StorageClasses)...)
	errs = append(errs, nils(field.NewPath("csiNodes"), c.CSINodes)...)
	errs = append(errs, nils(field.NewPath("namespaces"), c.Namespaces)...)
	for i := range c.Pools {
		errs = append(errs, nils(field.NewPath("pools").Index(i).Child("instanceTypes"), c.Pools[i].InstanceTypes)...)
	}
	return errs
}

func nils[T any](path *field.Path, list []*T) field.ErrorList {
	var errs field.ErrorList
	for i, p := range list {
		if p == nil {
			errs = append(errs, field.Required(path.Index(i), "must not be nil"))
		}
	}
	return errs
}
