package disruption

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/scheduling"
)

// Cluster is the facts of one pass. All of it but Now and Nodes is optional; no
// order matters. The library reads it and never writes to it.
//
// Nodes pair with claims by provider id. A node without a claim is unmanaged: it
// takes pods but is never disrupted. A claim with a provider id but no node yet
// is a destination.
type Cluster struct {
	// Now is the instant of the decision.
	Now time.Time

	NodePools  []*NodePool
	NodeClaims []*NodeClaim

	Nodes                  []*corev1.Node
	Pods                   []*corev1.Pod
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget
	DaemonSets             []*appsv1.DaemonSet
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim
	PersistentVolumes      []*corev1.PersistentVolume
	StorageClasses         []*storagev1.StorageClass
	CSINodes               []*storagev1.CSINode
	VolumeAttachments      []*storagev1.VolumeAttachment
	Namespaces             []*corev1.Namespace

	// Catalog is what the pools may launch, and at which prices. Without it
	// no node is a candidate, as Karpenter can't tell what its nodes are.
	Catalog scheduling.Catalog

	// Unreadable names objects that exist but could not be read; [Cluster.Decode]
	// fills it. No node is disrupted that such an object may be about.
	Unreadable []Unreadable

	// Nominated names nodes that were chosen for a pending pod a moment ago;
	// InMove names nodes that a running move is about to delete. Neither kind is
	// a candidate.
	Nominated, InMove []string
}

// missing names the entries of the lists that are nil.
func (c *Cluster) missing() field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, nils("nodePools", c.NodePools)...)
	errs = append(errs, nils("nodeClaims", c.NodeClaims)...)
	errs = append(errs, nils("nodes", c.Nodes)...)
	errs = append(errs, nils("pods", c.Pods)...)
	errs = append(errs, nils("podDisruptionBudgets", c.PodDisruptionBudgets)...)
	errs = append(errs, nils("daemonSets", c.DaemonSets)...)
	errs = append(errs, nils("persistentVolumeClaims", c.PersistentVolumeClaims)...)
	errs = append(errs, nils("persistentVolumes", c.PersistentVolumes)...)
	errs = append(errs, nils("storageClasses", c.StorageClasses)...)
	errs = append(errs, nils("csiNodes", c.CSINodes)...)
	errs = append(errs, nils("volumeAttachments", c.VolumeAttachments)...)
	return append(errs, nils("namespaces", c.Namespaces)...)
}

// present is the cluster without the entries that are nil.
func (c *Cluster) present() *Cluster {
	if len(c.missing()) == 0 {
		return c
	}
	p := *c
	p.NodePools, p.NodeClaims, p.Nodes, p.Pods = notNil(c.NodePools), notNil(c.NodeClaims), notNil(c.Nodes), notNil(c.Pods)
	p.PodDisruptionBudgets, p.DaemonSets, p.Namespaces = notNil(c.PodDisruptionBudgets), notNil(c.DaemonSets), notNil(c.Namespaces)
	p.PersistentVolumeClaims, p.PersistentVolumes = notNil(c.PersistentVolumeClaims), notNil(c.PersistentVolumes)
	p.StorageClasses, p.CSINodes, p.VolumeAttachments = notNil(c.StorageClasses), notNil(c.CSINodes), notNil(c.VolumeAttachments)
	return &p
}

func notNil[T any](objects []*T) []*T {
	return slices.DeleteFunc(slices.Clone(objects), func(o *T) bool { return o == nil })
}

func nils[T any](name string, objects []*T) field.ErrorList {
	var errs field.ErrorList
	for i, object := range objects {
		if object == nil {
			errs = append(errs, field.Required(field.NewPath(name).Index(i), "is nil"))
		}
	}
	return errs
}
