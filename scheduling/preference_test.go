package scheduling_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/scheduling"
)

func expression(key, value string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}}
}

// picky gives the pod one preference of each kind, none of which can be had.
func picky(pod *corev1.Pod) {
	term := corev1.WeightedPodAffinityTerm{Weight: 7, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "rack", LabelSelector: selector("x")}}
	pod.Spec.Affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				expression("disk", "fast"), expression(corev1.LabelTopologyZone, "zone-a")}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 1, Preference: expression("disk", "red")}, {Weight: 9, Preference: expression("disk", "blue")}},
		},
		PodAffinity:     &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{term}},
		PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{term}},
	}
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector("x")}}
}

// Preferences are given up in Karpenter's order, the heaviest of a kind first,
// and each one that was is told.
func TestPreferencesAreGivenUpInOrder(t *testing.T) {
	cluster := shop()
	cluster.Pods = cluster.Pods[:1]
	picky(cluster.Pods[0])
	r := compile(cluster).Simulate(scheduling.Request{Remove: []string{"node-1"}, Explain: true})
	require.Equal(t, "node-2", r.Placements[0].Node)
	var told []string
	for _, p := range r.Placements[0].Preferences {
		told = append(told, p.String())
	}
	require.Equal(t, []string{
		"RequiredTerm disk In [fast], given up",
		"PreferredPodAffinity rack (weight 7), given up",
		"PreferredPodAntiAffinity rack (weight 7), given up",
		"PreferredNodeAffinity disk In [blue] (weight 9), given up",
		"PreferredNodeAffinity disk In [red] (weight 1), given up",
		"ScheduleAnyway rack, given up",
	}, told)
}

// A PreferNoSchedule taint is tolerated last, and told only then.
func TestAvoidedTaintsAreToldOnceTolerated(t *testing.T) {
	cluster := shop()
	cluster.Pods = cluster.Pods[:1]
	cluster.Pools[0].Taints = []corev1.Taint{{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}}
	ask := scheduling.Request{Remove: []string{"node-1"}, Explain: true}
	require.Empty(t, compile(cluster).Simulate(ask).Placements[0].Preferences)

	cluster.Nodes[1].Node.Spec.Taints = cluster.Pools[0].Taints
	require.Equal(t, []scheduling.Preference{{Kind: scheduling.AvoidedTaints, GivenUp: true}},
		compile(cluster).Simulate(ask).Placements[0].Preferences)
}

// A preference that was not given up tells why the pod needs a new node;
// ignoring preferences shows that it does.
func TestIgnoringPreferences(t *testing.T) {
	cluster := shop()
	cluster.Pods[2].Labels = map[string]string{"app": "dns"}
	cart := cluster.Pods[0]
	cart.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: selector("dns")}}},
	}}
	ask := scheduling.Request{Remove: []string{"node-1"}, Explain: true}
	respected := compile(cluster).Simulate(ask).Placements[0]
	require.Equal(t, 0, respected.NewNode)
	require.Equal(t, []scheduling.Preference{{Kind: scheduling.PreferredPodAntiAffinity, Subject: corev1.LabelHostname, Weight: 100}}, respected.Preferences)

	ignoring, err := scheduling.NewSnapshot(cluster, scheduling.Options{Preferences: scheduling.PreferencesIgnore})
	require.NoError(t, err)
	ignored := ignoring.Simulate(ask).Placements[0]
	require.Equal(t, "node-2", ignored.Node)
	require.Empty(t, ignored.Preferences)
}

func TestUnknownPoliciesAreRefused(t *testing.T) {
	_, err := scheduling.NewSnapshot(shop(), scheduling.Options{MinValues: "besteffort", Preferences: "Maybe"})
	require.ErrorContains(t, err, `options.minValues: Unsupported value: "besteffort"`)
	require.ErrorContains(t, err, `options.preferences: Unsupported value: "Maybe"`)
}

// An answer is JSON that a machine can use: names in place of objects.
func TestResultsAreJSON(t *testing.T) {
	cluster := shop()
	cluster.Pods[0].Spec.NodeSelector = map[string]string{"disk": "fast"}
	cluster.Pods[1].Spec.Containers[0].Resources.Requests = resourcesOf(3000, 1, 0)
	r := compile(cluster).Simulate(scheduling.Request{Remove: []string{"node-1"}, Explain: true})
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"placements": [
			{"namespace": "default", "name": "cart", "origin": "Removed", "placed": false, "reason": {
				"code": "NoPlace",
				"message": "0/1 nodes fit: 1 label mismatch on disk; pool general: label \"disk\" is not defined, but disk In [fast] is required",
				"nodes": [{"code": "LabelMismatch", "subject": "disk", "nodes": 1}],
				"nearest": {"node": "node-2", "refusals": [{"code": "LabelMismatch", "subject": "disk", "message": "label \"disk\" is not defined, but disk In [fast] is required"}]},
				"pools": [{"pool": "general", "code": "LabelMismatch", "subject": "disk", "message": "label \"disk\" is not defined, but disk In [fast] is required"}]
			}},
			{"namespace": "default", "name": "search", "origin": "Removed", "placed": true, "newNode": 0}
		],
		"newNodes": [{
			"pool": "general",
			"requirements": [
				{"key": "example.com/nodeclass", "operator": "In", "values": ["default"]},
				{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["general"]}
			],
			"instanceTypes": ["large"],
			"requests": {"cpu": "3", "memory": "1Gi", "pods": "1"},
			"pods": [1]
		}]
	}`, string(data))
}

// As many domains as minDomains asks for are enough: the skew is then measured
// from the emptiest of them.
func TestMinDomainsMet(t *testing.T) {
	cluster := shop()
	for _, p := range cluster.Pods {
		p.Labels = map[string]string{"app": "web"}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
			WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector("web"), MinDomains: new(int32(1))}}
	}
	r := compile(cluster).Simulate(scheduling.Request{Remove: []string{"node-1"}})
	require.Equal(t, "node-2", r.Placements[0].Node)
}

// A pending pod that would rather have no pool is left out, unless preferences
// are ignored.
func TestPendingPodThatPrefersNoPool(t *testing.T) {
	cluster := shop()
	cart := cluster.Pods[0]
	cart.Spec.NodeName, cart.Status = "", unscheduled()
	cart.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "karpenter.sh/nodepool", Operator: corev1.NodeSelectorOpDoesNotExist}}}}}}}
	require.Empty(t, compile(cluster).Simulate(scheduling.Request{}).Placements)
	ignoring, err := scheduling.NewSnapshot(cluster, scheduling.Options{Preferences: scheduling.PreferencesIgnore})
	require.NoError(t, err)
	require.Len(t, ignoring.Simulate(scheduling.Request{}).Placements, 1)
}
