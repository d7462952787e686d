package scheduling

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/annotations"
)

// Catalog is the instance types that a provider sells, as a file holds them.
type Catalog struct {
	// WellKnownLabels are the provider's own; see [Options.WellKnownLabels].
	WellKnownLabels []string
	// InstanceTypes by pool; those under "*" are for pools not named.
	InstanceTypes map[string][]*InstanceType
}

// For returns the instance types of a pool. The slice is shared.
func (c *Catalog) For(pool string) []*InstanceType {
	if types, ok := c.InstanceTypes[pool]; ok {
		return types
	}
	return c.InstanceTypes["*"]
}

type catalogJSON struct {
	WellKnownLabels []string                      `json:"wellKnownLabels"`
	InstanceTypes   map[string][]instanceTypeJSON `json:"instanceTypes"`
}

type instanceTypeJSON struct {
	Name         string              `json:"name"`
	Requirements []RequirementSpec   `json:"requirements"`
	Capacity     corev1.ResourceList `json:"capacity"`
	Overhead     corev1.ResourceList `json:"overhead"`
	Offerings    []offeringJSON      `json:"offerings"`
}

// ParseCatalog reads {"wellKnownLabels": [...], "instanceTypes": {"*": [...]}}.
// An offering may say zone and capacityType instead of the requirements that
// mean the same in the domain of options; with a ReservationLabel each states
// its reservation too (see [InstanceType.WithReservationLabel]). What is wrong
// is reported by path, and then there is no catalog.
func ParseCatalog(data []byte, options Options) (*Catalog, field.ErrorList) {
	var j catalogJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, field.ErrorList{field.Invalid(nil, field.OmitValueType{}, err.Error())}
	}
	if errs := j.validate(); len(errs) > 0 {
		return nil, errs
	}
	keys := annotations.For(options.Domain)
	c := &Catalog{WellKnownLabels: j.WellKnownLabels, InstanceTypes: make(map[string][]*InstanceType, len(j.InstanceTypes))}
	for pool, types := range j.InstanceTypes {
		for _, t := range types {
			c.InstanceTypes[pool] = append(c.InstanceTypes[pool], t.instanceType(keys, options.ReservationLabel))
		}
	}
	return c, nil
}

func (j instanceTypeJSON) instanceType(keys annotations.Keys, reservationLabel string) *InstanceType {
	t := &InstanceType{Name: j.Name, Requirements: NewRequirements(j.Requirements...), Capacity: j.Capacity, Overhead: j.Overhead}
	for _, o := range j.Offerings {
		t.Offerings = append(t.Offerings, o.offering(keys, reservationLabel))
	}
	return t
}

func (j catalogJSON) validate() field.ErrorList {
	var errs field.ErrorList
	root := field.NewPath("instanceTypes")
	for pool, types := range j.InstanceTypes {
		seen := make(map[string]bool, len(types))
		for i, t := range types {
			path := root.Key(pool).Index(i)
			if seen[t.Name] {
				errs = append(errs, field.Duplicate(path.Child("name"), t.Name))
			}
			seen[t.Name] = true
			errs = append(errs, t.validate(path)...)
		}
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

func (j instanceTypeJSON) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if j.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "an instance type has a name"))
	}
	errs = append(errs, validateSpecs(j.Requirements, path.Child("requirements"))...)
	errs = append(errs, validateQuantities(j.Capacity, path.Child("capacity"))...)
	errs = append(errs, validateQuantities(j.Overhead, path.Child("overhead"))...)
	for i, o := range j.Offerings {
		errs = append(errs, o.validate(path.Child("offerings").Index(i))...)
	}
	return errs
}

func (j offeringJSON) validate(path *field.Path) field.ErrorList {
	errs := validateSpecs(j.Requirements, path.Child("requirements"))
	if math.IsNaN(j.Price) || j.Price < 0 {
		errs = append(errs, field.Invalid(path.Child("price"), j.Price, "must not be negative"))
	}
	if j.ReservationCapacity < 0 {
		errs = append(errs, field.Invalid(path.Child("reservationCapacity"), j.ReservationCapacity, "must not be negative"))
	}
	return append(errs, validateQuantities(j.CapacityOverride, path.Child("capacityOverride"))...)
}

func validateSpecs(specs []RequirementSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, s := range specs {
		errs = append(errs, s.Validate(path.Index(i))...)
	}
	return errs
}

func validateQuantities(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for name, q := range list {
		if q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), q.String(), "must not be negative"))
		}
	}
	return errs
}
