package conformance

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

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

func replayDrain(f *File, c *Case) string { return notBuilt }

func replayVolumes(f *File, c *Case) string { return notBuilt }

func replayExpiration(f *File, c *Case) string { return notBuilt }
