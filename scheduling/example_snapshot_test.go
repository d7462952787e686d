package scheduling_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/scheduling"
)

// machine is an instance type that one offering sells, on demand.
func machine(name string, cores int64, price float64) *scheduling.InstanceType {
	zone := scheduling.In(corev1.LabelTopologyZone, "zone-a")
	onDemand := scheduling.In("karpenter.sh/capacity-type", "on-demand")
	return &scheduling.InstanceType{
		Name:         name,
		Requirements: scheduling.NewRequirements().Add(scheduling.In(corev1.LabelInstanceTypeStable, name), zone, onDemand),
		Capacity:     resourcesOf(cores*1000, cores*4, 50),
		Offerings: []scheduling.Offering{{
			Requirements: scheduling.NewRequirements().Add(zone, onDemand), Price: price, Available: true,
		}},
	}
}

func resourcesOf(milliCPU, gibibytes, pods int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(gibibytes<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(pods, resource.DecimalSI),
	}
}

func node(name string, milliCPU int64) scheduling.Node {
	return scheduling.Node{Node: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "zone-a"}},
		Status:     corev1.NodeStatus{Capacity: resourcesOf(milliCPU, 16, 50), Allocatable: resourcesOf(milliCPU, 16, 50)},
	}}
}

func pod(name, node string, milliCPU int64) *corev1.Pod {
	requests := resourcesOf(milliCPU, 1, 0)
	delete(requests, corev1.ResourcePods)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: requests},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// shop is two nodes of four cores: the first runs two pods, the second one.
func shop() scheduling.Cluster {
	return scheduling.Cluster{
		Pools: []scheduling.Pool{{
			Name:          "general",
			NodeClass:     scheduling.NodeClassRef{Group: "example.com", Kind: "NodeClass", Name: "default"},
			InstanceTypes: []*scheduling.InstanceType{machine("small", 2, 0.10), machine("large", 8, 0.40)},
		}},
		Nodes: []scheduling.Node{node("node-1", 4000), node("node-2", 4000)},
		Pods:  []*corev1.Pod{pod("cart", "node-1", 1500), pod("search", "node-1", 1500), pod("db", "node-2", 2000)},
	}
}

func compile(c scheduling.Cluster) *scheduling.Snapshot {
	snapshot, err := scheduling.NewSnapshot(c, scheduling.Options{})
	if err != nil {
		panic(err)
	}
	return snapshot
}

// Where would the pods of node-1 go, and could it go if there were one pod less?
func Example() {
	snapshot := compile(shop())

	without := snapshot.Simulate(scheduling.Request{Remove: []string{"node-1"}})
	for _, p := range without.Placements {
		if p.Node != "" {
			fmt.Printf("%s moves to %s\n", p.Pod.Name, p.Node)
		} else {
			fmt.Printf("%s needs a new %s node, %s at best\n", p.Pod.Name, without.NewNodes[p.NewNode].Pool, without.NewNodes[p.NewNode].InstanceTypes[0].Name)
		}
	}

	smaller, err := snapshot.With(scheduling.RemovePod("default", "search"))
	if err != nil {
		panic(err)
	}
	result := smaller.Simulate(scheduling.Request{Remove: []string{"node-1"}})
	fmt.Println("without search, node-1 can go:", result.AllRunningPlaced() && len(result.NewNodes) == 0)
	// Output:
	// cart moves to node-2
	// search needs a new general node, small at best
	// without search, node-1 can go: true
}

func show(r scheduling.Result) {
	for _, p := range r.Placements {
		switch {
		case p.Node != "":
			fmt.Println(p.Pod.Name, "->", p.Node)
		case p.NewNode >= 0:
			n := r.NewNodes[p.NewNode]
			fmt.Println(p.Pod.Name, "-> a new node, cheapest", n.InstanceTypes[0].Name)
		default:
			fmt.Println(p.Pod.Name, "->", p.Reason.Message)
		}
	}
}

// If node-1 were gone, one of its pods would fit on node-2, and the other needs
// a new node: the smallest type will do.
func ExampleSnapshot_Simulate() {
	snapshot := compile(shop())
	show(snapshot.Simulate(scheduling.Request{Remove: []string{"node-1"}}))
	// Output:
	// cart -> node-2
	// search -> a new node, cheapest small
}

// A pod that fits nowhere comes with the reasons, counted like the scheduler
// does, and the node that came closest.
func ExampleSnapshot_Simulate_explain() {
	cluster := shop()
	cluster.Pods[0].Spec.NodeSelector = map[string]string{"disk": "fast"}
	r := compile(cluster).Simulate(scheduling.Request{Remove: []string{"node-1"}, Explain: true})
	show(r)
	nearest := r.Placements[0].Reason.Nearest
	fmt.Println("nearest:", nearest.Node, nearest.Refusals[0].Code)
	// Output:
	// cart -> 0/1 nodes fit: 1 label mismatch on disk; pool general: label "disk" is not defined, but disk In [fast] is required
	// search -> node-2
	// nearest: node-2 LabelMismatch
}

// What if node-2 were cordoned, and a pool added nodes of its own accord? Each
// change gives a snapshot of its own; the first one stays as it was.
func ExampleSnapshot_With() {
	cluster := shop()
	snapshot := compile(cluster)
	remove := scheduling.Request{Remove: []string{"node-1"}}

	cordoned, _ := snapshot.With(scheduling.Cordon("node-2"))
	fmt.Println("cordoned:")
	show(cordoned.Simulate(remove))

	pool := &cluster.Pools[0]
	large := pool.InstanceTypes[1]
	larger, _ := cordoned.With(scheduling.SetNode(cordoned.NodeOf("node-3", pool, large, &large.Offerings[0])))
	fmt.Println("with node-3:")
	show(larger.Simulate(remove))
	// Output:
	// cordoned:
	// cart -> a new node, cheapest large
	// search -> a new node, cheapest large
	// with node-3:
	// cart -> node-3
	// search -> node-3
}

// What if the pool could launch nothing but small machines?
func ExampleSetPool() {
	cluster := shop()
	snapshot := compile(cluster)
	pool := cluster.Pools[0]
	pool.InstanceTypes = pool.InstanceTypes[:1]
	small, _ := snapshot.With(scheduling.SetPool(pool), scheduling.Cordon("node-2"))
	r := small.Simulate(scheduling.Request{Remove: []string{"node-1"}})
	fmt.Println(len(r.NewNodes), "new nodes of type", r.NewNodes[0].InstanceTypes[0].Name)
	// Output: 2 new nodes of type small
}

// Without takes nodes away with all that runs there; Simulate would place it.
func ExampleSnapshot_Without() {
	less, _ := compile(shop()).Without("node-1")
	r := less.Simulate(scheduling.Request{Remove: []string{"node-2"}})
	show(r)
	// Output: db -> a new node, cheapest small
}

// How many more pods like search fit?
func ExampleSnapshot_Headroom() {
	cluster := shop()
	room, _ := compile(cluster).Headroom(cluster.Pods[1], 100)
	fmt.Println(room.Pods, "more")
	for _, n := range room.Nodes {
		fmt.Println(n.Node, "takes", n.Pods)
	}
	fmt.Println(room.Reason.Nearest.Node, "is next:", room.Reason.Nearest.Refusals[0].Message)
	// Output:
	// 1 more
	// node-2 takes 1
	// node-1 is next: insufficient cpu: 1500m asked, 1 free
}

// Why not there?
func ExampleSnapshot_WhyNot() {
	cluster := shop()
	cluster.Nodes[0].Node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "web", Effect: corev1.TaintEffectNoSchedule}}
	refusals, _ := compile(cluster).WhyNot("default", "db", "node-1")
	for _, r := range refusals {
		fmt.Printf("%s (%s): %s\n", r.Code, r.Subject, r.Message)
	}
	// Output:
	// UntoleratedTaint (dedicated=web:NoSchedule): untolerated taint dedicated=web:NoSchedule
	// Insufficient (cpu): insufficient cpu: 2 asked, 1 free
}

// Default constraints, as a cluster's scheduler may have them, spread pods that
// have none of their own: here those of one app over the nodes.
func ExampleOptions_defaultSpread() {
	cluster := shop()
	cluster.Nodes = append(cluster.Nodes, node("node-3", 4000))
	for _, p := range cluster.Pods {
		p.Labels = map[string]string{"app": "shop"}
	}
	snapshot, _ := scheduling.NewSnapshot(cluster, scheduling.Options{
		DefaultSpread: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		}},
		SelectorOf: func(p *corev1.Pod) *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: p.Labels} },
	})
	show(snapshot.Simulate(scheduling.Request{Remove: []string{"node-1"}}))
	// Output:
	// cart -> node-3
	// search -> a new node, cheapest small
}

// A preference that was not given up may be why a pod needs a new node. Asking
// again with preferences ignored tells.
func ExampleOptions_preferences() {
	cluster := shop()
	cluster.Pods[0].Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 10, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"large"}}}},
		}},
	}}
	ask := scheduling.Request{Remove: []string{"node-1"}, Explain: true}
	r := compile(cluster).Simulate(ask)
	fmt.Println(len(r.NewNodes), "new node, cart asks for", r.Placements[0].Preferences[0])

	ignoring, _ := scheduling.NewSnapshot(cluster, scheduling.Options{Preferences: scheduling.PreferencesIgnore})
	fmt.Println("without preferences: cart ->", ignoring.Simulate(ask).Placements[0].Node)
	// Output:
	// 1 new node, cart asks for PreferredNodeAffinity node.kubernetes.io/instance-type In [large] (weight 10)
	// without preferences: cart -> node-2
}
