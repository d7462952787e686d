package scheduling

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
)

// Offering is one way to buy an instance type: in a zone, with a capacity type,
// at a price.
type Offering struct {
	// Requirements name the zone and the capacity type (In one value each), and
	// whatever else tells offerings apart.
	Requirements Requirements `json:"requirements"`
	// Price per hour, in any currency as long as it is one.
	Price float64 `json:"price"`
	// Available: the cloud would sell it now.
	Available bool `json:"available"`
	// ReservationID is set for reserved capacity alone.
	ReservationID string `json:"reservationId,omitempty"`
	// ReservationCapacity is how many instances the reservation still has room
	// for; those that already run don't count against it.
	ReservationCapacity int `json:"reservationCapacity,omitempty"`
	// CapacityOverride replaces single resources of the type's capacity.
	CapacityOverride corev1.ResourceList `json:"capacityOverride,omitempty"`
}

// offeringJSON is an offering as a catalog writes it: zone and capacityType may
// stand for the requirements of the same meaning.
type offeringJSON struct {
	Zone                string              `json:"zone"`
	CapacityType        string              `json:"capacityType"`
	Requirements        []RequirementSpec   `json:"requirements"`
	Price               float64             `json:"price"`
	Available           bool                `json:"available"`
	ReservationID       string              `json:"reservationId"`
	ReservationCapacity int                 `json:"reservationCapacity"`
	CapacityOverride    corev1.ResourceList `json:"capacityOverride"`
}

// UnmarshalJSON reads an offering. Beside the fields of [Offering] it knows zone
// and capacityType, short for requirements that name the one zone and, under the
// default domain, the one capacity type. [ParseCatalog] reads other domains.
func (o *Offering) UnmarshalJSON(data []byte) error {
	var j offeringJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*o = j.offering(annotations.For(""), "")
	return nil
}

// offering spells the shorthand out. If the provider has a label for
// reservations, every offering states it: reserved ones In their id, others
// DoesNotExist.
func (j offeringJSON) offering(keys annotations.Keys, reservationLabel string) Offering {
	var short []Requirement
	if j.Zone != "" {
		short = append(short, In(corev1.LabelTopologyZone, j.Zone))
	}
	if j.CapacityType != "" {
		short = append(short, In(keys.CapacityType, j.CapacityType))
	}
	o := Offering{
		Requirements:        NewRequirements(j.Requirements...).Add(short...),
		Price:               j.Price,
		Available:           j.Available,
		ReservationID:       j.ReservationID,
		ReservationCapacity: j.ReservationCapacity,
		CapacityOverride:    j.CapacityOverride,
	}
	return o.withReservationLabel(reservationLabel)
}

func (o Offering) withReservationLabel(label string) Offering {
	if label == "" || o.Requirements.Has(label) {
		return o
	}
	if o.ReservationID == "" {
		o.Requirements = o.Requirements.Add(DoesNotExist(label))
	} else {
		o.Requirements = o.Requirements.Add(In(label, o.ReservationID))
	}
	return o
}
