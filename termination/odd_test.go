package termination_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/node-disruption/disruption/termination"
)

// Nils in lists, and structs with nothing in them, are passed over everywhere.
func TestNothingPanicsOnNothing(t *testing.T) {
	hour := time.Hour
	deadline := noon.Add(hour)
	pods := []*corev1.Pod{nil, podOf("a", web), nil}
	limits, errs := termination.CompileLimits([]*policyv1.PodDisruptionBudget{nil}, termination.LimitsOptions{SkipInvalid: true})
	require.Len(t, errs, 1)
	assert.Equal(t, "podDisruptionBudgets[0]", errs[0].Field)
	assert.True(t, limits.CanEvict(noon, pods...).Allowed)
	ledger, _ := termination.CompileLedger(nil, pods, termination.LedgerOptions{FromSpec: true})
	assert.True(t, ledger.Take(pods...).Allowed)
	ledger.Return(pods...)
	_, known := ledger.Left(keyOf("default", "web"))
	assert.False(t, known)

	for _, d := range []termination.Drain{{Pods: pods}, {Pods: pods, Deadline: &deadline, Limits: limits}, {Pods: pods, Deadline: &deadline, Ledger: ledger}} {
		assert.Len(t, termination.PlanDrain(d, noon).Waiting, 1)
	}
	assert.True(t, termination.PlanDrain(termination.Drain{}, time.Time{}).Done())
	assert.Len(t, termination.ScheduleOf(pods, noon, hour, nil).Deletions, 1)
	assert.Len(t, termination.ForecastDrain([]termination.DrainNode{{Pods: pods, GracePeriod: &hour}, {}}, noon, termination.ForecastOptions{}).Nodes, 2)
	assert.Len(t, termination.PlanWaves(nil, []termination.NodePods{{Pods: pods}}, nil, 0, noon).Rounds, 1)
	assert.Empty(t, termination.PlanWaves(nil, nil, nil, 0, noon).Rounds)
	assert.Empty(t, termination.Lint(termination.Settings{Pods: pods, ExpireAfter: &hour}, noon))
	assert.Empty(t, termination.BlockingAttachments(termination.Volumes{Pods: pods, Attachments: []*storagev1.VolumeAttachment{nil}}, noon))

	assert.Equal(t, termination.StageNone, termination.Next(termination.NodeState{}, noon).Stage)
	assert.Equal(t, termination.StageNone, termination.NextClaim(termination.ClaimState{}, noon).Stage)
	node := deletedNode(tainted)
	assert.Equal(t, termination.StageDone, termination.Next(termination.NodeState{Node: node, NodeClaims: []*termination.Claim{nil}, Pods: []*corev1.Pod{nil}}, noon).Stage)
	assert.Empty(t, termination.PlanExpirations([]*termination.Claim{nil, {}}, noon, termination.ExpiryOptions{}))
	assert.Empty(t, termination.ExpirySpread([]*termination.Claim{nil}, noon, -1))
	assert.Equal(t, termination.Certain, termination.Forecast{}.By(noon).Certainty)
	assert.Equal(t, "tier 7", termination.Tier(7).String())
	assert.NotEmpty(t, termination.Progress{Pods: []termination.PodProgress{{Tier: -1}}}.String())
}

// Held by another PDB than before, a pod waits for something else.
func TestSinceWhenAPodWaitsForAnotherPDB(t *testing.T) {
	plan := func(pdb string) termination.DrainPlan {
		return termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{podOf("a", web)}, Ledger: ledgerOf(t, pdbOf(pdb, web, 0))}, noon)
	}
	later := noon.Add(time.Minute)
	progress := termination.Progress{}.Observe(plan("x"), noon)
	assert.Equal(t, noon, progress.Observe(plan("x"), later).Pods[0].Since)
	assert.Equal(t, later, progress.Observe(plan("y"), later).Pods[0].Since)
}

// Pods of a manifest have no UID; they are told apart all the same.
func TestProgressOfPodsWithoutUID(t *testing.T) {
	noUID := func(p *corev1.Pod) { p.UID = "" }
	a, b := podOf("a", nil, noUID), podOf("b", nil, noUID, doNotDisrupt("true"))
	progress := termination.Progress{}.Observe(termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{a, b}}, noon), noon)
	progress = progress.Record([]termination.Attempt{{Pod: a, Outcome: termination.Blocked, Code: termination.TooManyRequests}})
	later := noon.Add(time.Minute)
	progress = progress.Observe(termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{b}}, later), later)
	assert.Equal(t, "1 pod gone, 1 to go since 2026-03-15T12:00:00Z\n  default/b: DoNotDisrupt for 1m0s; to lift it: remove the do-not-disrupt annotation", progress.String())
}
