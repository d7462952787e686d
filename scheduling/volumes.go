package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// volumeTable holds what pods with claims need of a node, and how many volumes
// each node may still attach.
type volumeTable struct {
	sets   []volumeSet
	limits map[int32][]attachLimit // by host; only nodes with a limit
	claims map[nsName]*corev1.PersistentVolumeClaim
	pvs    map[string]*corev1.PersistentVolume
	class  map[string]*storagev1.StorageClass
	// ids number claims for counting.
	ids map[nsName]int32
}

type nsName struct{ namespace, name string }

// volumeSet is the volumes of one pod.
type volumeSet struct {
	// alternatives are requirements of which a node must meet one; nil if the
	// volumes can be had everywhere.
	alternatives []*wish
	// unreadable: a claim, volume or class that it needs isn't there. Such a
	// pod is placed without its volumes and, at its first try, without its
	// topology constraints.
	unreadable bool
	// lost: a bound claim's volume is not there, so existing nodes can't tell
	// whether they could attach it, and refuse.
	lost     bool
	attached []attachment
}

// attachment is a claim that counts against a driver's limit.
type attachment struct {
	driver string
	claim  int32
}

// attachLimit is how many volumes of a driver a node may have, and those that
// it has.
type attachLimit struct {
	driver   string
	limit    int64
	attached []int32 // claims, sorted, each once
}

func newVolumeTable(c *Cluster) volumeTable {
	t := volumeTable{
		ids:    map[nsName]int32{},
		claims: make(map[nsName]*corev1.PersistentVolumeClaim, len(c.PersistentVolumeClaims)),
		pvs:    make(map[string]*corev1.PersistentVolume, len(c.PersistentVolumes)),
		class:  make(map[string]*storagev1.StorageClass, len(c.StorageClasses)),
	}
	for _, claim := range c.PersistentVolumeClaims {
		t.claims[nsName{claim.Namespace, claim.Name}] = claim
	}
	for _, pv := range c.PersistentVolumes {
		t.pvs[pv.Name] = pv
	}
	for _, class := range c.StorageClasses {
		t.class[class.Name] = class
	}
	return t
}

// claimNames lists the claims of a pod: those it names, and those made for its
// ephemeral volumes.
func claimNames(pod *corev1.Pod) []nsName {
	var names []nsName
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, nsName{pod.Namespace, v.PersistentVolumeClaim.ClaimName})
		case v.Ephemeral != nil:
			names = append(names, nsName{pod.Namespace, pod.Name + "-" + v.Name})
		}
	}
	return names
}

func (s *Snapshot) volumesOf(names []nsName) volumeSet {
	set := volumeSet{}
	combined := []Requirements{{}}
	for _, name := range names {
		terms, ok := s.volumes.terms(name)
		if !ok {
			set.unreadable = true
			set.lost = set.lost || s.volumes.claims[name] != nil && s.volumes.claims[name].Spec.VolumeName != ""
		}
		if len(terms) > 0 {
			combined = crossProduct(combined, terms)
		}
		if driver := s.volumes.driver(name); driver != "" {
			set.attached = append(set.attached, attachment{driver, s.volumes.id(name)})
		}
	}
	if set.unreadable || len(combined) == 1 && combined[0].Len() == 0 {
		return set
	}
	for _, reqs := range combined {
		set.alternatives = append(set.alternatives, s.book.wish(reqs))
	}
	return set
}

// crossProduct joins each of a with each of b, without the pairs that
// contradict each other, unless all do.
func crossProduct(a, b []Requirements) []Requirements {
	var fit, all []Requirements
	for _, x := range a {
		for _, y := range b {
			both := x.And(y)
			all = append(all, both)
			if x.Intersects(y) == nil {
				fit = append(fit, both)
			}
		}
	}
	if len(fit) == 0 {
		return all
	}
	return fit
}

func (t *volumeTable) id(name nsName) int32 {
	id, ok := t.ids[name]
	if !ok {
		id = int32(len(t.ids))
		t.ids[name] = id
	}
	return id
}

// terms returns the alternatives of one claim: the node affinity of its volume,
// or what the class of an unbound claim allows. None means everywhere.
func (t *volumeTable) terms(name nsName) (terms []Requirements, ok bool) {
	claim := t.claims[name]
	if claim == nil {
		return nil, false
	}
	if claim.Spec.VolumeName != "" {
		pv := t.pvs[claim.Spec.VolumeName]
		if pv == nil {
			return nil, false
		}
		return volumeTerms(pv), true
	}
	name.name = classOf(claim)
	if name.name == "" {
		return nil, true
	}
	class := t.class[name.name]
	if class == nil {
		return nil, false
	}
	return classTerms(class), true
}

func classOf(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}

// volumeTerms are the required node affinity terms. The hostname in those of
// local volumes is dropped: the data goes with the node.
func volumeTerms(pv *corev1.PersistentVolume) []Requirements {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return nil
	}
	local := pv.Spec.Local != nil || pv.Spec.HostPath != nil
	var terms []Requirements
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		reqs := ExpressionRequirements(term.MatchExpressions)
		if local {
			reqs = reqs.Without(corev1.LabelHostname)
		}
		terms = append(terms, reqs)
	}
	return terms
}

func classTerms(class *storagev1.StorageClass) []Requirements {
	var terms []Requirements
	for _, term := range class.AllowedTopologies {
		var all []RequirementSpec
		for _, e := range term.MatchLabelExpressions {
			all = append(all, RequirementSpec{Key: e.Key, Operator: corev1.NodeSelectorOpIn, Values: e.Values})
		}
		terms = append(terms, NewRequirements(all...))
	}
	return terms
}

// driver returns the CSI driver that attaches the claim, "" if none counts.
func (t *volumeTable) driver(name nsName) string {
	claim := t.claims[name]
	if claim == nil {
		return ""
	}
	if claim.Spec.VolumeName == "" {
		if class := t.class[classOf(claim)]; class != nil {
			return csiDriver(class.Provisioner)
		}
		return ""
	}
	pv := t.pvs[claim.Spec.VolumeName]
	switch {
	case pv == nil:
		return ""
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	case pv.Spec.AWSElasticBlockStore != nil:
		return csiDriver("kubernetes.io/aws-ebs")
	}
	return ""
}

// csiDriver translates the names of in-tree provisioners.
func csiDriver(provisioner string) string {
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

// compileLimits reads how many volumes each node may attach and has attached.
func (s *Snapshot) compileLimits(c *Cluster) {
	s.volumes.limits = map[int32][]attachLimit{}
	for _, n := range c.CSINodes {
		host, ok := s.hosts.byKube[n.Name]
		if !ok || int(host) >= s.hosts.dests {
			continue
		}
		var limits []attachLimit
		for _, d := range n.Spec.Drivers {
			if d.Allocatable == nil {
				continue
			}
			l := attachLimit{driver: d.Name}
			if d.Allocatable.Count != nil {
				l.limit = int64(*d.Allocatable.Count)
			}
			l.attached = s.attachedTo(host, d.Name)
			limits = append(limits, l)
		}
		if len(limits) > 0 {
			s.volumes.limits[host] = limits
		}
	}
}

func (s *Snapshot) attachedTo(host int32, driver string) []int32 {
	var claims []int32
	rows := s.hosts.hosts[host].pods
	for i := rows.from; i < rows.to; i++ {
		row := &s.pods.rows[i]
		if row.volume < 0 || !row.flags.is(podLives) {
			continue
		}
		for _, a := range s.volumes.sets[row.volume].attached {
			if a.driver == driver {
				claims = append(claims, a.claim)
			}
		}
	}
	slices.Sort(claims)
	return slices.Compact(claims)
}

// overLimit reports whether a node has more volumes than it may: then it takes
// no pod at all, not even one without volumes.
func (s *Snapshot) overLimit(host int) bool {
	return slices.ContainsFunc(s.volumes.limits[int32(host)], func(l attachLimit) bool { return int64(len(l.attached)) > l.limit })
}

// canAttach reports whether the node may attach the volumes beside what it has
// and what the simulation put there.
func (s *Snapshot) canAttach(host int, set *volumeSet, placed []attachment) bool {
	for _, l := range s.volumes.limits[int32(host)] {
		extra := make([]int32, 0, len(set.attached))
		for _, a := range slices.Concat(placed, set.attached) {
			if _, there := slices.BinarySearch(l.attached, a.claim); a.driver == l.driver && !there {
				extra = append(extra, a.claim)
			}
		}
		slices.Sort(extra)
		if int64(len(l.attached)+len(slices.Compact(extra))) > l.limit {
			return false
		}
	}
	return true
}

// claimsUsable reports whether the claims of a pending pod are in order.
func (s *Snapshot) claimsUsable(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(claimNames(pod), func(name nsName) bool { return !s.volumes.usable(name) })
}

func (t *volumeTable) usable(name nsName) bool {
	claim := t.claims[name]
	if claim == nil || claim.DeletionTimestamp != nil || claim.Status.Phase == corev1.ClaimLost {
		return false
	}
	if claim.Spec.VolumeName != "" {
		pv := t.pvs[claim.Spec.VolumeName]
		_, bound := claim.Annotations[bindCompleted]
		return bound && pv != nil && pv.DeletionTimestamp == nil
	}
	class := t.class[classOf(claim)]
	return class != nil && (class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingImmediate)
}

// bindCompleted is the annotation of a claim whose volume is really its own.
const bindCompleted = "pv.kubernetes.io/bind-completed"
