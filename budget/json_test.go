package budget

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A verdict reads in JSON as it does in Go, and errors are text.
func TestVerdictsInJSON(t *testing.T) {
	set, errs := Compile([]Budget{{Nodes: "10%"}, {Nodes: "some"}}, nil)
	require.Len(t, errs, 1)
	data, err := json.Marshal(set.Report(time.Unix(1787572800, 0).UTC(), Count([]Node{{Name: "a", NotReady: true}}), Accounting{}).Reasons[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"reason":"Drifted","limit":0,"ownLimit":0,"usage":{"total":1,"consuming":1},"allowed":0,"binding":1,
		"budgets":[{"budget":"10%","applies":true,"state":"Active","limit":1},
			{"budget":"some","applies":true,"state":"Active","limit":0,"error":"budgets[1].nodes: Invalid value: \"some\": neither a number of nodes nor a percentage"}],
		"used":[{"node":"a","cause":"NotReady"}]}`, string(data))
}
