package repair

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The breakers of Karpenter, Cluster API, the Node Healthcheck Operator and
// Cluster Autoscaler, at the sizes at which users were surprised.
func TestBreakersAtSmallSizes(t *testing.T) {
	karpenter := Breaker{}
	capi := Breaker{MaxUnhealthy: "40%", RoundDown: true}
	nhc := Breaker{MaxUnhealthy: "49%", RoundDown: true} // minHealthy 51%
	autoscaler := Breaker{MaxUnhealthy: "45%", RoundDown: true, AtLeast: 3}
	tests := []struct {
		nodes, sick                      int
		karpenter, capi, nhc, autoscaler bool
	}{
		{3, 1, true, true, true, true},
		{4, 2, false, false, false, true},
		{5, 1, true, true, true, true},
		{5, 2, false, true, true, true},
		{6, 2, true, true, true, true},
		{1, 1, true, false, false, true},
		{4, 3, false, false, false, true},
		{4, 4, false, false, false, false},
		{9, 4, false, false, true, true},
		{8, 4, false, false, false, false},
		{100, 45, false, false, true, true},
		{100, 46, false, false, true, false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%d of %d", test.sick, test.nodes), func(t *testing.T) {
			assert.Equal(t, test.karpenter, karpenter.Read(test.nodes, test.sick).Allowed(), "Karpenter")
			assert.Equal(t, test.capi, capi.Read(test.nodes, test.sick).Allowed(), "Cluster API")
			assert.Equal(t, test.autoscaler, autoscaler.Read(test.nodes, test.sick).Allowed(), "Cluster Autoscaler")
			assert.Equal(t, test.nhc, nhc.Read(test.nodes, test.sick).Allowed(), "Node Healthcheck Operator")
		})
	}
}

func TestTheDefaultBreakerRoundsUp(t *testing.T) {
	for nodes, most := range map[int]int{0: 0, 1: 1, 5: 1, 6: 2, 10: 2, 11: 3, 15: 3, 16: 4, 20: 4, 21: 5, 100: 20, 101: 21} {
		assert.Equal(t, most, Breaker{}.Read(nodes, 0).Max, "%d nodes", nodes)
	}
}

func TestBreakers(t *testing.T) {
	tests := map[string]struct {
		breaker     Breaker
		nodes, sick int
		allowed     bool
	}{
		"a number":                          {Breaker{MaxUnhealthy: "2"}, 3, 2, true},
		"one more":                          {Breaker{MaxUnhealthy: "2"}, 3, 3, false},
		"none":                              {Breaker{MaxUnhealthy: "0"}, 3, 1, false},
		"all":                               {Breaker{MaxUnhealthy: "100%"}, 3, 3, true},
		"in range":                          {Breaker{MaxUnhealthy: "[3-5]"}, 9, 3, true},
		"below the range":                   {Breaker{MaxUnhealthy: "[3-5]"}, 9, 2, false},
		"above the range":                   {Breaker{MaxUnhealthy: "[3-5]"}, 9, 6, false},
		"a range upside down":               {Breaker{MaxUnhealthy: "[5-3]"}, 9, 4, false},
		"a range that doesn't end":          {Breaker{MaxUnhealthy: "[3-5"}, 9, 4, false},
		"too high a percentage":             {Breaker{MaxUnhealthy: "120%"}, 9, 0, false},
		"no number":                         {Breaker{MaxUnhealthy: "x"}, 9, 0, false},
		"a sign":                            {Breaker{MaxUnhealthy: "+2"}, 9, 0, false},
		"so few that the breaker is silent": {Breaker{MaxUnhealthy: "0", AtLeast: 1}, 9, 1, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.allowed, test.breaker.Read(test.nodes, test.sick).Allowed())
		})
	}
}

// FuzzBreaker reads any text: no panic, what it can't read allows nothing, and
// more sick nodes never open a breaker that isn't a range.
func FuzzBreaker(f *testing.F) {
	f.Add("20%", 10, 2) // the default
	f.Add("[3-5]", 10, 4)
	f.Add("[-]", 1, 0)                      // a range of nothing
	f.Add("18446744073709551616", 1, 1)     // more than any integer
	f.Add("9999999999999999999%", 1<<30, 1) // a product that would overflow
	f.Fuzz(func(t *testing.T, text string, nodes, sick int) {
		nodes, sick = nodes&0xffff, sick&0xffff
		b := Breaker{MaxUnhealthy: text}
		c := b.Read(nodes, sick)
		if c.Err != nil {
			require.False(t, c.Allowed())
			require.NotEmpty(t, (&Options{Settings: Settings{Breaker: b}}).Validate(nil))
		} else if c.Min == 0 && !c.Allowed() {
			require.False(t, b.Read(nodes, sick+1).Allowed())
		}
	})
}
