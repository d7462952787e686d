package conformance

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/termination"
)

func replayPod(_ *File, c *Case) string {
	var in struct {
		Pod          *corev1.Pod
		Now          time.Time
		NodeDeadline *time.Time
	}
	want := map[string]bool{}
	if d := decode(c.In, &in) + decode(c.Want, &want); d != "" {
		return d
	}
	rules := termination.RulesFor("")
	return diff(map[string]bool{
		"terminal":                  termination.IsTerminal(in.Pod),
		"terminating":               termination.IsTerminating(in.Pod),
		"active":                    termination.IsActive(in.Pod),
		"stuckTerminating":          termination.IsStuckTerminating(in.Pod, in.Now),
		"reschedulable":             termination.IsReschedulable(in.Pod),
		"evictable":                 rules.IsEvictable(in.Pod, in.Now),
		"drainable":                 rules.IsDrainable(in.Pod, in.Now),
		"waitingEviction":           rules.IsWaitingEviction(in.Pod, in.Now),
		"disruptable":               rules.IsDisruptable(in.Pod, in.Now),
		"doNotDisruptActive":        rules.DoNotDisrupt(in.Pod, in.Now),
		"eligibleForForcedEviction": termination.IsPastDeadline(in.Pod, in.NodeDeadline),
	}, want)
}

// evictionAnswer is what a node's pods may do under PDBs.
type evictionAnswer struct {
	Error                  bool
	CanEvict               *bool
	Blocking               []string
	CurrentlyReschedulable []bool
}

func replayPDB(_ *File, c *Case) string {
	var in struct {
		PDBs []*policyv1.PodDisruptionBudget
		Pods []*corev1.Pod
		Now  time.Time
	}
	var want, got evictionAnswer
	if d := decode(c.In, &in) + decode(c.Want, &want); d != "" {
		return d
	}
	limits, errs := termination.CompileLimits(in.PDBs, termination.LimitsOptions{})
	if len(errs) > 0 {
		got.Error = true
		return diff(got, want)
	}
	permission := limits.CanEvict(in.Now, in.Pods...)
	got.CanEvict = &permission.Allowed
	for _, name := range permission.Blocking {
		got.Blocking = append(got.Blocking, name.String())
	}
	got.CurrentlyReschedulable = []bool{}
	for _, pod := range in.Pods {
		got.CurrentlyReschedulable = append(got.CurrentlyReschedulable, limits.IsCurrentlyReschedulable(pod, in.Now))
	}
	return diff(got, want)
}

// forcedDeletion is a pod to delete with this grace.
type forcedDeletion struct {
	Name               string
	GracePeriodSeconds int64
}

// drainAnswer is what is done with a node's pods at one instant.
type drainAnswer struct {
	ForceDelete       []forcedDeletion
	EvictGroup        []string
	Waiting           int
	EvictGroupActions map[string]string
}

func replayDrain(_ *File, c *Case) string {
	var in struct {
		Pods         []*corev1.Pod
		Now          time.Time
		NodeDeadline *time.Time
	}
	var want drainAnswer
	if d := decode(c.In, &in) + decode(c.Want, &want); d != "" {
		return d
	}
	var here []*corev1.Pod
	for _, pod := range in.Pods {
		if pod.Spec.NodeName == "node-1" {
			here = append(here, pod)
		}
	}
	plan := termination.PlanDrain(termination.Drain{Pods: here, Deadline: in.NodeDeadline}, in.Now)
	got := drainAnswer{ForceDelete: []forcedDeletion{}, Waiting: len(plan.Waiting), EvictGroupActions: map[string]string{}}
	for _, f := range plan.ForceDelete {
		got.ForceDelete = append(got.ForceDelete, forcedDeletion{f.Pod.Name, int64(f.Grace / time.Second)})
	}
	for _, w := range plan.Waiting {
		if w.Tier != plan.Tier || w.Code == termination.DeadlineReached {
			continue
		}
		got.EvictGroup = append(got.EvictGroup, w.Pod.Name)
		got.EvictGroupActions[w.Pod.Name] = map[termination.Code]string{
			termination.Evicting: "evict", termination.Terminating: "drop", termination.DoNotDisrupt: "requeue",
		}[w.Code]
	}
	return diff(got, want)
}

func replayVolumes(_ *File, c *Case) string {
	var in struct {
		NodeName          string
		Pods              []*corev1.Pod
		PVCs              []*corev1.PersistentVolumeClaim
		VolumeAttachments []*storagev1.VolumeAttachment
		Now               time.Time
	}
	var want, got struct{ Blocking []string }
	if d := decode(c.In, &in) + decode(c.Want, &want); d != "" {
		return d
	}
	volumes := termination.Volumes{NodeName: in.NodeName, Pods: in.Pods, Claims: in.PVCs, Attachments: in.VolumeAttachments}
	for _, a := range termination.BlockingAttachments(volumes, in.Now) {
		got.Blocking = append(got.Blocking, a.Name)
	}
	return diff(got, want)
}

func replayExpiration(_ *File, c *Case) string {
	var in struct {
		NodeClaim struct {
			metav1.ObjectMeta `json:"metadata"`
			Spec              struct{ ExpireAfter, TerminationGracePeriod *string }
		}
		Now time.Time
	}
	var want, got struct {
		Expired   bool
		ExpiresAt *time.Time
	}
	if d := decode(c.In, &in) + decode(c.Want, &want); d != "" {
		return d
	}
	claim := &termination.Claim{ObjectMeta: in.NodeClaim.ObjectMeta}
	var errs [2]error
	claim.ExpireAfter, errs[0] = duration(in.NodeClaim.Spec.ExpireAfter)
	claim.TerminationGracePeriod, errs[1] = duration(in.NodeClaim.Spec.TerminationGracePeriod)
	if err := errors.Join(errs[:]...); err != nil {
		return err.Error()
	}
	expiry := termination.ExpiryOf(claim, in.Now)
	got.Expired, got.ExpiresAt = expiry.Due, expiry.At
	return diff(got, want)
}

// duration reads a duration that may be absent or "Never".
func duration(s *string) (*time.Duration, error) {
	if s == nil || *s == "Never" {
		return nil, nil
	}
	d, err := time.ParseDuration(*s)
	return &d, err
}
