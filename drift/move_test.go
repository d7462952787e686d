package drift

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/node-disruption/disruption/scheduling"
)

// canned answers a simulation by the node removed; an unknown node's pods all
// find room.
type canned map[string]scheduling.Result

func (c canned) Simulate(r scheduling.Request) scheduling.Result { return c[r.Remove[0]] }

func unplacedPod() scheduling.Result {
	return scheduling.Result{Placements: []scheduling.Placement{{Pod: &corev1.Pod{}, NewNode: -1}}}
}

func newNodes(n int) scheduling.Result {
	return scheduling.Result{NewNodes: make([]scheduling.NewNode, n)}
}

func candidate(node string, age time.Duration, pods int) Candidate {
	return Candidate{Node: node, Pool: "p", DriftedSince: noon.Add(-age), ReschedulablePods: pods}
}

// outcome renders a plan as "moved; skipped:Code ...".
func outcome(p Plan) (moved []string, skipped []string) {
	for _, m := range p.Moves {
		moved = append(moved, m.Candidate.Node)
	}
	for _, s := range p.Skipped {
		skipped = append(skipped, s.Node+":"+string(s.Code))
	}
	return moved, skipped
}

func TestPropose(t *testing.T) {
	some := map[string]int{"p": 1}
	young, old, empty := candidate("young", time.Hour, 1), candidate("old", 2*time.Hour, 1), candidate("zero", time.Minute, 0)
	blocked := candidate("blocked", 3*time.Hour, 1)
	blocked.PodsBlock = "pod default/a has do-not-disrupt"
	eventual := blocked
	eventual.HasGracePeriod = true

	tests := map[string]struct {
		candidates []Candidate
		allowed    map[string]int
		sim        canned
		options    MoveOptions
		moved      []string
		skipped    []string
	}{
		"the oldest first":              {candidates: []Candidate{young, old}, allowed: some, moved: []string{"old"}, skipped: []string{"young:NotReached"}},
		"a node without pods before it": {candidates: []Candidate{young, old, empty}, allowed: some, moved: []string{"zero"}, skipped: []string{"old:NotReached", "young:NotReached"}},
		"one that can't be placed doesn't starve the others": {
			candidates: []Candidate{young, old}, allowed: some, sim: canned{"old": unplacedPod()},
			moved: []string{"young"}, skipped: []string{"old:Unplaced"},
		},
		"any number of replacements": {candidates: []Candidate{old}, allowed: some, sim: canned{"old": newNodes(4)}, moved: []string{"old"}},
		"unless there is a bound": {
			candidates: []Candidate{old}, allowed: some, sim: canned{"old": newNodes(4)}, options: MoveOptions{MaxReplacements: 3},
			skipped: []string{"old:TooMany"},
		},
		"no budget":              {candidates: []Candidate{old}, allowed: map[string]int{"p": 0}, skipped: []string{"old:Budget"}},
		"an unknown pool's none": {candidates: []Candidate{old}, skipped: []string{"old:Budget"}},
		"no pool ends the pass": {
			candidates: []Candidate{young, old}, allowed: some, sim: canned{"old": {NoPools: true}},
			skipped: []string{"old:NoPools", "young:NoPools"},
		},
		"blocking pods":                        {candidates: []Candidate{blocked}, allowed: some, skipped: []string{"blocked:PodsBlock"}},
		"blocking pods with a grace period":    {candidates: []Candidate{eventual}, allowed: some, moved: []string{"blocked"}},
		"a closed gate":                        {candidates: []Candidate{old}, allowed: some, options: MoveOptions{Gates: map[string]Gate{"p": {Code: GateStopped}}}, skipped: []string{"old:Gate"}},
		"an open gate":                         {candidates: []Candidate{old}, allowed: some, options: MoveOptions{Gates: map[string]Gate{"p": {Allowed: 1}}}, moved: []string{"old"}},
		"no candidates":                        {allowed: some},
		"a truncated simulation places nobody": {candidates: []Candidate{old}, allowed: some, sim: canned{"old": {Truncated: true}}, skipped: []string{"old:Unplaced"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			moved, skipped := outcome(Propose(test.candidates, test.allowed, test.sim, test.options))
			assert.Equal(t, test.moved, moved)
			assert.Equal(t, test.skipped, skipped)
		})
	}
}

// The order of the input decides nothing, and the input stays as it is.
func TestProposeForgetsInputOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var candidates []Candidate
		sim := canned{}
		for i := range rapid.IntRange(0, 8).Draw(t, "n") {
			c := candidate(fmt.Sprint("node-", i), time.Duration(rapid.IntRange(0, 3).Draw(t, "age"))*time.Hour, rapid.IntRange(0, 1).Draw(t, "pods"))
			candidates = append(candidates, c)
			if rapid.Bool().Draw(t, "unplaced") {
				sim[c.Node] = unplacedPod()
			}
		}
		shuffled := rapid.Permutation(candidates).Draw(t, "shuffled")
		before := append([]Candidate(nil), shuffled...)
		allowed := map[string]int{"p": rapid.IntRange(0, 1).Draw(t, "allowed")}
		require.Equal(t, Propose(candidates, allowed, sim, MoveOptions{}), Propose(shuffled, allowed, sim, MoveOptions{}))
		require.Equal(t, before, shuffled)
	})
}

func TestProposeStatic(t *testing.T) {
	limit := func(n int) *int { return &n }
	drifted := func(n int) (out []Candidate) {
		for i := range n {
			out = append(out, candidate(fmt.Sprint("n", n-i), time.Hour, 1))
		}
		return out
	}
	// A static pool whose node limit equals its replicas: three run, one drifted.
	tight := StaticPool{Replicas: 3, NodeLimit: limit(3), Running: 3, Allowed: 1, Drifted: drifted(1)}
	terminateFirst := StaticOptions{TerminateFirst: true}

	tests := map[string]struct {
		pool    StaticPool
		options StaticOptions
		moved   []string
		skipped []string
		detail  string
	}{
		"replacement first without headroom": {
			pool: tight, skipped: []string{"n1:NoHeadroom"}, detail: "no headroom: 3 + 1 > 3",
		},
		"terminated first without headroom": {pool: tight, options: terminateFirst, moved: []string{"n1"}},
		"replacement first with headroom for one": {
			pool: with(tight, func(p *StaticPool) { p.NodeLimit = limit(4) }), moved: []string{"n1"},
		},
		"no budget": {
			pool: with(tight, func(p *StaticPool) { p.Allowed = 0; p.NodeLimit = limit(4) }), skipped: []string{"n1:Budget"},
		},
		"no budget either way": {
			pool: with(tight, func(p *StaticPool) { p.Allowed = 0 }), options: terminateFirst, skipped: []string{"n1:Budget"},
		},
		"no limit": {
			pool: StaticPool{Replicas: 3, Running: 3, Allowed: 9, Drifted: drifted(3)}, moved: []string{"n1", "n2", "n3"},
		},
		"budget binds, by name": {
			pool: StaticPool{Replicas: 3, Running: 3, Allowed: 2, Drifted: drifted(3)}, moved: []string{"n1", "n2"}, skipped: []string{"n3:Budget"},
		},
		"the limit counts deleting, pending and reserved": {
			pool:  StaticPool{Replicas: 5, NodeLimit: limit(8), Running: 4, Deleting: 1, Pending: 1, Reserved: 1, Allowed: 9, Drifted: drifted(3)},
			moved: []string{"n1"}, skipped: []string{"n2:NoHeadroom", "n3:NoHeadroom"}, detail: "no headroom: 7 + 2 > 8",
		},
		"a limit below what runs": {
			pool: StaticPool{Replicas: 3, NodeLimit: limit(1), Running: 3, Allowed: 9, Drifted: drifted(1)}, skipped: []string{"n1:NoHeadroom"},
		},
		"more running and pending than replicas": {
			pool: StaticPool{Replicas: 3, Running: 3, Pending: 1, Allowed: 9, Drifted: drifted(1)}, skipped: []string{"n1:Replicas"},
		},
		"as many as replicas": {
			pool: StaticPool{Replicas: 4, Running: 3, Pending: 1, Allowed: 9, Drifted: drifted(1)}, moved: []string{"n1"},
		},
		"terminated first while one is missing": {
			pool:    StaticPool{Replicas: 4, NodeLimit: limit(3), Running: 3, Allowed: 1, Drifted: drifted(1)},
			options: terminateFirst, skipped: []string{"n1:ReplicasMissing"}, detail: "1 of 4 replicas are missing",
		},
		"a canary": {
			pool:    StaticPool{Replicas: 3, Running: 3, Allowed: 9, Drifted: drifted(3)},
			options: StaticOptions{Gates: map[string]Gate{"": {Allowed: 1, Code: GateCanary}}},
			moved:   []string{"n1"}, skipped: []string{"n2:Gate", "n3:Gate"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := ProposeStatic([]StaticPool{test.pool}, test.options)
			moved, skipped := outcome(plan)
			assert.Equal(t, test.moved, moved)
			assert.Equal(t, test.skipped, skipped)
			if test.detail != "" {
				assert.Equal(t, test.detail, plan.Skipped[0].Detail)
			}
			for _, m := range plan.Moves {
				assert.Len(t, m.Replacements, 1)
				assert.Equal(t, test.options.TerminateFirst, m.TerminateFirst)
			}
		})
	}
}

func with(p StaticPool, change func(*StaticPool)) StaticPool {
	change(&p)
	return p
}

// With the replacement first, a static pool never has more claims than its limit
// and never more moves than its budget.
func TestProposeStaticKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := func(name string) int { return rapid.IntRange(0, 6).Draw(t, name) }
		limit := small("limit")
		p := StaticPool{
			Replicas: small("replicas"), NodeLimit: &limit, Running: small("running"), Deleting: small("deleting"),
			Pending: small("pending"), Reserved: small("reserved"), Allowed: small("allowed"),
		}
		for i := range small("drifted") {
			p.Drifted = append(p.Drifted, candidate(fmt.Sprint(i), 0, 1))
		}
		n := len(ProposeStatic([]StaticPool{p}, StaticOptions{}).Moves)
		require.LessOrEqual(t, n, p.Allowed)
		if n > 0 {
			require.LessOrEqual(t, p.Running+p.Deleting+p.Pending+p.Reserved+n, limit)
			require.LessOrEqual(t, p.Running+p.Pending, p.Replicas)
		}
	})
}
