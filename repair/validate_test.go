package repair

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValidate(t *testing.T) {
	o := &Options{
		Settings: Settings{
			Policies: []Policy{
				{Status: "Maybe", Toleration: -1, Priority: 101, Ending: "Soon", GracePeriod: -1, Ladder: []Step{{Remedy: "Pray", Timeout: -1, Limit: -1, Per: -1}}},
			},
			Breaker:     Breaker{MaxUnhealthy: "120%", AtLeast: -1},
			MaxInFlight: -1,
		},
		Pools:            map[string]Settings{"a": {Breaker: Breaker{MaxUnhealthy: "x"}}},
		MaxInFlightTotal: -1,
		Storm:            Storm{Clear: "[", Cooldown: -1},
	}
	var paths []string
	for _, err := range o.Validate(nil) {
		paths = append(paths, err.Field)
	}
	assert.Equal(t, []string{
		"policies[0].type", "policies[0].status", "policies[0].toleration", "policies[0].priority", "policies[0].ending", "policies[0].gracePeriod",
		"policies[0].ladder[0].remedy", "policies[0].ladder[0].timeout", "policies[0].ladder[0].limit", "policies[0].ladder[0].per",
		"breaker.maxUnhealthy", "breaker.atLeast", "maxInFlight", "pools[a].breaker.maxUnhealthy", "maxInFlightTotal", "storm.clear", "storm.cooldown",
	}, paths)
	assert.Empty(t, aws().Validate(nil))
	assert.Empty(t, rebootTwice().Validate(nil))
	assert.Empty(t, (&Options{Settings: Settings{Policies: AKS()}}).Validate(nil))
}
