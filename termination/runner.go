package termination

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Evictor calls the eviction API. The eviction carries the pod's UID as
// precondition.
type Evictor interface {
	Evict(ctx context.Context, eviction *policyv1.Eviction) error
}

// PodDeleter deletes a pod. The options carry the grace period and, as
// precondition, the pod's UID.
type PodDeleter interface {
	DeletePod(ctx context.Context, pod *corev1.Pod, opts metav1.DeleteOptions) error
}

// Cloud knows instances by their provider ID.
type Cloud interface {
	// InstanceState reports whether the instance exists.
	InstanceState(ctx context.Context, providerID string) (InstanceState, error)
	// DeleteInstance tells the cloud to delete it, again if need be, and reports
	// whether there still was something to delete.
	DeleteInstance(ctx context.Context, providerID string) (InstanceState, error)
}

// NodeWriter writes nodes. A node that isn't found is no error.
type NodeWriter interface {
	PatchNode(ctx context.Context, from, to *corev1.Node) error
	DeleteNode(ctx context.Context, node *corev1.Node) error
}

// ClaimWriter writes node claims, with their conditions. A claim that isn't
// found is no error.
type ClaimWriter interface {
	PatchClaim(ctx context.Context, from, to *Claim) error
	DeleteClaim(ctx context.Context, claim *Claim) error
}

// Runner takes the actions of a step, one after the other, and is all in this
// package that acts. It keeps nothing between calls and retries nothing: the
// next step will say what is still to be done.
type Runner struct {
	Pods    PodDeleter
	Evictor Evictor
	Cloud   Cloud
	Nodes   NodeWriter
	Claims  ClaimWriter
}

// Report is what one call of a Runner did.
type Report struct {
	// Step is the last one taken; it tells when to come back.
	Step Step `json:"step"`
	// Attempts on pods, in the order they were made.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// Node takes the next step of a node. The error joins those of the actions that
// failed. A pod that can't be evicted doesn't keep the others from it; any other
// failure, and an end of ctx, ends the step there.
func (r *Runner) Node(ctx context.Context, s NodeState, now time.Time) (Report, error) {
	o := objects{node: s.Node}
	if len(s.NodeClaims) == 1 {
		o.claim = s.NodeClaims[0]
	}
	return r.run(ctx, o, now, func(o objects, instance InstanceState) Step {
		s.Node, s.Instance = o.node, max(s.Instance, instance)
		if o.claim != nil {
			s.NodeClaims = []*Claim{o.claim}
		}
		return Next(s, now)
	})
}

// Claim takes the next step of a claim, as Node does of a node.
func (r *Runner) Claim(ctx context.Context, s ClaimState, now time.Time) (Report, error) {
	return r.run(ctx, objects{claim: s.Claim}, now, func(o objects, instance InstanceState) Step {
		s.Claim, s.Instance = o.claim, max(s.Instance, instance)
		return NextClaim(s, now)
	})
}

// objects are a node and its claim as they are after what has been written.
type objects struct {
	node  *corev1.Node
	claim *Claim
}

// maxRounds bounds how often one call asks for a step: at first, with the answer
// to the probe, and with the answer to the deletion.
const maxRounds = 3

func (r *Runner) run(ctx context.Context, o objects, now time.Time, next func(objects, InstanceState) Step) (Report, error) {
	e := execution{Runner: r, ctx: ctx, now: now, objects: o}
	for range maxRounds {
		known := e.instance
		e.report.Step = next(e.objects, known)
		if err := e.act(); err != nil {
			return e.report, errors.Join(append(e.errs, err)...)
		}
		if !e.asksAgain(known) {
			break
		}
	}
	if err := e.report.Step.Err; err != nil {
		e.errs = append(e.errs, err)
	}
	return e.report, errors.Join(e.errs...)
}

// execution is one call of a Runner under way.
type execution struct {
	*Runner
	ctx      context.Context
	now      time.Time
	objects  objects
	instance InstanceState
	report   Report
	errs     []error
}

// asksAgain reports whether the cloud has just said something that the step
// didn't know.
func (e *execution) asksAgain(known InstanceState) bool {
	switch e.report.Step.Stage {
	case StageProbe:
		return true
	case StageInstance:
		return e.instance == InstanceGone && known != InstanceGone
	}
	return false
}

// act takes the actions of the current step.
func (e *execution) act() error {
	for _, action := range e.report.Step.Actions {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		if err := e.take(action); err != nil {
			return fmt.Errorf("%s: %w", action.Kind, err)
		}
	}
	return nil
}

func (e *execution) take(a Action) (err error) {
	switch a.Kind {
	case EvictPod:
		e.attempt(attempted(a.Pod, e.Evictor.Evict(e.ctx, evictionOf(a.Pod))))
	case DeletePod:
		e.attempt(forced(a.Pod, e.Pods.DeletePod(e.ctx, a.Pod, deleteOptions(a.Pod, a.Grace))))
	case GetInstance:
		e.instance, err = e.Cloud.InstanceState(e.ctx, a.ProviderID)
		if err == nil && e.instance == InstanceUnknown {
			err = errors.New("the cloud gave no answer")
		}
	case DeleteInstance:
		e.instance, err = e.Cloud.DeleteInstance(e.ctx, a.ProviderID)
	case PatchNode:
		err = e.Nodes.PatchNode(e.ctx, e.objects.node, a.Node)
		e.objects.node = a.Node
	case DeleteNode:
		err = e.Nodes.DeleteNode(e.ctx, a.Node)
	case PatchClaim:
		err = e.Claims.PatchClaim(e.ctx, e.objects.claim, a.Claim)
		e.objects.claim = a.Claim
	case DeleteClaim:
		err = e.Claims.DeleteClaim(e.ctx, a.Claim)
		e.objects.claim = a.Claim.deleted(e.now)
	}
	return err
}

// attempt notes an answer; a failure is an error of the call, but doesn't end it.
func (e *execution) attempt(a Attempt) {
	e.report.Attempts = append(e.report.Attempts, a)
	if a.Outcome == Failed {
		e.errs = append(e.errs, fmt.Errorf("%s/%s: %s: %w", a.Pod.Namespace, a.Pod.Name, a.Code, a.Err))
	}
}

func evictionOf(pod *corev1.Pod) *policyv1.Eviction {
	return &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	}
}

func deleteOptions(pod *corev1.Pod, grace time.Duration) metav1.DeleteOptions {
	seconds := int64(grace / time.Second)
	return metav1.DeleteOptions{GracePeriodSeconds: &seconds, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
}
