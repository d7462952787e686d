package repair

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const config = `{
  "policies": [{"type": "Ready", "status": "False", "toleration": "30m", "reason": "^Kubelet", "priority": 5, "ending": "Within", "gracePeriod": "10m",
    "ladder": [{"remedy": "Reboot", "timeout": "20m", "limit": 2, "per": "24h"}, {"remedy": "External", "name": "vendor"}, {}]}],
  "breaker": {"maxUnhealthy": "40%", "roundDown": true, "atLeast": 1},
  "maxInFlight": 1, "maxInFlightTotal": 3, "strict": true, "healthyDelay": "5m",
  "pools": {"gpu": {"paused": true}},
  "storm": {"clear": "1", "cooldown": "10m"}, "failureDomain": "topology.kubernetes.io/zone", "vetoAnnotation": "example.com/hands-off"
}`

func TestParse(t *testing.T) {
	o, errs := Parse([]byte(config))
	require.Empty(t, errs)
	assert.Equal(t, "^Kubelet", o.Policies[0].Reason.String())
	o.Policies[0].Reason = nil
	assert.Equal(t, &Options{
		Settings: Settings{
			Policies: []Policy{{
				Type: "Ready", Status: "False", Toleration: 30 * time.Minute, Priority: 5, Ending: Within, GracePeriod: 10 * time.Minute,
				Ladder: []Step{{Remedy: Reboot, Timeout: 20 * time.Minute, Limit: 2, Per: 24 * time.Hour}, {Remedy: External, Name: "vendor"}, {}},
			}},
			Breaker:     Breaker{MaxUnhealthy: "40%", RoundDown: true, AtLeast: 1},
			MaxInFlight: 1,
		},
		Pools:            map[string]Settings{"gpu": {Paused: true}},
		MaxInFlightTotal: 3, Strict: true, HealthyDelay: 5 * time.Minute,
		Storm:         Storm{Clear: "1", Cooldown: 10 * time.Minute},
		FailureDomain: "topology.kubernetes.io/zone", VetoAnnotation: "example.com/hands-off",
	}, o)

	o, errs = Parse([]byte(`{}`))
	require.Empty(t, errs)
	assert.Equal(t, &Options{}, o, "nothing is Karpenter v1.14")
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"maxInFlight": "one"}`:                             `maxInFlight: Invalid value`,
		`{"maxInflights": 1}`:                                `unknown field "maxInflights"`,
		`{"policies": [{"type": "Ready", "status": "Bad"}]}`: `policies[0].status: Unsupported value: "Bad"`,
		`{"policies": [{"toleration": "1d"}]}`:               `unknown unit "d"`,
		`{"policies": [{"reason": "("}]}`:                    `missing closing )`,
		`{"breaker": {"maxUnhealthy": "120%"}}`:              `breaker.maxUnhealthy: Invalid value: "120%"`,
		`{} {}`:                                              `more than one JSON value`,
		`[`:                                                  `unexpected EOF`,
	} {
		o, errs := Parse([]byte(text))
		assert.Nil(t, o, text)
		require.NotEmpty(t, errs, text)
		assert.Contains(t, errs.ToAggregate().Error(), want)
	}
}

// FuzzParse reads any text: no panic, and what is accepted is valid and answers.
func FuzzParse(f *testing.F) {
	f.Add([]byte(config))
	f.Add([]byte(`{"policies": [{"reason": "(a*)*$"}]}`)) // a regular expression
	f.Add([]byte(`{"storm": {"clear": "[1-"}}`))          // a range that doesn't end
	f.Fuzz(func(t *testing.T, data []byte) {
		o, errs := Parse(data)
		if len(errs) > 0 {
			require.Nil(t, o)
			return
		}
		require.Empty(t, o.Validate(nil))
		Propose(fleet(4, 1), o, State{}, noon)
	})
}

// Actions read in JSON as they do in Go: a step as Parse reads it, errors as text.
func TestActionsInJSON(t *testing.T) {
	o := &Options{Settings: Settings{Policies: []Policy{{
		Type: "Ready", Status: "False", Ladder: []Step{{Remedy: Reboot, Timeout: 20 * time.Minute}},
	}}}}
	plan := Propose([]Node{sick("n1", time.Hour), well("n2")}, o, State{}, noon)
	data, err := json.Marshal(plan.Actions)
	require.NoError(t, err)
	require.JSONEq(t, `[{"node":"n1","claim":"claim-n1","pool":"a","step":{"remedy":"Reboot","timeout":"20m0s"},"delete":false,
		"match":{"policy":0,"type":"Ready","status":"False","due":"2026-03-15T11:00:00Z"}}]`, string(data))
	data, err = json.Marshal(Breaker{MaxUnhealthy: "some"}.Read(2, 1))
	require.NoError(t, err)
	require.Contains(t, string(data), `"error":"`)
}
