package consolidation

import (
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/scheduling"
)

// Remembered prices filter as those computed anew, whatever was asked before.
func TestRememberedPricesAreThePrices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var types []*scheduling.InstanceType
		for i := range rapid.IntRange(0, 6).Draw(t, "types") {
			it := &scheduling.InstanceType{Name: string(rune('a' + i)), Requirements: scheduling.NewRequirements().Add(scheduling.In(corev1.LabelInstanceTypeStable, string(rune('a'+i))))}
			for range rapid.IntRange(0, 4).Draw(t, "offerings") {
				it.Offerings = append(it.Offerings, scheduling.Offering{
					Requirements: scheduling.NewRequirements().Add(
						scheduling.In(corev1.LabelTopologyZone, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")),
						scheduling.In("karpenter.sh/capacity-type", rapid.SampledFrom([]string{"spot", "on-demand", "reserved"}).Draw(t, "capacity"))),
					Price: float64(rapid.IntRange(1, 9).Draw(t, "price")), Available: rapid.Bool().Draw(t, "available"),
				})
			}
			types = append(types, it)
		}
		p := NewPlanner(&Fleet{}, nil, Options{})
		for range 4 {
			node := &scheduling.NewNode{Requirements: scheduling.NewRequirements().Add(
				scheduling.In(corev1.LabelTopologyZone, rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b"}), rapid.ID[string]).Draw(t, "zones")...),
				scheduling.Exists(corev1.LabelInstanceTypeStable).WithMinValues(rapid.IntRange(0, 3).Draw(t, "min")))}
			max := float64(rapid.IntRange(0, 10).Draw(t, "max"))
			want, wantShort := scheduling.Options{}.Demand(node.Requirements).CheaperThan(types, max)
			got, short := p.prices(node).cheaperThan(types, max)
			if !slices.Equal(got, want) || (short == nil) != (wantShort == nil) {
				t.Fatalf("got %v %v, want %v %v", got, short, want, wantShort)
			}
		}
	})
}

// A book that is full still answers, and nodes that require the same share a page.
func TestThePriceBookIsBounded(t *testing.T) {
	p := NewPlanner(&Fleet{}, nil, Options{})
	asking := func(i int) *pricePage {
		return p.prices(&scheduling.NewNode{Requirements: scheduling.NewRequirements().Add(scheduling.In("team", strconv.Itoa(i)))})
	}
	for i := range maxDemands {
		if first, again := asking(i), asking(i); first != again {
			t.Fatalf("the prices of demand %d are forgotten", i)
		}
	}
	if first, again := asking(maxDemands), asking(maxDemands); first == again || p.book.size != maxDemands {
		t.Errorf("%d demands are remembered, %d are the most", p.book.size, maxDemands)
	}
}
