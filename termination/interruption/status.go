package interruption

import (
	"strings"
	"time"
)

// InstanceStatus is what Amazon's DescribeInstanceStatus says of an instance, by
// its field names.
type InstanceStatus struct {
	InstanceID string `json:"instanceId"`
	// InstanceStatus and SystemStatus are the checks of the guest and of its host.
	InstanceStatus Check `json:"instanceStatus"`
	SystemStatus   Check `json:"systemStatus"`
	// AttachedEBSStatus isn't looked at, as in Karpenter.
	AttachedEBSStatus Check            `json:"attachedEbsStatus"`
	Events            []ScheduledEvent `json:"events"`
}

// Check is a group of status checks.
type Check struct {
	// Status is ok, impaired, insufficient-data, not-applicable or initializing.
	Status  string        `json:"status"`
	Details []CheckDetail `json:"details"`
}

// CheckDetail is one check of a group.
type CheckDetail struct {
	Name          string     `json:"name"`   // reachability
	Status        string     `json:"status"` // passed, failed, insufficient-data, initializing
	ImpairedSince *time.Time `json:"impairedSince"`
}

// ScheduledEvent is something that Amazon will do to an instance.
type ScheduledEvent struct {
	ID          string     `json:"instanceEventId"`
	Code        string     `json:"code"`
	Description string     `json:"description"`
	NotBefore   *time.Time `json:"notBefore"`
	NotAfter    *time.Time `json:"notAfter"`
}

// checkTolerance is how long a check must have failed before it counts.
const checkTolerance = 120 * time.Second

// FromStatus reports what the status of an instance asks for at now, after
// Karpenter v1.14: a check of the instance or its host that has failed for 120
// seconds or more forces it out; a scheduled event drains it at once, however far
// off, unless its description begins with [Completed] or [Canceled].
func FromStatus(s InstanceStatus, now time.Time) []Notice {
	var notices []Notice
	for _, group := range []struct {
		name  string
		check Check
	}{{"instance", s.InstanceStatus}, {"system", s.SystemStatus}} {
		if group.check.failed(now) {
			notices = append(notices, Notice{Kind: StatusCheckFailed, Action: Force, Instance: s.InstanceID, At: now, Detail: group.name})
		}
	}
	for _, e := range s.Events {
		if !e.counts() {
			continue
		}
		n := Notice{Kind: ScheduledMaintenance, Action: Drain, Instance: s.InstanceID, ID: e.ID, At: now, Detail: e.Code, Deadline: e.NotBefore}
		notices = append(notices, n.clone())
	}
	return notices
}

func (c Check) failed(now time.Time) bool {
	for _, d := range c.Details {
		if d.Status == "failed" && d.ImpairedSince != nil && now.Sub(*d.ImpairedSince) >= checkTolerance {
			return true
		}
	}
	return false
}

func (e ScheduledEvent) counts() bool {
	if strings.HasPrefix(e.Description, "[Completed]") || strings.HasPrefix(e.Description, "[Canceled]") {
		return false
	}
	switch e.Code {
	case "instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop":
		return true
	}
	return false
}
