package disruption

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
	"github.com/node-disruption/disruption/termination"
)

// Unreadable is an object that exists but could not be read. What it says is
// unknown, so nothing is disrupted that it may protect.
type Unreadable struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Node that a pod is bound to, "" if unknown.
	Node string `json:"node,omitempty"`
	// Path of what is wrong with it.
	Path string `json:"path"`
}

func (u *Unreadable) key() string { return objectKey(u.Kind, u.Namespace, u.Name) }

// CodeUnreadable is the code of the refusal of nodes that an unreadable object
// may be about.
const CodeUnreadable consolidation.Code = "Unreadable"

// vetoes returns why an unreadable object keeps this node from being disrupted.
//
// A pod holds back its node, or every node if it doesn't say which; a
// PodDisruptionBudget every node with a pod of its namespace; a pool the nodes of
// its name; a node or a claim what bears its name. Other kinds only decide where
// pods may go: while one of them is unreadable no node with pods to move goes.
func (u *Unreadable) vetoes(m *machine) bool {
	switch u.Kind {
	case "Pod":
		return u.Node == "" || m.node != nil && u.Node == m.node.Name
	case "PodDisruptionBudget":
		return slices.ContainsFunc(m.pods, func(p *corev1.Pod) bool { return u.Namespace == "" || p.Namespace == u.Namespace })
	case "NodePool":
		return u.Name == "" || u.Name == m.poolName
	case "Node", "NodeClaim":
		return u.Name == "" || u.Name == m.name || m.claim != nil && u.Name == m.claim.Name
	case "DaemonSet", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "Namespace", "VolumeAttachment":
		return slices.ContainsFunc(m.pods, func(p *corev1.Pod) bool { return termination.IsReschedulable(p) })
	}
	return false
}

// veto adds the refusals of the unreadable objects.
func (f *fleet) veto(nodes []consolidation.Node) {
	for i := range f.unreadable {
		u := &f.unreadable[i]
		for j := range f.machines {
			if u.vetoes(&f.machines[j]) {
				nodes[j].Vetoes = append(nodes[j].Vetoes, consolidation.Reason{
					Code:    CodeUnreadable,
					Message: fmt.Sprintf("%s can't be read (%s), and it may be about this node", u.key(), u.Path),
					Objects: []string{strings.ReplaceAll(u.key(), " ", "/")},
				})
			}
		}
	}
}

// compileLimits compiles the PodDisruptionBudgets. One whose selector can't be
// read is set aside as unreadable.
func (f *fleet) compileLimits() *termination.Limits {
	limits, errs := termination.CompileLimits(f.cluster.PodDisruptionBudgets, termination.LimitsOptions{Domain: f.keys.Domain, SkipInvalid: true})
	for i, pdb := range f.cluster.PodDisruptionBudgets {
		path := field.NewPath("podDisruptionBudgets").Index(i).String() + "."
		for _, err := range errs {
			if strings.HasPrefix(err.Field, path) {
				f.unreadable = append(f.unreadable, Unreadable{Kind: "PodDisruptionBudget", Namespace: pdb.Namespace, Name: pdb.Name, Path: err.Error()})
				break
			}
		}
	}
	return limits
}

// checkPools sets aside the pools whose requirements can't be read.
func (f *fleet) checkPools() {
	f.pools = slices.DeleteFunc(f.pools, func(p *NodePool) bool {
		path := field.NewPath("spec", "template", "spec", "requirements")
		for i, r := range p.Spec.Template.Spec.Requirements {
			if errs := r.Validate(path.Index(i)); len(errs) > 0 {
				f.unreadable = append(f.unreadable, Unreadable{Kind: "NodePool", Name: p.Name, Path: errs[0].Error()})
				return true
			}
		}
		return false
	})
}

// compileSnapshot compiles the cluster. Pods that can't be understood are set
// aside.
func (f *fleet) compileSnapshot(o Options, limits *termination.Limits) (*scheduling.Snapshot, error) {
	cluster, options := f.scheduling(), f.schedulingOptions(o, limits)
	snapshot, err := scheduling.NewSnapshot(cluster, options)
	if bad := badPods(err); len(bad) > 0 {
		cluster.Pods = f.setAside(cluster.Pods, bad)
		return scheduling.NewSnapshot(cluster, options)
	}
	return snapshot, err
}

// badPods maps namespace/name of the pods that an error, or any of several, is
// about to its text.
func badPods(err error) map[string]string {
	list := []error{err}
	if all, ok := err.(utilerrors.Aggregate); ok {
		list = all.Errors()
	}
	bad := map[string]string{}
	for _, err := range list {
		var at *field.Error
		if errors.As(err, &at) {
			if rest, ok := strings.CutPrefix(at.Field, "pods["); ok {
				name, _, _ := strings.Cut(rest, "]")
				bad[name] = at.Error()
			}
		}
	}
	return bad
}

// setAside returns the pods without the bad ones, which become unreadable.
func (f *fleet) setAside(pods []*corev1.Pod, bad map[string]string) []*corev1.Pod {
	kept := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		if why, ok := bad[pod.Namespace+"/"+pod.Name]; ok {
			f.unreadable = append(f.unreadable, Unreadable{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, Node: pod.Spec.NodeName, Path: why})
			continue
		}
		kept = append(kept, pod)
	}
	return kept
}
