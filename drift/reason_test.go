package drift

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

var (
	noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	keys = annotations.For("")
)

func hashed(hash, version string) map[string]string {
	return map[string]string{keys.NodePoolHash: hash, keys.NodePoolHashVersion: version}
}

func in(key string, values ...string) scheduling.RequirementSpec {
	return scheduling.RequirementSpec{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func offering(zone, capacityType string, more ...scheduling.RequirementSpec) scheduling.Offering {
	specs := append([]scheduling.RequirementSpec{in(corev1.LabelTopologyZone, zone), in(keys.CapacityType, capacityType)}, more...)
	return scheduling.Offering{Requirements: scheduling.NewRequirements(specs...)}
}

func testPool() *Pool {
	return &Pool{
		Name:         "default",
		Annotations:  hashed("1", "v3"),
		Requirements: []scheduling.RequirementSpec{in(corev1.LabelInstanceTypeStable, "m5.large", "m5.xlarge")},
		InstanceTypes: []*scheduling.InstanceType{
			{Name: "m5.large", Offerings: []scheduling.Offering{offering("a", "spot"), offering("a", "on-demand")}},
		},
	}
}

func testClaim() *Claim {
	return &Claim{
		Name: "claim-1",
		Labels: map[string]string{
			corev1.LabelInstanceTypeStable: "m5.large",
			corev1.LabelTopologyZone:       "a",
			keys.CapacityType:              "spot",
		},
		Annotations: hashed("1", "v3"),
		Created:     noon.Add(-2 * time.Hour),
		Launched:    true,
	}
}

// cloud answers what it was made with.
type cloud struct {
	difference Difference
	err        error
}

func (c cloud) Drifted(*Claim, time.Time) (Difference, error) { return c.difference, c.err }

func TestReasonsAreDecidedInOrder(t *testing.T) {
	tests := map[string]struct {
		change func(*Pool, *Claim, *Options)
		want   Verdict
	}{
		"a claim that matches": {
			func(*Pool, *Claim, *Options) {}, Verdict{TypeFound: true},
		},
		"an unlaunched claim is not judged": {
			func(p *Pool, c *Claim, _ *Options) { c.Launched = false; c.Annotations = hashed("2", "v3") },
			Verdict{Outcome: Unlaunched},
		},
		"the hash comes before requirements": {
			func(p *Pool, c *Claim, _ *Options) {
				c.Annotations = hashed("2", "v3")
				c.Labels = nil
			},
			Verdict{Outcome: Replace, Reason: NodePoolDrifted},
		},
		"another version of the hash is no drift": {
			func(p *Pool, c *Claim, _ *Options) { c.Annotations = hashed("2", "v2") },
			Verdict{TypeFound: true},
		},
		"a missing hash is no drift": {
			func(p *Pool, c *Claim, _ *Options) { delete(c.Annotations, keys.NodePoolHash) },
			Verdict{TypeFound: true},
		},
		"an empty hash is one that differs": {
			func(p *Pool, c *Claim, _ *Options) { c.Annotations[keys.NodePoolHash] = "" },
			Verdict{Outcome: Replace, Reason: NodePoolDrifted},
		},
		"requirements come before the instance type": {
			func(p *Pool, c *Claim, _ *Options) { c.Labels[corev1.LabelInstanceTypeStable] = "c5.large" },
			Verdict{Outcome: Replace, Reason: RequirementsDrifted},
		},
		"a new requirement on a label that old nodes lack": {
			func(p *Pool, c *Claim, _ *Options) { p.Requirements = append(p.Requirements, in("team", "a")) },
			Verdict{Outcome: Replace, Reason: RequirementsDrifted},
		},
		"an instance type that the pool lost": {
			func(p *Pool, c *Claim, _ *Options) { c.Labels[corev1.LabelInstanceTypeStable] = "m5.xlarge" },
			Verdict{Outcome: Replace, Reason: InstanceTypeNotFound},
		},
		"an offering that the type lost": {
			func(p *Pool, c *Claim, _ *Options) { c.Labels[corev1.LabelTopologyZone] = "b" },
			Verdict{Outcome: Replace, Reason: InstanceTypeNotFound},
		},
		"reserved capacity accepts on-demand": {
			func(p *Pool, c *Claim, _ *Options) { c.Labels[keys.CapacityType] = "reserved" },
			Verdict{TypeFound: true},
		},
		"a claim of exactly an hour is too young for a lost type": {
			func(p *Pool, c *Claim, _ *Options) {
				c.Created = noon.Add(-time.Hour)
				p.InstanceTypes = []*scheduling.InstanceType{}
			},
			Verdict{},
		},
		"a nanosecond later it is not": {
			func(p *Pool, c *Claim, _ *Options) {
				c.Created = noon.Add(-time.Hour - 1)
				p.InstanceTypes = []*scheduling.InstanceType{}
			},
			Verdict{Outcome: Replace, Reason: InstanceTypeNotFound},
		},
		"the caller remembers that the type was found": {
			func(p *Pool, c *Claim, _ *Options) { c.TypeFound, p.InstanceTypes = true, []*scheduling.InstanceType{} },
			Verdict{},
		},
		"the cloud is asked last": {
			func(p *Pool, c *Claim, o *Options) { o.Cloud = cloud{difference: Difference{Reason: "AMIDrift"}} },
			Verdict{Outcome: Replace, Reason: "AMIDrift", TypeFound: true},
		},
		"the cloud can put it right in place": {
			func(p *Pool, c *Claim, o *Options) {
				o.ConfirmLive = true
				o.Cloud = cloud{difference: Difference{Reason: "TagDrift"}.UpdatedInPlace()}
			},
			Verdict{Outcome: InPlace, Reason: "TagDrift", TypeFound: true},
		},
		"a cached answer is to be confirmed": {
			func(p *Pool, c *Claim, o *Options) {
				o.ConfirmLive, o.Cloud = true, cloud{difference: Difference{Reason: "AMIDrift"}}
			},
			Verdict{Outcome: Confirm, Reason: "AMIDrift", TypeFound: true},
		},
		"a live answer is believed": {
			func(p *Pool, c *Claim, o *Options) {
				o.ConfirmLive, o.Cloud, c.Live = true, cloud{difference: Difference{Reason: "AMIDrift"}}, true
			},
			Verdict{Outcome: Replace, Reason: "AMIDrift", TypeFound: true},
		},
		"a hash needs no confirmation": {
			func(p *Pool, c *Claim, o *Options) { o.ConfirmLive, c.Annotations = true, hashed("2", "v3") },
			Verdict{Outcome: Replace, Reason: NodePoolDrifted},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pool, claim, options := testPool(), testClaim(), Options{}
			test.change(pool, claim, &options)
			got, err := Compile(pool, options).Evaluate(claim, noon)
			require.NoError(t, err)
			assert.Equal(t, got.Outcome == Matches || got.Outcome == Unlaunched, got.Reason == "", "a reason says what differs")
			got.Detail, got.Mismatch = "", nil
			assert.Equal(t, test.want, got)
		})
	}
}

func TestAMismatchNamesTheUnknownLabel(t *testing.T) {
	pool := testPool()
	pool.Requirements = []scheduling.RequirementSpec{in("team", "a")}
	got, err := Compile(pool, Options{}).Evaluate(testClaim(), noon)
	require.NoError(t, err)
	require.NotNil(t, got.Mismatch)
	assert.True(t, got.Mismatch.Undefined)
	assert.Equal(t, "team", got.Mismatch.Key)
}

func TestAnErrorOfTheCloudLeavesTheConditionAlone(t *testing.T) {
	boom := errors.New("boom")
	got, err := Compile(testPool(), Options{Cloud: cloud{err: boom}}).Evaluate(testClaim(), noon)
	require.ErrorIs(t, err, boom)
	old := &metav1.Condition{Type: ConditionDrifted, Status: metav1.ConditionTrue, Reason: "AMIDrift"}
	change, _ := got.Condition(old, noon)
	assert.Equal(t, Keep, change)
}

func TestAReservationIDIsIgnored(t *testing.T) {
	pool, claim := testPool(), testClaim()
	pool.InstanceTypes[0].Offerings = []scheduling.Offering{offering("a", "reserved", in("example.com/reservation", "cr-2"))}
	claim.Labels[keys.CapacityType], claim.Labels["example.com/reservation"] = "reserved", "cr-1"
	o := Options{ReservationLabel: "example.com/reservation"}
	assert.NotEmpty(t, Compile(pool, o).InstanceType(claim), "a label that is not well known must be defined")
	o.WellKnownLabels = []string{"example.com/reservation"}
	assert.Empty(t, Compile(pool, o).InstanceType(claim))
	assert.NotEmpty(t, Compile(pool, Options{WellKnownLabels: o.WellKnownLabels}).InstanceType(claim))
}

func TestCondition(t *testing.T) {
	earlier := metav1.NewTime(noon.Add(-time.Hour))
	yes := func(reason string) *metav1.Condition {
		return &metav1.Condition{Type: ConditionDrifted, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: earlier}
	}
	tests := map[string]struct {
		outcome Outcome
		old     *metav1.Condition
		want    Change
		since   time.Time
	}{
		"drifted anew":                             {Replace, nil, Set, noon},
		"drifted anew after a false condition":     {Replace, &metav1.Condition{Status: metav1.ConditionFalse, LastTransitionTime: earlier}, Set, noon},
		"drifted for the same reason":              {Replace, yes("AMIDrift"), Keep, time.Time{}},
		"another reason keeps its place in queue":  {Replace, yes("SubnetDrift"), Set, earlier.Time},
		"matches again":                            {Matches, yes("AMIDrift"), Clear, time.Time{}},
		"matches as ever":                          {Matches, nil, Keep, time.Time{}},
		"not launched":                             {Unlaunched, yes("AMIDrift"), Clear, time.Time{}},
		"put right in place":                       {InPlace, yes("AMIDrift"), Clear, time.Time{}},
		"unconfirmed, drifted before":              {Confirm, yes("AMIDrift"), Keep, time.Time{}},
		"unconfirmed, never drifted":               {Confirm, nil, Keep, time.Time{}},
		"a false condition of a node that matches": {Matches, &metav1.Condition{Status: metav1.ConditionFalse}, Clear, time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			change, set := Verdict{Outcome: test.outcome, Reason: "AMIDrift", Detail: "ami-1"}.Condition(test.old, noon)
			assert.Equal(t, test.want, change)
			assert.True(t, test.since.Equal(set.LastTransitionTime.Time), "since %v", set.LastTransitionTime)
			if change == Set {
				assert.Equal(t, "AMIDrift", set.Reason)
				assert.Equal(t, metav1.ConditionTrue, set.Status)
			}
		})
	}
}

func TestBuildingBlocks(t *testing.T) {
	const reason = Reason("SomeDrift")
	hash := func(h string) map[string]string { return map[string]string{"hash": h, "version": "v1"} }
	tests := map[string]struct {
		got     Difference
		drifted bool
		unknown bool
	}{
		"one of them":            {OneOf(reason, "a", []string{"b", "a"}), false, false},
		"none of them":           {OneOf(reason, "c", []string{"b", "a"}), true, false},
		"nothing allowed yet":    {OneOf(reason, "c", nil), false, true},
		"nothing known of it":    {OneOf(reason, "", []string{"a"}), false, true},
		"the same set":           {SameSet(reason, []string{"b", "a", "a"}, []string{"a", "b"}), false, false},
		"one missing":            {SameSet(reason, []string{"a"}, []string{"a", "b"}), true, false},
		"one too many":           {SameSet(reason, []string{"a", "b"}, []string{"a"}), true, false},
		"a set not resolved yet": {SameSet(reason, []string{"a"}, nil), false, true},
		"equal":                  {Equal(reason, "", ""), false, false},
		"not equal":              {Equal(reason, "group-1", ""), true, false},
		"the same hash":          {StaticHash(reason, hash("1"), hash("1"), "hash", "version"), false, false},
		"another hash":           {StaticHash(reason, hash("1"), hash("2"), "hash", "version"), true, false},
		"younger than a week":    {OlderThan(reason, noon.Add(-7*24*time.Hour), 7*24*time.Hour, noon), false, false},
		"older than a week":      {OlderThan(reason, noon.Add(-7*24*time.Hour-1), 7*24*time.Hour, noon), true, false},
		"no hash yet":            {StaticHash(reason, hash("1"), nil, "hash", "version"), false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.drifted, test.got.Reason == reason)
			assert.Equal(t, test.unknown, errors.Is(test.got.Err, ErrUnknown))
			assert.Equal(t, test.drifted, test.got.Detail != "")
		})
	}
}

func TestTheFirstDifferenceDecides(t *testing.T) {
	a, b := Difference{Reason: "A"}, Difference{Reason: "B"}
	broken := Difference{Err: ErrUnknown}
	got, err := First(Difference{}, b, a)
	require.NoError(t, err)
	assert.Equal(t, b, got)
	got, err = First(a, broken)
	require.NoError(t, err, "an error after the decision doesn't count")
	assert.Equal(t, a, got)
	_, err = First(broken, a)
	require.ErrorIs(t, err, ErrUnknown)
	got, err = First(a.UpdatedInPlace(), b)
	require.NoError(t, err)
	assert.Equal(t, b, got, "a new node is needed anyway")
	got, err = First(a.UpdatedInPlace(), Difference{}.UpdatedInPlace())
	require.NoError(t, err)
	assert.Equal(t, a.UpdatedInPlace(), got)
}

func TestMigrate(t *testing.T) {
	tmpl := template(t, fullTemplate)
	now := NodePoolHash(tmpl)
	drifted := &metav1.Condition{Status: metav1.ConditionTrue}
	claims := []Claim{
		{Name: "old", Annotations: hashed("1", "v2")},
		{Name: "drifted", Annotations: hashed("2", "v2"), Drifted: drifted},
		{Name: "bare"},
		{Name: "current", Annotations: hashed("9", "v3")},
	}

	pool, patches := Migrate(&Pool{Name: "p", Annotations: hashed("1", "v2")}, tmpl, claims, Options{})
	assert.Equal(t, &Patch{"p", hashed(now, "v3")}, pool)
	assert.Equal(t, []Patch{
		{"old", hashed(now, "v3")},
		{"drifted", map[string]string{keys.NodePoolHashVersion: "v3"}},
		{"bare", hashed(now, "v3")},
	}, patches)

	pool, patches = Migrate(&Pool{Name: "p", Annotations: hashed("1", "v3")}, tmpl, claims, Options{})
	assert.Equal(t, &Patch{"p", hashed(now, "v3")}, pool, "an edit of the template")
	assert.Empty(t, patches, "drift is what an edit is for")

	pool, patches = Migrate(&Pool{Name: "p", Annotations: hashed(now, "v3")}, tmpl, claims, Options{})
	assert.Nil(t, pool)
	assert.Empty(t, patches)
}

// A migration rolls no node: whoever matched before matches after it, and
// whoever had drifted still differs.
func TestMigrationRollsNoNode(t *testing.T) {
	tmpl := template(t, fullTemplate)
	pool := &Pool{Name: "p", Annotations: hashed("1", "v2")}
	claim := Claim{Name: "c", Annotations: hashed("1", "v2"), Launched: true}
	stale := Claim{Name: "s", Annotations: hashed("0", "v2"), Launched: true, Drifted: &metav1.Condition{Status: metav1.ConditionTrue}}
	poolPatch, patches := Migrate(pool, tmpl, []Claim{claim, stale}, Options{})

	apply := func(to, set map[string]string) map[string]string {
		out := map[string]string{}
		for _, m := range []map[string]string{to, set} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	checker := Compile(&Pool{Annotations: apply(pool.Annotations, poolPatch.Annotations)}, Options{})
	claim.Annotations = apply(claim.Annotations, patches[0].Annotations)
	stale.Annotations = apply(stale.Annotations, patches[1].Annotations)
	assert.False(t, checker.Static(&claim))
	assert.True(t, checker.Static(&stale))
}
