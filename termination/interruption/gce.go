package interruption

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Notice that Google gives before an instance is off.
const (
	preemptionNotice  = 30 * time.Second
	maintenanceNotice = 60 * time.Second
)

// FromPreempted reads the metadata value instance/preempted of Google Compute
// Engine, seen at now: TRUE gives 30 seconds until the machine is off, FALSE no
// notice. A blank at either end, such as a newline, doesn't matter.
func FromPreempted(value string, now time.Time) ([]Notice, *field.Error) {
	switch strings.TrimSpace(value) {
	case "TRUE":
		deadline := now.Add(preemptionNotice)
		return []Notice{{Kind: SpotInterruption, Action: Drain, At: now, Deadline: &deadline, Detail: "preempted", Unavailable: Unavailable{Spot: true}}}, nil
	case "FALSE", "":
		return nil, nil
	}
	return nil, field.NotSupported(field.NewPath("instance", "preempted"), excerpt([]byte(value)), []string{"FALSE", "TRUE"})
}

// FromMaintenanceEvent reads the metadata value instance/maintenance-event of
// Google Compute Engine, seen at now: TERMINATE_ON_HOST_MAINTENANCE gives 60
// seconds, MIGRATE_ON_HOST_MAINTENANCE is a notice only, since the instance goes
// on elsewhere, and NONE gives no notice.
func FromMaintenanceEvent(value string, now time.Time) ([]Notice, *field.Error) {
	value = strings.TrimSpace(value)
	deadline := now.Add(maintenanceNotice)
	switch value {
	case "TERMINATE_ON_HOST_MAINTENANCE":
		return []Notice{{Kind: ScheduledMaintenance, Action: Drain, At: now, Deadline: &deadline, Detail: value}}, nil
	case "MIGRATE_ON_HOST_MAINTENANCE":
		return []Notice{{Kind: Freeze, Action: NoticeOnly, At: now, Deadline: &deadline, Detail: value}}, nil
	case "NONE", "":
		return nil, nil
	}
	return nil, field.NotSupported(field.NewPath("instance", "maintenance-event"), excerpt([]byte(value)),
		[]string{"MIGRATE_ON_HOST_MAINTENANCE", "NONE", "TERMINATE_ON_HOST_MAINTENANCE"})
}
