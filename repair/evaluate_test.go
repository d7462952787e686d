package repair

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPriorityDecidesAmongDuePolicies(t *testing.T) {
	policies := []Policy{
		{Type: "Ready", Status: "False", Toleration: 30 * time.Minute},
		{Type: "GPU", Status: "False", Toleration: 10 * time.Minute, Priority: 5},
	}
	n := with("n", "Ready", "False", time.Hour, "GPU", "False", 20*time.Minute).Node
	m, _ := Evaluate(n, policies, noon)
	assert.Equal(t, 1, m.Policy, "both are due")
	m, _ = Evaluate(n, policies, noon.Add(-15*time.Minute))
	assert.Equal(t, 0, m.Policy, "only the first is due")
}

func TestAPolicyCanAskForAReason(t *testing.T) {
	policies := []Policy{{Type: "Ready", Status: "False", Reason: regexp.MustCompile("^(OOM|Disk)")}}
	n := sick("n", time.Hour).Node
	n.Status.Conditions[0].Reason = "KubeletNotReady"
	_, ok := Evaluate(n, policies, noon)
	assert.False(t, ok)
	n.Status.Conditions[0].Reason = "DiskFailed"
	_, ok = Evaluate(n, policies, noon)
	assert.True(t, ok)
}

func TestOddPoliciesAreAnsweredAsRecorded(t *testing.T) {
	n := sick("n", time.Hour).Node
	m, ok := Evaluate(n, []Policy{{Type: "Missing"}}, noon)
	assert.True(t, ok, "an empty status matches a condition that is missing")
	assert.Empty(t, m.Type)
	assert.True(t, m.Due.IsZero())

	m, _ = Evaluate(n, []Policy{{Type: "Missing"}, {Type: "Ready", Status: "False"}}, noon)
	assert.Equal(t, 1, m.Policy, "without a toleration it yields to any later one")
	m, _ = Evaluate(n, []Policy{{Type: "Missing", Toleration: 1}, {Type: "Ready", Status: "False"}}, noon)
	assert.Equal(t, 0, m.Policy)
}
