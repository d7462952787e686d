package disruption

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// Loop is what must live between the passes of a controller, as plain data: store
// it, restore it after a restart, compare it. The zero value is a fresh start.
//
// [Loop.Step] is pure: it takes the cluster as it is now and returns the next
// Loop and what the host has to do. A decision goes through these stages, as in
// Karpenter v1.14: decide, wait 15 seconds, validate against the cluster as it is
// then, taint the nodes, launch the replacements, wait until they are initialised,
// delete the claims. Drift is not validated and does not wait.
type Loop struct {
	// Pending is decided and waits for its validation.
	Pending *Pending `json:"pending,omitempty"`
	// InFlight commands have tainted their nodes and wait for replacements.
	InFlight []Command `json:"inFlight,omitempty"`
	// NotReached are the pools that an interrupted pass saw nothing of.
	NotReached []string `json:"notReached,omitempty"`
	// Consolidated is set once consolidation has found nothing to do.
	Consolidated *Consolidated `json:"consolidated,omitempty"`
	// History is what guards remember. Every command that starts is added, and what
	// is older than [Options.Remember] is forgotten; recurring loads are for the
	// host to record. [Loop.Step] hands it to the guards in place of
	// Options.Consolidation.History.
	History consolidation.History `json:"history,omitzero"`
	// LastID is that of the last command.
	LastID int `json:"lastID,omitempty"`
}

// Pending is a decision between its making and its validation.
type Pending struct {
	Since    time.Time `json:"since"`
	Commands []Command `json:"commands"`
}

// Consolidated says that the cluster, as it was at a generation, has no move for
// consolidation. Until something changes nobody needs to look again.
type Consolidated struct {
	Generation int64     `json:"generation"`
	At         time.Time `json:"at"`
}

// Command is a move on its way.
type Command struct {
	ID       int                    `json:"id"`
	Method   consolidation.Method   `json:"method"`
	Decision consolidation.Decision `json:"decision"`
	// Targets are the nodes that go.
	Targets []Target `json:"targets"`
	// Launches come first, unless TerminateFirst.
	Launches       []Launch `json:"launches,omitempty"`
	TerminateFirst bool     `json:"terminateFirst,omitempty"`
	Savings        float64  `json:"savings"` // per hour
	// Started is when the nodes were tainted; zero while pending.
	Started time.Time `json:"started,omitzero"`
	// Failed is why the next step gives the command up, see [Loop.Failed].
	Failed string `json:"failed,omitempty"`
}

// Target is a node that goes, and what a [consolidation.History] remembers of it.
type Target struct {
	consolidation.PastNode
	Claim string `json:"claim"`
}

// Launch is a node to ask for.
type Launch struct {
	Pool          string                       `json:"pool"`
	InstanceTypes []string                     `json:"instanceTypes,omitempty"` // any will do; cheapest first
	Requirements  []scheduling.RequirementSpec `json:"requirements,omitempty"`
	Requests      corev1.ResourceList          `json:"requests,omitempty"`
	// Claim is the name of the node claim, once the host has made it.
	Claim string `json:"claim,omitempty"`
}

// Delays and limits of Karpenter v1.14.
const (
	// ValidationDelay lies between a decision and its validation.
	ValidationDelay = 15 * time.Second
	// ConsolidatedFor is how long a cluster without a move is left alone if
	// nothing changes.
	ConsolidatedFor = 5 * time.Minute
)

// CommandTimeout is how long replacements may take: 80 ms for each node in
// flight, at least 10 minutes and at most an hour.
func CommandTimeout(nodesInFlight int) time.Duration {
	return min(time.Hour, max(10*time.Minute, time.Duration(nodesInFlight)*80*time.Millisecond))
}

// Verb is what an action asks for.
type Verb string

// The verbs. Carrying one out twice must do no harm: a step may be repeated after
// a restart.
const (
	// Taint the nodes with disrupted:NoSchedule.
	Taint Verb = "Taint"
	// LaunchNode: make a node claim for Command.Launches[Index] and report its
	// name by [Loop.Launched].
	LaunchNode Verb = "Launch"
	// DeleteClaims of the nodes: the rest is termination's.
	DeleteClaims Verb = "DeleteClaims"
	// Untaint the nodes: the command is given up.
	Untaint Verb = "Untaint"
	// Drop: a pending decision is not carried out; nothing was done yet.
	Drop Verb = "Drop"
	// Wait: nothing to do before Until, unless the cluster changes.
	Wait Verb = "Wait"
)

// Action is one thing that the host has to do, or to know.
type Action struct {
	Verb    Verb     `json:"verb"`
	Command int      `json:"command,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Claims  []string `json:"claims,omitempty"`
	// Index into the launches of the command, for LaunchNode.
	Index int        `json:"index,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Reasons for giving up, or for waiting.
	Reasons []consolidation.Reason `json:"reasons,omitempty"`
}

// Codes of reasons of the loop.
const (
	CodeReplacements consolidation.Code = "ReplacementsPending"
	CodeTimedOut     consolidation.Code = "TimedOut"
	CodeReplaceGone  consolidation.Code = "ReplacementGone"
	CodeFailed       consolidation.Code = "CommandFailed"
	CodeValidation   consolidation.Code = "ValidationPending"
)

// Launched notes the name of the claim that was made for a launch. A command or
// launch that isn't there is ignored: it was given up meanwhile.
func (l Loop) Launched(command, index int, claim string) Loop {
	return l.change(command, func(c *Command) {
		if 0 <= index && index < len(c.Launches) {
			c.Launches = slices.Clone(c.Launches)
			c.Launches[index].Claim = claim
		}
	})
}

// Failed notes that the host could not carry out what a command needs, a launch
// above all: the next step gives it up.
func (l Loop) Failed(command int, why string) Loop {
	return l.change(command, func(c *Command) { c.Failed = cmp.Or(why, "not said") })
}

// change returns the loop with a command in flight changed.
func (l Loop) change(command int, do func(*Command)) Loop {
	l.InFlight = slices.Clone(l.InFlight)
	for i := range l.InFlight {
		if l.InFlight[i].ID == command {
			do(&l.InFlight[i])
		}
	}
	return l
}

// Step looks at the cluster and returns what to do next, in order, and the Loop
// for the next step. Generation is a number that changes whenever the cluster
// does, 0 if the host has none. The Loop itself is not changed.
//
// The error is [Prepare]'s; the Loop is then returned as it was.
func (l Loop) Step(ctx context.Context, c *Cluster, generation int64, o Options) (Loop, []Action, error) {
	s := &step{loop: l, cluster: *c, generation: generation, options: o}
	s.loop.InFlight = slices.Clone(l.InFlight)
	s.loop.History = l.History.Since(c.Now.Add(-cmp.Or(o.Remember, 24*time.Hour)))
	s.options.Consolidation.History = s.loop.History
	// Nodes of commands that end here stay out of this step's decision: the
	// cluster doesn't show yet what the host is told to do with them.
	for _, command := range l.InFlight {
		s.cluster.InMove = append(slices.Clone(s.cluster.InMove), command.nodes()...)
	}
	s.advance()
	if err := s.decide(ctx); err != nil {
		return l, nil, err
	}
	return s.loop, s.actions, nil
}
