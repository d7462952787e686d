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

const (
	safe        = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	safeVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	noScaleDown = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	evict       = "descheduler.alpha.kubernetes.io/evict"
	preferNo    = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
	doNotEvict  = "karpenter.sh/do-not-evict"
)

func everything() annotations.ReadOptions {
	return annotations.ReadOptions{Dialects: annotations.Dialects()}
}

func codes(s annotations.Stance) []annotations.FindingCode {
	var codes []annotations.FindingCode
	for _, f := range s.Findings {
		codes = append(codes, f.Code)
	}
	return codes
}

func TestReadPod(t *testing.T) {
	type flags struct{ veto, consent, preferNot, victim bool }
	for _, c := range []struct {
		name     string
		pairs    []string
		options  annotations.ReadOptions
		want     flags
		findings []annotations.FindingCode
	}{
		{"nothing", nil, everything(), flags{}, nil},
		{"our own is always read", []string{dnd, "true"}, annotations.ReadOptions{}, flags{veto: true}, nil},
		{"an elapsed duration is no veto", []string{dnd, "1m"}, annotations.ReadOptions{}, flags{}, nil},
		{"safe-to-evict false", []string{safe, "false"}, everything(), flags{veto: true}, nil},
		{"safe-to-evict true", []string{safe, "true"}, everything(), flags{consent: true}, nil},
		{"safe-to-evict in upper case", []string{safe, "False"}, everything(), flags{}, []annotations.FindingCode{annotations.BadValue}},
		{"evict", []string{evict, "true"}, everything(), flags{victim: true}, nil},
		{"evict counts by being there", []string{evict, "false"}, everything(), flags{victim: true}, []annotations.FindingCode{annotations.BadValue}},
		{"prefer-no-eviction", []string{preferNo, ""}, everything(), flags{preferNot: true}, nil},
		{"legacy keys count if asked for", []string{doNotEvict, "true"}, everything(), flags{veto: true}, nil},
		{"legacy keys are reported if not", []string{doNotEvict, "true"}, annotations.ReadOptions{}, flags{}, []annotations.FindingCode{annotations.Legacy}},
		{"legacy false is nothing", []string{doNotEvict, "false"}, everything(), flags{}, nil},
		{"foreign keys change nothing by default", []string{safe, "false"}, annotations.ReadOptions{}, flags{}, []annotations.FindingCode{annotations.NotRead}},
		{"a veto beats a consent", []string{dnd, "true", safe, "true"}, everything(), flags{veto: true}, []annotations.FindingCode{annotations.Conflict}},
		{"unless precedence says otherwise", []string{dnd, "true", safe, "true"},
			annotations.ReadOptions{Dialects: annotations.Dialects(), Precedence: []annotations.Dialect{annotations.ClusterAutoscaler}}, flags{consent: true}, []annotations.FindingCode{annotations.Conflict}},
		{"precedence for the veto's side", []string{dnd, "true", safe, "true"},
			annotations.ReadOptions{Dialects: annotations.Dialects(), Precedence: []annotations.Dialect{annotations.Karpenter, annotations.ClusterAutoscaler}}, flags{veto: true}, []annotations.FindingCode{annotations.Conflict}},
		{"a victim that must not be touched", []string{dnd, "true", evict, ""}, everything(), flags{veto: true, victim: true}, []annotations.FindingCode{annotations.Conflict}},
		{"first and last at once", []string{evict, "", preferNo, ""}, everything(), flags{preferNot: true, victim: true}, []annotations.FindingCode{annotations.Conflict}},
		{"an upper-case True", []string{dnd, "True"}, annotations.ReadOptions{}, flags{}, []annotations.FindingCode{annotations.BadValue}},
		{"days", []string{dnd, "1d"}, annotations.ReadOptions{}, flags{}, []annotations.FindingCode{annotations.BadValue}},
		{"false needs no finding", []string{dnd, "false"}, annotations.ReadOptions{}, flags{}, nil},
		{"another domain", []string{"karpenter.k8s.aws/do-not-disrupt", "true"}, annotations.ReadOptions{}, flags{}, []annotations.FindingCode{annotations.LookAlike}},
		{"another spelling", []string{"karpenter.sh/doNotDisrupt", "true"}, annotations.ReadOptions{}, flags{}, []annotations.FindingCode{annotations.LookAlike}},
		{"our domain replaced, Karpenter's left", []string{dnd, "true"}, annotations.ReadOptions{Domain: "example.com"}, flags{}, []annotations.FindingCode{annotations.LookAlike}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := annotations.Compile(c.options).Pod(pod(ago(time.Hour), c.pairs...), noon)
			require.Equal(t, c.want, flags{s.Veto, s.Consent, s.PreferNot, s.PreferVictim})
			require.Equal(t, c.findings, codes(s), s.Findings)
			for _, f := range s.Findings {
				require.NotEmpty(t, f.String())
			}
		})
	}
}

func TestReadPodLabels(t *testing.T) {
	p := pod(nil)
	p.Labels = map[string]string{"cluster.x-k8s.io/drain": "skip"}
	s := annotations.Compile(everything()).Pod(p, noon)
	require.True(t, s.Veto)
	require.Equal(t, annotations.SkipDrain, s.Marks[0].Meaning)
	p.Labels = map[string]string{dnd: "true"}
	s = annotations.Compile(everything()).Pod(p, noon)
	require.False(t, s.Veto)
	require.Equal(t, []annotations.FindingCode{annotations.LookAlike}, codes(s))
	p = pod(nil, "cluster.x-k8s.io/drain", "skip")
	require.False(t, annotations.Compile(everything()).Pod(p, noon).Veto, "the drain marker is a label")
}

func TestReadPodVolumes(t *testing.T) {
	s := annotations.Compile(everything()).Pod(pod(nil, safeVolumes, "cache, tmp,,"), noon)
	require.Equal(t, []string{"cache", "tmp"}, s.SafeVolumes)
	require.Empty(t, s.Findings)
}

// A veto of several markers lasts as long as the longest.
func TestVetoEndsWithItsLastMark(t *testing.T) {
	s := annotations.Compile(everything()).Pod(pod(ago(time.Hour), dnd, "2h"), noon)
	require.Equal(t, ago(-time.Hour), s.Until)
	s = annotations.Compile(everything()).Pod(pod(ago(time.Hour), dnd, "2h", safe, "false"), noon)
	require.True(t, s.Veto)
	require.Nil(t, s.Until)
}

func TestReadNode(t *testing.T) {
	node := func(pairs ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: pod(nil, pairs...).Annotations}}
	}
	for _, c := range []struct {
		name         string
		pairs        []string
		veto, victim bool
		findings     []annotations.FindingCode
	}{
		{"do-not-disrupt", []string{dnd, "true"}, true, false, nil},
		{"a duration means nothing on a node", []string{dnd, "1h"}, false, false, []annotations.FindingCode{annotations.BadValue}},
		{"scale-down-disabled", []string{noScaleDown, "true"}, true, false, nil},
		{"scale-down-disabled false", []string{noScaleDown, "false"}, false, false, nil},
		{"do-not-consolidate", []string{"karpenter.sh/do-not-consolidate", "true"}, true, false, nil},
		{"exclude-node-draining counts by being there", []string{"machine.cluster.x-k8s.io/exclude-node-draining", ""}, true, false, nil},
		{"delete-machine", []string{"cluster.x-k8s.io/delete-machine", "yes"}, false, true, nil},
		{"a pod's marker says nothing on a node", []string{safe, "false"}, false, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := annotations.Compile(everything()).Node(node(c.pairs...))
			require.Equal(t, c.veto, s.Veto)
			require.Equal(t, c.victim, s.PreferVictim)
			require.Equal(t, c.findings, codes(s))
		})
	}
}

// Reading more dialects, without a precedence, never lifts a veto; and the same
// pod gives the same answer every time, whatever order the map comes in.
func TestMoreDialectsNeverLiftAVeto(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pairs []string
		for _, key := range []string{dnd, safe, safeVolumes, evict, preferNo, doNotEvict, "x/do_not_disrupt", "y/donotdisrupt"} {
			if rapid.Bool().Draw(t, key) {
				pairs = append(pairs, key, rapid.SampledFrom([]string{"true", "false", "", "1h", "skip"}).Draw(t, "value"))
			}
		}
		p := pod(ago(time.Minute), pairs...)
		before := p.DeepCopy()
		few := annotations.ReadOptions{Dialects: annotations.Dialects()[:rapid.IntRange(0, 5).Draw(t, "few")]}
		a := annotations.Compile(few).Pod(p, noon)
		require.Equal(t, a, annotations.Compile(few).Pod(p, noon))
		require.Equal(t, before, p)
		if a.Veto {
			require.True(t, annotations.Compile(everything()).Pod(p, noon).Veto)
		}
	})
}
