package conformance

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/scheduling"
)

type requirementsCase struct {
	A, B                          scheduling.Requirements
	AllowUndefinedWellKnownLabels bool
	Probes                        []struct{ Key, Value string }
}

type requirementsAnswer struct {
	Compatible, Intersects bool
	Combined               map[string]combinedRequirement
	Has                    []probed
}

type combinedRequirement struct {
	Operator   corev1.NodeSelectorOperator
	Values     []string
	Complement bool
	Gte, Lte   *int64
	MinValues  *int
}

type probed struct {
	Key, Value string
	Has        bool
}

func replayRequirements(f *File, c *Case) string {
	var in requirementsCase
	var want requirementsAnswer
	if text := decode(c.In, &in); text != "" {
		return text
	}
	if text := decode(c.Want, &want); text != "" {
		return text
	}
	allowed := []string(nil)
	if in.AllowUndefinedWellKnownLabels {
		allowed = scheduling.Options{}.AllowUndefined()
	}
	both := in.A.And(in.B)
	got := requirementsAnswer{
		Compatible: in.A.Compatible(in.B, allowed) == nil,
		Intersects: in.A.Intersects(in.B) == nil,
		Combined:   map[string]combinedRequirement{},
	}
	for r := range both.All() {
		got.Combined[r.Key()] = combinedOf(r)
	}
	for _, p := range in.Probes {
		got.Has = append(got.Has, probed{p.Key, p.Value, both.Get(p.Key).Has(p.Value)})
	}
	if len(want.Has) == 0 {
		want.Has = nil
	}
	return diff(got, want)
}

func combinedOf(r scheduling.Requirement) combinedRequirement {
	c := combinedRequirement{Operator: r.Operator(), Values: r.Values(), Complement: r.Complement()}
	if n, ok := r.AtLeast(); ok {
		c.Gte = &n
	}
	if n, ok := r.AtMost(); ok {
		c.Lte = &n
	}
	if n, ok := r.MinValues(); ok {
		c.MinValues = &n
	}
	return c
}

func replayTaints(f *File, c *Case) string {
	var in struct {
		Taints      []corev1.Taint
		Tolerations []corev1.Toleration
	}
	var want struct{ Tolerates bool }
	if text := decode(c.In, &in); text != "" {
		return text
	}
	if text := decode(c.Want, &want); text != "" {
		return text
	}
	_, blocked := scheduling.Untolerated(in.Taints, in.Tolerations)
	return diff(!blocked, want.Tolerates)
}

type instanceTypesCase struct {
	InstanceTypes      []*scheduling.InstanceType
	Requirements       scheduling.Requirements
	MaxPrice           float64
	MaxItems           int
	MinValuesPolicy    scheduling.MinValuesPolicy
	ReplacementOptions []string
	Consolidated       []struct {
		InstanceType string
		Labels       map[string]string
	}
}

type instanceTypesAnswer struct {
	OrderByPrice, Compatible []string
	MinValues                struct {
		Needed        int
		Unsatisfiable map[string]int
		Error         bool
	}
	// Truncate is null where the original's order is unspecified.
	Truncate            *namesOrError
	WorstLaunchPrice    map[string]*float64
	AfterPriceFilter    namesOrError
	AfterSameTypeFilter namesOrError
}

type namesOrError struct {
	Names []string
	Error bool
}

func replayInstanceTypes(f *File, c *Case) string {
	var in instanceTypesCase
	var want instanceTypesAnswer
	if text := decode(c.In, &in); text != "" {
		return text
	}
	if text := decode(c.Want, &want); text != "" {
		return text
	}
	got := in.answer()
	if want.Truncate == nil {
		got.Truncate = nil
	}
	return diff(got, want)
}

func (in *instanceTypesCase) answer() instanceTypesAnswer {
	demand := scheduling.Options{}.Demand(in.Requirements)
	got := instanceTypesAnswer{Compatible: typeNames(demand.Compatible(in.InstanceTypes)), WorstLaunchPrice: map[string]*float64{}}

	sorted, unpriced := demand.SortByPrice(in.InstanceTypes)
	got.OrderByPrice = typeNames(sorted[:len(sorted)-unpriced])

	needed, short := scheduling.SatisfyMinValues(in.InstanceTypes, in.Requirements)
	got.MinValues.Needed, got.MinValues.Error = needed, short != nil
	got.MinValues.Unsatisfiable = map[string]int{}
	if short != nil {
		for _, s := range short.Shortfalls {
			got.MinValues.Unsatisfiable[s.Key] = s.Have
		}
	}
	for _, t := range in.InstanceTypes {
		got.WorstLaunchPrice[t.Name] = nil
		if price, ok := demand.WorstLaunchPrice(t); ok {
			got.WorstLaunchPrice[t.Name] = &price
		}
	}
	truncated, short := demand.Truncate(in.InstanceTypes, in.MaxItems, in.MinValuesPolicy)
	got.Truncate = &namesOrError{typeNames(truncated), short != nil}
	cheaper, short := demand.CheaperThan(in.InstanceTypes, in.MaxPrice)
	got.AfterPriceFilter = namesOrError{typeNames(cheaper), short != nil}
	other, short := demand.CheaperThanSameType(in.replacements(), in.running())
	got.AfterSameTypeFilter = namesOrError{typeNames(other), short != nil}
	return got
}

func (in *instanceTypesCase) named(name string) *scheduling.InstanceType {
	for _, t := range in.InstanceTypes {
		if t.Name == name {
			return t
		}
	}
	return nil
}

func (in *instanceTypesCase) replacements() []*scheduling.InstanceType {
	var types []*scheduling.InstanceType
	for _, name := range in.ReplacementOptions {
		types = append(types, in.named(name))
	}
	return types
}

func (in *instanceTypesCase) running() []scheduling.Running {
	var running []scheduling.Running
	for _, r := range in.Consolidated {
		running = append(running, scheduling.Running{InstanceType: in.named(r.InstanceType), Labels: r.Labels})
	}
	return running
}

func typeNames(types []*scheduling.InstanceType) []string {
	var names []string
	for _, t := range types {
		names = append(names, t.Name)
	}
	return names
}
