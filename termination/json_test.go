package termination_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/termination"
)

// What plans, forecasts and reports look like to a machine.
func TestJSON(t *testing.T) {
	ledger := ledgerOf(t, pdbOf("web", web, 0, minAvailable("1"), healthOf(1, 1, 1)), pdbOf("x", nil, 1), pdbOf("y", nil, 1))
	one := ledgerOf(t, pdbOf("web", web, 0, minAvailable("1"), healthOf(1, 1, 1)))
	limits, _ := termination.CompileLimits(pdbs(pdbOf("web", web, 0)), termination.LimitsOptions{})
	pod, hour, deadline := podOf("a", web), time.Hour, noon.Add(time.Minute)
	forced := podOf("f", nil, grace(600))
	claim := deletedClaim(func(c *termination.Claim) {
		c.TerminationGracePeriod = &hour
		c.ExpireAfter = &hour
		c.Pool = "general"
	})
	claim.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
	expiring := &termination.Claim{ExpireAfter: &hour}
	expiring.Name, expiring.CreationTimestamp = "c", claim.CreationTimestamp
	forecast := termination.ForecastDrain([]termination.DrainNode{{Name: "n", Pods: []*corev1.Pod{pod}, GracePeriod: &hour}}, noon, termination.ForecastOptions{Ledger: one})
	why, _ := ledger.Structural(pod)
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"plan": {termination.PlanDrain(termination.Drain{Pods: []*corev1.Pod{podOf("e", nil), pod, forced}, Deadline: &deadline, Ledger: one}, noon), `{
			"done": false, "tier": "plain", "evict": ["default/e"], "nextChange": "2026-03-15T12:00:30.000000001Z",
			"forceDelete": [{"pod": "default/f", "grace": "1m0s"}],
			"waiting": [
				{"pod": "default/e", "tier": "plain", "code": "Evicting", "until": "2026-03-15T12:00:30.000000001Z"},
				{"pod": "default/a", "tier": "plain", "code": "PDBExhausted", "blocking": ["default/web"], "until": "2026-03-15T12:00:30.000000001Z", "lift": "scale the workload to 2, or lower minAvailable of default/web to 0"},
				{"pod": "default/f", "tier": "plain", "code": "DeadlineReached"}
			]}`},
		"permission":       {limits.CanEvict(noon, pod), `{"allowed": false, "code": "PDBExhausted", "pod": "default/a", "blocking": ["default/web"]}`},
		"a yes":            {limits.CanEvict(noon), `{"allowed": true}`},
		"answer":           {ledger.Ask(podOf("b", nil)), `{"allowed": false, "code": "MultiplePDBs", "status": 500, "pod": "default/b", "pdbs": ["default/x", "default/y"]}`},
		"structural block": {why, `{"code": "MultiplePDBs", "pdbs": ["default/web", "default/x", "default/y"], "message": "3 PDBs select the pod, and the eviction API refuses such pods whatever the PDBs allow", "fix": "delete all but one of default/web, default/x, default/y, or narrow their selectors"}`},
		"schedule": {termination.ScheduleOf([]*corev1.Pod{forced, podOf("u", nil, noGrace)}, noon, time.Minute, nil), `{
			"start": "2026-03-15T12:00:00Z", "deadline": "2026-03-15T12:01:00Z", "unbounded": ["default/u"],
			"deletions": [{"pod": "default/f", "after": "2026-03-15T12:00:00Z", "immediately": true, "grace": "1m0s", "lost": "9m0s"}]}`},
		"forecast": {forecast, `{"start": "2026-03-15T12:00:00Z", "earliest": "2026-03-15T12:59:30.000000001Z", "latest": "2026-03-15T12:59:59.000000001Z", "nodes": [{
			"name": "n", "deadline": "2026-03-15T13:00:00Z", "earliest": "2026-03-15T12:59:30.000000001Z", "latest": "2026-03-15T12:59:59.000000001Z", "pods": [{
				"pod": "default/a", "tier": "plain",
				"fast": {"told": "2026-03-15T12:59:30.000000001Z", "gone": "2026-03-15T12:59:30.000000001Z", "forced": true, "grace": "29s", "held": {"pod": "default/a", "tier": "plain", "code": "PDBExhausted", "blocking": ["default/web"], "until": "2026-03-15T12:59:30.000000001Z", "lift": "scale the workload to 2, or lower minAvailable of default/web to 0"}},
				"slow": {"told": "2026-03-15T12:59:30.000000001Z", "gone": "2026-03-15T12:59:59.000000001Z", "forced": true, "grace": "29s", "held": {"pod": "default/a", "tier": "plain", "code": "PDBExhausted", "blocking": ["default/web"], "until": "2026-03-15T12:59:30.000000001Z", "lift": "scale the workload to 2, or lower minAvailable of default/web to 0"}}
			}]}]}`},
		"feasibility": {forecast.By(noon.Add(2 * time.Hour)), `{"certainty": "Certain", "by": "2026-03-15T14:00:00Z"}`},
		"waves": {termination.PlanWaves(one, []termination.NodePods{{Name: "n", Pods: []*corev1.Pod{pod}}}, nil, time.Minute, noon), `{"rounds": null, "refills": 0, "lowerBound": "0s",
			"never": [{"node": "n", "pod": "default/a", "why": {"code": "MinAvailableTooHigh", "pdbs": ["default/web"], "health": {"current": 1, "desired": 1, "expected": 1}, "message": "default/web wants 1 of 1 pods healthy (minAvailable 1), which leaves none to go", "fix": "scale the workload to 2, or lower minAvailable of default/web to 0"}}]}`},
		"finding":      {termination.Lint(termination.Settings{TerminationGracePeriod: &hour, Pods: []*corev1.Pod{podOf("u", nil, noGrace)}}, noon)[0], `{"code": "pod-without-grace", "pod": "default/u", "message": "default/u has no terminationGracePeriodSeconds, so the deadline never forces it", "fix": "set one; the API server's default is 30"}`},
		"expiry":       {termination.ExpiryOf(claim, noon), `{"at": "2026-03-15T12:00:00Z", "goneBy": "2026-03-15T13:00:00Z"}`},
		"expiration":   {termination.PlanExpirations([]*termination.Claim{expiring}, noon, termination.ExpiryOptions{Allowed: map[string]int{}}), `[{"claim": "c", "at": "2026-03-15T12:00:00Z", "held": "BudgetExhausted"}]`},
		"spread":       {termination.ExpirySpread([]*termination.Claim{expiring}, noon, 1), `[{"start": "2026-03-15T12:00:00Z", "names": ["c"]}]`},
		"attempt":      {termination.Attempt{Pod: pod, Outcome: termination.Failed, Code: termination.APIError, RetryAfter: time.Second, Err: errors.New("busy")}, `{"pod": "default/a", "outcome": "Failed", "code": "APIError", "retryAfter": "1s", "error": "busy"}`},
		"step":         {termination.Next(termination.NodeState{Node: deletedNode(tainted), Attachments: []*storagev1.VolumeAttachment{attachment("va", "pv")}}, noon), `{"stage": "Volumes", "requeueAfter": "1s", "attached": ["va"], "drain": {"done": true, "tier": "plain"}}`},
		"invalid step": {termination.Next(termination.NodeState{Node: deletedNode(), NodeClaims: []*termination.Claim{deletedClaim(deadlineAt("soon"))}}, noon).Err.Field, `"metadata.annotations[karpenter.sh/nodeclaim-termination-timestamp]"`},
		"actions": {[]termination.Action{{Kind: termination.DeletePod, Pod: pod, Grace: time.Second}, {Kind: termination.DeleteInstance, ProviderID: "i-1"}, {Kind: termination.DeleteClaim, Claim: claim}, {Kind: termination.DeleteNode, Node: deletedNode()}}, `[
			{"kind": "DeletePod", "pod": "default/a", "grace": "1s"}, {"kind": "DeleteInstance", "providerID": "i-1"}, {"kind": "DeleteClaim", "name": "claim-1"}, {"kind": "DeleteNode", "name": "node-1"}]`},
		"claim": {termination.Claim{ObjectMeta: metav1.ObjectMeta{Name: "c"}, ExpireAfter: &hour, ProviderID: "i-1"}, `{"metadata": {"name": "c"}, "expireAfter": "1h0m0s", "providerID": "i-1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(c.value)
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(got))
		})
	}
	written, err := json.Marshal(termination.Action{Kind: termination.PatchNode, Node: deletedNode(tainted)})
	require.NoError(t, err)
	assert.Contains(t, string(written), `"taints":[{"key":"karpenter.sh/disrupted"`, "what is to be written is there whole")
}

// State comes back as it was, tiers by their names, and what is no tier is an error.
func TestStateRoundTrips(t *testing.T) {
	until := noon.Add(time.Hour)
	p := termination.Progress{Version: 1, Started: noon, Seen: noon, Gone: 2, Pods: []termination.PodProgress{{
		Namespace: "default", Name: "a", UID: "u", Tier: termination.TierCriticalDaemon, Code: termination.PDBExhausted, Since: noon, Until: &until,
		PDBs: []string{"default/web"}, Lift: "wait", Attempts: 3, Outcome: termination.Blocked, Refusal: termination.PDBExhausted,
	}}}
	data, err := json.Marshal(p)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"tier":"critical daemon"`)
	again, problem := termination.ParseProgress(data)
	require.Nil(t, problem)
	assert.Equal(t, p, again)

	_, problem = termination.ParseProgress([]byte(`{"version":1,"pods":[{"tier":"urgent"}]}`))
	require.NotNil(t, problem)
	assert.Contains(t, problem.Error(), `"urgent" is no tier: want one of plain, daemon, critical, critical daemon`)
}
