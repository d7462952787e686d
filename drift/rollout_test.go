package drift

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func TestBackoffDoublesUpToItsMost(t *testing.T) {
	want := []time.Duration{0, 1, 2, 4, 8, 10, 10}
	for failures, m := range want {
		assert.Equal(t, m*time.Minute, DefaultBackoff().After(failures))
	}
	assert.Equal(t, time.Duration(0), Backoff{}.After(5), "none by default")
	assert.Equal(t, 10*time.Minute, DefaultBackoff().After(1<<40), "no overflow")
}

func TestBackoffWaitsAfterFailuresInARow(t *testing.T) {
	r := Rollout{Backoff: DefaultBackoff()}
	p := Progress{}.Start("a", noon).MarkFailed("a", minutes(1)).Start("b", minutes(3)).MarkFailed("b", minutes(4))
	g := r.Evaluate(p, minutes(5))
	assert.False(t, g.Open())
	assert.Equal(t, GateBackoff, g.Code)
	assert.Equal(t, minutes(6), *g.Until)
	assert.True(t, r.Evaluate(p, minutes(6)).Open())

	p = p.Start("c", minutes(6)).MarkHealthy("c", minutes(8)).Start("d", minutes(8)).MarkFailed("d", minutes(9))
	assert.Equal(t, minutes(10), *r.Evaluate(p, minutes(9)).Until, "a success starts the count anew")
}

func TestANodeThatFailsLetsOthersGo(t *testing.T) {
	p := Progress{}.Start("old", noon).MarkFailed("old", minutes(1)).Start("old", minutes(2)).MarkFailed("old", minutes(4))
	backoff := DefaultBackoff()
	gate := backoff.Evaluate(p, "old", minutes(5))
	assert.Equal(t, minutes(6), *gate.Until)
	assert.True(t, backoff.Evaluate(p, "young", minutes(5)).Open())
	assert.True(t, backoff.Evaluate(p, "old", minutes(6)).Open())

	candidates := []Candidate{candidate("old", 2*time.Hour, 1), candidate("young", time.Hour, 1)}
	o := MoveOptions{NodeGates: map[string]Gate{"old": gate}}
	plan := Propose(candidates, map[string]int{"p": 1}, canned{}, o)
	moved, skipped := outcome(plan)
	assert.Equal(t, []string{"young"}, moved)
	assert.Equal(t, []string{"old:Gate"}, skipped)
	assert.Equal(t, "2 replacements failed in a row, until 2026-03-15T12:06:00Z", plan.Skipped[0].Detail)
	assert.Equal(t, &gate, plan.Skipped[0].Gate)

	plan = ProposeStatic([]StaticPool{{Name: "p", Replicas: 2, Running: 2, Allowed: 1, Drifted: candidates}}, StaticOptions{NodeGates: o.NodeGates})
	moved, skipped = outcome(plan)
	assert.Equal(t, []string{"young"}, moved)
	assert.Equal(t, []string{"old:Gate"}, skipped)
}

func TestAPausedRollout(t *testing.T) {
	g := Rollout{Paused: true}.Evaluate(Progress{}, noon)
	assert.Equal(t, Gate{Code: GatePaused}, g)
	assert.Equal(t, "the roll-out is paused", g.String())
}

func TestCanaryFirst(t *testing.T) {
	r := Rollout{Canary: 2, Soak: 10 * time.Minute}
	p := Progress{}
	assert.Equal(t, 2, r.Evaluate(p, noon).Allowed)
	p = p.Start("a", noon)
	assert.Equal(t, 1, r.Evaluate(p, noon).Allowed)
	p = p.Start("b", noon)
	assert.Equal(t, 0, r.Evaluate(p, noon).Allowed)
	p = p.MarkFailed("a", minutes(1))
	assert.Equal(t, 1, r.Evaluate(p, minutes(1)).Allowed, "a failed canary is no canary")
	p = p.Start("c", minutes(1)).MarkHealthy("b", minutes(2)).MarkHealthy("c", minutes(3))
	g := r.Evaluate(p, minutes(4))
	assert.Equal(t, 0, g.Allowed)
	assert.Equal(t, minutes(12), *g.Until)
	assert.Equal(t, 0, r.Evaluate(p, minutes(12)).Allowed, "one has soaked, the other has not")
	assert.Equal(t, Gate{Allowed: Unlimited, Code: GateOpen}, r.Evaluate(p, minutes(13)))
}

func TestTheBreakerStopsARollout(t *testing.T) {
	p := Progress{}
	for i, node := range []string{"a", "b", "c"} {
		p = p.Start(node, minutes(i*10)).MarkFailed(node, minutes(i*10+5))
	}
	within := Rollout{MaxFailures: 2, Window: 30 * time.Minute}
	g := within.Evaluate(p, minutes(26))
	assert.Equal(t, GateStopped, g.Code)
	assert.Equal(t, 3, g.Failed)
	assert.Equal(t, minutes(45), *g.Until, "when the second of the last two leaves the window")
	assert.Equal(t, GateStopped, within.Evaluate(p, minutes(44)).Code)
	assert.True(t, within.Evaluate(p, minutes(45)).Open())

	forGood := Rollout{MaxFailures: 3}
	g = forGood.Evaluate(p, minutes(10000))
	assert.Equal(t, GateStopped, g.Code)
	assert.Nil(t, g.Until)
	assert.True(t, forGood.Evaluate(p.Towards("another"), minutes(10000)).Open(), "a new target is a new roll-out")
	assert.Equal(t, GateStopped, forGood.Evaluate(p.Towards(""), minutes(10000)).Code)
}

func TestNothingHoldsBackByDefault(t *testing.T) {
	p := Progress{}.Start("a", noon).MarkFailed("a", noon)
	assert.Equal(t, Gate{Allowed: Unlimited, Code: GateOpen}, Rollout{}.Evaluate(p, noon))
}

// Progress is a value: adding to it leaves the old one as it was, and JSON gives
// it back. What a gate says until is when it says something else.
func TestProgressIsAValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Progress{Target: "x"}
		for i := range rapid.IntRange(0, 12).Draw(t, "steps") {
			node := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node")
			before, _ := json.Marshal(p)
			old := p
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				p = p.Start(node, minutes(i))
			case 1:
				p = p.MarkHealthy(node, minutes(i))
			default:
				p = p.MarkFailed(node, minutes(i))
			}
			after, _ := json.Marshal(old)
			require.Equal(t, string(before), string(after))
		}
		data, err := json.Marshal(p)
		require.NoError(t, err)
		var back Progress
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, p, back)

		r := Rollout{
			Canary: rapid.IntRange(0, 3).Draw(t, "canary"), Soak: 7 * time.Minute,
			MaxFailures: rapid.IntRange(0, 3).Draw(t, "most"), Window: 20 * time.Minute, Backoff: DefaultBackoff(),
		}
		if g := r.Evaluate(p, minutes(12)); g.Until != nil {
			require.True(t, g.Until.After(minutes(12)))
			require.NotEqual(t, g, r.Evaluate(p, *g.Until))
		}
	})
}
