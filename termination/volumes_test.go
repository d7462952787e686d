package termination_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/termination"
)

// using makes the pod use a claim; "" is a claim of its own, for volume "data".
func using(claim string) func(*corev1.Pod) {
	volume := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
	if claim == "" {
		volume.VolumeSource = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
	}
	return func(pod *corev1.Pod) { pod.Spec.Volumes = []corev1.Volume{volume} }
}

func tolerating(pod *corev1.Pod) {
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "karpenter.sh/disrupted", Operator: corev1.TolerationOpExists}}
}

// The one attachment of volume "pv" to the node blocks, unless it is used by a pod
// that the drain leaves where it is.
func TestWhichAttachmentsBlock(t *testing.T) {
	claim := func(name, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	elsewhere := func(pod *corev1.Pod) { pod.Spec.NodeName = "node-2" }
	otherNode := func(a *storagev1.VolumeAttachment) { a.Spec.NodeName = "node-2" }
	inline := func(a *storagev1.VolumeAttachment) { a.Spec.Source.PersistentVolumeName = nil }
	for _, c := range []struct {
		name   string
		pod    *corev1.Pod
		edit   func(*storagev1.VolumeAttachment)
		blocks bool
	}{
		{"nobody's", podOf("a", nil), nil, true},
		{"that of a pod that is drained", podOf("a", nil, using("c")), nil, true},
		{"that of a pod that has ended", podOf("a", nil, using("c"), phase(corev1.PodSucceeded)), nil, true},
		{"that of a protected pod", podOf("a", nil, using("c"), doNotDisrupt("true")), nil, true},
		{"that of a pod that tolerates the taint", podOf("a", nil, using("c"), tolerating), nil, false},
		{"that of a pod stuck for more than a minute", podOf("a", nil, using("c"), terminatingUntil(clock("11:58:59"))), nil, false},
		{"that of a pod stuck for a minute", podOf("a", nil, using("c"), terminatingUntil(clock("11:59:00"))), nil, true},
		{"an ephemeral one of a pod that stays", podOf("a", nil, using(""), tolerating), nil, false},
		{"that of a pod that stays, but of another volume", podOf("a", nil, using("other"), tolerating), nil, true},
		{"that of a pod that stays, whose claim isn't there", podOf("a", nil, using("missing"), tolerating), nil, true},
		{"that of a pod that stays on another node", podOf("a", nil, using("c"), tolerating, elsewhere), nil, true},
		{"one of another node", podOf("a", nil), otherNode, false},
		{"an inline one", podOf("a", nil), inline, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := attachment("va", "pv")
			if c.edit != nil {
				c.edit(a)
			}
			blocking := termination.BlockingAttachments(termination.Volumes{
				NodeName: "node-1", Pods: []*corev1.Pod{c.pod}, Attachments: []*storagev1.VolumeAttachment{a},
				Claims: []*corev1.PersistentVolumeClaim{claim("c", "pv"), claim("a-data", "pv"), claim("other", "pv-2")},
			}, noon)
			assert.Equal(t, c.blocks, len(blocking) == 1)
		})
	}
}
