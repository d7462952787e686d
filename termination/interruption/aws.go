package interruption

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// spotNotice is how long before the end Amazon warns of an interruption.
const spotNotice = 2 * time.Minute

// envelope is what all EventBridge messages have in common.
type envelope struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Time       string          `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

// instanceDetail is the detail of messages about one instance.
type instanceDetail struct {
	InstanceID     string `json:"instance-id"`
	InstanceAction string `json:"instance-action"`
	State          string `json:"state"`
}

// healthDetail is the detail of an AWS Health event.
type healthDetail struct {
	Service           string `json:"service"`
	EventTypeCategory string `json:"eventTypeCategory"`
	EventTypeCode     string `json:"eventTypeCode"`
	StartTime         string `json:"startTime"`
	AffectedEntities  []struct {
		EntityValue string `json:"entityValue"`
	} `json:"affectedEntities"`
}

// ParseEventBridge reads one EventBridge message of Amazon, such as comes from a
// queue, into a notice for each instance concerned. A message that is empty or
// about something else gives none.
//
// It knows version "0" of: EC2 Spot Instance Interruption Warning (two minutes to
// go; the spot offering is unavailable), EC2 Capacity Reservation Instance
// Interruption Warning (the reservation is), EC2 Instance Rebalance
// Recommendation (a notice, no act), EC2 Instance State-change Notification of
// stopping, stopped, shutting-down and terminated, in any case of letters, and
// AWS Health Event of service EC2 and category scheduledChange. The deadline of a
// Health event is its start time, and open if that can't be read.
//
// An error names the field of the message. It is for that message alone: see
// [ParseBatch].
func ParseEventBridge(message []byte) ([]Notice, *field.Error) {
	if len(bytes.TrimSpace(message)) == 0 {
		return nil, nil
	}
	var e envelope
	if err := json.Unmarshal(message, &e); err != nil {
		return nil, field.Invalid(nil, excerpt(message), "not an EventBridge message: "+err.Error())
	}
	if e.Version != "0" {
		return nil, nil
	}
	base := Notice{ID: e.ID}
	if e.Time != "" {
		at, err := time.Parse(time.RFC3339, e.Time)
		if err != nil {
			return nil, field.Invalid(field.NewPath("time"), e.Time, "not an RFC3339 time")
		}
		base.At = at
	}
	switch e.Source + "/" + e.DetailType {
	case "aws.ec2/EC2 Spot Instance Interruption Warning":
		base.Kind, base.Action, base.Unavailable = SpotInterruption, Drain, Unavailable{Spot: true}
		if !base.At.IsZero() {
			deadline := base.At.Add(spotNotice)
			base.Deadline = &deadline
		}
	case "aws.ec2/EC2 Capacity Reservation Instance Interruption Warning":
		base.Kind, base.Action, base.Unavailable = CapacityReservationEnds, Drain, Unavailable{Reservation: true}
	case "aws.ec2/EC2 Instance Rebalance Recommendation":
		base.Kind, base.Action = Rebalance, NoticeOnly
	case "aws.ec2/EC2 Instance State-change Notification":
		base.Kind, base.Action = StateChange, Drain
	case "aws.health/AWS Health Event":
		return e.health(base)
	default:
		return nil, nil
	}
	return e.instance(base)
}

// instance completes the notice of a message about one instance.
func (e envelope) instance(n Notice) ([]Notice, *field.Error) {
	var d instanceDetail
	path := field.NewPath("detail")
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return nil, field.Invalid(path, excerpt(e.Detail), err.Error())
	}
	if d.InstanceID == "" {
		return nil, field.Required(path.Child("instance-id"), "which instance is meant")
	}
	n.Instance, n.Detail = d.InstanceID, d.InstanceAction
	if n.Kind == StateChange {
		n.Detail = strings.ToLower(d.State)
		if !ending(n.Detail) {
			return nil, nil
		}
	}
	return []Notice{n}, nil
}

// ending reports whether an instance in this state is on its way out.
func ending(state string) bool {
	switch state {
	case "stopping", "stopped", "shutting-down", "terminated":
		return true
	}
	return false
}

// health gives a notice for each instance of a scheduled change.
func (e envelope) health(base Notice) ([]Notice, *field.Error) {
	var d healthDetail
	path := field.NewPath("detail")
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return nil, field.Invalid(path, excerpt(e.Detail), err.Error())
	}
	if d.Service != "EC2" || d.EventTypeCategory != "scheduledChange" {
		return nil, nil
	}
	base.Kind, base.Action, base.Detail = ScheduledMaintenance, Drain, d.EventTypeCode
	if starts, ok := parseTime(d.StartTime); ok {
		base.Deadline = &starts
	}
	var notices []Notice
	for _, entity := range d.AffectedEntities {
		if entity.EntityValue != "" {
			base.Instance = entity.EntityValue
			notices = append(notices, base.clone())
		}
	}
	return notices, nil
}

// clone is the notice with a deadline of its own.
func (n Notice) clone() Notice {
	if n.Deadline != nil {
		deadline := *n.Deadline
		n.Deadline = &deadline
	}
	return n
}

// parseTime reads the clouds' forms of an instant.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, time.RFC3339, "Mon, _2 Jan 2006 15:04:05 MST"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// excerpt is the beginning of a message, for an error.
func excerpt(message []byte) string {
	const most = 80
	if len(message) > most {
		return string(message[:most]) + "…"
	}
	return string(message)
}

// ParseBatch reads many messages. One that is bad is an error by its place,
// "messages[3].detail.instance-id", and doesn't lose the others.
func ParseBatch(messages [][]byte) ([]Notice, field.ErrorList) {
	var notices []Notice
	var errs field.ErrorList
	for i, message := range messages {
		found, err := ParseEventBridge(message)
		if err != nil {
			path := fmt.Sprintf("messages[%d]", i)
			if err.Field != "" && err.Field != "<nil>" {
				path += "." + err.Field
			}
			err.Field = path
			errs = append(errs, err)
		}
		notices = append(notices, found...)
	}
	return notices, errs
}
