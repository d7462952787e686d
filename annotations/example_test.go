package annotations_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
)

// A training job asks to be left alone for its first six hours, and somebody
// wrote a duration that means nothing.
func Example() {
	start := time.Date(2026, 8, 24, 8, 0, 0, 0, time.UTC)
	now := start.Add(4 * time.Hour)
	job := &corev1.Pod{Status: corev1.PodStatus{StartTime: &metav1.Time{Time: start}}}
	keys := annotations.For("")

	job.Annotations = map[string]string{keys.DoNotDisrupt: "6h"}
	p := keys.PodProtection(job, now)
	fmt.Println(p.State, "until", p.Until.Format(time.TimeOnly))

	job.Annotations = map[string]string{keys.DoNotDisrupt: "1d"}
	p = keys.PodProtection(job, now)
	fmt.Println(p.State, p.Err)
	// Output:
	// Protected until 14:00:00
	// Invalid metadata.annotations[karpenter.sh/do-not-disrupt]: Invalid value: "1d": neither "true" nor a duration: days are no unit here, write "24h"
}

// A cluster that is moving from Cluster Autoscaler reads the markers of both.
func ExampleReader_Pod() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
		"karpenter.sh/do-not-disrupt":                    "true",
		"karpenter.sh/do-not-evict":                      "true",
	}}}
	stance := annotations.Compile(annotations.ReadOptions{
		Dialects: []annotations.Dialect{annotations.ClusterAutoscaler},
	}).Pod(pod, time.Time{})
	fmt.Println("veto:", stance.Veto, "consent:", stance.Consent)
	for _, finding := range stance.Findings {
		fmt.Println(finding)
	}
	// Output:
	// veto: true consent: false
	// legacy-annotation: karpenter.sh/do-not-evict="true": Karpenter ignores it since v1; write karpenter.sh/do-not-disrupt
	// conflicting-annotations: cluster-autoscaler.kubernetes.io/safe-to-evict="true": asks for the opposite of karpenter.sh/do-not-disrupt="true"
}

func ExampleReader_Node() {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
	}}}
	alone := annotations.Compile(annotations.ReadOptions{}).Node(node)
	both := annotations.Compile(annotations.ReadOptions{Dialects: annotations.Dialects()}).Node(node)
	fmt.Println(alone.Veto, alone.Findings[0])
	fmt.Println(both.Veto, both.Marks[0].Dialect)
	// Output:
	// false annotation-not-read: cluster-autoscaler.kubernetes.io/scale-down-disabled="true": a marker of cluster-autoscaler, which is not read here
	// true cluster-autoscaler
}

func ExampleDeletionCost() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotations.PodDeletionCost: "high"}}}
	cost, err := annotations.DeletionCost(pod)
	fmt.Println(cost, err)
	// Output:
	// 0 metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "high": not a number, counted as 0
}

// An autoscaler with its own domain has the same vocabulary under that.
func ExampleFor() {
	keys := annotations.For("autoscaler.example.com")
	fmt.Println(keys.DoNotDisrupt)
	fmt.Println(keys.DisruptedTaint)
	// Output:
	// autoscaler.example.com/do-not-disrupt
	// autoscaler.example.com/disrupted
}

func ExampleKeys_TerminationDeadline() {
	keys := annotations.For("")
	claim := &metav1.ObjectMeta{Annotations: map[string]string{keys.NodeClaimTerminationTimestamp: "2026-08-24T13:00:00Z"}}
	deadline, ok, err := keys.TerminationDeadline(claim)
	fmt.Println(deadline.Format(time.TimeOnly), ok, err == nil)
	// Output:
	// 13:00:00 true true
}
