package interruption_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/termination"
	"github.com/node-disruption/disruption/termination/interruption"
)

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

func read(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

// lines shows notices one a line.
func lines(notices []interruption.Notice) []string {
	texts := []string{}
	for _, n := range notices {
		text := n.String()
		if n.Unavailable.Spot {
			text += ", spot unavailable"
		}
		if n.Unavailable.Reservation {
			text += ", reservation unavailable"
		}
		texts = append(texts, text)
	}
	return texts
}

func TestEventBridge(t *testing.T) {
	for _, c := range []struct {
		file string
		want []string
	}{
		{"aws-spot.json", []string{"SpotInterruption of i-0123456789abcdef0 (terminate) by 2026-03-15T12:02:00Z: Drain, spot unavailable"}},
		{"aws-rebalance.json", []string{"Rebalance of i-0123456789abcdef0: NoticeOnly"}},
		{"aws-state.json", []string{"StateChange of i-0123456789abcdef0 (shutting-down): Drain"}},
		{"aws-state-running.json", []string{}},
		{"aws-reservation.json", []string{"CapacityReservationEnds of i-0123456789abcdef0 (terminate): Drain, reservation unavailable"}},
		{"aws-health.json", []string{
			"ScheduledMaintenance of i-0123456789abcdef0 (AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED) by 2026-03-22T05:00:00Z: Drain",
			"ScheduledMaintenance of i-0fedcba9876543210 (AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED) by 2026-03-22T05:00:00Z: Drain",
		}},
		{"aws-health-issue.json", []string{}},
		{"aws-other.json", []string{}},
	} {
		t.Run(c.file, func(t *testing.T) {
			notices, err := interruption.ParseEventBridge(read(t, c.file))
			require.Nil(t, err)
			assert.Equal(t, c.want, lines(notices))
		})
	}
}

func TestEventBridgeThatIsNothing(t *testing.T) {
	for name, message := range map[string]string{
		"an empty message":       "",
		"another version":        `{"version":"1","source":"aws.ec2","detail-type":"EC2 Instance Rebalance Recommendation","detail":{"instance-id":"i-1"}}`,
		"a source of its own":    `{"version":"0","source":"my.app","detail-type":"EC2 Instance Rebalance Recommendation","detail":{"instance-id":"i-1"}}`,
		"a Health event of RDS":  `{"version":"0","source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"RDS","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"db"}]}}`,
		"a Health event of none": `{"version":"0","source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange"}}`,
	} {
		notices, err := interruption.ParseEventBridge([]byte(message))
		assert.Nil(t, err, name)
		assert.Empty(t, notices, name)
	}
}

func TestABadMessageDoesNotLoseTheOthers(t *testing.T) {
	noID := `{"version":"0","source":"aws.ec2","detail-type":"EC2 Instance Rebalance Recommendation","detail":{}}`
	notices, errs := interruption.ParseBatch([][]byte{[]byte("{"), read(t, "aws-spot.json"), []byte(noID), read(t, "aws-state.json")})
	assert.Len(t, notices, 2)
	require.Len(t, errs, 2)
	assert.Equal(t, "messages[0]", errs[0].Field)
	assert.Equal(t, "messages[2].detail.instance-id", errs[1].Field)
}

func TestJSON(t *testing.T) {
	notices, problem := interruption.ParseEventBridge(read(t, "aws-spot.json"))
	require.Nil(t, problem)
	data, err := json.Marshal(notices[0])
	require.NoError(t, err)
	var again interruption.Notice
	require.NoError(t, json.Unmarshal(data, &again))
	assert.Equal(t, notices[0], again)
	data, err = json.Marshal(again)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"kind":"SpotInterruption","action":"Drain","instance":"i-0123456789abcdef0"`)
	assert.Contains(t, string(data), `"deadline":"2026-03-15T12:02:00Z","detail":"terminate","unavailable":{"spot":true}`)

	allotted, err := json.Marshal(interruption.Allot([]*corev1.Pod{pod("db", 300, termination.TierDaemon), nil}, noon, noon.Add(time.Minute), nil))
	require.NoError(t, err)
	assert.JSONEq(t, `[{"pod": "default/db", "tier": "daemon", "start": "2026-03-15T12:00:00Z", "grace": "1m0s", "lost": "4m0s"}]`, string(allotted))
}

func TestMessagesOfNoKnownTime(t *testing.T) {
	message := `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","time":%q,"detail":{"instance-id":"i-1"}}`
	notices, err := interruption.ParseEventBridge(fmt.Appendf(nil, message, ""))
	require.Nil(t, err)
	assert.Equal(t, []string{"SpotInterruption of i-1: Drain, spot unavailable"}, lines(notices), "acted upon, though nobody knows until when")
	_, err = interruption.ParseEventBridge(fmt.Appendf(nil, message, "noon"))
	require.NotNil(t, err)
	assert.Equal(t, `time: Invalid value: "noon": not an RFC3339 time`, err.Error())
}

func TestAnAzureEventWithoutANameIsNotThisMachine(t *testing.T) {
	notices, errs := interruption.ParseAzure([]byte(`{"Events":[{"EventType":"Preempt","ResourceType":"VirtualMachine","Resources":["","b"]}]}`), noon)
	require.Len(t, notices, 1)
	assert.Equal(t, "b", notices[0].Instance)
	require.Len(t, errs, 1)
	assert.Equal(t, "Events[0].Resources[0]", errs[0].Field)
}

func TestAzureEventsThatHaveStartedOrAreOfNoMachine(t *testing.T) {
	notices, errs := interruption.ParseAzure([]byte(`{"Events":[
		{"EventType":"Reboot","ResourceType":"VirtualMachine","Resources":["a"],"EventStatus":"Started","NotBefore":"Sun, 15 Mar 2026 12:15:00 GMT"},
		{"EventType":"Reboot","ResourceType":"Disk","Resources":["b"],"NotBefore":"Sun, 15 Mar 2026 12:15:00 GMT"}]}`), noon)
	require.Empty(t, errs)
	assert.Equal(t, []string{"ScheduledMaintenance of a (Reboot) by 2026-03-15T12:00:00Z: Drain"}, lines(notices))
}

func TestScheduledEventsThatAreOver(t *testing.T) {
	for description, want := range map[string]int{"Retirement": 1, "[Completed] Retirement": 0, "[Canceled] Retirement": 0, "Retirement [Canceled]": 1} {
		status := interruption.InstanceStatus{InstanceID: "i-1", Events: []interruption.ScheduledEvent{{Code: "instance-retirement", Description: description}}}
		assert.Len(t, interruption.FromStatus(status, noon), want, description)
	}
}

// The notices of one message may be changed apart.
func TestNoticesShareNothing(t *testing.T) {
	notices, _ := interruption.ParseEventBridge(read(t, "aws-health.json"))
	require.Len(t, notices, 2)
	assert.NotSame(t, notices[0].Deadline, notices[1].Deadline)
}

func TestStatusChecksForceAfterTwoMinutes(t *testing.T) {
	var status interruption.InstanceStatus
	require.NoError(t, json.Unmarshal(read(t, "aws-status.json"), &status))
	assert.Equal(t, []string{
		"StatusCheckFailed of i-0123456789abcdef0 (instance): Force",
		"ScheduledMaintenance of i-0123456789abcdef0 (instance-retirement) by 2026-03-22T05:00:00Z: Drain",
	}, lines(interruption.FromStatus(status, noon)), "the system check has failed for 119 s, the EBS check doesn't count, and the reboot is over")

	urgent := interruption.Urgent(interruption.FromStatus(status, noon))
	require.Len(t, urgent, 1)
	assert.Equal(t, interruption.Force, urgent[0].Action)
}

func TestOnlyAFailedCheckForces(t *testing.T) {
	since := noon.Add(-time.Hour)
	for status, notices := range map[string]int{"failed": 1, "passed": 0, "insufficient-data": 0, "initializing": 0, "": 0} {
		check := interruption.Check{Details: []interruption.CheckDetail{{Name: "reachability", Status: status, ImpairedSince: &since}}}
		assert.Len(t, interruption.FromStatus(interruption.InstanceStatus{SystemStatus: check}, noon), notices, status)
	}
}

func TestAzure(t *testing.T) {
	notices, errs := interruption.ParseAzure(read(t, "azure.json"), noon)
	assert.Equal(t, []string{
		"SpotInterruption of vmss_3 (Preempt) by 2026-03-15T12:00:30Z: Drain, spot unavailable",
		"ScheduledMaintenance of vmss_1 (Reboot) by 2026-03-15T12:15:00Z: Drain",
		"ScheduledMaintenance of vmss_2 (Reboot) by 2026-03-15T12:15:00Z: Drain",
		"Freeze of vmss_4 (Freeze) by 2026-03-15T12:15:00Z: NoticeOnly",
		"StateChange of vmss_5 (Terminate) by 2026-03-15T12:00:00Z: Drain",
		"ScheduledMaintenance of vmss_6 (Redeploy) by 2026-03-15T12:10:00Z: Drain",
	}, lines(notices))
	require.Len(t, errs, 1)
	assert.Equal(t, "Events[4].NotBefore", errs[0].Field)

	var order []string
	for _, n := range interruption.Urgent(notices) {
		order = append(order, n.Instance)
	}
	assert.Equal(t, []string{"vmss_5", "vmss_3", "vmss_6", "vmss_1", "vmss_2"}, order)
}

func TestGoogle(t *testing.T) {
	for _, c := range []struct {
		parse func(string, time.Time) ([]interruption.Notice, error)
		value string
		want  []string
		fails bool
	}{
		{preempted, "TRUE\n", []string{"SpotInterruption of this instance (preempted) by 2026-03-15T12:00:30Z: Drain, spot unavailable"}, false},
		{preempted, "FALSE", []string{}, false},
		{preempted, "true", []string{}, true},
		{maintenance, "TERMINATE_ON_HOST_MAINTENANCE", []string{"ScheduledMaintenance of this instance (TERMINATE_ON_HOST_MAINTENANCE) by 2026-03-15T12:01:00Z: Drain"}, false},
		{maintenance, "MIGRATE_ON_HOST_MAINTENANCE", []string{"Freeze of this instance (MIGRATE_ON_HOST_MAINTENANCE) by 2026-03-15T12:01:00Z: NoticeOnly"}, false},
		{maintenance, "NONE", []string{}, false},
		{maintenance, "SOMETHING", []string{}, true},
	} {
		notices, err := c.parse(c.value, noon)
		assert.Equal(t, c.want, lines(notices), c.value)
		assert.Equal(t, c.fails, err != nil, c.value)
	}
}

func preempted(value string, now time.Time) ([]interruption.Notice, error) {
	n, err := interruption.FromPreempted(value, now)
	if err != nil {
		return n, err
	}
	return n, nil
}

func maintenance(value string, now time.Time) ([]interruption.Notice, error) {
	n, err := interruption.FromMaintenanceEvent(value, now)
	if err != nil {
		return n, err
	}
	return n, nil
}

// pod is one that wants this much grace, in one of the tiers.
func pod(name string, grace int64, tier termination.Tier) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.TerminationGracePeriodSeconds = &grace
	if tier >= termination.TierCritical {
		p.Spec.PriorityClassName = "system-node-critical"
	}
	if tier == termination.TierDaemon || tier == termination.TierCriticalDaemon {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d"}}
	}
	return p
}

func allotted(list []interruption.Allotment) []string {
	var texts []string
	for _, a := range list {
		texts = append(texts, fmt.Sprintf("%s +%s %s lost %s", a.Pod.Name, a.Start.Sub(noon), a.Grace, a.Lost))
	}
	return texts
}

func TestAllot(t *testing.T) {
	pods := []*corev1.Pod{
		pod("agent", 30, termination.TierCriticalDaemon), pod("web", 60, termination.TierPlain), pod("db", 300, termination.TierPlain),
		pod("logs", 30, termination.TierDaemon),
	}
	rules := termination.RulesFor("")
	at := func(left time.Duration) []string {
		return allotted(interruption.Allot(pods, noon, noon.Add(left), rules))
	}

	assert.Equal(t, []string{"db +0s 5m0s lost 0s", "web +0s 1m0s lost 0s", "logs +5m0s 30s lost 0s", "agent +5m30s 30s lost 0s"}, at(10*time.Minute), "time for all")
	assert.Equal(t, []string{"db +0s 1m38s lost 3m22s", "web +0s 1m0s lost 0s", "logs +1m38s 10s lost 20s", "agent +1m48s 10s lost 20s"}, at(2*time.Minute), "a spot interruption is shared in proportion")
	assert.Equal(t, []string{"db +0s 5s lost 4m55s", "web +0s 5s lost 55s", "logs +0s 5s lost 25s", "agent +0s 5s lost 25s"}, at(5*time.Second), "too short for an order")
	assert.Equal(t, []string{"db +0s 1s lost 4m59s", "web +0s 1s lost 59s", "logs +0s 1s lost 29s", "agent +0s 1s lost 29s"}, at(-time.Minute), "never zero")
}

// Whatever the pods and the time, every pod gets at least a second and at most
// its own grace, is told to go no earlier than the tiers before it, and is gone
// by the deadline, if a second is left at all.
func TestAllotKeepsTheDeadline(t *testing.T) {
	rules := termination.RulesFor("")
	rapid.Check(t, func(t *rapid.T) {
		var pods []*corev1.Pod
		for i := range rapid.IntRange(0, 12).Draw(t, "pods") {
			tier := termination.Tier(rapid.IntRange(0, 3).Draw(t, "tier"))
			pods = append(pods, pod(fmt.Sprint(i), rapid.Int64Range(0, 4000).Draw(t, "grace"), tier))
		}
		left := time.Duration(rapid.Int64Range(1e9, 4000e9).Draw(t, "left"))
		deadline := noon.Add(left)
		list := interruption.Allot(pods, noon, deadline, rules)
		require.Len(t, list, len(pods))
		for i, a := range list {
			assert.GreaterOrEqual(t, a.Grace, time.Second)
			assert.LessOrEqual(t, a.Grace, max(time.Second, time.Duration(*a.Pod.Spec.TerminationGracePeriodSeconds)*time.Second))
			assert.False(t, a.Start.Add(a.Grace).After(deadline), "%s gone by the deadline", a.Pod.Name)
			assert.True(t, i == 0 || list[i-1].Tier <= a.Tier)
		}
		slices.Reverse(pods)
		assert.Equal(t, allotted(list), allotted(interruption.Allot(pods, noon, deadline, rules)), "the order of the pods plays no part")
	})
}

func FuzzParseEventBridge(f *testing.F) {
	names, err := filepath.Glob("testdata/aws-*.json")
	require.NoError(f, err)
	for _, name := range names {
		f.Add(read(f, filepath.Base(name)))
	}
	good := read(f, "aws-spot.json")
	f.Fuzz(func(t *testing.T, message []byte) {
		notices, errs := interruption.ParseBatch([][]byte{good, message, good})
		alone, err := interruption.ParseEventBridge(message)
		assert.Equal(t, err != nil, len(errs) == 1)
		assert.Len(t, notices, 2+len(alone))
		for _, n := range alone {
			assert.NotEmpty(t, n.Instance)
			assert.NotEmpty(t, n.String())
		}
	})
}

func FuzzParseAzure(f *testing.F) {
	f.Add(read(f, "azure.json"))
	f.Add([]byte(`{"Events":[{"EventType":7},{"EventType":"Reboot","ResourceType":"VirtualMachine","Resources":["a"]}]}`)) // one bad, one good
	f.Fuzz(func(t *testing.T, document []byte) {
		notices, _ := interruption.ParseAzure(document, noon)
		for _, n := range notices {
			if n.Action == interruption.Drain {
				assert.NotNil(t, n.Deadline)
			}
		}
	})
}

func FuzzGoogle(f *testing.F) {
	f.Add("TRUE\n")                        // as the metadata server writes it
	f.Add("TERMINATE_ON_HOST_MAINTENANCE") // the one that drains
	f.Add("true")                          // in the wrong case
	f.Fuzz(func(t *testing.T, value string) {
		for _, parse := range []func(string, time.Time) ([]interruption.Notice, *field.Error){interruption.FromPreempted, interruption.FromMaintenanceEvent} {
			notices, err := parse(value, noon)
			assert.False(t, err != nil && len(notices) > 0)
			for _, n := range notices {
				assert.True(t, n.Deadline.After(noon), "%q", value)
			}
		}
	})
}
