package termination_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/termination"
)

const finalizer = "karpenter.sh/termination"

func deletedNode(edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", Finalizers: []string{finalizer}, DeletionTimestamp: &metav1.Time{Time: noon}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///i-1"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

func deletedClaim(edits ...func(*termination.Claim)) *termination.Claim {
	claim := &termination.Claim{
		ObjectMeta: metav1.ObjectMeta{Name: "claim-1", UID: "claim-1", Finalizers: []string{finalizer}, DeletionTimestamp: &metav1.Time{Time: noon}},
		ProviderID: "aws:///i-1",
		Conditions: []metav1.Condition{{Type: "Registered", Status: metav1.ConditionTrue}},
	}
	for _, edit := range edits {
		edit(claim)
	}
	return claim
}

func tainted(node *corev1.Node) {
	node.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	node.Labels = map[string]string{annotations.ExcludeFromLoadBalancers: "karpenter"}
}

func notReady(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionUnknown }

func with(kind string, status metav1.ConditionStatus, since time.Time) func(*termination.Claim) {
	return func(c *termination.Claim) {
		c.Conditions = append(c.Conditions, metav1.Condition{Type: kind, Status: status, Reason: kind, Message: kind, LastTransitionTime: metav1.NewTime(since)})
	}
}

func deadlineAt(text string) func(*termination.Claim) {
	return func(c *termination.Claim) {
		c.Annotations = map[string]string{"karpenter.sh/nodeclaim-termination-timestamp": text}
	}
}

// stepText is a step in one line: its stage, what it does and when to come back.
func stepText(step termination.Step) string {
	parts := []string{string(step.Stage) + ":"}
	for _, a := range step.Actions {
		text := string(a.Kind)
		switch {
		case a.Kind == termination.PatchNode:
			text += fmt.Sprintf("(%d taints, %d finalizers)", len(a.Node.Spec.Taints), len(a.Node.Finalizers))
		case a.Kind == termination.PatchClaim:
			text += "(" + conditions(a.Claim) + ")"
		case a.Pod != nil:
			text += "(" + a.Pod.Name + ")"
		}
		parts = append(parts, text)
	}
	if step.RequeueAfter > 0 {
		parts = append(parts, "again in "+step.RequeueAfter.String())
	}
	return strings.Join(parts, " ")
}

func conditions(claim *termination.Claim) string {
	var parts []string
	for _, c := range claim.Conditions {
		if c.Type != "Registered" {
			parts = append(parts, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
		}
	}
	if len(claim.Finalizers) == 0 {
		parts = append(parts, "no finalizer")
	}
	if text, ok := claim.Annotations["karpenter.sh/nodeclaim-termination-timestamp"]; ok {
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func attachment(name, pv string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
	}
}

func TestStepsOfANode(t *testing.T) {
	draining := with("Drained", metav1.ConditionUnknown, noon)
	drained := with("Drained", metav1.ConditionTrue, noon)
	otherEffect := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoExecute}, {Key: "other", Effect: corev1.TaintEffectNoSchedule}}
	}
	claims := func(c ...*termination.Claim) []*termination.Claim { return c }
	pods := []*corev1.Pod{podOf("p", nil)}
	volumes := []*storagev1.VolumeAttachment{attachment("va", "pv")}
	for _, c := range []struct {
		name  string
		state termination.NodeState
		after time.Duration
		want  string
	}{
		{"a node that isn't deleted", termination.NodeState{Node: deletedNode(func(n *corev1.Node) { n.DeletionTimestamp = nil })}, 0, "None:"},
		{"a node without our finalizer", termination.NodeState{Node: deletedNode(func(n *corev1.Node) { n.Finalizers = nil })}, 0, "None:"},
		{"the claim is deleted too", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(draining, func(c *termination.Claim) { c.DeletionTimestamp = nil }))}, 0,
			"Drain: DeleteClaim again in 1s"},
		{"a node that isn't Ready is asked for", termination.NodeState{Node: deletedNode(notReady), NodeClaims: claims(deletedClaim()), Pods: pods}, 0, "Probe: GetInstance"},
		{"and let go if it has no instance", termination.NodeState{Node: deletedNode(notReady), NodeClaims: claims(deletedClaim()), Pods: pods, Instance: termination.InstanceGone}, 0,
			"Done: PatchNode(0 taints, 0 finalizers)"},
		{"and drained if it has", termination.NodeState{Node: deletedNode(notReady, tainted), NodeClaims: claims(deletedClaim(draining)), Pods: pods, Instance: termination.InstanceExists}, 0,
			"Drain: EvictPod(p) again in 1s"},
		{"a deadline that can't be read stops before the taint", termination.NodeState{Node: deletedNode(), NodeClaims: claims(deletedClaim(deadlineAt("soon"))), Pods: pods}, 0, "Invalid:"},
		{"taint, label and condition come first", termination.NodeState{Node: deletedNode(), NodeClaims: claims(deletedClaim()), Pods: pods}, 0,
			"Drain: PatchNode(1 taints, 1 finalizers) PatchClaim(Drained Unknown Draining) EvictPod(p) again in 1s"},
		{"a taint of another effect is replaced", termination.NodeState{Node: deletedNode(otherEffect), Pods: pods}, 0, "Drain: PatchNode(2 taints, 1 finalizers) EvictPod(p) again in 1s"},
		{"also on a node that has the label already", termination.NodeState{Node: deletedNode(tainted, otherEffect), Pods: pods}, 0, "Drain: PatchNode(2 taints, 1 finalizers) EvictPod(p) again in 1s"},
		{"a label that is missing is added to a tainted node", termination.NodeState{Node: deletedNode(tainted, func(n *corev1.Node) { n.Labels = nil }), Pods: pods}, 0, "Drain: PatchNode(1 taints, 1 finalizers) EvictPod(p) again in 1s"},
		{"five seconds must pass", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(draining))}, 5*time.Second - 1, "Drain: again in 1s"},
		{"then the node is drained", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(draining))}, 5 * time.Second,
			"Instance: PatchClaim(Drained True Drained; VolumesDetached True VolumesDetached; InstanceTerminating True InstanceTerminating) DeleteInstance again in 5s"},
		{"once it is, no five seconds more", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(drained)), Attachments: volumes}, time.Second,
			"Volumes: PatchClaim(Drained True Drained; VolumesDetached Unknown AwaitingVolumeDetachment) again in 1s"},
		{"Drained is never taken back", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(drained)), Pods: pods}, time.Minute, "Drain: EvictPod(p) again in 1s"},
		{"volumes are waited for", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(drained)), Attachments: volumes}, time.Minute,
			"Volumes: PatchClaim(Drained True Drained; VolumesDetached Unknown AwaitingVolumeDetachment) again in 1s"},
		{"at the deadline still", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(drained, deadlineAt("2026-03-15T12:01:00Z"))), Attachments: volumes}, time.Minute,
			"Volumes: PatchClaim(Drained True Drained; VolumesDetached Unknown AwaitingVolumeDetachment; 2026-03-15T12:01:00Z) again in 1s"},
		{"after it no more", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(drained, deadlineAt("2026-03-15T12:01:00Z"))), Attachments: volumes}, time.Minute + 1,
			"Instance: PatchClaim(Drained True Drained; VolumesDetached False TerminationGracePeriodElapsed; InstanceTerminating True InstanceTerminating; 2026-03-15T12:01:00Z) DeleteInstance again in 5s"},
		{"the instance gone, so is the node", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(drained, with("VolumesDetached", metav1.ConditionTrue, noon), with("InstanceTerminating", metav1.ConditionTrue, noon))), Instance: termination.InstanceGone}, time.Minute,
			"Done: PatchNode(1 taints, 0 finalizers)"},
		{"without a claim: no five seconds, no conditions, no instance", termination.NodeState{Node: deletedNode(tainted)}, 0, "Done: PatchNode(1 taints, 0 finalizers)"},
		{"two claims count as none", termination.NodeState{Node: deletedNode(tainted), NodeClaims: claims(deletedClaim(), deletedClaim())}, 0, "Done: PatchNode(1 taints, 0 finalizers)"},
		{"without a claim volumes are waited for all the same", termination.NodeState{Node: deletedNode(tainted), Attachments: volumes}, 0, "Volumes: again in 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.state.Node.DeepCopy()
			assert.Equal(t, c.want, stepText(termination.Next(c.state, noon.Add(c.after))))
			assert.Equal(t, before, c.state.Node)
		})
	}
}

// What is written: our taint in the place of one of another effect, and the
// instance by the claim's ID, or else by the node's.
func TestWhatTheStepsWrite(t *testing.T) {
	node := deletedNode(func(n *corev1.Node) {
		n.Spec.ProviderID = "aws:///i-node"
		n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoExecute}, {Key: "other", Effect: corev1.TaintEffectNoSchedule}}
	})
	written := termination.Next(termination.NodeState{Node: node}, noon).Actions[0].Node
	assert.Equal(t, []corev1.Taint{{Key: "other", Effect: corev1.TaintEffectNoSchedule}, {Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}, written.Spec.Taints)
	assert.Equal(t, "karpenter", written.Labels["node.kubernetes.io/exclude-from-external-load-balancers"])

	for id, want := range map[string]string{"aws:///i-claim": "aws:///i-claim", "": "aws:///i-node"} {
		claim := deletedClaim(with("Drained", metav1.ConditionTrue, noon), func(c *termination.Claim) { c.ProviderID = id })
		actions := termination.Next(termination.NodeState{Node: node, NodeClaims: []*termination.Claim{claim}}, noon).Actions
		last := actions[len(actions)-1]
		assert.Equal(t, termination.DeleteInstance, last.Kind)
		assert.Equal(t, want, last.ProviderID)
	}
}

func TestStepsOfAClaim(t *testing.T) {
	hour := time.Hour
	withGrace := func(c *termination.Claim) { c.TerminationGracePeriod = &hour }
	unregistered := func(c *termination.Claim) { c.Conditions = nil }
	notYet := func(c *termination.Claim) { c.Conditions[0].Status = metav1.ConditionUnknown }
	nodes := []*corev1.Node{deletedNode(func(n *corev1.Node) { n.DeletionTimestamp = nil })}
	for _, c := range []struct {
		name  string
		state termination.ClaimState
		want  string
	}{
		{"a claim that isn't deleted", termination.ClaimState{Claim: deletedClaim(func(c *termination.Claim) { c.DeletionTimestamp = nil })}, "None:"},
		{"the deadline is written, the nodes deleted", termination.ClaimState{Claim: deletedClaim(withGrace), Nodes: nodes}, "Nodes: PatchClaim(2026-03-15T13:00:00Z) DeleteNode again in 1s"},
		{"a deadline that is there is left alone", termination.ClaimState{Claim: deletedClaim(withGrace, deadlineAt("2026-03-15T12:00:01Z")), Nodes: nodes}, "Nodes: DeleteNode again in 1s"},
		{"nodes that are going are waited for", termination.ClaimState{Claim: deletedClaim(), Nodes: []*corev1.Node{deletedNode()}}, "Nodes: again in 1s"},
		{"then the instance is deleted", termination.ClaimState{Claim: deletedClaim()}, "Instance: PatchClaim(InstanceTerminating True InstanceTerminating) DeleteInstance again in 5s"},
		{"a claim never registered doesn't wait for its nodes", termination.ClaimState{Claim: deletedClaim(unregistered), Nodes: nodes}, "Instance: PatchClaim(InstanceTerminating True InstanceTerminating) DeleteInstance again in 5s"},
		{"nor does one that isn't registered yet", termination.ClaimState{Claim: deletedClaim(notYet), Nodes: nodes}, "Instance: PatchClaim(InstanceTerminating True InstanceTerminating) DeleteInstance again in 5s"},
		{"the instance gone, so is the claim", termination.ClaimState{Claim: deletedClaim(), Instance: termination.InstanceGone}, "Done: PatchClaim(InstanceTerminating True InstanceTerminating; no finalizer)"},
		{"a claim never launched goes at once", termination.ClaimState{Claim: deletedClaim(unregistered, func(c *termination.Claim) { c.ProviderID = "" })}, "Done: PatchClaim(no finalizer)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, stepText(termination.NextClaim(c.state, noon)))
		})
	}
}

func statusError(code int32, reason metav1.StatusReason, message string, causes ...metav1.CauseType) error {
	err := &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{}}}
	for _, c := range causes {
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: c})
	}
	return err
}

var podResource = schema.GroupResource{Resource: "pods"}

func TestAnswersOfTheEvictionAPI(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		outcome termination.Outcome
		code    termination.Code
	}{
		{"taken", nil, termination.Accepted, ""},
		{"404", apierrors.NewNotFound(podResource, "p"), termination.AlreadyGone, ""},
		{"409: another pod has the name", apierrors.NewConflict(podResource, "p", nil), termination.AlreadyGone, ""},
		{"429 for a PDB", statusError(429, metav1.StatusReasonTooManyRequests, "no", policyv1.DisruptionBudgetCause), termination.Blocked, termination.PDBExhausted},
		{"429 of a webhook that moves the pod itself", statusError(429, metav1.StatusReasonTooManyRequests, `admission webhook "x" denied the request: migrating`), termination.Blocked, termination.TooManyRequests},
		{"500 for two PDBs", apierrors.NewInternalError(fmt.Errorf("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")), termination.Blocked, termination.MultiplePDBs},
		{"the same words without the 500", statusError(400, metav1.StatusReasonBadRequest, "This pod has more than one PodDisruptionBudget"), termination.Failed, termination.APIError},
		{"500 for anything else", apierrors.NewInternalError(fmt.Errorf("etcd is gone")), termination.Failed, termination.APIError},
		{"403", apierrors.NewForbidden(podResource, "p", fmt.Errorf("no")), termination.Failed, termination.Forbidden},
		{"403 as the namespace is terminating", statusError(403, metav1.StatusReasonForbidden, "no", corev1.NamespaceTerminatingCause), termination.Blocked, termination.NamespaceTerminating},
		{"a webhook's refusal", statusError(403, metav1.StatusReasonForbidden, `admission webhook "x" denied the request`), termination.Failed, termination.DeniedByWebhook},
		{"no connection", context.DeadlineExceeded, termination.Failed, termination.APIError},
	} {
		t.Run(c.name, func(t *testing.T) {
			outcome, code := termination.ClassifyEviction(c.err)
			assert.Equal(t, c.outcome, outcome)
			assert.Equal(t, c.code, code)
		})
	}
}

func TestAForcedDeletionIsDoneOnlyWhenThePodIsGone(t *testing.T) {
	deadline := deadlineAt("2026-03-15T12:00:00Z")
	for _, c := range []struct {
		err     error
		outcome termination.Outcome
	}{
		{nil, termination.Accepted},
		{apierrors.NewNotFound(podResource, "p"), termination.AlreadyGone},
		{apierrors.NewConflict(podResource, "p", nil), termination.Failed},
		{statusError(429, metav1.StatusReasonTooManyRequests, "busy"), termination.Failed},
	} {
		api := newFakeAPI(noon.Add(time.Minute))
		api.pods["default/p"] = podOf("p", nil)
		api.deleteErr = func() error { return c.err }
		report, err := api.runner().Node(t.Context(), termination.NodeState{
			Node: deletedNode(tainted), NodeClaims: []*termination.Claim{deletedClaim(deadline)}, Pods: api.podList(),
		}, api.now)
		require.Len(t, report.Attempts, 1)
		assert.True(t, report.Attempts[0].Forced)
		assert.Equal(t, c.outcome, report.Attempts[0].Outcome)
		assert.Equal(t, c.outcome == termination.Failed, err != nil)
	}
}

func TestProgressSurvivesARestart(t *testing.T) {
	pods := []*corev1.Pod{podOf("a", web), podOf("b", nil, doNotDisrupt("true"))}
	drain := termination.Drain{Pods: pods, Ledger: ledgerOf(t, pdbOf("web", web, 0, minAvailable("1"), healthOf(1, 1, 1)))}
	progress := termination.Progress{}.Observe(termination.PlanDrain(drain, noon), noon)
	progress = progress.Record([]termination.Attempt{{Pod: pods[0], Outcome: termination.Blocked, Code: termination.PDBExhausted}})

	stored, err := json.Marshal(progress)
	require.NoError(t, err)
	restored, problem := termination.ParseProgress(stored)
	require.Nil(t, problem)

	later := noon.Add(10 * time.Minute)
	pods[1].Annotations = nil
	restored = restored.Observe(termination.PlanDrain(drain, later), later)
	assert.Equal(t, `0 pods gone, 2 to go since 2026-03-15T12:00:00Z
  default/a: PDBExhausted for 10m0s by default/web, 1 attempt, the last PDBExhausted; to lift it: scale the workload to 2, or lower minAvailable of default/web to 0
  default/b: Evicting for 0s`, restored.String())

	drain.Pods = pods[:1]
	restored = restored.Observe(termination.PlanDrain(drain, later), later)
	assert.Equal(t, 1, restored.Gone)

	_, problem = termination.ParseProgress([]byte(`{"version": 2}`))
	require.NotNil(t, problem)
	assert.Equal(t, "version", problem.Field)
}

func FuzzParseProgress(f *testing.F) {
	f.Add([]byte(`{"version":1,"started":"2026-03-15T12:00:00Z","seen":"2026-03-15T12:00:00Z","pods":[{"name":"a","tier":"critical","code":"Evicting"}],"gone":3}`)) // as written
	f.Add([]byte(`{"version":1,"pods":[{"tier":"urgent"}]}`))                                                                                                        // a tier that there isn't
	f.Fuzz(func(t *testing.T, data []byte) {
		p, problem := termination.ParseProgress(data)
		if problem != nil {
			return
		}
		_ = p.String()
		again, err := json.Marshal(p)
		require.NoError(t, err)
		q, problem := termination.ParseProgress(again)
		require.Nil(t, problem)
		twice, err := json.Marshal(q)
		require.NoError(t, err)
		assert.JSONEq(t, string(again), string(twice))
	})
}
