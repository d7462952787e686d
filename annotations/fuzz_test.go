package annotations_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
)

// No value panics, whatever parses survives a round trip, and what protects is
// what parses.
func FuzzParseDoNotDisrupt(f *testing.F) {
	for _, seed := range []string{
		"true",     // for good
		"1h30m",    // a duration
		"2562047h", // close to the longest there is
		"-1ns",     // negative
		"1d",       // no unit of Go's
		" true ",   // blanks
		"９h",       // a digit that isn't ASCII
		"",
	} {
		f.Add(seed)
	}
	keys := annotations.For("")
	f.Fuzz(func(t *testing.T, value string) {
		length, err := annotations.ParseDoNotDisrupt(value)
		if (err == nil) != (length > 0) {
			t.Fatalf("%q: length %s with error %v", value, length, err)
		}
		if err == nil && length != annotations.Forever {
			if again, err := annotations.ParseDoNotDisrupt(length.String()); err != nil || again != length {
				t.Fatalf("%q: %s reads back as %s, %v", value, length, again, err)
			}
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{keys.DoNotDisrupt: value}}}
		if keys.PodProtection(p, time.Unix(0, 0)).Active() != (err == nil) {
			t.Fatalf("%q: protection disagrees with %v", value, err)
		}
	})
}

// A deadline that is read is the one that was written.
func FuzzTerminationDeadline(f *testing.F) {
	for _, seed := range []string{
		"2026-08-24T12:00:00Z",           // as Karpenter writes it
		"2026-08-24T12:00:00.123+02:00",  // a fraction and an offset
		"2026-08-24 12:00:00",            // not RFC3339
		"0000-01-01T00:00:00Z", "-1", "", // the far past, and junk
	} {
		f.Add(seed)
	}
	keys := annotations.For("")
	f.Fuzz(func(t *testing.T, value string) {
		claim := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{keys.NodeClaimTerminationTimestamp: value}}}
		at, ok, err := keys.TerminationDeadline(claim)
		if ok != (err == nil) {
			t.Fatalf("%q: ok %v with error %v", value, ok, err)
		}
		if ok && at.Year() > 0 && at.Year() < 9999 {
			claim.Annotations[keys.NodeClaimTerminationTimestamp] = annotations.FormatDeadline(at)
			again, _, err := keys.TerminationDeadline(claim)
			if err != nil || !again.Equal(at.Truncate(time.Second)) {
				t.Fatalf("%q: reads back as %s, %v", value, again, err)
			}
		}
	})
}

// No value of the deletion cost panics or gives an error together with a cost.
func FuzzDeletionCost(f *testing.F) {
	for _, seed := range []string{"1", "-2147483648", "1e400", "0x1p-2", "1_000", "NaN", "Inf", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		cost, err := annotations.DeletionCost(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotations.PodDeletionCost: value}}})
		if err != nil && cost != 0 {
			t.Fatalf("%q: cost %v with error %v", value, cost, err)
		}
	})
}
