package termination

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/annotations"
)

// Delays after which the caller's loop asks again.
const (
	drainPoll    = time.Second
	instancePoll = 5 * time.Second
	// minDrain is how long a drain lasts at least: until then the scheduler may
	// not have seen the taint, and bind another pod.
	minDrain = 5 * time.Second
)

// loadBalancerLabelValue is what Karpenter writes into the label that takes a
// node out of load balancers; only the presence of the label counts.
const loadBalancerLabelValue = "karpenter"

// InstanceState is what the cloud says of an instance.
type InstanceState int

const (
	// InstanceUnknown: nobody has asked.
	InstanceUnknown InstanceState = iota
	// InstanceExists: the cloud knows it, terminating or not.
	InstanceExists
	// InstanceGone: the cloud answered that there is no such instance.
	InstanceGone
)

// NodeState is all that decides the next step of a node's end.
type NodeState struct {
	Node *corev1.Node
	// NodeClaims of the node. Any number but one counts as none.
	NodeClaims []*Claim
	// Pods of the node.
	Pods []*corev1.Pod
	// VolumeClaims and Attachments as for [Volumes].
	VolumeClaims []*corev1.PersistentVolumeClaim
	Attachments  []*storagev1.VolumeAttachment
	// Instance is the answer to the step before, if it asked the cloud.
	Instance InstanceState
	// Limits and Ledger as for [Drain].
	Limits *Limits
	Ledger *Ledger
	// Domain of the vocabulary; "" is karpenter.sh.
	Domain string
}

// Stage says how far the end of a node or claim has come.
type Stage string

// Stages, in their order.
const (
	// StageNone: it isn't being deleted, or our finalizer isn't on it.
	StageNone Stage = "None"
	// StageInvalid: its deadline can't be read, so nothing is done until it can.
	StageInvalid Stage = "Invalid"
	// StageProbe: the cloud is asked whether a node that isn't Ready has an instance.
	StageProbe Stage = "Probe"
	// StageNodes: the claim waits for its nodes to go.
	StageNodes Stage = "Nodes"
	// StageDrain: pods are waited for, or the first five seconds to pass.
	StageDrain Stage = "Drain"
	// StageVolumes: volumes are still attached.
	StageVolumes Stage = "Volumes"
	// StageInstance: the cloud is told to delete the instance.
	StageInstance Stage = "Instance"
	// StageDone: the finalizer goes, and with it the object.
	StageDone Stage = "Done"
)

// ActionKind is what an action does.
type ActionKind string

// Kinds of actions, each with the fields of Action that it uses.
const (
	GetInstance    ActionKind = "GetInstance"    // ProviderID; then ask again with the answer
	DeleteInstance ActionKind = "DeleteInstance" // ProviderID; if not found, ask again
	PatchNode      ActionKind = "PatchNode"      // Node, as it shall be
	DeleteNode     ActionKind = "DeleteNode"     // Node
	PatchClaim     ActionKind = "PatchClaim"     // Claim, as it shall be
	DeleteClaim    ActionKind = "DeleteClaim"    // Claim
	EvictPod       ActionKind = "EvictPod"       // Pod
	DeletePod      ActionKind = "DeletePod"      // Pod, Grace
)

// Action is one call to make. Every one may be made twice without harm.
type Action struct {
	Kind       ActionKind    `json:"kind"`
	Pod        *corev1.Pod   `json:"-"`
	Grace      time.Duration `json:"-"`
	Node       *corev1.Node  `json:"-"`
	Claim      *Claim        `json:"-"`
	ProviderID string        `json:"providerID,omitempty"`
}

// Step is what to do now, and when to ask again.
type Step struct {
	Stage Stage `json:"stage"`
	// Actions to take, in this order. What they write is a copy; pods and what is
	// deleted are the caller's own.
	Actions []Action `json:"actions,omitempty"`
	// RequeueAfter is when to ask again at the latest; 0 if only a change of the
	// objects matters.
	RequeueAfter time.Duration `json:"-"`
	// Drain is the plan that EvictPod and DeletePod come from, once it came so far.
	Drain *DrainPlan `json:"drain,omitempty"`
	// Attached lists the volume attachments that are waited for.
	Attached []*storagev1.VolumeAttachment `json:"-"`
	// Err says why nothing can be done; it names a field of the claim.
	Err *field.Error `json:"-"`
}

// Next reports the next step from a deleted node to none, after Karpenter v1.14.
//
// In order: the claim is deleted too; a node that isn't Ready and has no
// instance any more is let go; the node is tainted and taken out of load
// balancers; it is drained, which takes at least five seconds; its volumes are
// waited for until the deadline; the instance is deleted until the cloud doesn't
// find it; the finalizer goes. Conditions of the claim tell how far it has come;
// Drained, once True, is never taken back. A node without a claim has no
// deadline, no conditions, no minimum, and its instance is left alone.
//
// Next keeps no memory but what it writes on the objects, so it may be asked
// again at any time, by any process.
func Next(s NodeState, now time.Time) Step {
	keys := annotations.For(s.Domain)
	if s.Node == nil || s.Node.DeletionTimestamp == nil || !slices.Contains(s.Node.Finalizers, keys.TerminationFinalizer) {
		return Step{Stage: StageNone}
	}
	n := &nodeStep{NodeState: s, keys: keys, now: now}
	if len(s.NodeClaims) == 1 && s.NodeClaims[0] != nil {
		n.claim = s.NodeClaims[0]
		n.conditions = n.claim.clone()
	}
	n.run()
	return n.step
}

// nodeStep builds a Step.
type nodeStep struct {
	NodeState
	keys       annotations.Keys
	now        time.Time
	claim      *Claim // nil if none
	conditions *Claim // claim, with what is to be written
	changed    bool   // whether they differ
	deadline   *time.Time
	node       []Action // before the claim is written
	rest       []Action // after
	step       Step
}

func (n *nodeStep) run() {
	n.deleteClaim()
	switch {
	case n.probe():
	case !n.readDeadline():
	default:
		n.taint()
		if n.drain() && n.detach() && n.terminate() {
			n.finish()
		}
	}
	if n.changed {
		n.node = append(n.node, Action{Kind: PatchClaim, Claim: n.conditions})
	}
	n.step.Actions = append(n.node, n.rest...)
}

// stop ends the step at a stage, to be asked again.
func (n *nodeStep) stop(stage Stage, after time.Duration) bool {
	n.step.Stage, n.step.RequeueAfter = stage, after
	return false
}

// deleteClaim deletes the claim too; what is written of it after that must not
// revive it.
func (n *nodeStep) deleteClaim() {
	if n.claim != nil && n.claim.DeletionTimestamp == nil {
		n.node = append(n.node, Action{Kind: DeleteClaim, Claim: n.claim})
		n.conditions = n.claim.deleted(n.now)
	}
}

// probe asks for the instance of a node that isn't Ready, and reports whether
// that settles the step. Who drained such a node would wait for a kubelet that
// no longer exists.
func (n *nodeStep) probe() bool {
	if isNodeReady(n.Node) || n.Instance == InstanceExists {
		return false
	}
	if n.Instance == InstanceGone {
		n.finish()
		return true
	}
	n.rest = append(n.rest, Action{Kind: GetInstance, ProviderID: n.Node.Spec.ProviderID})
	n.stop(StageProbe, 0)
	return true
}

func isNodeReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (n *nodeStep) readDeadline() bool {
	if n.claim == nil {
		return true
	}
	deadline, ok, err := n.keys.TerminationDeadline(n.claim)
	if err != nil {
		n.step.Err = err
		return n.stop(StageInvalid, 0)
	}
	if ok {
		n.deadline = &deadline
	}
	return true
}

// taint keeps new pods and load balancers off the node.
func (n *nodeStep) taint() {
	taints, tainted := withTaint(n.Node.Spec.Taints, corev1.Taint{Key: n.keys.DisruptedTaint, Effect: corev1.TaintEffectNoSchedule})
	labelled := n.Node.Labels[annotations.ExcludeFromLoadBalancers] == loadBalancerLabelValue
	if tainted && labelled {
		return
	}
	node := n.Node.DeepCopy()
	node.Spec.Taints = taints
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[annotations.ExcludeFromLoadBalancers] = loadBalancerLabelValue
	n.node = append(n.node, Action{Kind: PatchNode, Node: node})
	n.Node = node
}

// withTaint returns the taints with this one among them, and whether it was: one
// of the same key and effect is left as it is, one of another effect is replaced.
func withTaint(taints []corev1.Taint, taint corev1.Taint) ([]corev1.Taint, bool) {
	for _, t := range taints {
		if t.Key == taint.Key && t.Effect == taint.Effect {
			return taints, true
		}
	}
	others := slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return t.Key == taint.Key })
	return append(others, taint), false
}

// drain reports whether the node is drained.
func (n *nodeStep) drain() bool {
	if n.claim != nil && n.condition(ConditionDrained) == nil {
		n.set(ConditionDrained, metav1.ConditionUnknown, ReasonDraining, "pods are being evicted")
	}
	plan := PlanDrain(Drain{Pods: n.Pods, Deadline: n.deadline, Domain: n.Domain, Limits: n.Limits, Ledger: n.Ledger}, n.now)
	n.step.Drain = &plan
	for _, f := range plan.ForceDelete {
		n.rest = append(n.rest, Action{Kind: DeletePod, Pod: f.Pod, Grace: f.Grace})
	}
	for _, pod := range plan.Evict {
		n.rest = append(n.rest, Action{Kind: EvictPod, Pod: pod})
	}
	if !plan.Done() {
		return n.stop(StageDrain, drainPoll)
	}
	if n.claim == nil {
		return true
	}
	if c := n.condition(ConditionDrained); c.Status == metav1.ConditionUnknown && n.now.Sub(c.LastTransitionTime.Time) < minDrain {
		return n.stop(StageDrain, drainPoll)
	}
	n.set(ConditionDrained, metav1.ConditionTrue, ConditionDrained, "")
	return true
}

// detach reports whether the volumes are detached, or may be disregarded.
func (n *nodeStep) detach() bool {
	blocking := BlockingAttachments(Volumes{
		NodeName: n.Node.Name, Pods: n.Pods, Claims: n.VolumeClaims, Attachments: n.Attachments, Domain: n.Domain,
	}, n.now)
	n.step.Attached = blocking
	switch {
	case len(blocking) == 0:
		n.set(ConditionVolumesDetached, metav1.ConditionTrue, ConditionVolumesDetached, "")
		return true
	case n.deadline != nil && n.now.After(*n.deadline):
		n.set(ConditionVolumesDetached, metav1.ConditionFalse, ReasonGracePeriodElapsed, attached(blocking))
		return true
	}
	n.set(ConditionVolumesDetached, metav1.ConditionUnknown, ReasonAwaitingDetachment, attached(blocking))
	return n.stop(StageVolumes, drainPoll)
}

func attached(blocking []*storagev1.VolumeAttachment) string {
	return fmt.Sprintf("%d volumes are attached, %s the first", len(blocking), blocking[0].Name)
}

// terminate reports whether the instance is gone, or none of ours.
func (n *nodeStep) terminate() bool {
	if n.claim == nil {
		return true
	}
	n.set(ConditionInstanceTerminating, metav1.ConditionTrue, ConditionInstanceTerminating, "")
	if n.Instance == InstanceGone {
		return true
	}
	id := n.claim.ProviderID
	if id == "" {
		id = n.Node.Spec.ProviderID
	}
	n.rest = append(n.rest, Action{Kind: DeleteInstance, ProviderID: id})
	return n.stop(StageInstance, instancePoll)
}

func (n *nodeStep) finish() {
	node := n.Node.DeepCopy()
	node.Finalizers = without(node.Finalizers, n.keys.TerminationFinalizer)
	n.rest = append(n.rest, Action{Kind: PatchNode, Node: node})
	n.stop(StageDone, 0)
}

func without(list []string, item string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == item })
}

// condition is the claim's condition of this type as it shall be written; nil
// if there is none.
func (n *nodeStep) condition(kind string) *metav1.Condition { return n.conditions.condition(kind) }

// set writes a condition of the claim, if there is one.
func (n *nodeStep) set(kind string, status metav1.ConditionStatus, reason, message string) {
	if n.claim != nil {
		n.changed = n.conditions.setCondition(kind, status, reason, message, n.now) || n.changed
	}
}
