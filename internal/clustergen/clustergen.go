// Package clustergen makes clusters for benchmarks and property tests: seeded,
// so that the same configuration gives the same cluster, and of the shape that
// Karpenter's users have.
package clustergen

import (
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/node-disruption/disruption/scheduling"
)

// Config says what to make. The zero value of each field is its default.
type Config struct {
	Nodes       int // 10
	PodsPerNode int // 15
	Seed        uint64
	// Pools is the number of node pools; 1.
	Pools int
	// InstanceTypes is the size of the catalog; 60.
	InstanceTypes int
	// WellPacked leaves next to nothing free on any node, so that no move
	// exists; otherwise nodes are about two thirds full.
	WellPacked bool
	// Topology gives this share of the workloads a zone spread and a hostname
	// anti-affinity.
	Topology float64
	// Selectors gives this share of the workloads a zone selector.
	Selectors float64
}

// Fleet is a cluster as plain objects.
type Fleet struct {
	Now           time.Time
	Pools         []scheduling.Pool
	Nodes         []*corev1.Node
	Claims        []Claim // by index of Nodes
	Pods          []*corev1.Pod
	DaemonSets    []*appsv1.DaemonSet
	InstanceTypes []*scheduling.InstanceType
}

// Claim is the node claim behind the node of the same index.
type Claim struct {
	Name, ProviderID, Pool string
	InstanceType           *scheduling.InstanceType
	Labels                 map[string]string
	Capacity, Allocatable  corev1.ResourceList
	Created, QuietSince    time.Time
}

// Zones of every fleet.
var zones = [...]string{"zone-a", "zone-b", "zone-c"}

// New makes a fleet.
func New(c Config) *Fleet {
	c.setDefaults()
	g := &generator{Config: c, rand: rand.New(rand.NewPCG(c.Seed, c.Seed^0x9e3779b97f4a7c15))}
	g.fleet.Now = time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	g.catalog()
	g.pools()
	g.daemonSets()
	for range 200 {
		g.window = append(g.window, g.workload())
	}
	for i := range c.Nodes {
		g.node(i)
	}
	return &g.fleet
}

// Cluster is the fleet as a simulation takes it.
func (f *Fleet) Cluster() scheduling.Cluster {
	c := scheduling.Cluster{Now: f.Now, Pools: f.Pools, Pods: f.Pods, DaemonSets: f.DaemonSets}
	for i, n := range f.Nodes {
		claim := &f.Claims[i]
		c.Nodes = append(c.Nodes, scheduling.Node{Node: n, Claim: &scheduling.Claim{
			Name: claim.Name, Labels: claim.Labels, Capacity: claim.Capacity, Allocatable: claim.Allocatable,
			QuietSince: claim.QuietSince,
		}})
	}
	return c
}

func (c *Config) setDefaults() {
	set := func(field *int, n int) {
		if *field == 0 {
			*field = n
		}
	}
	set(&c.Nodes, 10)
	set(&c.PodsPerNode, 15)
	set(&c.Pools, 1)
	set(&c.InstanceTypes, 60)
}

type generator struct {
	Config
	fleet  Fleet
	rand   *rand.Rand
	window []*workload
	made   int // workloads
	pods   int
}

// workload is a Deployment whose replicas are being handed out.
type workload struct {
	name      string
	milliCPU  int64
	mebibytes int64
	left      int
	zone      string // "" for any
	topology  bool
	inZone    map[string]int
	onNode    int // the last node that got a replica, plus one
	spec      corev1.PodSpec
}

func (g *generator) catalog() {
	families := []struct {
		name   string
		memory int64 // GiB a core
		price  float64
	}{{"c", 2, 0.0425}, {"m", 4, 0.048}, {"r", 8, 0.063}}
	cores := []int64{2, 4, 8, 16, 32}
	for i := 0; len(g.fleet.InstanceTypes) < g.InstanceTypes; i++ {
		family, size := families[i%3], cores[i/3%5]
		generation := 5 + i/15
		name := fmt.Sprintf("%s%d.%dcore", family.name, generation, size)
		price := family.price * float64(size) * (1 + 0.01*float64(generation))
		g.fleet.InstanceTypes = append(g.fleet.InstanceTypes, instanceType(name, size, family.memory*size, price))
	}
}

func instanceType(name string, cores, gibibytes int64, price float64) *scheduling.InstanceType {
	it := &scheduling.InstanceType{
		Name: name,
		Requirements: scheduling.NewRequirements().Add(
			scheduling.In(corev1.LabelInstanceTypeStable, name),
			scheduling.In(corev1.LabelArchStable, "amd64"),
			scheduling.In(corev1.LabelOSStable, "linux"),
			scheduling.In(corev1.LabelTopologyZone, zones[:]...),
			scheduling.In("karpenter.sh/capacity-type", "on-demand", "spot"),
		),
		Capacity: resources(cores*1000, gibibytes*1024, 20+cores*4),
		Overhead: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(60+cores*3, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity((400+gibibytes*20)<<20, resource.BinarySI),
		},
	}
	for i, zone := range zones {
		it.Offerings = append(it.Offerings,
			offering(zone, "on-demand", price),
			offering(zone, "spot", price*(0.38+0.02*float64(i))))
	}
	return it
}

func offering(zone, capacityType string, price float64) scheduling.Offering {
	return scheduling.Offering{
		Requirements: scheduling.NewRequirements().Add(
			scheduling.In(corev1.LabelTopologyZone, zone), scheduling.In("karpenter.sh/capacity-type", capacityType)),
		Price: price, Available: true,
	}
}

func resources(milliCPU, mebibytes, pods int64) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
	}
	if pods > 0 {
		list[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
	}
	return list
}

func (g *generator) pools() {
	after := time.Minute
	for i := range g.Pools {
		g.fleet.Pools = append(g.fleet.Pools, scheduling.Pool{
			Name: fmt.Sprintf("pool-%d", i),
			Requirements: []scheduling.RequirementSpec{
				{Key: "karpenter.sh/capacity-type", Operator: corev1.NodeSelectorOpIn, Values: []string{"on-demand"}},
				{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
			},
			NodeClass:        scheduling.NodeClassRef{Group: "example.com", Kind: "NodeClass", Name: "default"},
			ConsolidateAfter: &after,
			InstanceTypes:    g.fleet.InstanceTypes,
		})
	}
}

func (g *generator) daemonSets() {
	for _, name := range []string{"network", "logs"} {
		g.fleet.DaemonSets = append(g.fleet.DaemonSets, &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", UID: types.UID("uid-" + name)},
			Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
				Spec:       daemonSpec(),
			}},
		})
	}
}

func daemonSpec() corev1.PodSpec {
	return corev1.PodSpec{
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers:  []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: resources(25, 64, 0)}}},
	}
}

func (g *generator) workload() *workload {
	cpu := []int64{50, 100, 100, 200, 250, 500, 500, 1000, 1500}
	memory := []int64{128, 128, 256, 512, 512, 1024, 2048, 3072}
	w := &workload{
		name: fmt.Sprintf("app-%05d", g.made), left: 3 + g.rand.IntN(15), inZone: map[string]int{},
		milliCPU: cpu[g.rand.IntN(len(cpu))] + g.rand.Int64N(40), mebibytes: memory[g.rand.IntN(len(memory))] + g.rand.Int64N(50),
		topology: g.rand.Float64() < g.Topology,
	}
	if g.rand.Float64() < g.Selectors {
		w.zone = zones[g.rand.IntN(len(zones))]
	}
	w.spec = w.podSpec()
	g.made++
	return w
}

func (w *workload) podSpec() corev1.PodSpec {
	spec := corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Resources: corev1.ResourceRequirements{Requests: resources(w.milliCPU, w.mebibytes, 0)},
	}}}
	if w.zone != "" {
		spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: w.zone}
	}
	if w.topology {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.name}}
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector,
		}}
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: selector,
			}},
		}}
	}
	return spec
}
