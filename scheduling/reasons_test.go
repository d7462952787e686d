package scheduling_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/scheduling"
)

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func antiAffinity(app string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: selector(app)}},
	}}
}

// Each case changes the pod "cart" of node-1, or node-2 with its pod "db", so
// that cart can't move there.
func TestWhyNot(t *testing.T) {
	cases := []struct {
		name   string
		change func(c *scheduling.Cluster, cart, db *corev1.Pod, node *corev1.Node)
		want   []string // code and subject
	}{
		{"an empty list means that it fits", func(*scheduling.Cluster, *corev1.Pod, *corev1.Pod, *corev1.Node) {}, nil},
		{"a taint that isn't tolerated", func(_ *scheduling.Cluster, _, _ *corev1.Pod, n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoExecute}}
		}, []string{"UntoleratedTaint gpu:NoExecute"}},
		{"a node selector", func(_ *scheduling.Cluster, cart, _ *corev1.Pod, _ *corev1.Node) {
			cart.Spec.NodeSelector = map[string]string{"disk": "fast"}
		}, []string{"LabelMismatch disk"}},
		{"a preference is given up first", func(_ *scheduling.Cluster, cart, _ *corev1.Pod, _ *corev1.Node) {
			cart.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}}}}}}}
		}, nil},
		{"two resources at once", func(_ *scheduling.Cluster, _, db *corev1.Pod, _ *corev1.Node) {
			db.Spec.Containers[0].Resources.Requests = resourcesOf(3000, 16, 0)
		}, []string{"Insufficient cpu", "Insufficient memory"}},
		{"a node that has less than nothing left", func(_ *scheduling.Cluster, _, db *corev1.Pod, _ *corev1.Node) {
			db.Spec.Containers[0].Resources.Requests = resourcesOf(5000, 1, 0)
		}, []string{"Overcommitted cpu"}},
		{"a host port", func(_ *scheduling.Cluster, cart, db *corev1.Pod, _ *corev1.Node) {
			ports := []corev1.ContainerPort{{HostPort: 80, Protocol: corev1.ProtocolTCP}}
			cart.Spec.Containers[0].Ports, db.Spec.Containers[0].Ports = ports, ports
		}, []string{"HostPortTaken 80/TCP"}},
		{"its own anti-affinity", func(_ *scheduling.Cluster, cart, db *corev1.Pod, _ *corev1.Node) {
			db.Labels, cart.Spec.Affinity = map[string]string{"app": "db"}, antiAffinity("db")
		}, []string{"TooNearPods kubernetes.io/hostname"}},
		{"the anti-affinity of a pod that is there", func(_ *scheduling.Cluster, cart, db *corev1.Pod, _ *corev1.Node) {
			cart.Labels, db.Spec.Affinity = map[string]string{"app": "cart"}, antiAffinity("cart")
		}, []string{"KeptAway kubernetes.io/hostname"}},
		{"pod affinity", func(_ *scheduling.Cluster, cart, _ *corev1.Pod, _ *corev1.Node) {
			cart.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: selector("cache")}}}}
		}, []string{"NotNearPods kubernetes.io/hostname"}},
		{"a spread", func(_ *scheduling.Cluster, cart, db *corev1.Pod, _ *corev1.Node) {
			db.Labels, cart.Labels = map[string]string{"app": "web"}, map[string]string{"app": "web"}
			cart.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector("web")}}
		}, []string{"SpreadViolated kubernetes.io/hostname"}},
		{"a topology key that the node lacks", func(_ *scheduling.Cluster, cart, _ *corev1.Pod, _ *corev1.Node) {
			cart.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector("web")}}
		}, []string{"MissingTopologyKey rack"}},
		{"a volume in another zone", func(c *scheduling.Cluster, cart, _ *corev1.Pod, _ *corev1.Node) {
			mount(c, cart, "data", "zone-b")
		}, []string{"VolumeElsewhere "}},
		{"an attach limit", func(c *scheduling.Cluster, cart, db *corev1.Pod, _ *corev1.Node) {
			mount(c, cart, "data", "zone-a")
			mount(c, db, "base", "zone-a")
			c.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}, Spec: storagev1.CSINodeSpec{
				Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(1))}}}}}}
		}, []string{"TooManyVolumes "}},
		{"resource claims", func(_ *scheduling.Cluster, cart, _ *corev1.Pod, _ *corev1.Node) {
			cart.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		}, []string{"ResourceClaims "}},
		{"several reasons, all told", func(_ *scheduling.Cluster, cart, db *corev1.Pod, n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
			cart.Spec.NodeSelector = map[string]string{"disk": "fast"}
			db.Spec.Containers[0].Resources.Requests = resourcesOf(3000, 1, 0)
		}, []string{"UntoleratedTaint gpu=a:NoSchedule", "LabelMismatch disk", "Insufficient cpu"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cluster := shop()
			c.change(&cluster, cluster.Pods[0], cluster.Pods[2], cluster.Nodes[1].Node)
			refusals, err := compile(cluster).WhyNot("default", "cart", "node-2")
			require.NoError(t, err)
			var got []string
			for _, r := range refusals {
				require.NotEmpty(t, r.Message)
				got = append(got, fmt.Sprintf("%s %s", r.Code, r.Subject))
			}
			require.Equal(t, c.want, got)

			// The simulation must agree: cart moves to node-2 iff nothing is in its way.
			cluster.Pods = []*corev1.Pod{cluster.Pods[0], cluster.Pods[2]}
			r := compile(cluster).Simulate(scheduling.Request{Remove: []string{"node-1"}})
			require.Equal(t, len(c.want) == 0, r.Placements[0].Node == "node-2")
		})
	}
}

// Messages tell numbers: what is over, and what a spread is measured from. An
// overcommitted node is nearest only if it lacks the least.
func TestReasonsTellNumbers(t *testing.T) {
	cluster := shop()
	cluster.Nodes = append(cluster.Nodes, node("node-3", 1000))
	cluster.Pods[2].Spec.Containers[0].Resources.Requests = resourcesOf(5000, 1, 0)
	cluster.Pools[0].Limits = corev1.ResourceList{"nodes": quantity("0")}
	ask := scheduling.Request{Remove: []string{"node-1"}, Explain: true}
	reason := compile(cluster).Simulate(ask).Placements[0].Reason
	require.Equal(t, "0/2 nodes fit: 1 insufficient cpu, 1 overcommitted cpu; pool general: limit of nodes reached", reason.Message)
	require.Equal(t, "node-3", reason.Nearest.Node)

	refusals, err := compile(cluster).WhyNot("default", "cart", "node-2")
	require.NoError(t, err)
	require.Equal(t, "overcommitted: its pods use 1 of cpu more than it has", refusals[0].Message)

	cluster = shop()
	for _, p := range cluster.Pods {
		p.Labels = map[string]string{"app": "web"}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
			WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector("web"), MinDomains: new(int32(3))}}
	}
	nearest := compile(cluster).Simulate(ask).Placements[0].Reason.Nearest
	require.Equal(t, "spread over topology.kubernetes.io/zone: zone-a has 1 matching pod, the emptiest domain 0, maxSkew is 1, minDomains is 3",
		nearest.Refusals[0].Message)
}

// mount gives the pod a claim that is bound to a volume in a zone.
func mount(c *scheduling.Cluster, pod *corev1.Pod, claim, zone string) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	c.PersistentVolumeClaims = append(c.PersistentVolumeClaims, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + claim}})
	c.PersistentVolumes = append(c.PersistentVolumes, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + claim},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}},
		}})
}

// Each case makes the pool unable to open a node for "db" when node-2 goes;
// node-1 is full.
func TestWhyNoNewNode(t *testing.T) {
	cases := []struct {
		name   string
		change func(p *scheduling.Pool, db *corev1.Pod)
		want   string
	}{
		{"a limit of nodes", func(p *scheduling.Pool, _ *corev1.Pod) { p.Limits = corev1.ResourceList{"nodes": quantity("0")} }, "LimitReached nodes"},
		{"a limit that every type exceeds", func(p *scheduling.Pool, _ *corev1.Pod) { p.Limits = corev1.ResourceList{"cpu": quantity("1")} }, "LimitReached cpu"},
		{"a taint of the pool", func(p *scheduling.Pool, _ *corev1.Pod) {
			p.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		}, "UntoleratedTaint gpu:NoSchedule"},
		{"a label that the pool doesn't define", func(_ *scheduling.Pool, db *corev1.Pod) { db.Spec.NodeSelector = map[string]string{"disk": "fast"} }, "LabelMismatch disk"},
		{"a pod too large for every type", func(_ *scheduling.Pool, db *corev1.Pod) {
			db.Spec.Containers[0].Resources.Requests = resourcesOf(9000, 1, 0)
		}, "NoInstanceType "},
		{"minValues", func(p *scheduling.Pool, db *corev1.Pod) {
			p.Requirements = []scheduling.RequirementSpec{{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: new(2)}}
			db.Spec.Containers[0].Resources.Requests = resourcesOf(4000, 1, 0)
		}, "TooFewValues "},
		{"a pool without a suitable type", func(p *scheduling.Pool, _ *corev1.Pod) {
			p.Requirements = []scheduling.RequirementSpec{{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"x"}}}
		}, "NoTemplate "},
		{"a spread whose other domains the pool lacks", func(_ *scheduling.Pool, db *corev1.Pod) {
			db.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector("web")}}
		}, "SpreadViolated rack"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cluster := shop()
			cluster.Pods[0].Spec.Containers[0].Resources.Requests = resourcesOf(2500, 1, 0)
			cluster.Pools = append(cluster.Pools, scheduling.Pool{Name: "closed", Static: true})
			c.change(&cluster.Pools[0], cluster.Pods[2])
			r := compile(cluster).Simulate(scheduling.Request{Remove: []string{"node-2"}, Explain: true})
			reason := r.Placements[0].Reason
			require.NotNil(t, reason)
			require.Equal(t, scheduling.NoPlace, reason.Code)
			require.Equal(t, c.want, fmt.Sprintf("%s %s", reason.Pools[0].Code, reason.Pools[0].Subject))
			require.Equal(t, scheduling.PoolClosed, reason.Pools[1].Code)
			require.Contains(t, reason.Message, "0/1 nodes fit: 1 ")
		})
	}
}

// Karpenter places a pod whose claim is gone as if it had none; that is told,
// and an option refuses it.
func TestUnknownVolumes(t *testing.T) {
	cluster := shop()
	cluster.Pods[0].Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "gone"}}}}
	remove := scheduling.Request{Remove: []string{"node-1"}, Explain: true}
	placed := compile(cluster).Simulate(remove).Placements
	require.Equal(t, "node-2", placed[0].Node)
	require.True(t, placed[0].VolumesUnknown)
	require.False(t, placed[1].VolumesUnknown)

	strict, err := scheduling.NewSnapshot(cluster, scheduling.Options{RefuseUnknownVolumes: true})
	require.NoError(t, err)
	refused := strict.Simulate(remove).Placements[0]
	require.False(t, refused.Placed())
	require.Equal(t, scheduling.UnknownVolumes, refused.Reason.Code)
}

// Reasons are found only for those who ask.
func TestNoReasonUnasked(t *testing.T) {
	cluster := shop()
	cluster.Pods[0].Spec.NodeSelector = map[string]string{"disk": "fast"}
	r := compile(cluster).Simulate(scheduling.Request{Remove: []string{"node-1"}})
	require.False(t, r.Placements[0].Placed())
	require.Nil(t, r.Placements[0].Reason)
}

func TestBadInput(t *testing.T) {
	cases := []struct {
		name   string
		change func(c *scheduling.Cluster)
		want   string
	}{
		{"two nodes of one name", func(c *scheduling.Cluster) { c.Nodes = append(c.Nodes, node("node-1", 1000)) }, `nodes: Duplicate value: "node-1"`},
		{"two pools of one name", func(c *scheduling.Cluster) { c.Pools = append(c.Pools, c.Pools[0]) }, `pools[1].name: Duplicate value: "general"`},
		{"neither a node nor a claim", func(c *scheduling.Cluster) { c.Nodes = append(c.Nodes, scheduling.Node{}) }, "nodes[2]: Required value: a node, a claim or both"},
		{"a node without a name", func(c *scheduling.Cluster) { c.Nodes[1].Node.Name = "" }, "nodes[1].name: Required value"},
		{"a nil pod", func(c *scheduling.Cluster) { c.Pods = append(c.Pods, nil) }, "pods[3]: Required value: must not be nil"},
		{"a nil DaemonSet", func(c *scheduling.Cluster) { c.DaemonSets = []*appsv1.DaemonSet{nil} }, "daemonSets[0]: Required value"},
		{"a nil instance type", func(c *scheduling.Cluster) { c.Pools[0].InstanceTypes[1] = nil }, "pools[0].instanceTypes[1]: Required value"},
		{"a requirement with an unknown operator", func(c *scheduling.Cluster) {
			c.Pools[0].Requirements = []scheduling.RequirementSpec{{Key: "a", Operator: "Is"}}
		}, "pools[0].requirements[0].operator: Unsupported value"},
		{"a label selector that can't be read", func(c *scheduling.Cluster) {
			c.Pods[0].Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: "a", LabelSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}}}
		}, "pods[default/cart]: Invalid value: label selector"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cluster := shop()
			c.change(&cluster)
			_, err := scheduling.NewSnapshot(cluster, scheduling.Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := compile(shop()).With(scheduling.Cordon("node-9"))
	require.ErrorContains(t, err, `changes[0].node: Not found: "node-9"`)
	_, err = compile(shop()).With(scheduling.SetPod(nil))
	require.ErrorContains(t, err, "changes[0].pod: Required value")
	_, err = compile(shop()).With(scheduling.Change{})
	require.ErrorContains(t, err, "changes[0]: Required value")
	_, err = compile(shop()).Headroom(nil, 1)
	require.ErrorContains(t, err, "pod: Required value")
	_, err = compile(shop()).WhyNot("default", "nobody", "node-1")
	require.ErrorContains(t, err, `pod: Not found: "default/nobody"`)
	_, err = compile(shop()).WhyNot("default", "cart", "node-1")
	require.ErrorContains(t, err, "the pod runs there")
}
