package conformance

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
)

// claimFacts is the part of a recorded node claim that costs and quiet time need.
type claimFacts struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		ExpireAfter *string `json:"expireAfter"`
	} `json:"spec"`
	Status struct {
		Conditions       []metav1.Condition `json:"conditions"`
		LastPodEventTime *metav1.Time       `json:"lastPodEventTime"`
	} `json:"status"`
}

// nillable parses a duration of the API: absent and "Never" are nil.
func nillable(text *string) (*time.Duration, error) {
	if text == nil || *text == "Never" {
		return nil, nil
	}
	d, err := time.ParseDuration(*text)
	return &d, err
}

func replayCost(f *File, c *Case) string {
	var in struct {
		Pods      []*corev1.Pod `json:"pods"`
		NodeClaim claimFacts    `json:"nodeClaim"`
		Now       time.Time     `json:"now"`
	}
	type answer struct {
		EvictionCost             []Float `json:"evictionCost"`
		ReschedulingCost         Float   `json:"reschedulingCost"`
		LifetimeRemaining        Float   `json:"lifetimeRemaining"`
		DisruptionCost           Float   `json:"disruptionCost"`
		RescheduleDisruptionCost Float   `json:"rescheduleDisruptionCost"`
	}
	var want answer
	if bad := decode(c.In, &in) + decode(c.Want, &want); bad != "" {
		return bad
	}
	expireAfter, err := nillable(in.NodeClaim.Spec.ExpireAfter)
	if err != nil {
		return err.Error()
	}
	lifetime := consolidation.LifetimeRemaining(in.NodeClaim.Metadata.CreationTimestamp.Time, expireAfter, in.Now)
	got := answer{
		EvictionCost:             []Float{},
		ReschedulingCost:         Float(consolidation.ReschedulingCost(in.Pods)),
		LifetimeRemaining:        Float(lifetime),
		DisruptionCost:           Float(consolidation.DisruptionCost(in.Pods, lifetime)),
		RescheduleDisruptionCost: Float(consolidation.RescheduleDisruptionCost(in.Pods)),
	}
	for _, pod := range in.Pods {
		got.EvictionCost = append(got.EvictionCost, Float(consolidation.EvictionCost(pod)))
	}
	return diff(got, want)
}

// recordedSource is a candidate as the kinds order, balanced and canpass have it.
type recordedSource struct {
	Name                     string `json:"name"`
	Pool                     string `json:"pool"`
	Price                    Float  `json:"price"`
	RescheduleDisruptionCost Float  `json:"rescheduleDisruptionCost"`
}

func (s recordedSource) source() consolidation.Source {
	return consolidation.Source{
		Name: s.Name, Pool: s.Pool,
		Price: float64(s.Price), RescheduleDisruptionCost: float64(s.RescheduleDisruptionCost),
	}
}

func sources(recorded []recordedSource) []consolidation.Source {
	list := make([]consolidation.Source, len(recorded))
	for i := range recorded {
		list[i] = recorded[i].source()
	}
	return list
}

func replayOrder(f *File, c *Case) string {
	var in struct {
		Candidates []recordedSource `json:"candidates"`
	}
	var want struct {
		Order []string `json:"order"`
	}
	if bad := decode(c.In, &in) + decode(c.Want, &want); bad != "" {
		return bad
	}
	got := []string{}
	for _, s := range consolidation.Order(sources(in.Candidates)) {
		got = append(got, s.Name)
	}
	return diff(got, want.Order)
}

func replayBalanced(f *File, c *Case) string {
	var in struct {
		Pools map[string]struct {
			Policy              consolidation.Policy `json:"policy"`
			TotalCost           Float                `json:"totalCost"`
			TotalDisruptionCost Float                `json:"totalDisruptionCost"`
		} `json:"pools"`
		Candidates       []recordedSource `json:"candidates"`
		ReplacementPrice *Float           `json:"replacementPrice"`
	}
	type poolScore struct {
		Score              Float `json:"score"`
		SavingsFraction    Float `json:"savingsFraction"`
		DisruptionFraction Float `json:"disruptionFraction"`
		Threshold          Float `json:"threshold"`
		Approved           bool  `json:"approved"`
	}
	type answer struct {
		Approved bool                 `json:"approved"`
		PerPool  map[string]poolScore `json:"perPool"`
		Savings  Float                `json:"savings"`
	}
	var want answer
	if bad := decode(c.In, &in) + decode(c.Want, &want); bad != "" {
		return bad
	}
	pools := map[string]consolidation.ScorePool{}
	for name, p := range in.Pools {
		pools[name] = consolidation.ScorePool{
			Policy: p.Policy,
			Totals: &consolidation.Totals{Cost: float64(p.TotalCost), Disruption: float64(p.TotalDisruptionCost)},
		}
	}
	replacement := 0.0
	if in.ReplacementPrice != nil {
		replacement = float64(*in.ReplacementPrice)
	}
	score := consolidation.ScoreMove(pools, sources(in.Candidates), replacement)
	got := answer{Approved: score.Approved, Savings: Float(score.Savings), PerPool: map[string]poolScore{}}
	for _, p := range score.Pools {
		got.PerPool[p.Pool] = poolScore{
			Score: Float(p.Score), SavingsFraction: Float(p.SavingsFraction), DisruptionFraction: Float(p.DisruptionFraction),
			Threshold: Float(p.Threshold), Approved: p.Approved,
		}
	}
	return diff(got, want)
}

func replayCanPass(f *File, c *Case) string {
	var in struct {
		Pool struct {
			Policy consolidation.Policy `json:"policy"`
			Totals *struct {
				TotalCost           Float `json:"totalCost"`
				TotalDisruptionCost Float `json:"totalDisruptionCost"`
			} `json:"totals"`
		} `json:"pool"`
		Candidate recordedSource `json:"candidate"`
	}
	var want struct {
		CanPass bool `json:"canPass"`
	}
	if bad := decode(c.In, &in) + decode(c.Want, &want); bad != "" {
		return bad
	}
	pool := consolidation.ScorePool{Policy: in.Pool.Policy}
	if t := in.Pool.Totals; t != nil {
		pool.Totals = &consolidation.Totals{Cost: float64(t.TotalCost), Disruption: float64(t.TotalDisruptionCost)}
	}
	return diff(consolidation.CanPass(pool, in.Candidate.source()), want.CanPass)
}

func replayConsolidatable(f *File, c *Case) string {
	var in struct {
		NodePool struct {
			Spec struct {
				Disruption struct {
					ConsolidateAfter *string `json:"consolidateAfter"`
				} `json:"disruption"`
			} `json:"spec"`
		} `json:"nodePool"`
		NodeClaim claimFacts `json:"nodeClaim"`
		Now       time.Time  `json:"now"`
	}
	type answer struct {
		Under          bool `json:"underConsolidateAfter"`
		Consolidatable bool `json:"consolidatable"`
	}
	var want answer
	if bad := decode(c.In, &in) + decode(c.Want, &want); bad != "" {
		return bad
	}
	after, err := nillable(in.NodePool.Spec.Disruption.ConsolidateAfter)
	if err != nil {
		return err.Error()
	}
	activity := consolidation.Activity{ConsolidateAfter: after}
	for _, condition := range in.NodeClaim.Status.Conditions {
		if condition.Type == "Initialized" && condition.Status == metav1.ConditionTrue {
			activity.Initialized = &condition.LastTransitionTime.Time
		}
	}
	if at := in.NodeClaim.Status.LastPodEventTime; at != nil {
		activity.LastPodEvent = at.Time
	}
	quiet := consolidation.Consolidatable(activity, in.Now)
	return diff(answer{Under: quiet.Settling, Consolidatable: quiet.Consolidatable}, want)
}

// Cluster returns the facts of a recorded whole snapshot, and the options under
// which it was recorded.
func (f *File) Cluster(c *Case) (*disruption.Cluster, disruption.Options, error) {
	var s snapshot
	if err := json.Unmarshal(c.In, &s); err != nil {
		return nil, disruption.Options{}, err
	}
	cluster, err := s.cluster(f)
	return cluster, s.options(), err
}
