package annotations_test

import (
	"testing"
	"time"

	"github.com/node-disruption/disruption/annotations"
)

func BenchmarkPodProtection(b *testing.B) {
	b.ReportAllocs()
	keys, p := annotations.For(""), pod(ago(time.Hour), dnd, "6h")
	for b.Loop() {
		keys.PodProtection(p, noon)
	}
}

func BenchmarkReaderPod(b *testing.B) {
	b.ReportAllocs()
	p := pod(ago(time.Hour), dnd, "6h", safe, "false", preferNo, "true")
	for b.Loop() {
		annotations.Compile(everything()).Pod(p, noon)
	}
}
