package interruption_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/termination"
	"github.com/node-disruption/disruption/termination/interruption"
)

func Example() {
	message := []byte(`{"version": "0", "source": "aws.ec2", "time": "2026-03-15T12:00:00Z",
		"detail-type": "EC2 Spot Instance Interruption Warning",
		"detail": {"instance-id": "i-0123456789abcdef0", "instance-action": "terminate"}}`)
	notices, _ := interruption.ParseEventBridge(message)
	fmt.Println(notices[0])

	now := time.Date(2026, 3, 15, 12, 0, 20, 0, time.UTC)
	pods := []*corev1.Pod{pod("db", 300, termination.TierPlain), pod("logs", 30, termination.TierDaemon)}
	for _, a := range interruption.Allot(pods, now, *notices[0].Deadline, termination.RulesFor("")) {
		fmt.Printf("%s at %s with %s, %s less than its own\n", a.Pod.Name, a.Start.Format(time.TimeOnly), a.Grace, a.Lost)
	}
	// Output:
	// SpotInterruption of i-0123456789abcdef0 (terminate) by 2026-03-15T12:02:00Z: Drain
	// db at 12:00:20 with 1m30s, 3m30s less than its own
	// logs at 12:01:50 with 9s, 21s less than its own
}

func ExampleParseBatch() {
	notices, errs := interruption.ParseBatch([][]byte{
		[]byte(`not JSON`),
		[]byte(`{"version": "0", "source": "aws.ec2", "detail-type": "EC2 Instance State-change Notification",
			"detail": {"instance-id": "i-1", "state": "Stopping"}}`),
	})
	fmt.Println(notices)
	fmt.Println(errs[0].Field)
	// Output:
	// [StateChange of i-1 (stopping): Drain]
	// messages[0]
}
