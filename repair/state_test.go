package repair

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStormLastsUntilItHasBeenCalm(t *testing.T) {
	o := aws()
	o.Storm = Storm{Clear: "1", Cooldown: 10 * time.Minute}
	p := Propose(fleet(10, 3), o, State{}, noon)
	assert.Equal(t, CodeHeldByBreaker, p.Findings[0].Code)

	state := reload(t, p.State)
	p = Propose(fleet(10, 2), o, state, minutes(5))
	assert.Equal(t, CodeHeldByStorm, p.Findings[0].Code, "the breaker allows two, but the storm is clear at one")
	assert.Equal(t, minutes(10), *p.Findings[0].Until)

	p = Propose(fleet(10, 1), o, reload(t, p.State), minutes(10))
	assert.Equal(t, CodeHeldByStorm, p.Findings[0].Code)
	assert.Equal(t, minutes(20), *p.Findings[0].Until, "calm from now on, for ten minutes")
	calm := reload(t, p.State)

	p = Propose(fleet(10, 2), o, calm, minutes(15))
	assert.Equal(t, CodeHeldByStorm, p.Findings[0].Code)
	p = Propose(fleet(10, 1), o, reload(t, p.State), minutes(20))
	assert.Equal(t, minutes(30), *p.Findings[0].Until, "a gust starts the calm anew")

	p = Propose(fleet(10, 1), o, calm, minutes(20))
	assert.Equal(t, CodeRepair, p.Findings[0].Code)
	assert.Empty(t, p.State.Storms)
	assert.Equal(t, CodeRepair, Propose(fleet(10, 2), o, p.State, minutes(21)).Findings[0].Code)
}

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// reload sends a state through JSON, as a controller that restarts does.
func reload(t *testing.T, s State) State {
	t.Helper()
	data, err := json.Marshal(s)
	require.NoError(t, err)
	var back State
	require.NoError(t, json.Unmarshal(data, &back))
	return back
}

func rebootTwice() *Options {
	return &Options{Settings: Settings{Policies: []Policy{{
		Type: "Ready", Status: "False", Toleration: 30 * time.Minute,
		Ladder: []Step{
			{Remedy: Reboot, Timeout: 20 * time.Minute, Limit: 2, Per: 24 * time.Hour},
			{Remedy: External, Name: "vendor", Timeout: time.Hour},
			{Remedy: Replace},
		},
	}}}}
}

func TestALadderIsClimbedStepByStep(t *testing.T) {
	o, nodes := rebootTwice(), fleet(9, 1)
	var state State
	steps := []struct {
		at     int
		code   Code
		remedy Remedy
		until  int
	}{
		{0, CodeRepair, Reboot, 20},
		{1, CodeInProgress, "", 20},
		{20, CodeRepair, Reboot, 40},
		{40, CodeRepair, External, 100},
		{99, CodeInProgress, "", 100},
		{100, CodeRepair, Replace, 0},
	}
	for _, step := range steps {
		p := Propose(nodes, o, state, minutes(step.at))
		f := p.Findings[0]
		require.Equal(t, step.code, f.Code, "minute %d", step.at)
		if step.until > 0 {
			require.Equal(t, minutes(step.until), *f.Until, "minute %d", step.at)
		}
		if step.code == CodeRepair {
			require.Len(t, p.Actions, 1)
			require.Equal(t, step.remedy, p.Actions[0].Step.Remedy)
			require.Equal(t, step.remedy == Replace, p.Actions[0].Delete)
			require.Equal(t, step.remedy == Replace, p.Actions[0].Deadline != nil)
		}
		state = reload(t, p.State)
	}
}

func TestALadderWithoutReplaceEnds(t *testing.T) {
	o, nodes := rebootTwice(), fleet(9, 1)
	o.Policies[0].Ladder = o.Policies[0].Ladder[:1]
	state := State{Nodes: map[string]NodeState{"n00": {Attempts: []Attempt{{Remedy: Reboot, At: ago(5 * time.Hour)}, {Remedy: Reboot, At: ago(time.Hour)}}}}}
	f := Propose(nodes, o, state, noon).Findings[0]
	assert.Equal(t, CodeExhausted, f.Code)
	assert.Equal(t, noon.Add(19*time.Hour), *f.Until, "when the first of two reboots is a day old")
	assert.Equal(t, CodeRepair, Propose(nodes, o, state, noon.Add(19*time.Hour)).Findings[0].Code)
}

func TestAHealedNodeForgetsWhatHasNoWindow(t *testing.T) {
	o := rebootTwice()
	state := State{Nodes: map[string]NodeState{"n00": {
		LastSick: ptr(ago(time.Minute)),
		Attempts: []Attempt{{Remedy: Reboot, At: ago(time.Hour)}, {Remedy: External, Name: "vendor", At: ago(time.Minute)}, {Remedy: Reboot, At: ago(25 * time.Hour)}},
	}}}
	p := Propose(fleet(9, 0), o, state, noon)
	assert.Equal(t, []Attempt{{Remedy: Reboot, At: ago(time.Hour)}}, p.State.Nodes["n00"].Attempts, "reboots count for a day")
	assert.Nil(t, p.State.Nodes["n00"].LastSick)
	assert.Len(t, state.Nodes["n00"].Attempts, 3, "the old state is as it was")
	assert.Empty(t, Propose(nil, o, state, noon).State.Nodes, "a node that is gone is forgotten")
}

func TestHealthyAgainTakesAWhile(t *testing.T) {
	o := aws()
	o.HealthyDelay = 10 * time.Minute
	p := Propose(fleet(5, 1), o, State{}, noon)
	p = Propose(fleet(5, 0), o, reload(t, p.State), minutes(1))
	assert.Equal(t, []string{"n00:Recovering"}, codes(p))
	assert.Equal(t, minutes(10), *p.NextCheck)
	assert.Equal(t, 1, p.Groups[len(p.Groups)-1].Count.Sick, "it counts against the breaker still")

	other := fleet(5, 0)
	other[1] = sick("n01", time.Hour)
	held := Propose(other, o, p.State, minutes(1))
	assert.Equal(t, []string{"n00:Recovering", "n01:HeldByBreaker"}, codes(held))

	p = Propose(fleet(5, 0), o, p.State, minutes(10))
	assert.Empty(t, codes(p))
	assert.Empty(t, p.State.Nodes)

	o.HealthyDelay = -1
	p = Propose(fleet(5, 1), o, State{}, noon)
	assert.Equal(t, []string{"n00:Recovering"}, codes(Propose(fleet(5, 0), o, p.State, noon.AddDate(1, 0, 0))), "until somebody confirms")
}

func ptr[T any](v T) *T { return &v }

func TestARunningRemedyTakesASlot(t *testing.T) {
	o := rebootTwice()
	o.MaxInFlight = 1
	p := Propose(fleet(9, 2), o, State{}, noon)
	assert.Equal(t, []string{"n00:Repair", "n01:HeldByLimit"}, codes(p))
	p = Propose(fleet(9, 2), o, p.State, minutes(1))
	assert.Equal(t, []string{"n00:InProgress", "n01:HeldByLimit"}, codes(p))
}
