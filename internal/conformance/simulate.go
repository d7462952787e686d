package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// simulation is a recorded answer, and ours in the same shape.
type simulation struct {
	Placements             map[string]string  `json:"placements"`
	NewNodes               []simulatedNewNode `json:"newNodes"`
	AllNonPendingScheduled bool               `json:"allNonPendingScheduled"`
	Uninitialized          map[string]string  `json:"uninitialized"`
	Error                  string             `json:"error"`
}

type simulatedNewNode struct {
	NodePool      string              `json:"nodePool"`
	InstanceTypes []string            `json:"instanceTypes"`
	Unpriced      int                 `json:"unpriced"`
	Requirements  []requirement       `json:"requirements"`
	Requests      corev1.ResourceList `json:"requests"`
}

// requirement is one entry of a recorded node claim: bounds are not shown.
type requirement struct {
	Key       string                      `json:"key"`
	Operator  corev1.NodeSelectorOperator `json:"operator"`
	Values    []string                    `json:"values"`
	MinValues *int                        `json:"minValues"`
}

func replaySimulate(f *File, c *Case) string { return replaySimulateWith(compiled, f, c) }

// simulator answers one question about a cluster.
type simulator func(scheduling.Cluster, scheduling.Options, scheduling.Request) (scheduling.Result, error)

func compiled(cluster scheduling.Cluster, options scheduling.Options, request scheduling.Request) (scheduling.Result, error) {
	snapshot, err := scheduling.NewSnapshot(cluster, options)
	if err != nil {
		return scheduling.Result{}, err
	}
	return snapshot.Simulate(request), nil
}

func replaySimulateWith(simulate simulator, f *File, c *Case) string {
	var in struct {
		Snapshot       snapshot `json:"snapshot"`
		Remove         []string `json:"remove"`
		Consolidation  bool     `json:"consolidation"`
		StrictReserved bool     `json:"strictReserved"`
	}
	var want struct {
		simulation
		Seen []simulation `json:"seen"`
	}
	if d := decode(c.In, &in); d != "" {
		return d
	}
	if d := decode(c.Want, &want); d != "" {
		return d
	}
	cluster, err := in.Snapshot.cluster(f)
	if err != nil {
		return err.Error()
	}
	facts, options := cluster.Scheduling(in.Snapshot.options())
	result, err := simulate(facts, options, scheduling.Request{
		Remove: in.Remove, SkipSettling: in.Consolidation, StrictReserved: in.StrictReserved,
	})
	if err != nil {
		return "Simulate: " + err.Error()
	}
	got := recordSimulation(&in.Snapshot, result)
	return closest(got.canonical(), want.simulation, want.Seen)
}

// closest compares with the canonical answer and then with the others seen.
func closest(got simulation, want simulation, seen []simulation) string {
	first := diff(got, want.canonical())
	for _, other := range seen {
		if first == "" || diff(got, other.canonical()) == "" {
			return ""
		}
	}
	return first
}

// recordSimulation writes our answer the way the recorded ones are written.
func recordSimulation(s *snapshot, r scheduling.Result) simulation {
	out := simulation{Placements: map[string]string{}, AllNonPendingScheduled: r.AllRunningPlaced()}
	if r.NoPools {
		out.Error = "no nodepools"
		return out
	}
	for i := range r.Placements {
		p := &r.Placements[i]
		name := podName(p.Pod)
		out.Placements[name] = place(p)
		if p.Uninitialized && p.Origin != scheduling.FromDeleting {
			if out.Uninitialized == nil {
				out.Uninitialized = map[string]string{}
			}
			out.Uninitialized[name] = p.Node
		}
	}
	for i := range r.NewNodes {
		out.NewNodes = append(out.NewNodes, recordNewNode(s, &r.NewNodes[i]))
	}
	return out
}

func podName(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func place(p *scheduling.Placement) string {
	switch {
	case !p.Placed():
		return "unschedulable"
	case p.Node != "":
		return p.Node
	}
	return "new-" + strconv.Itoa(p.NewNode)
}

func recordNewNode(s *snapshot, n *scheduling.NewNode) simulatedNewNode {
	return simulatedNewNode{
		NodePool: n.Pool, InstanceTypes: typeNames(n.InstanceTypes), Unpriced: n.Unpriced,
		Requirements: s.requirements(n.Requirements), Requests: n.Requests,
	}
}

// requirements leaves out what is the same for all nodes of a pool.
func (s *snapshot) requirements(rs scheduling.Requirements) []requirement {
	keys := annotations.For("")
	skip := []string{keys.NodePool, keys.Registered, keys.Initialized, corev1.LabelHostname}
	for _, p := range s.NodePools {
		if ref := p.Spec.Template.Spec.NodeClassRef; ref != nil {
			skip = append(skip, annotations.NodeClassLabel(ref.Group, ref.Kind))
		}
	}
	var out []requirement
	for _, key := range rs.Keys() {
		if slices.Contains(skip, key) {
			continue
		}
		r := rs.Get(key)
		entry := requirement{Key: key, Operator: r.Operator(), Values: r.Values()}
		if n, ok := r.MinValues(); ok {
			entry.MinValues = &n
		}
		out = append(out, entry)
	}
	return out
}

// canonical renames new nodes after their pods and sorts them, since the number
// of a new node says nothing; and it normalises quantities.
func (s simulation) canonical() simulation {
	pods := make([][]string, len(s.NewNodes))
	for pod, where := range s.Placements {
		if i, ok := newIndex(where); ok && i < len(pods) {
			pods[i] = append(pods[i], pod)
		}
	}
	out := s
	out.Placements = make(map[string]string, len(s.Placements))
	names := make([]string, len(pods))
	for i := range pods {
		slices.Sort(pods[i])
		names[i] = fmt.Sprintf("new with %s", strings.Join(pods[i], ", "))
	}
	for pod, where := range s.Placements {
		if i, ok := newIndex(where); ok && i < len(names) {
			where = names[i]
		}
		out.Placements[pod] = where
	}
	out.NewNodes = sortedByName(s.NewNodes, names)
	return out
}

func newIndex(where string) (int, bool) {
	digits, ok := strings.CutPrefix(where, "new-")
	i, err := strconv.Atoi(digits)
	return i, ok && err == nil
}

func sortedByName(nodes []simulatedNewNode, names []string) []simulatedNewNode {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	var out []simulatedNewNode
	for _, i := range order {
		n := nodes[i]
		n.Requests = plainQuantities(n.Requests)
		out = append(out, n)
	}
	return out
}

// plainQuantities drops the notation of quantities ("1" and "1000m") and zeros.
func plainQuantities(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range list {
		if !q.IsZero() {
			out[name] = *resource.NewMilliQuantity(q.MilliValue(), resource.DecimalSI)
		}
	}
	return out
}
