package conformance

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// methodAnswer is what one method says about a recorded cluster.
type methodAnswer struct {
	Candidates       []string            `json:"candidates"`
	CandidateDetails []candidateDetail   `json:"candidateDetails"`
	Budgets          map[string]int      `json:"budgets"`
	NodePoolTotals   map[string]totals   `json:"nodePoolTotals"`
	Commands         []command           `json:"commands"`
	Blocked          map[string]string   `json:"blocked"`
	Unconsolidatable map[string]string   `json:"unconsolidatable"`
	PodErrors        map[string][]string `json:"podErrors"`

	Nondeterministic           bool        `json:"nondeterministic"`
	EventsNondeterministic     bool        `json:"eventsNondeterministic"`
	PlacementsNondeterministic bool        `json:"placementsNondeterministic"`
	Seen                       [][]command `json:"seen"`
}

type candidateDetail struct {
	Node                     string  `json:"node"`
	Price                    float64 `json:"price"`
	DisruptionCost           Float   `json:"disruptionCost"`
	RescheduleDisruptionCost float64 `json:"rescheduleDisruptionCost"`
	SavingsRatio             float64 `json:"savingsRatio"`
}

type totals struct {
	Cost       float64 `json:"cost"`
	Disruption float64 `json:"disruption"`
}

// command is a move as recorded.
type command struct {
	Decision     string             `json:"decision"`
	Nodes        []string           `json:"nodes"`
	Replacements []simulatedNewNode `json:"replacements"`
	Savings      float64            `json:"savings"`
	Placements   map[string]string  `json:"placements"`
}

// judgement is what a given set of nodes would come to.
type judgement struct {
	Nodes         []string `json:"nodes"`
	Decision      string   `json:"decision"`
	NodePool      string   `json:"nodePool"`
	Types         int      `json:"types"`
	First         []string `json:"first"`
	Zones         []string `json:"zones"`
	CapacityTypes []string `json:"capacityTypes"`
	Savings       float64  `json:"savings"`
	Approved      bool     `json:"approved"`
	CanPass       bool     `json:"canPass"`
}

type e2eWant struct {
	Empty       methodAnswer `json:"empty"`
	StaticDrift methodAnswer `json:"staticDrift"`
	Drift       methodAnswer `json:"drift"`
	Multi       methodAnswer `json:"multi"`
	Single      methodAnswer `json:"single"`
	Each        []judgement  `json:"each"`
	Prefixes    []judgement  `json:"prefixes"`
}

func replayE2E(f *File, c *Case) string {
	var in snapshot
	var want e2eWant
	if d := decode(c.In, &in); d != "" {
		return d
	}
	if d := decode(c.Want, &want); d != "" {
		return d
	}
	cluster, err := in.cluster(f)
	if err != nil {
		return err.Error()
	}
	pass, err := disruption.Prepare(cluster, in.options())
	if err != nil {
		return "Prepare: " + err.Error()
	}
	r := recorder{&in, pass}
	var all []string
	add := func(what, d string) {
		if d != "" {
			all = append(all, what+": "+d)
		}
	}
	add("empty", r.compare(consolidation.MethodEmpty, want.Empty))
	add("staticDrift", r.compare(consolidation.MethodStaticDrift, want.StaticDrift))
	add("drift", r.compare(consolidation.MethodDrift, want.Drift))
	add("multi", r.compare(consolidation.MethodMulti, want.Multi))
	add("single", r.compare(consolidation.MethodSingle, want.Single))
	add("each", diff(r.each(), want.Each))
	add("prefixes", diff(r.prefixes(), want.Prefixes))
	return strings.Join(all, "\n")
}

// recorder writes our answers the way the recorded ones are written.
type recorder struct {
	snapshot *snapshot
	pass     *disruption.Pass
}

// compare asks one method and compares all that was recorded about it.
func (r recorder) compare(method consolidation.Method, want methodAnswer) string {
	outcome := r.pass.Ask(context.Background(), method)
	var all []string
	add := func(what, d string) {
		if d != "" {
			all = append(all, what+" "+d)
		}
	}
	eligible := r.pass.Planner().Fleet().Eligible(method)
	add("candidates", diff(sortedNames(eligible), want.Candidates))
	add("candidateDetails", diff(details(eligible), sortedDetails(want.CandidateDetails)))
	if want.Budgets != nil {
		add("budgets", diff(r.pass.Allowed(method), want.Budgets))
	}
	if want.NodePoolTotals != nil {
		add("nodePoolTotals", diff(r.totals(), want.NodePoolTotals))
	}
	if !want.EventsNondeterministic {
		blocked, unconsolidatable := r.refused(method, outcome)
		add("blocked", diff(blocked, keysOf(want.Blocked)))
		add("unconsolidatable", diff(unconsolidatable, keysOf(want.Unconsolidatable)))
	}
	if want.PodErrors != nil && !want.EventsNondeterministic {
		add("podErrors", diff(podErrors(outcome), want.PodErrors))
	}
	got := r.commands(outcome.Moves, want.PlacementsNondeterministic)
	add("commands", closestCommands(got, want))
	return strings.Join(all, "\n")
}

func sortedNames(candidates []*consolidation.Candidate) []string {
	names := make([]string, len(candidates))
	for i, c := range candidates {
		names[i] = c.Name
	}
	slices.Sort(names)
	return names
}

func details(candidates []*consolidation.Candidate) []candidateDetail {
	var list []candidateDetail
	for _, c := range candidates {
		list = append(list, candidateDetail{c.Name, c.Price, Float(c.DisruptionCost), c.RescheduleDisruptionCost, c.SavingsRatio()})
	}
	return sortedDetails(list)
}

func sortedDetails(list []candidateDetail) []candidateDetail {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b candidateDetail) int { return strings.Compare(a.Node, b.Node) })
	return list
}

func (r recorder) totals() map[string]totals {
	out := map[string]totals{}
	for pool, p := range r.pass.Planner().ScorePools() {
		if p.Totals != nil {
			out[pool] = totals{p.Totals.Cost, p.Totals.Disruption}
		}
	}
	return out
}

// refused sorts the refusals into the two kinds of events: a node that can't be
// disrupted at all, and one that consolidation leaves alone.
func (r recorder) refused(method consolidation.Method, outcome consolidation.Outcome) (blocked, unconsolidatable []string) {
	for _, refusal := range outcome.Stays {
		if len(refusal.Reasons) == 0 {
			continue
		}
		switch refusal.Reasons[0].Code {
		case consolidation.NotInitialized, consolidation.Deleting, consolidation.Nominated, consolidation.NodeDoNotDisrupt,
			consolidation.PodDoNotDisrupt, consolidation.PDBBlocks, consolidation.SeveralPDBs:
			blocked = append(blocked, refusal.Node)
		case consolidation.NeverConsolidate, consolidation.WhenEmptyOnly, consolidation.UnknownInstanceType,
			consolidation.NoCapacityType, consolidation.NoZone:
			unconsolidatable = append(unconsolidatable, refusal.Node)
		case consolidation.PodsUnplaced:
			if method == consolidation.MethodDrift {
				blocked = append(blocked, refusal.Node)
			} else if method == consolidation.MethodSingle {
				unconsolidatable = append(unconsolidatable, refusal.Node)
			}
		case consolidation.TooManyNewNodes, consolidation.NotCheaper, consolidation.MinValues,
			consolidation.SpotToSpotOff, consolidation.TooFewSpotTypes:
			if method == consolidation.MethodSingle {
				unconsolidatable = append(unconsolidatable, refusal.Node)
			}
		}
	}
	slices.Sort(blocked)
	slices.Sort(unconsolidatable)
	return blocked, unconsolidatable
}

// podErrors are the pods of each rejected move that would find no place. Nodes
// with five or more of them were not recorded.
func podErrors(outcome consolidation.Outcome) map[string][]string {
	out := map[string][]string{}
	for _, m := range outcome.Rejected {
		for i := range m.Placements {
			if p := &m.Placements[i]; p.Origin != scheduling.FromPending && !p.Placed() {
				out[m.Nodes[0]] = append(out[m.Nodes[0]], podName(p.Pod))
			}
		}
	}
	maps.DeleteFunc(out, func(_ string, pods []string) bool { return len(pods) >= 5 })
	return out
}

func keysOf(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// commands writes moves as recorded.
func (r recorder) commands(moves []*consolidation.Move, withoutPlacements bool) []command {
	var out []command
	for i := range moves {
		m := moves[i]
		cmd := command{Decision: string(m.Decision), Nodes: m.Nodes, Savings: m.Savings}
		for j := range m.Replacements {
			cmd.Replacements = append(cmd.Replacements, recordNewNode(r.snapshot, &m.Replacements[j].NewNode))
		}
		if len(m.Placements) > 0 && !withoutPlacements {
			cmd.Placements = map[string]string{}
			for j := range m.Placements {
				cmd.Placements[podName(m.Placements[j].Pod)] = place(&m.Placements[j])
			}
		}
		out = append(out, cmd)
	}
	return out
}

// closestCommands compares with the canonical answer and the others seen.
func closestCommands(got []command, want methodAnswer) string {
	loose := want.PlacementsNondeterministic || want.Nondeterministic
	sortUnpriced(want.Commands, got)
	for _, seen := range want.Seen {
		sortUnpriced(seen, got)
	}
	first := diff(plainCommands(got, want.PlacementsNondeterministic), plainCommands(want.Commands, want.PlacementsNondeterministic))
	if first == "" || !loose {
		return first
	}
	for _, seen := range want.Seen {
		if diff(plainCommands(got, true), plainCommands(seen, true)) == "" {
			return ""
		}
	}
	return first
}

// sortUnpriced puts the tail of instance types without a price, which stand in no
// order of meaning, into name order, and says how long that tail is. The recorded
// commands don't say so; it is as long as ours if the rest agrees.
func sortUnpriced(recorded, got []command) {
	for i := range recorded {
		for j := range recorded[i].Replacements {
			if i >= len(got) || j >= len(got[i].Replacements) {
				continue
			}
			r, n := &recorded[i].Replacements[j], got[i].Replacements[j].Unpriced
			if n <= len(r.InstanceTypes) {
				r.Unpriced = n
				slices.Sort(r.InstanceTypes[len(r.InstanceTypes)-n:])
			}
		}
	}
}

// plainCommands makes commands comparable: the numbers of new nodes become the
// names of their pods, and where placements vary the order of nodes does too.
func plainCommands(commands []command, loose bool) []command {
	var out []command
	for _, cmd := range commands {
		s := simulation{Placements: cmd.Placements, NewNodes: cmd.Replacements}.canonical()
		cmd.Placements, cmd.Replacements = s.Placements, s.NewNodes
		if loose {
			cmd.Placements = nil
			cmd.Nodes = slices.Clone(cmd.Nodes)
			slices.Sort(cmd.Nodes)
		}
		if len(cmd.Placements) == 0 {
			cmd.Placements = nil
		}
		out = append(out, cmd)
	}
	return out
}

// each judges every candidate of single-node consolidation alone.
func (r recorder) each() []judgement {
	var out []judgement
	planner := r.pass.Planner()
	for _, c := range planner.Fleet().Eligible(consolidation.MethodSingle) {
		j := judged(planner.Evaluate(consolidation.MethodSingle, c))
		j.CanPass = consolidation.CanPass(planner.ScorePools()[c.Pool], c.Source())
		out = append(out, j)
	}
	return out
}

// prefixes judges the first few candidates together.
func (r recorder) prefixes() []judgement {
	var out []judgement
	planner := r.pass.Planner()
	candidates := planner.Fleet().Eligible(consolidation.MethodMulti)
	for _, n := range []int{2, 3, 4, 6, 9} {
		if n <= len(candidates) {
			out = append(out, judged(planner.Evaluate(consolidation.MethodMulti, candidates[:n]...)))
		}
	}
	return out
}

func judged(m *consolidation.Move) judgement {
	j := judgement{Nodes: m.Nodes, Decision: string(m.Decision), Savings: m.Savings, Approved: m.Allowed()}
	if m.Decision == consolidation.Replace {
		n := &m.Replacements[0]
		names := typeNames(n.InstanceTypes)
		j.NodePool, j.Types, j.First = n.Pool, len(names), names[:min(3, len(names))]
		j.Zones = n.Requirements.Get(corev1.LabelTopologyZone).Values()
		j.CapacityTypes = n.Requirements.Get("karpenter.sh/capacity-type").Values()
	}
	return j
}
