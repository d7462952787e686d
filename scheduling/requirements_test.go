package scheduling_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/scheduling"
)

func spec(operator corev1.NodeSelectorOperator, values ...string) scheduling.RequirementSpec {
	return scheduling.RequirementSpec{Key: "k", Operator: operator, Values: values}
}

func requirement(operator corev1.NodeSelectorOperator, values ...string) scheduling.Requirement {
	return scheduling.NewRequirement(spec(operator, values...))
}

func TestRequirementRulesThatSurprise(t *testing.T) {
	const largest = "9223372036854775807"
	for name, test := range map[string]struct{ got, want scheduling.Requirement }{
		"In without values allows nothing":              {requirement("In"), scheduling.DoesNotExist("k")},
		"NotIn without values allows everything":        {requirement("NotIn"), scheduling.Exists("k")},
		"an unknown operator allows everything":         {requirement("in", "a"), scheduling.Exists("k")},
		"values are a set":                              {requirement("In", "b", "a", "b"), scheduling.In("k", "a", "b")},
		"Gt is the next integer and up":                 {requirement("Gt", "4"), requirement(scheduling.OpGte, "5")},
		"Lt is the integer before and down":             {requirement("Lt", "4"), requirement(scheduling.OpLte, "3")},
		"a bound that is no integer is 0":               {requirement("Gt", "many"), requirement("Gt", "0")},
		"a bound without value is 0":                    {requirement(scheduling.OpLte), requirement(scheduling.OpLte, "0")},
		"a bound that is too large is the largest":      {requirement(scheduling.OpGte, largest+"0"), requirement(scheduling.OpGte, largest)},
		"nothing is greater than the largest":           {requirement("Gt", largest), scheduling.DoesNotExist("k")},
		"Lt of the least wraps around":                  {requirement("Lt", "-9223372036854775808"), requirement(scheduling.OpLte, largest)},
		"beta keys are the stable ones":                 {scheduling.In("beta.kubernetes.io/arch", "arm64"), scheduling.In("kubernetes.io/arch", "arm64")},
		"bounds filter values":                          {requirement("In", "1", "5", "x").Intersection(requirement("Gt", "3")), requirement("In", "5")},
		"bounds filter exclusions, down to Exists":      {requirement("NotIn", "1", "x").Intersection(requirement("Gt", "3")), requirement("Gt", "3")},
		"disjoint bounds allow nothing":                 {requirement("Gt", "3").Intersection(requirement("Lt", "3")), scheduling.DoesNotExist("k")},
		"disjoint bounds keep minValues":                {requirement("Gt", "3").WithMinValues(2).Intersection(requirement("Lt", "3")), scheduling.DoesNotExist("k").WithMinValues(2)},
		"the larger minValues wins":                     {requirement("Exists").WithMinValues(2).Intersection(requirement("In", "a").WithMinValues(3)), requirement("In", "a").WithMinValues(3)},
		"a requirement of one spec keeps what it lists": {requirement("NotIn", "1"), scheduling.NotIn("k", "1")},
	} {
		t.Run(name, func(t *testing.T) {
			assert.True(t, test.got.Equal(test.want), "got %s, want %s", test.got, test.want)
		})
	}
}

func TestGreaterThanTheLargestForgetsMinValues(t *testing.T) {
	three := 3
	r := scheduling.NewRequirement(scheduling.RequirementSpec{Key: "k", Operator: "Gt", Values: []string{"9223372036854775807"}, MinValues: &three})
	_, demanded := r.MinValues()
	assert.False(t, demanded)
}

func TestCompatible(t *testing.T) {
	const known = "known"
	in, notIn, none, some := requirement("In", "a"), requirement("NotIn", "a"), requirement("DoesNotExist"), requirement("Exists")
	reqs := func(list ...scheduling.Requirement) scheduling.Requirements {
		return scheduling.Requirements{}.Add(list...)
	}
	for name, test := range map[string]struct {
		have, want scheduling.Requirements
		mismatch   string
	}{
		"common values":                                      {reqs(in), reqs(requirement("In", "a", "b")), ""},
		"no common values":                                   {reqs(in), reqs(requirement("In", "b")), "k In [a] does not meet k In [b]"},
		"an undefined key is denied to In":                   {reqs(), reqs(in), `label "k" is not defined, but k In [a] is required`},
		"an undefined key is denied to Exists":               {reqs(), reqs(some), `label "k" is not defined, but k Exists is required`},
		"an undefined key meets NotIn":                       {reqs(), reqs(notIn), ""},
		"an undefined key meets DoesNotExist":                {reqs(), reqs(none), ""},
		"an undefined key that is allowed to be":             {reqs(), reqs(scheduling.In(known, "a")), ""},
		"it is not symmetric":                                {reqs(in), reqs(), ""},
		"NotIn and DoesNotExist forgive each other":          {reqs(notIn), reqs(none), ""},
		"NotIn and NotIn forgive even disjoint bounds":       {reqs(requirement("NotIn", "9").Intersection(requirement("Gt", "5"))), reqs(requirement("NotIn", "1").Intersection(requirement("Lt", "3"))), ""},
		"Exists and DoesNotExist exclude each other":         {reqs(some), reqs(none), "k Exists does not meet k DoesNotExist"},
		"In that intersects to nothing is forgiven by NotIn": {reqs(in, requirement("In", "b")), reqs(notIn), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := test.have.Compatible(test.want, []string{known})
			if test.mismatch == "" {
				assert.Nil(t, m)
				return
			}
			if assert.NotNil(t, m) {
				assert.Equal(t, test.mismatch, m.String())
				assert.Equal(t, "k", m.Key)
			}
		})
	}
}

func TestRequirementSpecValidation(t *testing.T) {
	zero := 0
	for name, test := range map[string]struct {
		spec scheduling.RequirementSpec
		want []string
	}{
		"a good one":          {spec("In", "a"), nil},
		"bounds are integers": {spec("Gt", "1.5"), []string{"r.values[0]"}},
		"one bound":           {spec("Lte", "1", "2"), []string{"r.values"}},
		"In needs a value":    {spec("In"), []string{"r.values"}},
		"Exists takes none":   {spec("Exists", "a"), []string{"r.values"}},
		"unknown operator":    {spec("exists"), []string{"r.operator"}},
		"all faults at once":  {scheduling.RequirementSpec{MinValues: &zero}, []string{"r.key", "r.minValues", "r.operator"}},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for _, err := range test.spec.Validate(field.NewPath("r")) {
				paths = append(paths, err.Field)
			}
			assert.Equal(t, test.want, paths)
		})
	}
}

// probes are values at which two requirements can differ.
var probes = []string{"", "a", "b", "c", "-1", "0", "1", "2", "3", "4", "5", "+2", "2.0", strconv.Itoa(math.MaxInt64), strconv.Itoa(math.MinInt64)}

func anySpec(key string) *rapid.Generator[scheduling.RequirementSpec] {
	return rapid.Custom(func(t *rapid.T) scheduling.RequirementSpec {
		s := scheduling.RequirementSpec{Key: key, Operator: rapid.SampledFrom([]corev1.NodeSelectorOperator{
			"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"}).Draw(t, "operator")}
		s.Values = rapid.SliceOfN(rapid.SampledFrom(probes), 0, 4).Draw(t, "values")
		if rapid.IntRange(0, 3).Draw(t, "has minValues") == 0 {
			n := rapid.IntRange(0, 3).Draw(t, "minValues")
			s.MinValues = &n
		}
		return s
	})
}

func anyRequirement(t *rapid.T, what string) scheduling.Requirement {
	r := scheduling.NewRequirement(anySpec("k").Draw(t, what))
	if rapid.Bool().Draw(t, "narrowed") {
		r = r.Intersection(scheduling.NewRequirement(anySpec("k").Draw(t, what)))
	}
	return r
}

func anyRequirements(t *rapid.T, what string) scheduling.Requirements {
	keys := rapid.SampledFrom([]string{"k", "l", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"})
	var specs []scheduling.RequirementSpec
	for range rapid.IntRange(0, 5).Draw(t, what) {
		specs = append(specs, anySpec(keys.Draw(t, "key")).Draw(t, what))
	}
	return scheduling.NewRequirements(specs...)
}

// A value is in an intersection exactly if it is in both sides, and it does not
// matter which side asks.
func TestIntersectionHoldsCommonValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRequirement(t, "a"), anyRequirement(t, "b")
		both := a.Intersection(b)
		assert.True(t, both.Equal(b.Intersection(a)), "%s and %s", a, b)
		for _, v := range probes {
			assert.Equal(t, a.Has(v) && b.Has(v), both.Has(v), "%q in %s, %s and %s", v, a, b, both)
		}
	})
}

// HasIntersection foretells whether the intersection allows anything.
func TestHasIntersectionForetells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRequirement(t, "a"), anyRequirement(t, "b")
		assert.Equal(t, a.Intersection(b).Len() > 0, a.HasIntersection(b), "%s and %s", a, b)
	})
}

// Rendering requirements and reading them back changes nothing, as specs and as
// JSON.
func TestRequirementsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequirements(t, "r")
		assert.True(t, scheduling.NewRequirements(r.Specs()...).Equal(r), "%s", r)
		data, err := json.Marshal(r)
		assert.NoError(t, err)
		var again scheduling.Requirements
		assert.NoError(t, json.Unmarshal(data, &again))
		assert.True(t, again.Equal(r), "%s read back as %s", r, again)
	})
}

// And is Add of every requirement, and leaves both sides as they were.
func TestAndAddsEveryRequirement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRequirements(t, "a"), anyRequirements(t, "b")
		before := a.String() + b.String()
		added := a
		for q := range b.All() {
			added = added.Add(q)
		}
		assert.True(t, a.And(b).Equal(added), "%s and %s", a, b)
		assert.Equal(t, before, a.String()+b.String())
	})
}

// Compatible implies Intersects, and a set of requirements is compatible with
// itself unless one of them allows nothing but a missing label.
func TestCompatibleIsStricterThanIntersects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRequirements(t, "a"), anyRequirements(t, "b")
		if a.Compatible(b, nil) == nil {
			assert.Nil(t, a.Intersects(b))
		}
		assert.Nil(t, a.Compatible(a, nil))
	})
}

func TestReturnedValuesAreTheCallers(t *testing.T) {
	r := scheduling.In("k", "a", "b")
	r.Values()[0] = "changed"
	assert.Equal(t, []string{"a", "b"}, r.Values())
	values := []string{"a"}
	r = scheduling.In("k", values...)
	values[0] = "changed"
	assert.Equal(t, []string{"a"}, r.Values())
}

// Whatever reads as requirements can be written, and reads the same again.
func FuzzRequirements(f *testing.F) {
	f.Add(`[{"key":"k","operator":"Gt","values":["5"],"minValues":2}]`)                                            // a bound
	f.Add(`[{"key":"k","operator":"NotIn","values":["1"]},{"key":"k","operator":"Lte","values":["x"]}]`)           // two of one key
	f.Add(`[{"key":"beta.kubernetes.io/os","operator":"In"},{"operator":"Lt","values":["-9223372036854775808"]}]`) // an alias, and no key
	f.Fuzz(func(t *testing.T, data string) {
		var r, again scheduling.Requirements
		if json.Unmarshal([]byte(data), &r) != nil {
			return
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil || !again.Equal(r) {
			t.Fatalf("%s read back as %s: %v", r, again, err)
		}
		_ = r.Compatible(again, nil)
	})
}

func BenchmarkCompatible(b *testing.B) {
	for _, keys := range []int{3, 10, 30} {
		b.Run(strconv.Itoa(keys)+" keys", func(b *testing.B) {
			var node, pod scheduling.Requirements
			for i := range keys {
				key := "example.com/label-" + strconv.Itoa(i)
				node = node.Add(scheduling.In(key, "a", "b", "c"))
				pod = pod.Add(scheduling.In(key, "c", "d"))
			}
			b.ReportAllocs()
			for b.Loop() {
				if node.Compatible(pod, nil) != nil {
					b.Fatal("not compatible")
				}
			}
		})
	}
}
