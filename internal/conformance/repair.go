package conformance

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/repair"
)

func replayRepair(_ *File, c *Case) string {
	var in struct {
		Node     corev1.Node   `json:"node"`
		Peers    []corev1.Node `json:"peers"`
		NodePool *string       `json:"nodePool"`
		Now      time.Time     `json:"now"`
		Policies []struct {
			Type              corev1.NodeConditionType `json:"type"`
			Status            corev1.ConditionStatus   `json:"status"`
			TolerationSeconds float64                  `json:"tolerationSeconds"`
		} `json:"policies"`
	}
	type unhealthy struct {
		Type            corev1.NodeConditionType `json:"type"`
		TerminationTime time.Time                `json:"terminationTime"`
	}
	type answer struct {
		Unhealthy   *unhealthy `json:"unhealthy"`
		Due         bool       `json:"due"`
		PoolHealthy bool       `json:"poolHealthy"`
	}
	var got, want answer
	if text := decode(c.In, &in) + decode(c.Want, &want); text != "" {
		return text
	}

	var o repair.Options
	for _, p := range in.Policies {
		toleration := time.Duration(p.TolerationSeconds * float64(time.Second))
		o.Policies = append(o.Policies, repair.Policy{Type: p.Type, Status: p.Status, Toleration: toleration})
	}
	if match, sick := repair.Evaluate(&in.Node, o.Policies, in.Now); sick {
		got.Unhealthy = &unhealthy{match.Type, match.Due}
		got.Due = match.DueAt(in.Now)
	}
	pool, label := "", annotations.For("").NodePool
	if in.NodePool != nil {
		pool = *in.NodePool
	}
	var peers []repair.Node
	for i := range in.Peers {
		peers = append(peers, repair.Node{Node: &in.Peers[i], Pool: in.Peers[i].Labels[label]})
	}
	got.PoolHealthy = o.Count(peers, pool, in.Now).Allowed()
	return diff(got, want)
}
