package drift

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/scheduling"
)

// Edit is a change to a pool, before it is applied.
type Edit struct {
	Pool          string
	Before, After *NodeClaimTemplate
	// InstanceTypes of the pool once the change is applied; nil leaves them out
	// of the question.
	InstanceTypes []*scheduling.InstanceType
}

// Subject is a node of the pool.
type Subject struct {
	// Node is the node's name, the claim's if it has none yet.
	Node  string
	Claim Claim
	// ReschedulablePods, HasGracePeriod and PodsBlock are those of [Candidate].
	ReschedulablePods int
	HasGracePeriod    bool
	PodsBlock         string
}

// Prediction is what an edit does to one node.
type Prediction struct {
	Subject
	// Before is how the node stands today, After how it will.
	Before Verdict `json:"before"`
	After  Verdict `json:"after"`
}

// Drifts reports whether the edit makes the node drift.
func (p *Prediction) Drifts() bool { return p.After.Outcome == Replace && p.Before.Outcome != Replace }

// Already reports whether the node has drifted today, and will have still.
func (p *Prediction) Already() bool { return p.After.Outcome == Replace && p.Before.Outcome == Replace }

// Heals reports whether the edit makes a drifted node match again.
func (p *Prediction) Heals() bool { return p.After.Outcome != Replace && p.Before.Outcome == Replace }

// Preflight is what an edit would do. It belongs to the caller.
type Preflight struct {
	Pool string `json:"pool"`
	// Changes names the fields that differ.
	Changes []FieldChange `json:"changes,omitempty"`
	// Nodes holds a prediction for every node, by name.
	Nodes []Prediction `json:"nodes,omitempty"`
	// Drifting counts the nodes that the edit makes drift, and Already those that
	// have drifted today and stay so: they all will be replaced. Healed counts
	// drifted nodes that match again.
	Drifting int `json:"drifting"`
	Already  int `json:"already"`
	Healed   int `json:"healed"`
	// Pods counts the pods that move when the drifting nodes, and those that have
	// drifted already, are replaced.
	Pods int `json:"pods"`
}

// WouldDrift says which nodes of a pool an edit would make drift, and by which
// field. The Detail of a prediction names the fields, or the requirement that a
// node doesn't meet; a label that the node doesn't even have shows in
// Mismatch.Undefined. Conditions are taken from the claims as they are, so a node
// that has drifted for a cloud's own reason counts as drifted, before and after.
// Claims that are not launched yet are judged too: they will be, once they are.
func WouldDrift(edit *Edit, nodes []Subject, o Options, now time.Time) Preflight {
	out := Preflight{Pool: edit.Pool, Changes: Changes(edit.Before, edit.After)}
	judge := edit.compile(o)
	for i := range nodes {
		p := judge.predict(&nodes[i], &out, now)
		out.Nodes = append(out.Nodes, p)
		switch {
		case p.Drifts():
			out.Drifting++
			out.Pods += p.ReschedulablePods
		case p.Already():
			out.Already++
			out.Pods += p.ReschedulablePods
		case p.Heals():
			out.Healed++
		}
	}
	slices.SortFunc(out.Nodes, func(a, b Prediction) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// Candidates returns the nodes that will be replaced, as they will queue: those
// that have drifted already since they did, the others since the edit at an
// instant.
func (p *Preflight) Candidates(at time.Time) []Candidate {
	var out []Candidate
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.After.Outcome == Replace {
			out = append(out, n.candidate(p.Pool, at))
		}
	}
	return Sort(out)
}

// Forecast lays the roll-out of the edit out in time, see [Forecast] for the rules.
// Held are nodes that drift but stay until a pod lets them go: they are not part
// of the timeline.
func (p *Preflight) Forecast(budgets *budget.Set, usage budget.Usage, pace Pace, from, limit time.Time) (line Timeline, held []Candidate) {
	var queue []string
	for _, c := range p.Candidates(from) {
		if c.Eligible() {
			queue = append(queue, c.Node)
		} else {
			held = append(held, c)
		}
	}
	return Forecast(queue, budgets, usage, pace, from, limit), held
}

func (p *Prediction) candidate(pool string, at time.Time) Candidate {
	if c := p.Claim.Drifted; c != nil && c.Status == metav1.ConditionTrue {
		at = c.LastTransitionTime.Time
	}
	return Candidate{
		Node: p.Node, Claim: p.Claim.Name, Pool: pool,
		Reason: p.After.Reason, DriftedSince: at, ReschedulablePods: p.ReschedulablePods,
		HasGracePeriod: p.HasGracePeriod, PodsBlock: p.PodsBlock,
	}
}

// judges are a pool before and after an edit.
type judges struct{ before, after *Checker }

func (e *Edit) compile(o Options) judges {
	o.Cloud, o.ConfirmLive = nil, false
	keys := annotations.For(o.Domain)
	pool := func(t *NodeClaimTemplate) *Pool {
		return &Pool{
			Name:          e.Pool,
			Annotations:   map[string]string{keys.NodePoolHash: NodePoolHash(t), keys.NodePoolHashVersion: HashVersion},
			Requirements:  t.Spec.Requirements,
			InstanceTypes: e.InstanceTypes,
		}
	}
	return judges{Compile(pool(e.Before), o), Compile(pool(e.After), o)}
}

func (j judges) predict(s *Subject, out *Preflight, now time.Time) Prediction {
	claim := s.Claim
	claim.Launched = true
	p := Prediction{Subject: *s}
	p.Before, _ = j.before.Evaluate(&claim, now)
	p.After, _ = j.after.Evaluate(&claim, now)
	if c := claim.Drifted; c != nil && c.Status == metav1.ConditionTrue {
		p.Before = Verdict{Outcome: Replace, Reason: Reason(c.Reason), Detail: c.Message}
		if !ownReason(p.Before.Reason) && p.After.Outcome != Replace {
			p.After = p.Before // the cloud's answer doesn't change with the pool
		}
	}
	if p.Drifts() && p.After.Reason == NodePoolDrifted {
		p.After.Detail = hashedChanges(out.Changes)
	}
	return p
}

// ownReason tells the reasons that a Checker finds by itself from a cloud's.
func ownReason(r Reason) bool {
	return r == NodePoolDrifted || r == RequirementsDrifted || r == InstanceTypeNotFound
}

// hashedChanges lists the changes that made the hash differ.
func hashedChanges(changes []FieldChange) string {
	var texts []string
	for _, c := range changes {
		if c.Hashed {
			texts = append(texts, c.String())
		}
	}
	return strings.Join(texts, "; ")
}
