package termination_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/termination"
)

// state is what a controller would read from the API now.
func (f *fakeAPI) state(exact bool) termination.NodeState {
	s := termination.NodeState{Node: f.node, Pods: f.podList()}
	if f.claim != nil {
		s.NodeClaims = []*termination.Claim{f.claim}
	}
	for i := range f.volumes {
		s.Attachments = append(s.Attachments, attachment(fmt.Sprint("va-", i), fmt.Sprint("pv-", i)))
	}
	if exact {
		s.Ledger, _ = termination.CompileLedger(f.pdbs, nil, termination.LedgerOptions{})
	}
	return s
}

func (f *fakeAPI) nodeGone() bool  { return len(f.node.Finalizers) == 0 }
func (f *fakeAPI) claimGone() bool { return len(f.claim.Finalizers) == 0 }

// run is the loop of a controller, a step a second, for so long at most. It
// reports when node and claim were gone.
func (f *fakeAPI) run(t require.TestingT, most time.Duration, exact bool) (gone bool, errs int) {
	runner := f.runner()
	for end := f.now.Add(most); f.now.Before(end); f.tick(time.Second) {
		if !f.nodeGone() {
			report, err := runner.Node(context.Background(), f.state(exact), f.now)
			if err != nil {
				errs++
			}
			if report.Step.Stage == termination.StageInstance {
				require.Empty(t, f.pods, "the instance must not go while pods are waited for")
			}
		}
		var nodes []*corev1.Node
		if !f.nodeGone() {
			nodes = append(nodes, f.node)
		}
		if _, err := runner.Claim(context.Background(), termination.ClaimState{Claim: f.claim, Nodes: nodes}, f.now); err != nil {
			errs++
		}
		if f.nodeGone() && f.claimGone() {
			return true, errs
		}
	}
	return false, errs
}

func TestANodeFromDeletedToGone(t *testing.T) {
	api := newFakeAPI(noon)
	api.pods["default/a"], api.pods["default/log"] = podOf("a", web), podOf("log", nil, daemon)
	api.volumes = 3
	gone, errs := api.run(t, 2*time.Minute, false)
	assert.True(t, gone)
	assert.Zero(t, errs)
	assert.Equal(t, termination.InstanceGone, api.instance)
	assert.Equal(t, "Drained True Drained; VolumesDetached True VolumesDetached; InstanceTerminating True InstanceTerminating; no finalizer", conditions(api.claim))
}

func TestABlockedPodIsTriedAgainAndAFailureReturned(t *testing.T) {
	api := newFakeAPI(noon)
	api.pods["default/a"], api.pods["default/b"] = podOf("a", web), podOf("b", nil)
	api.pdbs = []*policyv1.PodDisruptionBudget{pdbOf("web", web, 0, minAvailable("1"))}
	calls := 0
	api.fail = func(call string) error {
		if call == "evict" {
			if calls++; calls == 2 {
				return errors.New("connection refused")
			}
		}
		return nil
	}
	report, err := api.runner().Node(t.Context(), api.state(false), api.now)
	assert.ErrorContains(t, err, "default/b: APIError: connection refused")
	require.Len(t, report.Attempts, 2)
	assert.Equal(t, termination.Blocked, report.Attempts[0].Outcome)
	assert.Equal(t, termination.PDBExhausted, report.Attempts[0].Code)
	assert.Equal(t, time.Second, report.Step.RequeueAfter)

	report, err = api.runner().Node(t.Context(), api.state(false), api.now)
	require.NoError(t, err, "the next step tries again")
	assert.Equal(t, termination.Accepted, report.Attempts[1].Outcome)
}

func TestAnotherPodByTheSameNameIsLeftAlone(t *testing.T) {
	api := newFakeAPI(noon)
	api.pods["default/a"] = podOf("a", nil)
	state := api.state(false)
	api.pods["default/a"] = podOf("a", nil, func(p *corev1.Pod) { p.UID = "successor" })
	report, err := api.runner().Node(t.Context(), state, api.now)
	require.NoError(t, err)
	assert.Equal(t, termination.AlreadyGone, report.Attempts[0].Outcome)
	assert.Nil(t, api.pods["default/a"].DeletionTimestamp)
}

// Each way in which the API can refuse an eviction: what becomes of the pod at
// once, whether that is an error, and when the pod is gone in the end, if nobody
// changes anything but the controllers.
func TestEachRefusalIsTriedAgainOrReported(t *testing.T) {
	other := pdbOf("other", nil, 5, minAvailable("0"))
	for _, c := range []struct {
		name    string
		edit    func(*fakeAPI)
		outcome termination.Outcome
		code    termination.Code
		retry   time.Duration
		fails   bool
		exact   termination.Code // what the exact plan says in place of trying
		ends    bool             // without a deadline
	}{
		{"404: gone meanwhile", func(f *fakeAPI) { f.fail = func(string) error { delete(f.pods, "default/a"); return nil } }, termination.AlreadyGone, "", 0, false, termination.Evicting, true},
		{"409: another pod by that name", func(f *fakeAPI) { f.pods["default/a"].UID = "successor" }, termination.AlreadyGone, "", 0, false, termination.Evicting, true},
		{"429: no allowance until a replacement is healthy", func(f *fakeAPI) {
			f.replicas["web"] = 0
			f.returning = []time.Time{noon.Add(20 * time.Second)}
			f.syncPDBs()
		}, termination.Blocked, termination.PDBExhausted, 0, false, termination.PDBExhausted, true},
		{"429: the PDB controller is late", func(f *fakeAPI) { f.pdbs[0].Generation++; f.lag = 30 * time.Second }, termination.Blocked, termination.PDBUnobserved, 10 * time.Second, false, termination.PDBUnobserved, true},
		{"429: of a webhook for a while", func(f *fakeAPI) {
			f.fail = func(call string) error {
				if call == "evict" && f.now.Before(noon.Add(10*time.Second)) {
					return statusError(429, metav1.StatusReasonTooManyRequests, `admission webhook "virt" denied the request: migrating`)
				}
				return nil
			}
		}, termination.Blocked, termination.TooManyRequests, 0, false, termination.Evicting, true},
		{"500: two PDBs never resolve", func(f *fakeAPI) { f.pdbs = append(f.pdbs, other) }, termination.Blocked, termination.MultiplePDBs, 0, false, termination.MultiplePDBs, false},
		{"403: the PDB's status is broken until its controller comes", func(f *fakeAPI) { f.pdbs[0].Status.DisruptionsAllowed = -1; f.lag = 30 * time.Second }, termination.Failed, termination.Forbidden, 0, true, termination.PDBRefuses, true},
		{"403: we may not evict", func(f *fakeAPI) {
			f.fail = func(call string) error {
				if call == "evict" {
					return statusError(403, metav1.StatusReasonForbidden, "cannot create resource pods/eviction")
				}
				return nil
			}
		}, termination.Failed, termination.Forbidden, 0, true, termination.Evicting, false},
		{"403: the namespace is terminating, and takes the pod itself", func(f *fakeAPI) { f.terminatingNamespaces["default"] = true }, termination.Blocked, termination.NamespaceTerminating, 0, false, termination.Evicting, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func() *fakeAPI {
				api := newFakeAPI(noon)
				api.pods["default/a"] = podOf("a", web, ready("True"))
				api.replicas["web"] = 1
				api.pdbs = []*policyv1.PodDisruptionBudget{pdbOf("web", web, 0, minAvailable("1"))}
				api.syncPDBs()
				return api
			}
			api := start()
			before := api.state(false)
			before.Pods = []*corev1.Pod{podOf("a", web)} // as the caller's cache has it
			c.edit(api)
			report, err := api.runner().Node(t.Context(), before, api.now)
			require.Len(t, report.Attempts, 1)
			assert.Equal(t, c.outcome, report.Attempts[0].Outcome)
			assert.Equal(t, c.code, report.Attempts[0].Code)
			assert.Equal(t, c.retry, report.Attempts[0].RetryAfter)
			assert.Equal(t, c.fails, err != nil)
			assert.Equal(t, time.Second, report.Step.RequeueAfter, "the next step comes whatever the answer")

			api = start()
			c.edit(api)
			exact := api.state(true)
			exact.Pods = []*corev1.Pod{podOf("a", web)}
			assert.Equal(t, c.exact, termination.Next(exact, api.now).Drain.Waiting[0].Code)

			for _, mode := range []bool{false, true} {
				api = start()
				c.edit(api)
				gone, _ := api.run(t, 3*time.Minute, mode)
				assert.Equal(t, c.ends, gone, "exact %v", mode)

				api = start()
				minute := time.Minute
				api.claim.TerminationGracePeriod = &minute
				c.edit(api)
				gone, _ = api.run(t, 3*time.Minute, mode)
				assert.True(t, gone, "a deadline ends it, exact %v", mode)
			}
		})
	}
}

// A node that isn't Ready is asked for in the cloud, and the answer acted upon in
// the same call.
func TestTheProbeOfANodeThatIsNotReady(t *testing.T) {
	for _, c := range []struct {
		instance termination.InstanceState
		stage    termination.Stage
		fails    string
	}{
		{termination.InstanceGone, termination.StageDone, ""},
		{termination.InstanceExists, termination.StageDrain, ""},
		{termination.InstanceUnknown, termination.StageProbe, "GetInstance: the cloud gave no answer"},
	} {
		api := newFakeAPI(noon)
		api.node, api.instance = deletedNode(notReady), c.instance
		api.pods["default/a"] = podOf("a", nil)
		report, err := api.runner().Node(t.Context(), api.state(false), api.now)
		assert.Equal(t, c.stage, report.Step.Stage)
		assert.Equal(t, c.stage == termination.StageDone, api.nodeGone())
		if c.fails == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, c.fails)
		}
	}
}

func TestADeadlineThatCannotBeReadIsReturned(t *testing.T) {
	api := newFakeAPI(noon)
	deadlineAt("soon")(api.claim)
	report, err := api.runner().Node(t.Context(), api.state(false), api.now)
	assert.Equal(t, termination.StageInvalid, report.Step.Stage)
	assert.ErrorContains(t, err, "metadata.annotations[karpenter.sh/nodeclaim-termination-timestamp]")
}

// The claim is deleted once, and the conditions written after it keep that.
func TestTheClaimIsDeletedWithItsNode(t *testing.T) {
	api := newFakeAPI(noon)
	api.claim.DeletionTimestamp = nil
	api.pods["default/a"] = podOf("a", nil)
	report, err := api.runner().Node(t.Context(), api.state(false), api.now)
	require.NoError(t, err)
	assert.Equal(t, termination.DeleteClaim, report.Step.Actions[0].Kind)
	require.NotNil(t, api.claim.DeletionTimestamp, "deleted, and not revived by what is written next")
	assert.Equal(t, "Drained Unknown Draining", conditions(api.claim))
}

func TestACancelledContextEndsTheStep(t *testing.T) {
	api := newFakeAPI(noon)
	api.pods["default/a"] = podOf("a", nil)
	ctx, cancel := context.WithCancel(t.Context())
	api.fail = func(string) error { cancel(); return nil }
	report, err := api.runner().Node(ctx, api.state(false), api.now)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, report.Attempts)
}

// A drain that can end ends, whatever fails on the way: pods under a PDB with
// room at its best are all evicted in the end, in either mode, though each call
// of the API may fail, pods take their grace, and replacements their time. A
// drain that can't end by evictions ends at its deadline.
func TestEveryDrainThatCanEndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		api := newFakeAPI(noon)
		pods := rapid.IntRange(0, 6).Draw(t, "pods")
		for i := range pods {
			pod := podOf(fmt.Sprint("p", i), map[string]string{"app": rapid.SampledFrom([]string{"web", "web", "other"}).Draw(t, "app")}, grace(rapid.Int64Range(0, 40).Draw(t, "grace")))
			for _, edit := range []func(*corev1.Pod){daemon, critical, ready("False"), phase(corev1.PodPending), doNotDisrupt("20s")} {
				if rapid.IntRange(0, 4).Draw(t, "edit") == 0 {
					edit(pod)
				}
			}
			pod.Status.StartTime = &metav1.Time{Time: noon}
			api.pods["default/"+pod.Name] = pod
		}
		api.replicas["web"] = rapid.IntRange(1, 3).Draw(t, "replicas elsewhere")
		api.volumes = rapid.IntRange(0, 2).Draw(t, "volumes")
		api.recovery = time.Duration(rapid.IntRange(0, 15).Draw(t, "recovery")) * time.Second
		exits := rapid.IntRange(0, 60)
		api.exits = func() time.Duration { return time.Duration(exits.Draw(t, "exit")) * time.Second }
		failing := rapid.IntRange(0, 3)
		api.fail = func(call string) error {
			if failing.Draw(t, "fails") == 0 {
				return statusError(504, metav1.StatusReasonTimeout, call+": the API server is busy")
			}
			return nil
		}
		bounded := rapid.Bool().Draw(t, "has a grace period")
		spec := rapid.SampledFrom([]func(*policyv1.PodDisruptionBudget){maxUnavailable("1"), maxUnavailable("30%"), minAvailable("1"), minAvailable("50%")}).Draw(t, "spec")
		if bounded {
			// Then even what can never be evicted must go.
			hour := 3 * time.Minute
			api.claim.TerminationGracePeriod = &hour
			spec = rapid.SampledFrom([]func(*policyv1.PodDisruptionBudget){maxUnavailable("0"), minAvailable("100%"), maxUnavailable("1")}).Draw(t, "blocking spec")
		}
		// Unhealthy pods may hold a PDB for ever; only a deadline ends that.
		if !bounded {
			for _, pod := range api.pods {
				ready("True")(pod)
			}
		}
		api.pdbs = []*policyv1.PodDisruptionBudget{pdbOf("web", web, 0, spec)}
		api.lag = time.Duration(rapid.IntRange(0, 7).Draw(t, "lag of the PDB controller")) * time.Second
		api.syncPDBs()
		gone, _ := api.run(t, 30*time.Minute, rapid.Bool().Draw(t, "exact"))
		assert.True(t, gone, "node and claim are gone after %s, with %d pods left", api.now.Sub(noon), len(api.pods))
		if bounded {
			assert.False(t, len(api.pods) > 0)
		}
	})
}

// What really happens lies within the forecast: pods that take a random part of
// their grace, under a PDB that lets one go at a time, are gone no earlier than
// the earliest end, and no later than the latest, but for the seconds between the
// steps of the loop.
func TestADrainEndsWithinItsForecast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		api := newFakeAPI(noon)
		for i := range rapid.IntRange(1, 6).Draw(t, "pods") {
			pod := podOf(fmt.Sprint("p", i), map[string]string{"app": rapid.SampledFrom([]string{"web", "other"}).Draw(t, "app")}, grace(rapid.Int64Range(1, 60).Draw(t, "grace")))
			for _, edit := range []func(*corev1.Pod){critical, doNotDisrupt("30s")} {
				if rapid.IntRange(0, 3).Draw(t, "edit") == 0 {
					edit(pod)
				}
			}
			pod.Status.StartTime = &metav1.Time{Time: noon}
			api.pods["default/"+pod.Name] = pod
		}
		api.recovery = time.Duration(rapid.IntRange(1, 30).Draw(t, "recovery")) * time.Second
		exits := rapid.IntRange(0, 60)
		api.exits = func() time.Duration { return time.Duration(exits.Draw(t, "exit")) * time.Second }
		api.replicas["web"] = 2
		api.pdbs = []*policyv1.PodDisruptionBudget{pdbOf("web", web, 0, maxUnavailable("1"))}
		api.syncPDBs()

		pods := len(api.pods)
		forecast := termination.ForecastDrain([]termination.DrainNode{{Name: "node-1", Pods: api.podList()}}, noon, termination.ForecastOptions{
			Ledger: api.state(true).Ledger, Recovery: api.recovery,
		})
		require.NotNil(t, forecast.Latest)
		for runner := api.runner(); len(api.pods) > 0 && api.now.Before(noon.Add(time.Hour)); api.tick(time.Second) {
			_, err := runner.Node(context.Background(), api.state(true), api.now)
			require.NoError(t, err)
		}
		end := api.now
		if least := noon.Add(5 * time.Second); end.Before(least) {
			end = least
		}
		slack := time.Duration(2*pods+2) * time.Second
		assert.False(t, end.Before(*forecast.Earliest), "%s before %s", end.Sub(noon), forecast.Earliest.Sub(noon))
		assert.False(t, end.After(forecast.Latest.Add(slack)), "%s after %s", end.Sub(noon), forecast.Latest.Sub(noon))
	})
}
