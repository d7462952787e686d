package disruption

import (
	"context"
	"fmt"
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
	// Nodes that go, and their claims, in the same order.
	Nodes  []string `json:"nodes"`
	Claims []string `json:"claims"`
	// Launches come first, unless TerminateFirst.
	Launches       []Launch `json:"launches,omitempty"`
	TerminateFirst bool     `json:"terminateFirst,omitempty"`
	Savings        float64  `json:"savings"` // per hour
	// Started is when the nodes were tainted; zero while pending.
	Started time.Time `json:"started,omitzero"`
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

// Launched notes the name of the claim that was made for a launch.
func (l Loop) Launched(command, index int, claim string) Loop {
	l.InFlight = slices.Clone(l.InFlight)
	for i := range l.InFlight {
		if c := &l.InFlight[i]; c.ID == command && index < len(c.Launches) {
			c.Launches = slices.Clone(c.Launches)
			c.Launches[index].Claim = claim
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
	// Nodes of commands that end here stay out of this step's decision: the
	// cluster doesn't show yet what the host is told to do with them.
	for _, command := range l.InFlight {
		s.cluster.InMove = append(slices.Clone(s.cluster.InMove), command.Nodes...)
	}
	s.advance()
	if err := s.decide(ctx); err != nil {
		return l, nil, err
	}
	return s.loop, s.actions, nil
}

// step is the work of one Step.
type step struct {
	loop       Loop
	cluster    Cluster
	generation int64
	options    Options
	actions    []Action
}

func (s *step) act(a Action) { s.actions = append(s.actions, a) }

// advance looks after the commands in flight.
func (s *step) advance() {
	claims := make(map[string]*NodeClaim, len(s.cluster.NodeClaims))
	for _, claim := range s.cluster.NodeClaims {
		claims[claim.Name] = claim
	}
	nodes := 0
	for _, c := range s.loop.InFlight {
		nodes += len(c.Nodes)
	}
	timeout := CommandTimeout(nodes)
	s.loop.InFlight = slices.DeleteFunc(s.loop.InFlight, func(c Command) bool {
		switch why := c.failure(claims, s.cluster.Now, timeout); {
		case why != nil:
			s.act(Action{Verb: Untaint, Command: c.ID, Nodes: c.Nodes, Reasons: []consolidation.Reason{*why}})
			return true
		case c.TerminateFirst || c.ready(claims):
			s.act(Action{Verb: DeleteClaims, Command: c.ID, Nodes: c.Nodes, Claims: c.Claims})
			return true
		}
		until := c.Started.Add(timeout)
		s.act(Action{Verb: Wait, Command: c.ID, Until: &until, Reasons: []consolidation.Reason{{
			Code: CodeReplacements, Message: "the replacements are not initialised yet",
		}}})
		return false
	})
}

// Codes of reasons of the loop.
const (
	CodeReplacements consolidation.Code = "ReplacementsPending"
	CodeTimedOut     consolidation.Code = "TimedOut"
	CodeReplaceGone  consolidation.Code = "ReplacementGone"
	CodeValidation   consolidation.Code = "ValidationPending"
)

// failure is why a command must be given up, or nil.
func (c *Command) failure(claims map[string]*NodeClaim, now time.Time, timeout time.Duration) *consolidation.Reason {
	for _, launch := range c.Launches {
		claim := claims[launch.Claim]
		if launch.Claim != "" && (claim == nil || claim.deleting()) {
			return &consolidation.Reason{Code: CodeReplaceGone, Message: "replacement " + launch.Claim + " is gone", Objects: []string{"NodeClaim/" + launch.Claim}}
		}
	}
	if waited := now.Sub(c.Started); waited > timeout && !c.ready(claims) {
		return &consolidation.Reason{Code: CodeTimedOut, Message: fmt.Sprintf("the replacements took more than %s", timeout)}
	}
	return nil
}

// ready: all replacements are initialised.
func (c *Command) ready(claims map[string]*NodeClaim) bool {
	return !slices.ContainsFunc(c.Launches, func(l Launch) bool {
		claim := claims[l.Claim]
		return claim == nil || !isTrue(claim.Status.Conditions, conditionInitialized)
	})
}

// decide validates what is pending, or asks the methods.
func (s *step) decide(ctx context.Context) error {
	methods := s.methods()
	if p := s.loop.Pending; p != nil {
		if until := p.Since.Add(ValidationDelay); s.cluster.Now.Before(until) {
			s.act(Action{Verb: Wait, Until: &until, Reasons: []consolidation.Reason{{Code: CodeValidation, Message: "the decision is validated then"}}})
			return nil
		}
	}
	pass, err := Prepare(&s.cluster, s.options)
	if err != nil {
		return err
	}
	if p := s.loop.Pending; p != nil {
		s.loop.Pending = nil
		if s.validate(pass, p) {
			return nil
		}
		// A failed validation ends its method; those after it are asked.
		methods = methods[slices.Index(methods, p.Commands[0].Method)+1:]
	}
	s.ask(ctx, pass, methods)
	return nil
}

// methods leaves consolidation out while nothing has changed since it found
// nothing.
func (s *step) methods() []consolidation.Method {
	methods := s.options.Methods
	if methods == nil {
		methods = Methods()
	}
	seen := s.loop.Consolidated
	if seen == nil || s.generation == 0 || seen.Generation != s.generation || s.cluster.Now.Sub(seen.At) >= ConsolidatedFor {
		return methods
	}
	return slices.DeleteFunc(slices.Clone(methods), func(m consolidation.Method) bool { return m.BudgetReason() != "Drifted" })
}

// validate judges the pending commands again; those that hold are started.
func (s *step) validate(pass *Pass, p *Pending) (started bool) {
	for i := range p.Commands {
		command := p.Commands[i]
		v := pass.Validate(command.move(&s.cluster), 0)
		if !v.Valid {
			s.act(Action{Verb: Drop, Command: command.ID, Nodes: command.Nodes, Reasons: v.Reasons})
			continue
		}
		command.keep(v.Nodes)
		s.start(command)
		started = true
	}
	return started
}

// keep leaves only these nodes in the command.
func (c *Command) keep(nodes []string) {
	var claims []string
	for i, name := range c.Nodes {
		if slices.Contains(nodes, name) {
			claims = append(claims, c.Claims[i])
		}
	}
	c.Nodes, c.Claims = slices.DeleteFunc(slices.Clone(c.Nodes), func(n string) bool { return !slices.Contains(nodes, n) }), claims
}

// start taints, launches and, where nothing has to come first, deletes.
func (s *step) start(c Command) {
	c.Started = s.cluster.Now
	s.act(Action{Verb: Taint, Command: c.ID, Nodes: c.Nodes})
	if c.TerminateFirst || len(c.Launches) == 0 {
		s.act(Action{Verb: DeleteClaims, Command: c.ID, Nodes: c.Nodes, Claims: c.Claims})
	}
	for i := range c.Launches {
		s.act(Action{Verb: LaunchNode, Command: c.ID, Index: i})
	}
	if len(c.Launches) > 0 && !c.TerminateFirst {
		s.loop.InFlight = append(s.loop.InFlight, c)
	}
}

// ask decides anew.
func (s *step) ask(ctx context.Context, pass *Pass, methods []consolidation.Method) {
	pass.options.Methods, pass.options.AllMethods, pass.options.NotReached = methods, false, s.loop.NotReached
	plan := &Plan{Now: s.cluster.Now}
	if !s.options.SkipUnlaunched || len(pass.fleet.unlaunched) == 0 {
		pass.ask(ctx, plan)
	}
	s.loop.NotReached = plan.NotReached
	commands := make([]Command, len(plan.Moves))
	for i := range plan.Moves {
		s.loop.LastID++
		commands[i] = pass.command(s.loop.LastID, plan.Moves[i].Move)
	}
	switch {
	case len(commands) == 0:
		if plan.Interrupted == "" && len(methods) == len(Methods()) {
			s.loop.Consolidated = &Consolidated{Generation: s.generation, At: s.cluster.Now}
		}
	case plan.Method == consolidation.MethodDrift || plan.Method == consolidation.MethodStaticDrift:
		for _, c := range commands {
			s.start(c)
		}
	default:
		s.loop.Pending = &Pending{Since: s.cluster.Now, Commands: commands}
		until := s.cluster.Now.Add(ValidationDelay)
		s.act(Action{Verb: Wait, Command: commands[0].ID, Nodes: commands[0].Nodes, Until: &until,
			Reasons: []consolidation.Reason{{Code: CodeValidation, Message: "the decision is validated then"}}})
	}
}

// command writes a move down as data.
func (p *Pass) command(id int, m *consolidation.Move) Command {
	c := Command{ID: id, Method: m.Method, Decision: m.Decision, Nodes: slices.Clone(m.Nodes), TerminateFirst: m.TerminateFirst, Savings: m.Savings}
	for _, name := range m.Nodes {
		candidate, _ := p.planner.Fleet().Candidate(name)
		c.Claims = append(c.Claims, candidate.Facts().Claim.Name)
	}
	for i := range m.Replacements {
		r := &m.Replacements[i]
		launch := Launch{Pool: r.Pool, Requirements: r.Requirements.Specs(), Requests: r.Requests.DeepCopy()}
		for _, t := range r.InstanceTypes {
			launch.InstanceTypes = append(launch.InstanceTypes, t.Name)
		}
		c.Launches = append(c.Launches, launch)
	}
	return c
}

// move is the command as a validation takes it. A type that the catalog no longer
// has can't be among those of a new simulation.
func (c *Command) move(cluster *Cluster) *consolidation.Move {
	m := &consolidation.Move{Method: c.Method, Decision: c.Decision, Nodes: c.Nodes, Savings: c.Savings}
	for _, launch := range c.Launches {
		n := scheduling.NewNode{Pool: launch.Pool}
		for _, name := range launch.InstanceTypes {
			n.InstanceTypes = append(n.InstanceTypes, typeNamed(cluster.Catalog.For(launch.Pool), name))
		}
		m.Replacements = append(m.Replacements, consolidation.Replacement{NewNode: n})
	}
	return m
}

func typeNamed(types []*scheduling.InstanceType, name string) *scheduling.InstanceType {
	if i := slices.IndexFunc(types, func(t *scheduling.InstanceType) bool { return t.Name == name }); i >= 0 {
		return types[i]
	}
	return &scheduling.InstanceType{Name: name}
}
