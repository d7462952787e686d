package scheduling_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/scheduling"
)

// The test loader of recorded simulations: just what a simulation reads of
// node pools and claims.

type recordedFile struct {
	Catalogs map[string]json.RawMessage
	Cases    []struct {
		Name string
		In   recordedIn
		Want struct {
			recordedWant
			Seen []recordedWant
		}
	}
}

type recordedIn struct {
	Snapshot       recordedSnapshot
	Remove         []string
	Consolidation  bool
	StrictReserved bool
}

type recordedSnapshot struct {
	Now         time.Time
	Catalog     string
	NodePools   []recordedPool
	NodeClaims  []recordedClaim
	Nodes       []*corev1.Node
	Pods        []*corev1.Pod
	DaemonSets  []*appsv1.DaemonSet
	PDBs        []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets"`
	PVs         []*corev1.PersistentVolume      `json:"persistentVolumes"`
	PVCs        []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims"`
	Classes     []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes    []*storagev1.CSINode
	Namespaces  []*corev1.Namespace
	Unavailable []struct{ InstanceType, Zone, CapacityType string }
}

type recordedPool struct {
	Metadata metav1.ObjectMeta
	Spec     struct {
		Replicas   *int64
		Weight     int32
		Limits     corev1.ResourceList
		Disruption struct{ ConsolidateAfter string }
		Template   struct {
			Metadata metav1.ObjectMeta
			Spec     struct {
				Requirements []scheduling.RequirementSpec
				Taints       []corev1.Taint
				NodeClassRef scheduling.NodeClassRef
			}
		}
	}
	Status struct{ Conditions []metav1.Condition }
}

type recordedClaim struct {
	Metadata metav1.ObjectMeta
	Spec     struct{ Taints, StartupTaints []corev1.Taint }
	Status   struct {
		NodeName, ProviderID  string
		Capacity, Allocatable corev1.ResourceList
		Conditions            []metav1.Condition
		LastPodEventTime      metav1.Time
	}
}

type recordedWant struct {
	Placements             map[string]string
	NewNodes               []recordedNewNode
	AllNonPendingScheduled bool
	Uninitialized          map[string]string
	Error                  string
}

type recordedNewNode struct {
	NodePool      string
	InstanceTypes []string
	Unpriced      int
	Requirements  []recordedRequirement
	Requests      map[string]int64    `json:"-"`
	RawRequests   corev1.ResourceList `json:"requests"`
}

type recordedRequirement struct {
	Key       string
	Operator  string
	Values    []string
	MinValues *int
}

const testReservationLabel = "karpenter.k8s.aws/capacity-reservation-id"

func load(t testing.TB, name string) recordedFile {
	t.Helper()
	data, err := os.ReadFile("../internal/conformance/testdata/" + name)
	if err != nil {
		t.Skip("recorded decisions are not part of the module")
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	var f recordedFile
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func condition(list []metav1.Condition, kind string) *metav1.Condition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

func isTrue(list []metav1.Condition, kind string) bool {
	c := condition(list, kind)
	return c != nil && c.Status == "True"
}

func (s *recordedSnapshot) cluster(t testing.TB, f *recordedFile) (scheduling.Cluster, scheduling.Options) {
	opts := scheduling.Options{}
	catalog, errs := scheduling.ParseCatalog(f.Catalogs[s.Catalog], opts)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	opts.WellKnownLabels = catalog.WellKnownLabels
	if slices.Contains(catalog.WellKnownLabels, testReservationLabel) {
		opts.ReservationLabel = testReservationLabel
		catalog, _ = scheduling.ParseCatalog(f.Catalogs[s.Catalog], opts)
	}
	for _, off := range s.Unavailable {
		for _, it := range catalog.InstanceTypes["*"] {
			for i := range it.Offerings {
				o := &it.Offerings[i]
				if (off.InstanceType == "" || off.InstanceType == it.Name) &&
					(off.Zone == "" || o.Requirements.Get(corev1.LabelTopologyZone).Has(off.Zone)) &&
					(off.CapacityType == "" || o.Requirements.Get("karpenter.sh/capacity-type").Has(off.CapacityType)) {
					o.Available = false
				}
			}
		}
	}
	c := scheduling.Cluster{
		Now: s.Now, Pods: s.Pods, DaemonSets: s.DaemonSets, PersistentVolumes: s.PVs, PersistentVolumeClaims: s.PVCs,
		StorageClasses: s.Classes, CSINodes: s.CSINodes, Namespaces: s.Namespaces,
	}
	for _, p := range s.NodePools {
		pool := scheduling.Pool{
			Name: p.Metadata.Name, Requirements: p.Spec.Template.Spec.Requirements, Labels: p.Spec.Template.Metadata.Labels,
			Taints: p.Spec.Template.Spec.Taints, NodeClass: p.Spec.Template.Spec.NodeClassRef, Weight: p.Spec.Weight,
			Limits: p.Spec.Limits, Static: p.Spec.Replicas != nil, NotReady: !isTrue(p.Status.Conditions, "Ready"),
			Deleting: p.Metadata.DeletionTimestamp != nil, InstanceTypes: catalog.For(p.Metadata.Name),
		}
		if d, err := time.ParseDuration(p.Spec.Disruption.ConsolidateAfter); err == nil {
			pool.ConsolidateAfter = &d
		}
		c.Pools = append(c.Pools, pool)
	}
	claims := map[string]*recordedClaim{}
	for i := range s.NodeClaims {
		claims[s.NodeClaims[i].Status.ProviderID] = &s.NodeClaims[i]
	}
	for _, n := range s.Nodes {
		node := scheduling.Node{Node: n}
		if claim := claims[n.Spec.ProviderID]; claim != nil {
			node.Claim = claim.claim()
			delete(claims, n.Spec.ProviderID)
		}
		c.Nodes = append(c.Nodes, node)
	}
	for id, claim := range claims {
		if id != "" {
			c.Nodes = append(c.Nodes, scheduling.Node{Claim: claim.claim()})
		}
	}
	opts.Moves = func(pod *corev1.Pod) bool { return s.moves(pod) }
	return c, opts
}

func (c *recordedClaim) claim() *scheduling.Claim {
	claim := &scheduling.Claim{
		Name: c.Metadata.Name, Labels: c.Metadata.Labels, Annotations: c.Metadata.Annotations,
		Taints: c.Spec.Taints, StartupTaints: c.Spec.StartupTaints,
		Capacity: c.Status.Capacity, Allocatable: c.Status.Allocatable,
		Deleting: c.Metadata.DeletionTimestamp != nil || isTrue(c.Status.Conditions, "InstanceTerminating"),
	}
	if init := condition(c.Status.Conditions, "Initialized"); init != nil && init.Status == "True" {
		claim.QuietSince = init.LastTransitionTime.Time
		if !c.Status.LastPodEventTime.IsZero() {
			claim.QuietSince = c.Status.LastPodEventTime.Time
		}
	}
	return claim
}

// moves: currently reschedulable.
func (s *recordedSnapshot) moves(pod *corev1.Pod) bool {
	terminal := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	active := !terminal && pod.DeletionTimestamp == nil
	stateful := false
	for _, o := range pod.OwnerReferences {
		switch {
		case o.APIVersion == "apps/v1" && o.Kind == "DaemonSet", o.APIVersion == "v1" && o.Kind == "Node":
			return false
		case o.APIVersion == "apps/v1" && o.Kind == "StatefulSet":
			stateful = true
		}
	}
	if !active && !(stateful && pod.DeletionTimestamp != nil) {
		return false
	}
	if active {
		switch v := pod.Annotations["karpenter.sh/do-not-disrupt"]; {
		case v == "true":
			return false
		case v != "":
			if d, err := time.ParseDuration(v); err == nil && d > 0 && (pod.Status.StartTime == nil || s.Now.Sub(pod.Status.StartTime.Time) < d) {
				return false
			}
		}
	}
	matching, blocking := 0, false
	for _, pdb := range s.PDBs {
		sel, _ := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if pdb.Namespace == pod.Namespace && sel.Matches(labelsOf(pod)) {
			matching++
			if m := pdb.Spec.MaxUnavailable; m != nil && (m.String() == "0%" || m.Type == 0 && m.IntVal == 0) {
				blocking = true
			}
			if m := pdb.Spec.MinAvailable; m != nil && m.String() == "100%" {
				blocking = true
			}
		}
	}
	return matching < 2 && !blocking
}

type labelsOfPod map[string]string

func labelsOf(pod *corev1.Pod) labelsOfPod                        { return pod.Labels }
func (l labelsOfPod) Has(k string) bool                           { _, ok := l[k]; return ok }
func (l labelsOfPod) Get(k string) string                         { return l[k] }
func (l labelsOfPod) Lookup(k string) (value string, exists bool) { value, exists = l[k]; return }

func render(r scheduling.Result) recordedWant {
	w := recordedWant{Placements: map[string]string{}, AllNonPendingScheduled: r.AllRunningPlaced()}
	if r.NoPools {
		w.Error = "no nodepools"
		return w
	}
	for _, p := range r.Placements {
		name := p.Pod.Namespace + "/" + p.Pod.Name
		w.Placements[name] = "unschedulable"
		switch {
		case p.Placed() && p.Node != "":
			w.Placements[name] = p.Node
		case p.Placed():
			w.Placements[name] = fmt.Sprintf("new-%d", p.NewNode)
		}
		if p.Uninitialized && p.Origin != scheduling.FromDeleting {
			if w.Uninitialized == nil {
				w.Uninitialized = map[string]string{}
			}
			w.Uninitialized[name] = p.Node
		}
	}
	for _, n := range r.NewNodes {
		node := recordedNewNode{NodePool: n.Pool, Unpriced: n.Unpriced, RawRequests: n.Requests}
		for _, it := range n.InstanceTypes {
			node.InstanceTypes = append(node.InstanceTypes, it.Name)
		}
		for q := range n.Requirements.All() {
			if k := q.Key(); k == "karpenter.sh/nodepool" || strings.HasPrefix(k, "karpenter.test.sh/") {
				continue
			}
			req := recordedRequirement{Key: q.Key(), Operator: string(q.Operator()), Values: q.Values()}
			if n, ok := q.MinValues(); ok {
				req.MinValues = &n
			}
			node.Requirements = append(node.Requirements, req)
		}
		w.NewNodes = append(w.NewNodes, node)
	}
	return w
}

// byPods renames new nodes after their pods, since their number says nothing.
func (w recordedWant) byPods() recordedWant {
	names := make([]string, len(w.NewNodes))
	for i := range names {
		var pods []string
		for pod, where := range w.Placements {
			if where == fmt.Sprintf("new-%d", i) {
				pods = append(pods, pod)
			}
		}
		slices.Sort(pods)
		names[i] = "new: " + strings.Join(pods, " ")
	}
	out := w
	out.Placements = map[string]string{}
	for pod, where := range w.Placements {
		for i := range names {
			if where == fmt.Sprintf("new-%d", i) {
				where = names[i]
			}
		}
		out.Placements[pod] = where
	}
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	out.NewNodes = nil
	for _, i := range order {
		n := w.NewNodes[i]
		n.Requests = map[string]int64{}
		for name, q := range n.RawRequests {
			if !q.IsZero() {
				n.Requests[string(name)] = q.MilliValue()
			}
		}
		n.RawRequests = nil
		out.NewNodes = append(out.NewNodes, n)
	}
	return out
}

func difference(got, want recordedWant) string {
	empty := cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
	return cmp.Diff(want.byPods(), got.byPods(), empty)
}

// Every recorded simulation is answered as Karpenter answered it.
func TestRecordedSimulations(t *testing.T) {
	for _, family := range []string{"plain", "constraints", "policy", "spot", "pending", "resources", "topology", "affinity",
		"namespaces", "volumes", "ports", "reserved", "edge"} {
		t.Run(family, func(t *testing.T) {
			f := load(t, "simulate-"+family+".json.gz")
			good, canonical := 0, 0
			for i := range f.Cases {
				c := &f.Cases[i]
				cluster, opts := c.In.Snapshot.cluster(t, &f)
				snapshot, err := scheduling.NewSnapshot(cluster, opts)
				if err != nil {
					t.Errorf("%s: %v", c.Name, err)
					continue
				}
				got := render(snapshot.Simulate(scheduling.Request{
					Remove: c.In.Remove, SkipSettling: c.In.Consolidation, StrictReserved: c.In.StrictReserved,
				}))
				d := difference(got, c.Want.recordedWant)
				if d == "" {
					canonical++
				}
				for _, other := range c.Want.Seen {
					if d != "" && difference(got, other) == "" {
						d = ""
					}
				}
				if d != "" {
					t.Errorf("%s: -want +got\n%s", c.Name, d)
					continue
				}
				good++
			}
			t.Logf("%d of %d agree, %d canonically", good, len(f.Cases), canonical)
		})
	}
}
