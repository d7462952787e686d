package termination_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/node-disruption/disruption/termination"
)

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

func keyOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// podOf is a running pod of namespace "default" with these labels.
func podOf(name string, labels map[string]string, edits ...func(*corev1.Pod)) *corev1.Pod {
	grace := int64(30)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: "node-1", TerminationGracePeriodSeconds: &grace},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// pdbOf selects the labels in namespace "default" and allows that many evictions.
func pdbOf(name string, labels map[string]string, allowed int32, edits ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
	for _, edit := range edits {
		edit(pdb)
	}
	return pdb
}

func TestSkippingAnInvalidSelectorKeepsTheOthers(t *testing.T) {
	bad := pdbOf("bad", nil, 0, func(p *policyv1.PodDisruptionBudget) {
		p.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
	})
	pdbs := []*policyv1.PodDisruptionBudget{pdbOf("good", map[string]string{"app": "x"}, 0), bad}

	limits, errs := termination.CompileLimits(pdbs, termination.LimitsOptions{})
	assert.Nil(t, limits)
	require.Len(t, errs, 1)
	assert.Equal(t, "podDisruptionBudgets[1].spec.selector", errs[0].Field)

	limits, errs = termination.CompileLimits(pdbs, termination.LimitsOptions{SkipInvalid: true})
	assert.Len(t, errs, 1)
	permission := limits.CanEvict(noon, podOf("p", map[string]string{"app": "x"}))
	assert.Equal(t, termination.PDBExhausted, permission.Code)
	assert.Equal(t, []types.NamespacedName{{Namespace: "default", Name: "good"}}, permission.Blocking)
}

func TestAskingAboutAPodAllocatesNothing(t *testing.T) {
	limits, _ := cluster(100, 20)
	rules := limits.Rules()
	pod := podOf("p", map[string]string{"app": "app-3", "tier": "web"}, func(p *corev1.Pod) {
		p.Annotations = map[string]string{"team": "web"}
		p.Spec.Tolerations = []corev1.Toleration{{Key: "other", Operator: corev1.TolerationOpExists}}
	})
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		limits.CanEvict(noon, pod)
		limits.IsCurrentlyReschedulable(pod, noon)
		rules.IsWaitingEviction(pod, noon)
	}))
}

// cluster is PDBs of many apps in one namespace, and pods of those apps.
func cluster(pods, apps int) (*termination.Limits, []*corev1.Pod) {
	var pdbs []*policyv1.PodDisruptionBudget
	for i := range apps {
		app := map[string]string{"app": fmt.Sprintf("app-%d", i), "managed-by": "chart"}
		pdbs = append(pdbs, pdbOf(fmt.Sprintf("pdb-%d", i), app, 1))
	}
	var all []*corev1.Pod
	for i := range pods {
		labels := map[string]string{"app": fmt.Sprintf("app-%d", i%apps), "managed-by": "chart", "hash": fmt.Sprint(i)}
		all = append(all, podOf(fmt.Sprintf("pod-%d", i), labels))
	}
	limits, _ := termination.CompileLimits(pdbs, termination.LimitsOptions{})
	return limits, all
}

func BenchmarkCurrentlyReschedulable(b *testing.B) {
	for _, size := range []struct{ pods, pdbs int }{{1000, 10}, {10000, 500}, {75000, 5000}} {
		b.Run(fmt.Sprintf("%d pods %d PDBs", size.pods, size.pdbs), func(b *testing.B) {
			limits, pods := cluster(size.pods, size.pdbs)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				limits.IsCurrentlyReschedulable(pods[i%len(pods)], noon)
			}
		})
	}
}
