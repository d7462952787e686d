package repair

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRegistrations(t *testing.T) {
	var r Registrations
	assert.Equal(t, HealthUnknown, r.Health())
	r = r.Record(false)
	assert.Equal(t, Healthy, r.Health(), "one failure is not half of four")
	r = r.Record(true).Record(false)
	assert.Equal(t, Unhealthy, r.Health())
	old := r
	r = r.Record(true).Record(true)
	assert.Equal(t, Healthy, r.Health(), "the first failure is forgotten")
	assert.Equal(t, []bool{true, false, true, true}, r.Registered)
	assert.Equal(t, []bool{false, true, false}, old.Registered)
}

func TestStartupTimeouts(t *testing.T) {
	var o StartupTimeouts
	at, ok := o.Deadline(Startup{Created: noon})
	assert.True(t, ok)
	assert.Equal(t, minutes(5), at, "no instance")
	at, ok = o.Deadline(Startup{Created: noon, Launched: true})
	assert.True(t, ok)
	assert.Equal(t, minutes(15), at, "an instance, but no node")
	_, ok = o.Deadline(Startup{Created: noon, Launched: true, Registered: true})
	assert.False(t, ok)
	at, _ = StartupTimeouts{Registration: time.Hour}.Deadline(Startup{Created: noon, Launched: true})
	assert.Equal(t, minutes(60), at)
}
