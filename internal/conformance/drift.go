package conformance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/scheduling"
)

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

func replayDrift(_ *File, c *Case) string {
	var in struct {
		NodePool struct {
			metav1.ObjectMeta `json:"metadata"`
			Spec              struct {
				Template drift.NodeClaimTemplate `json:"template"`
			} `json:"spec"`
		} `json:"nodePool"`
		NodeClaim struct {
			metav1.ObjectMeta `json:"metadata"`
		} `json:"nodeClaim"`
		InstanceTypes []*scheduling.InstanceType `json:"instanceTypes"`
	}
	type answer struct {
		Static       drift.Reason `json:"static"`
		Requirements drift.Reason `json:"requirements"`
		InstanceType drift.Reason `json:"instanceType"`
	}
	var got, want answer
	if text := decode(c.In, &in) + decode(c.Want, &want); text != "" {
		return text
	}
	checker := drift.Compile(&drift.Pool{
		Name:          in.NodePool.Name,
		Annotations:   in.NodePool.Annotations,
		Requirements:  in.NodePool.Spec.Template.Spec.Requirements,
		InstanceTypes: in.InstanceTypes,
	}, drift.Options{})
	claim := &drift.Claim{Labels: in.NodeClaim.Labels, Annotations: in.NodeClaim.Annotations}
	if checker.Static(claim) {
		got.Static = drift.NodePoolDrifted
	}
	if checker.Requirements(claim) != nil {
		got.Requirements = drift.RequirementsDrifted
	}
	if checker.InstanceType(claim) != "" {
		got.InstanceType = drift.InstanceTypeNotFound
	}
	return diff(got, want)
}
