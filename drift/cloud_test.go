package drift

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What isn't there is quoted, so that the sentence still reads as one.
func TestEqualSaysWhatDiffers(t *testing.T) {
	assert.Equal(t, `"", not pg-1`, Equal("PlacementGroupDrift", "", "pg-1").Detail)
	assert.Equal(t, `pg-1, not ""`, Equal("PlacementGroupDrift", "pg-1", "").Detail)
	assert.Equal(t, "2, not 3", Equal("ReplicaDrift", 2, 3).Detail)
	assert.Equal(t, Difference{}, Equal("PlacementGroupDrift", "", ""))
}
