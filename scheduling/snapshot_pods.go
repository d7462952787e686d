package scheduling

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podRow is one pod that plays a part.
type podRow struct {
	pod    *corev1.Pod
	class  int32
	labels int32 // its row in labelIndex.sets, if there is one
	host   int32 // -1 for a pending pod
	volume int32 // its row in volumeTable, -1 without volumes
	flags  podFlag
}

type podFlag uint8

const (
	// podMoves: it must be placed when its node goes.
	podMoves podFlag = 1 << iota
	// podLives: neither Failed nor Succeeded; it takes room.
	podLives
	// podCounts: alive and not terminating; topology counts it.
	podCounts
	// podDaemon: a DaemonSet owns it.
	podDaemon
	// podExempt: its phase is Pending, so it may move to settling nodes.
	podExempt
)

func (f podFlag) is(flag podFlag) bool { return f&flag != 0 }

// podTable holds the bound pods node by node, each node's by namespace and
// name, and after them the pending ones in the same order.
type podTable struct {
	rows    []podRow
	pending span
}

// collectPods lists the pods that play a part.
func (s *Snapshot) collectPods(c *Cluster) {
	rows := make([]podRow, 0, len(c.Pods))
	for _, pod := range c.Pods {
		if row, ok := s.rowOf(pod); ok && (row.host >= 0 || s.placeable(pod)) {
			rows = append(rows, row)
		}
	}
	s.arrange(rows)
	for i := range s.pods.rows {
		s.describe(&s.pods.rows[i])
	}
}

// describe finds the class and the volumes of a pod.
func (s *Snapshot) describe(row *podRow) {
	row.class = s.book.classOf(row.pod, s.spreadsOf(row.pod))
	if names := claimNames(row.pod); len(names) > 0 {
		row.volume = int32(len(s.volumes.sets))
		s.volumes.sets = append(s.volumes.sets, s.volumesOf(names))
	}
}

// arrange sorts the rows to their nodes, and sets the span of each.
func (s *Snapshot) arrange(rows []podRow) {
	s.pods.rows = s.byHost(rows)
	for i := range s.hosts.hosts {
		h := &s.hosts.hosts[i]
		slices.SortFunc(s.pods.rows[h.pods.from:h.pods.to], comparePodNames)
	}
	slices.SortFunc(s.pods.rows[s.pods.pending.from:], comparePodNames)
}

func comparePodNames(a, b podRow) int {
	return cmp.Or(strings.Compare(a.pod.Namespace, b.pod.Namespace), strings.Compare(a.pod.Name, b.pod.Name))
}

// byHost is a counting sort: cheaper than comparing 75,000 names.
func (s *Snapshot) byHost(rows []podRow) []podRow {
	hosts := s.hosts.hosts
	starts := make([]int32, len(hosts)+2)
	bucket := func(r *podRow) int32 {
		if r.host < 0 {
			return int32(len(hosts))
		}
		return r.host
	}
	for i := range rows {
		starts[bucket(&rows[i])+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	for i := range hosts {
		hosts[i].pods = span{starts[i], starts[i+1]}
	}
	s.pods.pending = span{starts[len(hosts)], int32(len(rows))}
	sorted := make([]podRow, len(rows))
	for i := range rows {
		b := bucket(&rows[i])
		sorted[starts[b]] = rows[i]
		starts[b]++
	}
	return sorted
}

// rowOf says what part a pod plays, if any: pods that ended only count where
// they have to move all the same, pods on unknown nodes not at all.
func (s *Snapshot) rowOf(pod *corev1.Pod) (podRow, bool) {
	row := podRow{pod: pod, host: -1, volume: -1, flags: flagsOf(pod)}
	if pod.Spec.NodeName == "" {
		return row, isPending(pod)
	}
	host, known := s.hosts.byKube[pod.Spec.NodeName]
	if !known {
		return row, false
	}
	row.host = host
	if s.moves(pod) {
		row.flags |= podMoves
	}
	return row, row.flags.is(podMoves | podLives)
}

func flagsOf(pod *corev1.Pod) podFlag {
	var f podFlag
	if !isTerminal(pod) {
		f |= podLives
		if pod.DeletionTimestamp == nil {
			f |= podCounts
		}
	}
	if ownedBy(pod, "apps/v1", "DaemonSet") {
		f |= podDaemon
	}
	if pod.Status.Phase == corev1.PodPending {
		f |= podExempt
	}
	return f
}

func isTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func ownedBy(pod *corev1.Pod, apiVersion, kind string) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.APIVersion == apiVersion && o.Kind == kind
	})
}

// isPending reports whether the scheduler gave up on the pod for now.
func isPending(pod *corev1.Pod) bool {
	return isUnschedulable(pod) && pod.Status.NominatedNodeName == "" && !isTerminal(pod) &&
		!ownedBy(pod, "apps/v1", "DaemonSet") && !ownedBy(pod, "v1", "Node")
}

func isUnschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
	})
}

// moves asks the option, or by default takes every active pod that neither a
// DaemonSet nor a node owns.
func (s *Snapshot) moves(pod *corev1.Pod) bool {
	if s.opts.Moves != nil {
		return s.opts.Moves(pod)
	}
	return !isTerminal(pod) && pod.DeletionTimestamp == nil &&
		!ownedBy(pod, "apps/v1", "DaemonSet") && !ownedBy(pod, "v1", "Node")
}
