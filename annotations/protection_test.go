package annotations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/annotations"
)

var noon = time.Date(2026, 8, 24, 12, 0, 0, 0, time.UTC)

// pod started at the given instant, if any, with annotations as key, value, ...
func pod(start *time.Time, pairs ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{}}}
	for i := 0; i < len(pairs); i += 2 {
		p.Annotations[pairs[i]] = pairs[i+1]
	}
	if start != nil {
		p.Status.StartTime = &metav1.Time{Time: *start}
	}
	return p
}

func ago(d time.Duration) *time.Time { return new(noon.Add(-d)) }

const dnd = "karpenter.sh/do-not-disrupt"

func TestPodProtection(t *testing.T) {
	keys := annotations.For("")
	for _, c := range []struct {
		name, value string
		start       *time.Time
		want        annotations.State
		until       *time.Time
	}{
		{"true is for good", "true", ago(time.Hour), annotations.Protected, nil},
		{"true without a start", "true", nil, annotations.Protected, nil},
		{"false is a plain no", "false", ago(time.Hour), annotations.Off, nil},
		{"a duration that runs", "30m", ago(29*time.Minute + 59*time.Second), annotations.Protected, ago(-time.Second)},
		{"a duration is over at its very end", "30m", ago(30 * time.Minute), annotations.Elapsed, ago(0)},
		{"one nanosecond before its end", "30m", ago(30*time.Minute - 1), annotations.Protected, ago(-1)},
		{"a duration without a start protects, with no end known", "30m", nil, annotations.Protected, nil},
		{"a start in the future", "30m", ago(-time.Hour), annotations.Protected, ago(-90 * time.Minute)},
		{"a plus sign", "+30m", ago(time.Minute), annotations.Protected, ago(-29 * time.Minute)},
		{"a fraction", "1.5h", ago(time.Hour), annotations.Protected, ago(-30 * time.Minute)},
		{"milliseconds", "500ms", ago(0), annotations.Protected, ago(-500 * time.Millisecond)},
		{"upper case", "True", ago(0), annotations.Invalid, nil},
		{"a one", "1", ago(0), annotations.Invalid, nil},
		{"yes", "yes", nil, annotations.Invalid, nil},
		{"days", "1d", ago(0), annotations.Invalid, nil},
		{"no unit", "30", ago(0), annotations.Invalid, nil},
		{"a blank in front", " 30m", ago(0), annotations.Invalid, nil},
		{"zero", "0s", nil, annotations.Invalid, nil},
		{"negative", "-5m", nil, annotations.Invalid, nil},
		{"empty", "", nil, annotations.Invalid, nil},
		{"junk", "junk", nil, annotations.Invalid, nil},
		{"a sign in the middle", "1h-5m", nil, annotations.Invalid, nil},
		{"more than fits", "9999999h", nil, annotations.Invalid, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := keys.PodProtection(pod(c.start, dnd, c.value), noon)
			require.Equal(t, c.want, got.State)
			require.Equal(t, c.until, got.Until)
			require.Equal(t, c.want == annotations.Protected, got.Active())
			require.Equal(t, c.want == annotations.Invalid, got.Err != nil)
		})
	}
	require.Equal(t, annotations.Protection{State: annotations.Absent}, keys.PodProtection(pod(nil), noon))
	require.True(t, annotations.For("autoscaler.example.com").PodProtection(pod(nil, "autoscaler.example.com/do-not-disrupt", "true"), noon).Active())
}

func TestNodeProtectionKnowsOnlyTrue(t *testing.T) {
	keys := annotations.For("")
	for value, want := range map[string]annotations.State{"true": annotations.Protected, "false": annotations.Off, "30m": annotations.Invalid, "True": annotations.Invalid, "": annotations.Invalid} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{dnd: value}}}
		got := keys.NodeProtection(node)
		require.Equal(t, want, got.State, value)
		require.Equal(t, want == annotations.Invalid, got.Err != nil)
	}
	require.Equal(t, annotations.Absent, keys.NodeProtection(&corev1.Node{}).State)
}

func TestInvalidValuesSayWhatToWrite(t *testing.T) {
	for value, want := range map[string]string{
		"True":  `neither "true" nor a duration: only "true", in lower case and without blanks, protects`,
		" true": `neither "true" nor a duration: only "true", in lower case and without blanks, protects`,
		"yes":   `neither "true" nor a duration: only "true", in lower case and without blanks, protects`,
		"":      `neither "true" nor a duration: write "true"`,
		"2d":    `neither "true" nor a duration: days are no unit here, write "48h"`,
		"30":    `neither "true" nor a duration: the unit is missing, as in "30m"`,
		"30m ":  `neither "true" nor a duration: no blanks around it`,
		"junk":  `neither "true" nor a duration`,
		"0s":    `a duration must be positive`,
	} {
		_, err := annotations.ParseDoNotDisrupt(value)
		require.EqualError(t, err, want)
	}
	err := annotations.For("").PodProtection(pod(nil, dnd, "1d"), noon).Err
	require.Equal(t, `metadata.annotations[karpenter.sh/do-not-disrupt]: Invalid value: "1d": neither "true" nor a duration: days are no unit here, write "24h"`, err.Error())
}

// A pod is protected up to Until, and no longer: the answer and the instant it
// names never disagree.
func TestProtectionHoldsUntilTheInstantItNames(t *testing.T) {
	keys := annotations.For("")
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "length"))
		p := pod(ago(time.Duration(rapid.Int64Range(0, int64(2000*time.Hour)).Draw(t, "age"))), dnd, length.String())
		until := *keys.PodProtection(p, noon).Until
		require.True(t, keys.PodProtection(p, until.Add(-1)).Active())
		require.False(t, keys.PodProtection(p, until).Active())
		require.Equal(t, noon.Before(until), keys.PodProtection(p, noon).Active())
	})
}

func TestDeletionCost(t *testing.T) {
	for value, want := range map[string]float64{"100": 100, "1.5": 1.5, "1e9": 1e9, "+7": 7, ".5": .5, "-2147483648": -2147483648, "0x1p20": 1 << 20} {
		got, err := annotations.DeletionCost(pod(nil, annotations.PodDeletionCost, value))
		require.Nil(t, err)
		require.Equal(t, want, got)
	}
	for _, value := range []string{"", " 5", "1,000", "0x10", "1e400", "high"} {
		got, err := annotations.DeletionCost(pod(nil, annotations.PodDeletionCost, value))
		require.Zero(t, got, value)
		require.Equal(t, "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]", err.Field)
	}
	got, err := annotations.DeletionCost(pod(nil))
	require.Nil(t, err)
	require.Zero(t, got)
}

func TestTerminationDeadline(t *testing.T) {
	keys := annotations.For("")
	claim := func(value string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{keys.NodeClaimTerminationTimestamp: value}}}
	}
	at, ok, err := keys.TerminationDeadline(claim("2026-08-24T14:00:00+02:00"))
	require.True(t, ok && err == nil && at.Equal(noon))
	_, ok, err = keys.TerminationDeadline(&corev1.Node{})
	require.False(t, ok)
	require.Nil(t, err)
	_, ok, err = keys.TerminationDeadline(claim("tomorrow"))
	require.False(t, ok)
	require.Equal(t, `metadata.annotations[karpenter.sh/nodeclaim-termination-timestamp]: Invalid value: "tomorrow": not an RFC3339 timestamp`, err.Error())
	at, _, err = keys.TerminationDeadline(claim(annotations.FormatDeadline(noon)))
	require.True(t, err == nil && at.Equal(noon))
}

func TestKeysShareTheirDomain(t *testing.T) {
	require.Equal(t, annotations.For("karpenter.sh"), annotations.For(""))
	k := annotations.For("example.com")
	require.Equal(t, "example.com/do-not-disrupt", k.DoNotDisrupt)
	require.Equal(t, "karpenter.k8s.aws/ec2nodeclass", annotations.NodeClassLabel("karpenter.k8s.aws", "EC2NodeClass"))
	require.Contains(t, k.WellKnownLabels(), "example.com/capacity-type")
	require.Equal(t, "topology.kubernetes.io/zone", annotations.NormalizeLabel("failure-domain.beta.kubernetes.io/zone"))
	require.Equal(t, "team", annotations.NormalizeLabel("team"))
}
