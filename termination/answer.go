package termination

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Outcome is what an attempt to evict or delete a pod came to.
type Outcome string

const (
	// Accepted: the API took it; the pod is terminating.
	Accepted Outcome = "Accepted"
	// AlreadyGone: the pod isn't there any more, or another has its name.
	AlreadyGone Outcome = "AlreadyGone"
	// Blocked: refused for now; the next step tries again.
	Blocked Outcome = "Blocked"
	// Failed: refused for a reason that waiting may not cure. The next step tries
	// again all the same, but the error is the caller's to look at.
	Failed Outcome = "Failed"
)

// Codes of refusals, beside those of PDBs.
const (
	// TooManyRequests: status 429 that no PDB is the cause of: the API server is
	// busy, or a webhook means to move the pod in its own way.
	TooManyRequests Code = "TooManyRequests"
	// DeniedByWebhook: an admission webhook refused, with a status other than 429.
	DeniedByWebhook Code = "DeniedByWebhook"
	// NamespaceTerminating: evictions can't be created in a namespace that is
	// being deleted; its own deletion takes the pod.
	NamespaceTerminating Code = "NamespaceTerminating"
	// Forbidden: status 403: we may not, or the PDB's status is one that the API
	// doesn't accept.
	Forbidden Code = "Forbidden"
	// APIError: anything else, such as a timeout or no connection.
	APIError Code = "APIError"
)

// Attempt is one call to evict or delete a pod, and its answer.
type Attempt struct {
	Pod     *corev1.Pod `json:"-"`                // the caller's own
	Forced  bool        `json:"forced,omitempty"` // a deletion, not an eviction
	Outcome Outcome     `json:"outcome"`
	// Code of the refusal; "" if there was none.
	Code Code `json:"code,omitempty"`
	// RetryAfter is the API server's advice; zero if it gave none.
	RetryAfter time.Duration `json:"-"`
	// Err is what the call returned; nil if accepted.
	Err error `json:"-"`
}

// ClassifyEviction reports what the answer of the eviction API amounts to.
//
// As in Karpenter v1.14, 404 and 409 (another pod by that name) mean that it is
// done; 429, and the 500 that says the pod has more than one PDB, mean blocked.
// A namespace that is being deleted blocks too, for the answer ends with it.
// Everything else failed.
func ClassifyEviction(err error) (Outcome, Code) {
	switch {
	case err == nil:
		return Accepted, ""
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return AlreadyGone, ""
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return Blocked, NamespaceTerminating
	case apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		return Blocked, heldBy(err)
	case apierrors.IsTooManyRequests(err):
		return Blocked, TooManyRequests
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "more than one PodDisruptionBudget"):
		return Blocked, MultiplePDBs
	case strings.Contains(err.Error(), "admission webhook"):
		return Failed, DeniedByWebhook
	case apierrors.IsForbidden(err):
		return Failed, Forbidden
	}
	return Failed, APIError
}

// heldBy tells a PDB that is used up from one whose status isn't up to date.
func heldBy(err error) Code {
	if cause, _ := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); strings.Contains(cause.Message, "still being processed") {
		return PDBUnobserved
	}
	return PDBExhausted
}

// attempted is an attempt to evict with its answer.
func attempted(pod *corev1.Pod, err error) Attempt {
	a := Attempt{Pod: pod, Err: err}
	a.Outcome, a.Code = ClassifyEviction(err)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && err != nil {
		a.RetryAfter = time.Duration(seconds) * time.Second
	}
	return a
}

// forced is an attempt to delete with its answer: here only 404 means done.
func forced(pod *corev1.Pod, err error) Attempt {
	a := attempted(pod, err)
	a.Forced = true
	switch {
	case err == nil:
	case apierrors.IsNotFound(err):
		a.Outcome, a.Code = AlreadyGone, ""
	case a.Code == "" || a.Outcome == Blocked:
		a.Outcome, a.Code = Failed, APIError
	}
	return a
}
