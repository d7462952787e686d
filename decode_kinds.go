package disruption

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// adder returns how an object of a kind is added to the cluster: a function that
// makes an empty object and the function that keeps it once it is filled. It is
// nil for kinds that disruption does not read.
func (c *Cluster) adder(apiVersion, kind string) func() (object any, commit func()) {
	group, _, hasGroup := strings.Cut(apiVersion, "/")
	if !hasGroup {
		group = ""
	}
	switch {
	case kind == "NodePool":
		return into(&c.NodePools)
	case kind == "NodeClaim":
		return into(&c.NodeClaims)
	case kind == "Node" && group == "":
		return into(&c.Nodes)
	case kind == "Pod" && group == "":
		return into(&c.Pods)
	case kind == "PersistentVolumeClaim" && group == "":
		return into(&c.PersistentVolumeClaims)
	case kind == "PersistentVolume" && group == "":
		return into(&c.PersistentVolumes)
	case kind == "Namespace" && group == "":
		return into(&c.Namespaces)
	case kind == "DaemonSet" && group == "apps":
		return into(&c.DaemonSets)
	case kind == "PodDisruptionBudget" && group == "policy":
		return into(&c.PodDisruptionBudgets)
	case kind == "StorageClass" && group == "storage.k8s.io":
		return into(&c.StorageClasses)
	case kind == "CSINode" && group == "storage.k8s.io":
		return into(&c.CSINodes)
	case kind == "VolumeAttachment" && group == "storage.k8s.io":
		return into(&c.VolumeAttachments)
	}
	return nil
}

// into adds to one list.
func into[T any](list *[]*T) func() (any, func()) {
	return func() (any, func()) {
		object := new(T)
		return object, func() { *list = append(*list, object) }
	}
}

// names are the keys of all objects in the cluster.
func (c *Cluster) names() map[string]bool {
	seen := map[string]bool{}
	mark(seen, "NodePool", c.NodePools)
	mark(seen, "NodeClaim", c.NodeClaims)
	mark(seen, "Node", c.Nodes)
	mark(seen, "Pod", c.Pods)
	mark(seen, "PersistentVolumeClaim", c.PersistentVolumeClaims)
	mark(seen, "PersistentVolume", c.PersistentVolumes)
	mark(seen, "Namespace", c.Namespaces)
	mark(seen, "DaemonSet", c.DaemonSets)
	mark(seen, "PodDisruptionBudget", c.PodDisruptionBudgets)
	mark(seen, "StorageClass", c.StorageClasses)
	mark(seen, "CSINode", c.CSINodes)
	mark(seen, "VolumeAttachment", c.VolumeAttachments)
	return seen
}

func mark[T metav1.Object](seen map[string]bool, kind string, list []T) {
	for _, object := range list {
		seen[objectKey(kind, object.GetNamespace(), object.GetName())] = true
	}
}
