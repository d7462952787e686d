package interruption

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scheduledEvents is the document of Azure's Scheduled Events.
type scheduledEvents struct {
	Events []json.RawMessage `json:"Events"`
}

type azureEvent struct {
	EventID      string   `json:"EventId"`
	EventType    string   `json:"EventType"`
	ResourceType string   `json:"ResourceType"`
	Resources    []string `json:"Resources"`
	EventStatus  string   `json:"EventStatus"`
	NotBefore    string   `json:"NotBefore"`
}

// azureKind says what a type of event is, and the least time from the notice
// to its start.
func azureKind(eventType string) (kind Kind, action Action, notice time.Duration) {
	switch eventType {
	case "Preempt":
		return SpotInterruption, Drain, 30 * time.Second
	case "Terminate":
		return StateChange, Drain, 5 * time.Minute
	case "Reboot":
		return ScheduledMaintenance, Drain, 15 * time.Minute
	case "Redeploy":
		return ScheduledMaintenance, Drain, 10 * time.Minute
	case "Freeze":
		return Freeze, NoticeOnly, 15 * time.Minute
	}
	return Unknown, None, 0
}

// ParseAzure reads the document of Azure's Scheduled Events, seen at now, into a
// notice for each virtual machine of each event.
//
// An event that has started, and so has no NotBefore, is due now. A preemption
// also shows the spot offering to be unavailable. A freeze pauses the machine for
// seconds and is a notice only. Types that aren't known give a notice of kind
// [Unknown] that asks for nothing. An event that can't be read is an error by its
// path, "Events[1].NotBefore", and the others are read all the same.
func ParseAzure(document []byte, now time.Time) ([]Notice, field.ErrorList) {
	var d scheduledEvents
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, field.ErrorList{field.Invalid(field.NewPath("Events"), excerpt(document), err.Error())}
	}
	var notices []Notice
	var errs field.ErrorList
	for i, raw := range d.Events {
		path := field.NewPath("Events").Index(i)
		var e azureEvent
		if err := json.Unmarshal(raw, &e); err != nil {
			errs = append(errs, field.Invalid(path, excerpt(raw), err.Error()))
			continue
		}
		found, err := e.notices(now, path)
		if err != nil {
			errs = append(errs, err)
		}
		notices = append(notices, found...)
	}
	return notices, errs
}

func (e azureEvent) notices(now time.Time, path *field.Path) ([]Notice, *field.Error) {
	if e.ResourceType != "VirtualMachine" {
		return nil, nil
	}
	base := Notice{ID: e.EventID, At: now, Detail: e.EventType}
	var notice time.Duration
	base.Kind, base.Action, notice = azureKind(e.EventType)
	base.Unavailable.Spot = base.Kind == SpotInterruption
	var problem *field.Error
	if base.Kind != Unknown {
		deadline, ok := e.deadline(now, notice)
		if !ok {
			problem = field.Invalid(path.Child("NotBefore"), e.NotBefore, fmt.Sprintf("not an RFC1123 time; %s of notice are assumed", notice))
		}
		base.Deadline = &deadline
	}
	var notices []Notice
	for i, resource := range e.Resources {
		if resource == "" {
			problem = field.Required(path.Child("Resources").Index(i), "which machine is meant")
			continue
		}
		base.Instance = resource
		notices = append(notices, base.clone())
	}
	return notices, problem
}

// deadline is when the event may start; false if that had to be guessed, by the
// least notice that Azure gives.
func (e azureEvent) deadline(now time.Time, notice time.Duration) (time.Time, bool) {
	if e.EventStatus == "Started" || e.NotBefore == "" {
		return now, true
	}
	if t, ok := parseTime(e.NotBefore); ok {
		return t, true
	}
	return now.Add(notice), false
}
