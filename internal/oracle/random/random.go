// Package random draws small clusters in which every feature of a simulation
// comes up often, to hold simulators against each other.
package random

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// Question is a cluster and what to ask about it.
type Question struct {
	Cluster scheduling.Cluster
	Options scheduling.Options
	Request scheduling.Request
}

const (
	reservationLabel = "provider.example.com/reservation-id"
	teamLabel        = "example.com/team" // pools and some types may define it
	rackLabel        = "example.com/rack" // only nodes have it
	sizeLabel        = "example.com/cpu"  // integers, of every type
	gpu              = corev1.ResourceName("example.com/gpu")
)

var now = time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)

// Draw returns a question. Equal draws give equal questions.
func Draw(t *rapid.T) Question {
	d := &drawer{T: t, keys: annotations.For("")}
	if d.seldom("other domain") {
		d.options.Domain = "nodes.example.com"
		d.keys = annotations.For(d.options.Domain)
	}
	d.cluster.Now = now
	d.options.WellKnownLabels = []string{sizeLabel}
	if d.often("reservations") {
		d.options.ReservationLabel = reservationLabel
		d.options.WellKnownLabels = append(d.options.WellKnownLabels, reservationLabel)
	}
	d.options.AllowResourceClaims = d.seldom("allow resource claims")
	d.options.RefuseUnknownVolumes = d.sometimes("refuse unknown volumes")
	if d.seldom("default spread") {
		d.drawDefaultSpread()
	}
	if d.seldom("ignore preferences") {
		d.options.Preferences = scheduling.PreferencesIgnore
	}
	if d.sometimes("best effort") {
		d.options.MinValues = scheduling.MinValuesBestEffort
	}
	d.drawNamespaces()
	d.drawStorage()
	d.drawPools()
	d.drawNodes()
	d.drawDaemons()
	d.drawPods()
	return Question{d.cluster, d.options, d.drawRequest()}
}

// drawDefaultSpread spreads pods without constraints by their app.
func (d *drawer) drawDefaultSpread() {
	for range rapidCount(d, "default constraints", 1, 2) {
		d.options.DefaultSpread = append(d.options.DefaultSpread, corev1.TopologySpreadConstraint{
			MaxSkew: int32(1 + d.upTo(1, "maxSkew")), TopologyKey: d.key(),
			WhenUnsatisfiable: pick(d, "when", corev1.DoNotSchedule, corev1.ScheduleAnyway),
		})
	}
	d.options.SelectorOf = func(p *corev1.Pod) *metav1.LabelSelector {
		if p.Labels["app"] == "job" {
			return nil
		}
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
	}
}

// drawer builds one question. Its small alphabets make things meet.
type drawer struct {
	*rapid.T
	keys    annotations.Keys
	cluster scheduling.Cluster
	options scheduling.Options
	uid     int
}

func (d *drawer) percent(n int, what string) bool {
	return rapid.IntRange(0, 99).Draw(d.T, what) >= 100-n
}
func (d *drawer) often(what string) bool      { return d.percent(50, what) }
func (d *drawer) sometimes(what string) bool  { return d.percent(25, what) }
func (d *drawer) seldom(what string) bool     { return d.percent(8, what) }
func (d *drawer) upTo(n int, what string) int { return rapid.IntRange(0, n).Draw(d.T, what) }

func pick[T any](d *drawer, what string, from ...T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(d.T, what)]
}

// some picks at least one.
func some[T comparable](d *drawer, what string, from ...T) []T {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 1, len(from), rapid.ID[T]).Draw(d.T, what)
}

func (d *drawer) zone() string  { return pick(d, "zone", "a", "b", "c") }
func (d *drawer) team() string  { return pick(d, "team", "x", "y") }
func (d *drawer) label() string { return pick(d, "app", "web", "db", "job") }
func (d *drawer) key() string {
	return pick(d, "topology key", corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, corev1.LabelHostname,
		teamLabel, rackLabel, d.keys.CapacityType)
}

func (d *drawer) meta(namespace, name string) metav1.ObjectMeta {
	d.uid++
	age := time.Duration(d.upTo(3, "age")) * time.Hour
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("uid-%03d", d.uid)), CreationTimestamp: metav1.NewTime(now.Add(-age))}
}

func (d *drawer) drawNamespaces() {
	for _, name := range []string{"default", "other"} {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": pick(d, "env", "prod", "test")}}}
		if !d.seldom("namespace without object") {
			d.cluster.Namespaces = append(d.cluster.Namespaces, n)
		}
	}
}

func (d *drawer) drawRequest() scheduling.Request {
	r := scheduling.Request{SkipSettling: d.often("skip settling"), StrictReserved: d.sometimes("strict reserved")}
	for _, n := range d.cluster.Nodes {
		if n.Node != nil && d.percent(40, "remove") {
			r.Remove = append(r.Remove, n.Node.Name)
		}
	}
	if len(r.Remove) > 1 {
		r.Remove = rapid.Permutation(r.Remove).Draw(d.T, "order of removal")
	}
	if d.seldom("bound on new nodes") {
		r.MaxNewNodes = 1
	}
	return r
}
