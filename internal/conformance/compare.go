package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/google/go-cmp/cmp"
)

// Float is a float64 that also decodes "NaN", "+Inf" and "-Inf".
type Float float64

// UnmarshalJSON accepts a JSON number or one of the three strings.
func (f *Float) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		v, err := strconv.ParseFloat(s, 64)
		*f = Float(v)
		return err
	}
	return json.Unmarshal(data, (*float64)(f))
}

// near reports whether two floats are equal to 1e-9 relative; NaN equals NaN.
func near(a, b float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
}

// diff compares what we got with what was wanted: floats to 1e-9 relative, nil
// and empty alike. It returns "" when they agree.
func diff(got, want any) string {
	opts := cmp.Options{
		cmp.Comparer(func(a, b float64) bool { return near(a, b) }),
		cmp.Comparer(func(a, b Float) bool { return near(float64(a), float64(b)) }),
		cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore()),
	}
	if d := cmp.Diff(want, got, opts); d != "" {
		return fmt.Sprintf("-want +got:\n%s", d)
	}
	return ""
}

// decode unmarshals a part of a case, or says why it can't.
func decode(raw json.RawMessage, into any) string {
	if err := json.Unmarshal(raw, into); err != nil {
		return "the case does not decode: " + err.Error()
	}
	return ""
}
