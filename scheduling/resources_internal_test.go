package scheduling

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestMilli(t *testing.T) {
	for name, test := range map[string]struct {
		quantity string
		up, down int64
	}{
		"whole units":             {"3", 3000, 3000},
		"thousandths":             {"1500m", 1500, 1500},
		"less than a thousandth":  {"1500100u", 1501, 1500},
		"bytes":                   {"1Gi", 1 << 30 * 1000, 1 << 30 * 1000},
		"negative":                {"-2", -2000, -2000},
		"more than there can be":  {"10E", math.MaxInt64, math.MaxInt64},
		"much more than can be":   {"1e30", math.MaxInt64, math.MaxInt64},
		"the smallest there is":   {"1n", 1, 0},
		"nothing":                 {"0", 0, 0},
		"fractions of large ones": {"9000000000000000500u", 9000000000000001, 9000000000000000},
	} {
		t.Run(name, func(t *testing.T) {
			q := resource.MustParse(test.quantity)
			assert.Equal(t, test.up, milliUp(q), "up")
			assert.Equal(t, test.down, milliDown(q), "down")
		})
	}
}
