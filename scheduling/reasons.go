package scheduling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Code is a kind of reason why a pod can't go somewhere. Codes are stable.
type Code string

// Codes of the pod as a whole.
const (
	// NoPlace: no node has it, and no pool could open one that would.
	NoPlace Code = "NoPlace"
	// ResourceClaims: it has resource claims (DRA), which are not simulated.
	ResourceClaims Code = "ResourceClaims"
	// UnknownVolumes: it needs a claim, volume or class that isn't there, and
	// Options.RefuseUnknownVolumes is set.
	UnknownVolumes Code = "UnknownVolumes"
	// NotInitialized: it fits only a node that is not initialised yet, which
	// doesn't count as a place for pods that run today.
	NotInitialized Code = "NotInitialized"
)

// Codes of a node, some of which pools share.
const (
	Settling           Code = "Settling"           // its consolidateAfter has not elapsed
	UntoleratedTaint   Code = "UntoleratedTaint"   // Subject: the taint
	LabelMismatch      Code = "LabelMismatch"      // node selector or affinity; Subject: the label
	Overcommitted      Code = "Overcommitted"      // it has less than nothing left; Subject: of which resource
	Insufficient       Code = "Insufficient"       // Subject: the resource
	HostPortTaken      Code = "HostPortTaken"      // Subject: the port
	VolumeElsewhere    Code = "VolumeElsewhere"    // the pod's volumes can't be had there
	TooManyVolumes     Code = "TooManyVolumes"     // Subject: the CSI driver
	SpreadViolated     Code = "SpreadViolated"     // Subject: the topology key
	NotNearPods        Code = "NotNearPods"        // pod affinity; Subject: the topology key
	TooNearPods        Code = "TooNearPods"        // its own anti-affinity; Subject: the topology key
	KeptAway           Code = "KeptAway"           // the anti-affinity of pods there; Subject: the topology key
	MissingTopologyKey Code = "MissingTopologyKey" // Subject: the topology key
)

// Codes of a pool.
const (
	PoolClosed       Code = "PoolClosed"       // static, not Ready or being deleted
	NoTemplate       Code = "NoTemplate"       // no type meets the pool's own requirements
	LimitReached     Code = "LimitReached"     // Subject: the resource, or "nodes"
	TopologyConflict Code = "TopologyConflict" // no domain suits all constraints
	NoInstanceType   Code = "NoInstanceType"   // none is compatible, available and large enough
	TooFewValues     Code = "TooFewValues"     // minValues
	NoReservation    Code = "NoReservation"    // strict mode found no reservation to hold
)

// Refusal is one reason why a pod can't go to one node or pool.
type Refusal struct {
	Code Code `json:"code"`
	// Subject is what the code is about, as listed with the codes; may be "".
	Subject string `json:"subject,omitempty"`
	// Message says it to people, with numbers.
	Message string `json:"message"`
}

// Unschedulable says why a pod found no place, at the end of a simulation and
// with all its preferences given up.
type Unschedulable struct {
	Code Code `json:"code"`
	// Message sums up, like the scheduler: "0/40 nodes fit: 12 untolerated
	// taint dedicated=x:NoSchedule, 28 insufficient cpu; pool a: limit of cpu
	// reached".
	Message string `json:"message"`
	// Nodes counts the destinations by the first reason each has, most first.
	Nodes []RefusalCount `json:"nodes,omitempty"`
	// Nearest is the destination that refuses for the fewest reasons, of equal
	// ones the one short of the least; nil if there is no destination.
	Nearest *NearMiss `json:"nearest,omitempty"`
	// Pools are the pools in the order in which they are tried, then those that
	// open no nodes.
	Pools []PoolRefusal `json:"pools,omitempty"`
}

// RefusalCount is how many nodes have a reason.
type RefusalCount struct {
	Code    Code   `json:"code"`
	Subject string `json:"subject,omitempty"`
	Nodes   int    `json:"nodes"`
}

// NearMiss is a node that almost fits, and all that is in the way.
type NearMiss struct {
	Node     string    `json:"node"`
	Refusals []Refusal `json:"refusals"`
}

// PoolRefusal is why a pool opens no node for the pod.
type PoolRefusal struct {
	Pool string `json:"pool"`
	Refusal
}

// explain finds the reasons of a pod that found no place.
func (w *workspace) explain(p *movingPod) *Unschedulable {
	if p.host >= 0 {
		name := w.s.hosts.hosts[p.host].name
		return &Unschedulable{Code: NotInitialized, Message: fmt.Sprintf("fits node %s only, which is not initialised yet", name)}
	}
	if code := w.refused(p); code != "" {
		return &Unschedulable{Code: code, Message: refusedText(code)}
	}
	st := &p.class.stages[len(p.class.stages)-1]
	w.topology.prepare(w, p, st.strict, st.links)
	u := &Unschedulable{Code: NoPlace}
	destinations := w.explainNodes(u, p, st)
	u.Pools = w.explainPools(p, st)
	u.Message = u.summary(destinations)
	return u
}

func refusedText(code Code) string {
	if code == ResourceClaims {
		return "has resource claims, which are not simulated"
	}
	return "needs a volume claim, volume or storage class that isn't there"
}

// explainNodes judges every destination, and returns how many there are.
func (w *workspace) explainNodes(u *Unschedulable, p *movingPod, st *stage) int {
	counts := map[Refusal]int{}
	destinations, least := 0, nearness{}
	for h := range w.s.hosts.dests {
		if w.gone.has(h) {
			continue
		}
		destinations++
		refusals, short := w.refusals(h, p, st)
		if len(refusals) == 0 { // it fits by now, but the pod wasn't tried again
			continue
		}
		counts[Refusal{Code: refusals[0].Code, Subject: refusals[0].Subject}]++
		if n := (nearness{len(refusals), short}); u.Nearest == nil || n.less(least) {
			least = n
			u.Nearest = &NearMiss{Node: w.s.hosts.hosts[h].name, Refusals: refusals}
		}
	}
	for r, n := range counts {
		u.Nodes = append(u.Nodes, RefusalCount{r.Code, r.Subject, n})
	}
	slices.SortFunc(u.Nodes, func(a, b RefusalCount) int {
		return cmp.Or(b.Nodes-a.Nodes, cmp.Compare(a.Code, b.Code), strings.Compare(a.Subject, b.Subject))
	})
	return destinations
}

// nearness orders near misses: by the number of reasons, then by the share of
// its requests that the pod lacks.
type nearness struct {
	reasons int
	short   float64
}

func (n nearness) less(o nearness) bool {
	return n.reasons < o.reasons || n.reasons == o.reasons && n.short < o.short
}

func (u *Unschedulable) summary(destinations int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "0/%d nodes fit", destinations)
	for i, n := range u.Nodes {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		fmt.Fprintf(&b, "%s%d %s", separator, n.Nodes, phrase(n.Code, n.Subject))
	}
	for _, p := range u.Pools {
		fmt.Fprintf(&b, "; pool %s: %s", p.Pool, p.Message)
	}
	return b.String()
}

// phrase is a code in a few words.
func phrase(code Code, subject string) string {
	words := map[Code]string{
		Settling: "still settling", UntoleratedTaint: "untolerated taint", LabelMismatch: "label mismatch on",
		Overcommitted: "overcommitted", Insufficient: "insufficient", HostPortTaken: "host port taken:",
		VolumeElsewhere: "volume elsewhere", TooManyVolumes: "too many volumes of", SpreadViolated: "spread over",
		NotNearPods: "pod affinity by", TooNearPods: "pod anti-affinity by", KeptAway: "kept away by pods by",
		MissingTopologyKey: "missing topology key",
	}[code]
	return strings.TrimSpace(words + " " + subject)
}

// WhyNot reports every reason for which a pod could not move to a node as the
// cluster stands, its preferences given up; none if it could. Of the taints and
// labels in the way it names the first. The error says that the snapshot doesn't
// have the pod or, as a place for pods, the node; a pod that doesn't exist yet
// comes in by [Snapshot.With].
func (s *Snapshot) WhyNot(namespace, name, node string) ([]Refusal, error) {
	row := s.findPod(namespace, name)
	if row == nil {
		return nil, field.NotFound(field.NewPath("pod"), namespace+"/"+name)
	}
	host, ok := s.hosts.find(node)
	if !ok || host >= s.hosts.dests {
		return nil, field.NotFound(field.NewPath("node"), node)
	}
	if int(row.host) == host {
		return nil, field.Invalid(field.NewPath("node"), node, "the pod runs there")
	}
	w := s.workspaces.Get().(*workspace)
	defer s.workspaces.Put(w)
	defer w.end()
	p := w.alone(row)
	if code := w.refused(p); code != "" {
		return []Refusal{{Code: code, Message: refusedText(code)}}, nil
	}
	var refusals []Refusal
	for i := range p.class.stages {
		st := &p.class.stages[i]
		w.topology.prepare(w, p, st.strict, st.links)
		if refusals, _ = w.refusals(host, p, st); len(refusals) == 0 {
			return nil, nil
		}
	}
	return refusals, nil
}

func (s *Snapshot) findPod(namespace, name string) *podRow {
	i := slices.IndexFunc(s.pods.rows, func(r podRow) bool { return r.pod.Name == name && r.pod.Namespace == namespace })
	if i < 0 {
		return nil
	}
	return &s.pods.rows[i]
}

// alone begins a simulation in which nothing but one pod moves.
func (w *workspace) alone(row *podRow) *movingPod {
	origin := FromRemoved
	if row.host < 0 {
		origin = FromPending
	}
	w.pods = append(w.pods, w.moving(row, origin))
	w.held.begin()
	w.topology.begin(w)
	return &w.pods[0]
}

// taintText writes a taint as kubectl does.
func taintText(t corev1.Taint) string {
	if t.Value == "" {
		return fmt.Sprintf("%s:%s", t.Key, t.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect)
}
