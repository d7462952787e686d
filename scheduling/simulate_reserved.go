package scheduling

import (
	"slices"

	"github.com/node-disruption/disruption/annotations"
)

// reservationTable numbers the capacity reservations of all pools' offerings.
type reservationTable struct {
	ids []string // sorted
	// room is the least count that any offering of the id states.
	room []int
}

func (s *Snapshot) compileReservations() {
	room := map[string]int{}
	for _, p := range s.usable {
		for _, t := range p.InstanceTypes {
			for i := range t.Offerings {
				o := &t.Offerings[i]
				if !s.isReserved(o) {
					continue
				}
				if least, ok := room[o.ReservationID]; !ok || o.ReservationCapacity < least {
					room[o.ReservationID] = o.ReservationCapacity
				}
			}
		}
	}
	t := &s.reservations
	for id := range room {
		t.ids = append(t.ids, id)
	}
	slices.Sort(t.ids)
	for _, id := range t.ids {
		t.room = append(t.room, room[id])
	}
}

func (s *Snapshot) isReserved(o *Offering) bool {
	return o.ReservationID != "" && o.Requirements.Get(s.keys.CapacityType).Has(annotations.CapacityTypeReserved)
}

// reservations is how much of each reservation a simulation has left.
type reservations struct {
	s       *Snapshot
	left    []int
	scratch []int32
}

func newReservations(s *Snapshot) reservations { return reservations{s: s} }

func (r *reservations) begin() { r.left = append(r.left[:0], r.s.reservations.room...) }

// reserve finds the reservations that the node would hold: every one that is
// compatible and that it holds already or that has room. It is pessimistic: one
// small pod can hold many. Only in strict mode can it fail, when compatible
// reservations exist and none can be held.
func (w *workspace) reserve(c *claimState, o *outcome) bool {
	r := &w.held
	r.scratch = r.scratch[:0]
	if len(r.left) == 0 {
		return true
	}
	compatible := false
	for i := range o.options.each {
		for _, offering := range c.template.options[i].offerings {
			if !w.s.isReserved(offering) || !o.set.reqs.accepts(offering.Requirements, w.s.wellKnown) {
				continue
			}
			compatible = true
			id, _ := slices.BinarySearch(w.s.reservations.ids, offering.ReservationID)
			if r.left[id] > 0 || slices.Contains(c.held, int32(id)) {
				r.scratch = append(r.scratch, int32(id))
			}
		}
	}
	slices.Sort(r.scratch)
	r.scratch = slices.Compact(r.scratch)
	o.held = r.scratch
	if w.r.StrictReserved && len(o.held) == 0 && (compatible || len(c.held) > 0) {
		o.exhausted = true
		return false
	}
	return true
}

// exchange gives back what the node holds and takes what it will hold.
func (r *reservations) exchange(c *claimState, held []int32) {
	for _, id := range c.held {
		r.left[id]++
	}
	for _, id := range held {
		r.left[id]--
	}
	c.held = append(c.held[:0], held...)
}
