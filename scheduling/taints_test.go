package scheduling_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

func TestTolerates(t *testing.T) {
	taint := corev1.Taint{Key: "sla", Value: "5", Effect: corev1.TaintEffectNoSchedule}
	for name, test := range map[string]struct {
		toleration corev1.Toleration
		want       bool
	}{
		"equal by default":                     {corev1.Toleration{Key: "sla", Value: "5"}, true},
		"another value":                        {corev1.Toleration{Key: "sla", Value: "05"}, false},
		"another effect":                       {corev1.Toleration{Key: "sla", Value: "5", Effect: corev1.TaintEffectNoExecute}, false},
		"exists ignores the value":             {corev1.Toleration{Key: "sla", Operator: "Exists", Value: "x"}, true},
		"an empty key matches any key":         {corev1.Toleration{Value: "5"}, true},
		"an empty key is compared too":         {corev1.Toleration{Operator: "Gt", Value: "4"}, true},
		"greater than":                         {corev1.Toleration{Key: "sla", Operator: "Gt", Value: "4"}, true},
		"not greater than itself":              {corev1.Toleration{Key: "sla", Operator: "Gt", Value: "5"}, false},
		"less than":                            {corev1.Toleration{Key: "sla", Operator: "Lt", Value: "6"}, true},
		"only canonical integers are compared": {corev1.Toleration{Key: "sla", Operator: "Gt", Value: "+4"}, false},
		"operators are case sensitive":         {corev1.Toleration{Key: "sla", Operator: "exists"}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, scheduling.Tolerates(&test.toleration, &taint)) })
	}
}

func TestEphemeralTaint(t *testing.T) {
	keys := annotations.For("nodes.example.com")
	for name, test := range map[string]struct {
		key    string
		effect corev1.TaintEffect
		want   bool
	}{
		"not ready, no schedule":        {corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule, true},
		"not ready, no execute":         {corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute, true},
		"unreachable, no schedule":      {corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule, true},
		"unreachable, no execute":       {corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute, false},
		"cloud provider uninitialized":  {"node.cloudprovider.kubernetes.io/uninitialized", corev1.TaintEffectNoSchedule, true},
		"unregistered of our domain":    {"nodes.example.com/unregistered", corev1.TaintEffectNoExecute, true},
		"unregistered of another":       {"karpenter.sh/unregistered", corev1.TaintEffectNoExecute, false},
		"readiness gates, every effect": {"readiness.k8s.io/network", corev1.TaintEffectPreferNoSchedule, true},
		"disk pressure":                 {corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, scheduling.EphemeralTaint(corev1.Taint{Key: test.key, Effect: test.effect, Value: "any"}, keys))
		})
	}
}

// More tolerations never make fewer taints tolerated, and Exists without a key
// tolerates everything.
func TestTolerationsOnlyHelp(t *testing.T) {
	effects := rapid.SampledFrom([]corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule})
	words := rapid.SampledFrom([]string{"", "a", "5"})
	operators := rapid.SampledFrom([]corev1.TolerationOperator{"", "Equal", "Exists", "Gt", "Lt"})
	rapid.Check(t, func(t *rapid.T) {
		taints := []corev1.Taint{{Key: words.Draw(t, "key"), Value: words.Draw(t, "value"), Effect: effects.Draw(t, "effect")}}
		var tolerations []corev1.Toleration
		tolerated := false
		for range rapid.IntRange(1, 4).Draw(t, "tolerations") {
			tolerations = append(tolerations, corev1.Toleration{Key: words.Draw(t, "key"), Operator: operators.Draw(t, "operator"), Value: words.Draw(t, "value"), Effect: effects.Draw(t, "effect")})
			_, blocked := scheduling.Untolerated(taints, tolerations)
			assert.False(t, tolerated && blocked)
			tolerated = !blocked
		}
		_, blocked := scheduling.Untolerated(taints, append(tolerations, corev1.Toleration{Operator: "Exists"}))
		assert.False(t, blocked)
	})
}
