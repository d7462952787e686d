package interruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Kind is what a notice is about.
type Kind string

// Kinds of notices.
const (
	SpotInterruption        Kind = "SpotInterruption"        // a spot or preemptible instance is taken back
	CapacityReservationEnds Kind = "CapacityReservationEnds" // an instance loses the reservation that it runs on
	Rebalance               Kind = "Rebalance"               // a spot instance is at a higher risk
	StateChange             Kind = "StateChange"             // the instance stops or ends
	ScheduledMaintenance    Kind = "ScheduledMaintenance"    // the cloud will reboot, move or retire it
	StatusCheckFailed       Kind = "StatusCheckFailed"       // the cloud can't reach it
	Freeze                  Kind = "Freeze"                  // it pauses for seconds and goes on
	Unknown                 Kind = "Unknown"                 // nothing that concerns nodes
)

// Action is what to do about a notice.
type Action string

const (
	// None: do nothing.
	None Action = "None"
	// NoticeOnly: let it be known, and do nothing.
	NoticeOnly Action = "NoticeOnly"
	// Drain: delete the node claim, so that it drains and goes.
	Drain Action = "Drain"
	// Force: delete it and don't wait for its pods: its deadline is now, unless it
	// has one already.
	Force Action = "Force"
)

// Notice is one message of a cloud, as far as one instance is concerned.
type Notice struct {
	Kind   Kind   `json:"kind"`
	Action Action `json:"action"`
	// Instance is the cloud's ID or name of the instance; "" if the notice is about
	// the one whose metadata it is.
	Instance string `json:"instance,omitempty"`
	// ID of the message or event, "" if it has none: the same event may come twice.
	ID string `json:"id,omitempty"`
	// At is when the cloud said so; zero if it doesn't say when.
	At time.Time `json:"at,omitzero"`
	// Deadline is when the event may begin, until when the node must be empty; nil
	// if the cloud names none.
	Deadline *time.Time `json:"deadline,omitempty"`
	// Detail is the cloud's own word: a state, an event type or code.
	Detail string `json:"detail,omitempty"`
	// Unavailable says which offering to do without for a while; zero if none.
	Unavailable Unavailable `json:"unavailable,omitzero"`
}

// Unavailable marks offerings that a notice shows to be short.
type Unavailable struct {
	// Spot: the spot offering of the instance's own type and zone.
	Spot bool `json:"spot,omitempty"`
	// Reservation: the capacity reservation that the instance's node is labelled
	// with.
	Reservation bool `json:"reservation,omitempty"`
}

// Left is the time from now to the deadline, never below zero; false if there
// is no deadline.
func (n Notice) Left(now time.Time) (time.Duration, bool) {
	if n.Deadline == nil {
		return 0, false
	}
	return max(0, n.Deadline.Sub(now)), true
}

// String is the notice in one line.
func (n Notice) String() string {
	text := fmt.Sprintf("%s of %s", n.Kind, cmp.Or(n.Instance, "this instance"))
	if n.Detail != "" {
		text += " (" + n.Detail + ")"
	}
	if n.Deadline != nil {
		text += " by " + n.Deadline.UTC().Format(time.RFC3339)
	}
	return text + ": " + string(n.Action)
}

// Urgent keeps, for each instance, what to act on: the notice with the strongest
// action, and of equals the one with the earliest deadline. The rest is
// dropped, and so are notices that ask for nothing. The result is sorted by
// deadline, those without one last, then by instance.
func Urgent(notices []Notice) []Notice {
	best := map[string]Notice{}
	for _, n := range notices {
		if n.Action == None || n.Action == NoticeOnly {
			continue
		}
		if old, ok := best[n.Instance]; !ok || n.compare(old) < 0 {
			best[n.Instance] = n
		}
	}
	var list []Notice
	for _, n := range best {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b Notice) int {
		return cmp.Or(compareDeadlines(a.Deadline, b.Deadline), cmp.Compare(a.Instance, b.Instance))
	})
	return list
}

func (n Notice) compare(o Notice) int {
	strength := func(n Notice) int { return map[Action]int{Force: 0, Drain: 1}[n.Action] }
	return cmp.Or(cmp.Compare(strength(n), strength(o)), compareDeadlines(n.Deadline, o.Deadline),
		n.At.Compare(o.At), cmp.Compare(n.Kind, o.Kind), cmp.Compare(n.ID, o.ID), cmp.Compare(n.Detail, o.Detail))
}

func compareDeadlines(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}
