package termination_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/node-disruption/disruption/termination"
)

// fakeAPI is an API server, a PDB controller, kubelets, a workload controller and
// a cloud, in one. Its eviction subresource keeps to the rules of the real one.
type fakeAPI struct {
	now     time.Time
	node    *corev1.Node
	claim   *termination.Claim
	pods    map[string]*corev1.Pod
	pdbs    []*policyv1.PodDisruptionBudget
	volumes int // attachments that are left

	instance     termination.InstanceState
	instanceEnds time.Time // when the cloud no longer finds it

	recovery              time.Duration        // until a replacement is ready
	exits                 func() time.Duration // how long a pod takes to end, at most its grace
	ends                  map[string]time.Time // when terminating pods are gone
	replicas              map[string]int       // pods of each app that stay elsewhere, and are healthy
	returning             []time.Time          // when replacements become healthy, of app web
	terminatingNamespaces map[string]bool      // their controller deletes the pods
	lag                   time.Duration        // the PDB controller works once in so long; 0 is at once

	fail      func(call string) error // random failures
	deleteErr func() error
}

func newFakeAPI(now time.Time) *fakeAPI {
	return &fakeAPI{
		now: now, node: deletedNode(), claim: deletedClaim(), pods: map[string]*corev1.Pod{}, instance: termination.InstanceExists,
		ends: map[string]time.Time{}, replicas: map[string]int{}, exits: func() time.Duration { return 0 },
		fail: func(string) error { return nil }, deleteErr: func() error { return nil }, terminatingNamespaces: map[string]bool{},
	}
}

func (f *fakeAPI) runner() *termination.Runner {
	return &termination.Runner{Pods: f, Evictor: f, Cloud: f, Nodes: f, Claims: f}
}

func (f *fakeAPI) podList() []*corev1.Pod {
	var list []*corev1.Pod
	for _, key := range slices.Sorted(maps.Keys(f.pods)) {
		list = append(list, f.pods[key])
	}
	return list
}

// find is the pod by that name, with the UID that the caller means.
func (f *fakeAPI) find(namespace, name string, uid *types.UID) (*corev1.Pod, error) {
	pod, ok := f.pods[namespace+"/"+name]
	if !ok {
		return nil, apierrors.NewNotFound(podResource, name)
	}
	if uid == nil || *uid != pod.UID {
		return nil, apierrors.NewConflict(podResource, name, fmt.Errorf("the UID in the precondition is not the pod's"))
	}
	return pod, nil
}

func (f *fakeAPI) Evict(_ context.Context, e *policyv1.Eviction) error {
	if err := f.fail("evict"); err != nil {
		return err
	}
	pod, err := f.find(e.Namespace, e.Name, e.DeleteOptions.Preconditions.UID)
	if err != nil {
		return err
	}
	if f.terminatingNamespaces[e.Namespace] {
		return statusError(403, metav1.StatusReasonForbidden, "the namespace is terminating", corev1.NamespaceTerminatingCause)
	}
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		f.terminate(pod, 30*time.Second)
		return nil
	}
	var matching []*policyv1.PodDisruptionBudget
	for _, pdb := range f.pdbs {
		if s, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector); err == nil && pdb.Namespace == pod.Namespace && s.Matches(labelSet(pod.Labels)) {
			matching = append(matching, pdb)
		}
	}
	if len(matching) > 1 {
		return apierrors.NewInternalError(fmt.Errorf("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."))
	}
	if len(matching) == 1 {
		if err := f.check(matching[0], pod); err != nil {
			return err
		}
	}
	g := int64(30)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		g = *pod.Spec.TerminationGracePeriodSeconds
	}
	f.terminate(pod, time.Duration(g)*time.Second)
	return nil
}

// check is the eviction API's look at the one PDB; it charges it.
func (f *fakeAPI) check(pdb *policyv1.PodDisruptionBudget, pod *corev1.Pod) error {
	s := &pdb.Status
	if pod.Status.Conditions[0].Status != corev1.ConditionTrue {
		always := pdb.Spec.UnhealthyPodEvictionPolicy != nil && *pdb.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		if always || s.CurrentHealthy >= s.DesiredHealthy && s.DesiredHealthy > 0 {
			return nil
		}
	}
	if s.ObservedGeneration < pdb.Generation {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget is still being processed by the server."})
		return err
	}
	if s.DisruptionsAllowed < 0 || len(s.DisruptedPods) > 2000 {
		return apierrors.NewForbidden(podResource, pod.Name, fmt.Errorf("pdb disruptions allowed is negative"))
	}
	if s.DisruptionsAllowed == 0 {
		return statusError(429, metav1.StatusReasonTooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.", policyv1.DisruptionBudgetCause)
	}
	s.DisruptionsAllowed--
	if s.DisruptedPods == nil {
		s.DisruptedPods = map[string]metav1.Time{}
	}
	s.DisruptedPods[pod.Name] = metav1.NewTime(f.now)
	return nil
}

func (f *fakeAPI) DeletePod(_ context.Context, pod *corev1.Pod, opts metav1.DeleteOptions) error {
	if err := f.fail("delete"); err != nil {
		return err
	}
	if err := f.deleteErr(); err != nil {
		return err
	}
	found, err := f.find(pod.Namespace, pod.Name, opts.Preconditions.UID)
	if err != nil {
		return err
	}
	if *opts.GracePeriodSeconds < 1 {
		panic("a grace of zero removes the object before the containers have stopped")
	}
	f.terminate(found, time.Duration(*opts.GracePeriodSeconds)*time.Second)
	return nil
}

// terminate marks the pod, whose containers take their time, at most its grace.
func (f *fakeAPI) terminate(pod *corev1.Pod, grace time.Duration) {
	key := pod.Namespace + "/" + pod.Name
	until := f.now.Add(grace)
	if pod.DeletionTimestamp != nil && !until.Before(pod.DeletionTimestamp.Time) {
		return
	}
	marked := pod.DeepCopy()
	marked.DeletionTimestamp = &metav1.Time{Time: until}
	f.pods[key] = marked
	end := f.now.Add(min(grace, f.exits()))
	if old, ok := f.ends[key]; !ok || end.Before(old) {
		f.ends[key] = end
	}
}

// tick moves the clock and lets kubelets, controllers and the cloud work.
func (f *fakeAPI) tick(d time.Duration) {
	f.now = f.now.Add(d)
	for key, end := range f.ends {
		if f.now.Before(end) {
			continue
		}
		if f.pods[key].Labels["app"] == "web" {
			f.returning = append(f.returning, f.now.Add(f.recovery))
		}
		delete(f.pods, key)
		delete(f.ends, key)
	}
	f.returning = slices.DeleteFunc(f.returning, func(t time.Time) bool {
		if f.now.Before(t) {
			return false
		}
		f.replicas["web"]++
		return true
	})
	if len(f.pods) == 0 && f.volumes > 0 {
		f.volumes--
	}
	for _, pod := range f.podList() {
		if f.terminatingNamespaces[pod.Namespace] {
			f.terminate(pod, 30*time.Second)
		}
	}
	if f.lag == 0 || f.now.Sub(noon)%f.lag == 0 {
		f.syncPDBs()
	}
}

// syncPDBs does what the PDB controller does, for pods of the one app.
func (f *fakeAPI) syncPDBs() {
	for _, pdb := range f.pdbs {
		healthy, expected := f.replicas["web"], f.replicas["web"]+len(f.returning)
		for _, pod := range f.pods {
			if pod.Labels["app"] == "web" {
				expected++
				_, granted := pdb.Status.DisruptedPods[pod.Name]
				if pod.DeletionTimestamp != nil {
					delete(pdb.Status.DisruptedPods, pod.Name) // seen
				} else if !granted && pod.Status.Conditions[0].Status == corev1.ConditionTrue {
					healthy++
				}
			}
		}
		desired := 0
		switch {
		case pdb.Spec.MaxUnavailable != nil:
			n, _ := intstr.GetScaledValueFromIntOrPercent(pdb.Spec.MaxUnavailable, expected, true)
			desired = max(0, expected-n)
		case pdb.Spec.MinAvailable != nil:
			desired, _ = intstr.GetScaledValueFromIntOrPercent(pdb.Spec.MinAvailable, expected, true)
		}
		pdb.Status.CurrentHealthy, pdb.Status.DesiredHealthy, pdb.Status.ExpectedPods = int32(healthy), int32(desired), int32(expected)
		pdb.Status.DisruptionsAllowed = int32(max(0, healthy-desired))
		pdb.Status.ObservedGeneration = pdb.Generation
	}
}

func (f *fakeAPI) InstanceState(context.Context, string) (termination.InstanceState, error) {
	if err := f.fail("get instance"); err != nil {
		return termination.InstanceUnknown, err
	}
	if !f.instanceEnds.IsZero() && !f.now.Before(f.instanceEnds) {
		f.instance = termination.InstanceGone
	}
	return f.instance, nil
}

func (f *fakeAPI) DeleteInstance(ctx context.Context, id string) (termination.InstanceState, error) {
	if err := f.fail("delete instance"); err != nil {
		return termination.InstanceUnknown, err
	}
	if f.instanceEnds.IsZero() {
		f.instanceEnds = f.now.Add(20 * time.Second)
	}
	return f.InstanceState(ctx, id)
}

func (f *fakeAPI) PatchNode(_ context.Context, _, to *corev1.Node) error {
	if err := f.fail("patch node"); err != nil {
		return err
	}
	f.node = to
	return nil
}

func (f *fakeAPI) DeleteNode(context.Context, *corev1.Node) error {
	if err := f.fail("delete node"); err != nil {
		return err
	}
	f.node = f.node.DeepCopy()
	f.node.DeletionTimestamp = &metav1.Time{Time: f.now}
	return nil
}

func (f *fakeAPI) PatchClaim(_ context.Context, _, to *termination.Claim) error {
	if err := f.fail("patch claim"); err != nil {
		return err
	}
	f.claim = to
	return nil
}

func (f *fakeAPI) DeleteClaim(context.Context, *termination.Claim) error {
	if err := f.fail("delete claim"); err != nil {
		return err
	}
	claim := *f.claim
	claim.DeletionTimestamp = &metav1.Time{Time: f.now}
	f.claim = &claim
	return nil
}
