package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/node-disruption/disruption/scheduling"
)

// volumes is where the volumes of a pod let it go.
type volumes struct {
	// alternatives of which one must hold; at least one, perhaps empty.
	alternatives []scheduling.Requirements
	// unreadable: a claim or class is missing. The pod then moves without volume
	// constraints, and without topology until it has failed once.
	unreadable bool
	// newNodesOnly: a persistent volume is missing, so that no existing node can
	// count what it would attach.
	newNodesOnly bool
}

func (r *run) volumesOf(p *corev1.Pod) volumes {
	none := []scheduling.Requirements{{}}
	v := volumes{alternatives: none}
	for _, name := range claimNames(p) {
		options, ok, missingVolume := r.optionsOf(p.Namespace, name)
		v.unreadable = v.unreadable || !ok
		v.newNodesOnly = v.newNodesOnly || missingVolume
		if len(options) > 0 {
			v.alternatives = cross(v.alternatives, options)
		}
	}
	if v.unreadable {
		v.alternatives = none
	}
	return v
}

// on returns the alternatives that the node itself meets.
func (v *volumes) on(node scheduling.Requirements, allow []string) []scheduling.Requirements {
	return slices.DeleteFunc(slices.Clone(v.alternatives), func(q scheduling.Requirements) bool { return node.Compatible(q, allow) != nil })
}

// cross combines alternatives. Contradictory combinations vanish, unless all are.
func cross(a, b []scheduling.Requirements) []scheduling.Requirements {
	var consistent, all []scheduling.Requirements
	for _, x := range a {
		for _, y := range b {
			all = append(all, x.And(y))
			if x.Intersects(y) == nil {
				consistent = append(consistent, x.And(y))
			}
		}
	}
	if len(consistent) > 0 {
		return consistent
	}
	return all
}

func claimNames(p *corev1.Pod) []string {
	var names []string
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, p.Name+"-"+v.Name)
		}
	}
	return names
}

func (r *run) optionsOf(namespace, name string) (options []scheduling.Requirements, ok, missingVolume bool) {
	claim := r.claim(namespace, name)
	if claim == nil {
		return nil, false, false
	}
	if claim.Spec.VolumeName != "" {
		volume := r.volume(claim.Spec.VolumeName)
		if volume == nil {
			return nil, false, true
		}
		return volumeOptions(volume), true, false
	}
	if className(claim) == "" {
		return nil, true, false
	}
	class := r.class(className(claim))
	if class == nil {
		return nil, false, false
	}
	return classOptions(class), true, false
}

func volumeOptions(v *corev1.PersistentVolume) []scheduling.Requirements {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return nil
	}
	tiedToHost := v.Spec.Local != nil || v.Spec.HostPath != nil
	var options []scheduling.Requirements
	for _, term := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		var expressions []corev1.NodeSelectorRequirement
		for _, e := range term.MatchExpressions {
			if !tiedToHost || e.Key != corev1.LabelHostname {
				expressions = append(expressions, e)
			}
		}
		options = append(options, scheduling.ExpressionRequirements(expressions))
	}
	return options
}

func classOptions(c *storagev1.StorageClass) []scheduling.Requirements {
	var options []scheduling.Requirements
	for _, term := range c.AllowedTopologies {
		var q scheduling.Requirements
		for _, e := range term.MatchLabelExpressions {
			q = q.Add(scheduling.In(e.Key, e.Values...))
		}
		options = append(options, q)
	}
	return options
}

func (r *run) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	for _, c := range r.cluster.PersistentVolumeClaims {
		if c.Namespace == namespace && c.Name == name {
			return c
		}
	}
	return nil
}

func (r *run) volume(name string) *corev1.PersistentVolume {
	for _, v := range r.cluster.PersistentVolumes {
		if v.Name == name {
			return v
		}
	}
	return nil
}

func (r *run) class(name string) *storagev1.StorageClass {
	for _, c := range r.cluster.StorageClasses {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func className(c *corev1.PersistentVolumeClaim) string {
	if c.Spec.StorageClassName == nil {
		return ""
	}
	return *c.Spec.StorageClassName
}

// validClaims judges the claims of a pending pod.
func (r *run) validClaims(p *corev1.Pod) bool {
	for _, name := range claimNames(p) {
		if !r.validClaim(r.claim(p.Namespace, name)) {
			return false
		}
	}
	return true
}

func (r *run) validClaim(c *corev1.PersistentVolumeClaim) bool {
	if c == nil || c.DeletionTimestamp != nil || c.Status.Phase == corev1.ClaimLost {
		return false
	}
	if c.Spec.VolumeName != "" {
		volume := r.volume(c.Spec.VolumeName)
		_, bound := c.Annotations["pv.kubernetes.io/bind-completed"]
		return bound && volume != nil && volume.DeletionTimestamp == nil
	}
	class := r.class(className(c))
	return class != nil && (class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingImmediate)
}

// attachLimits reads how many volumes each driver can attach to the node; a
// driver without a limit is missing.
func (r *run) attachLimits(node *corev1.Node) map[string]int {
	limits := map[string]int{}
	for _, c := range r.cluster.CSINodes {
		if node == nil || c.Name != node.Name {
			continue
		}
		for _, d := range c.Spec.Drivers {
			if d.Allocatable == nil {
				continue
			}
			limits[d.Name] = 0
			if d.Allocatable.Count != nil {
				limits[d.Name] = int(*d.Allocatable.Count)
			}
		}
	}
	return limits
}

// attachments lists the claims of a pod as [driver, claim].
func (r *run) attachments(p *corev1.Pod) [][2]string {
	var list [][2]string
	for _, name := range claimNames(p) {
		if driver := r.driver(r.claim(p.Namespace, name)); driver != "" {
			list = append(list, [2]string{driver, p.Namespace + "/" + name})
		}
	}
	return list
}

func (r *run) driver(c *corev1.PersistentVolumeClaim) string {
	if c == nil {
		return ""
	}
	if c.Spec.VolumeName == "" {
		if class := r.class(className(c)); class != nil {
			return migrated(class.Provisioner)
		}
		return ""
	}
	volume := r.volume(c.Spec.VolumeName)
	switch {
	case volume == nil:
	case volume.Spec.CSI != nil:
		return volume.Spec.CSI.Driver
	case volume.Spec.AWSElasticBlockStore != nil:
		return "ebs.csi.aws.com"
	}
	return ""
}

// migrated names the CSI driver that stands in for an in-tree provisioner.
func migrated(provisioner string) string {
	switch provisioner {
	case "kubernetes.io/aws-ebs":
		return "ebs.csi.aws.com"
	case "kubernetes.io/gce-pd":
		return "pd.csi.storage.gke.io"
	case "kubernetes.io/azure-disk":
		return "disk.csi.azure.com"
	case "kubernetes.io/azure-file":
		return "file.csi.azure.com"
	case "kubernetes.io/cinder":
		return "cinder.csi.openstack.org"
	case "kubernetes.io/vsphere-volume":
		return "csi.vsphere.vmware.com"
	case "kubernetes.io/portworx-volume":
		return "pxd.portworx.com"
	}
	return provisioner
}

func (e *existing) attach(list [][2]string) {
	for _, a := range list {
		if e.attached[a[0]] == nil {
			e.attached[a[0]] = map[string]bool{}
		}
		e.attached[a[0]][a[1]] = true
	}
}

// canAttach judges all drivers: a node over one limit takes no pod at all.
func (e *existing) canAttach(list [][2]string) bool {
	for driver, limit := range e.attachLimit {
		claims := map[string]bool{}
		for c := range e.attached[driver] {
			claims[c] = true
		}
		for _, a := range list {
			if a[0] == driver {
				claims[a[1]] = true
			}
		}
		if len(claims) > limit {
			return false
		}
	}
	return true
}
