package conformance

import "github.com/node-disruption/disruption/drift"

func replayHash(_ *File, c *Case) string {
	var in struct {
		NodePool struct {
			Spec struct {
				Template drift.NodeClaimTemplate `json:"template"`
			} `json:"spec"`
		} `json:"nodePool"`
	}
	type answer struct {
		Hash    string `json:"hash"`
		Version string `json:"version"`
	}
	var want answer
	if text := decode(c.In, &in) + decode(c.Want, &want); text != "" {
		return text
	}
	template := &in.NodePool.Spec.Template
	return diff(answer{drift.NodePoolHash(template), drift.HashVersion}, want)
}

func replayDrift(f *File, c *Case) string { return notBuilt }
