package oracle_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/internal/oracle/random"
	"github.com/node-disruption/disruption/scheduling"
)

// dump writes a question as JSON, one object a line.
func dump(q random.Question) string {
	var b strings.Builder
	line := func(what string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%s %s\n", what, data)
	}
	for _, p := range q.Cluster.Pools {
		fmt.Fprintf(&b, "pool %s weight %d: %s; labels %v taints %v limits %v static %t not ready %t deleting %t\n", p.Name, p.Weight,
			scheduling.NewRequirements(p.Requirements...), p.Labels, p.Taints, p.Limits, p.Static, p.NotReady, p.Deleting)
		for _, it := range p.InstanceTypes {
			fmt.Fprintf(&b, "  type %s: %s\n", it.Name, it.Requirements)
			for _, o := range it.Offerings {
				fmt.Fprintf(&b, "    %s: %v available %t reserved %d override %v\n", o.Requirements, o.Price, o.Available, o.ReservationCapacity, o.CapacityOverride)
			}
		}
	}
	for _, n := range q.Cluster.Nodes {
		line("node", n.Node)
		line("  claim", n.Claim)
		if n.InMove {
			b.WriteString("  in a move\n")
		}
	}
	for _, p := range q.Cluster.Pods {
		line("pod", p)
	}
	for _, d := range q.Cluster.DaemonSets {
		line("daemon set", d)
	}
	if slices.ContainsFunc(q.Cluster.Pods, func(p *corev1.Pod) bool { return p.Spec.Volumes != nil }) {
		line("claims", q.Cluster.PersistentVolumeClaims)
		line("volumes", q.Cluster.PersistentVolumes)
		line("classes", q.Cluster.StorageClasses)
	}
	line("csi nodes", q.Cluster.CSINodes)
	q.Options.SelectorOf = nil
	fmt.Fprintf(&b, "options %+v, request %+v\n", q.Options, q.Request)
	return b.String()
}
