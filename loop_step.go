package disruption

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// step is the work of one Step.
type step struct {
	loop       Loop
	cluster    Cluster
	generation int64
	options    Options
	actions    []Action
}

// act asks for something that is about a command.
func (s *step) act(verb Verb, c *Command, why ...consolidation.Reason) *Action {
	s.actions = append(s.actions, Action{Verb: verb, Command: c.ID, Nodes: c.nodes(), Reasons: why})
	return &s.actions[len(s.actions)-1]
}

// wait asks to come back.
func (s *step) wait(c *Command, until time.Time, code consolidation.Code, message string) {
	s.act(Wait, c, consolidation.Reason{Code: code, Message: message}).Until = &until
}

// delete asks for the claims of a command's nodes to be deleted.
func (s *step) delete(c *Command) { s.act(DeleteClaims, c).Claims = c.claims() }

func (c *Command) nodes() []string {
	names := make([]string, len(c.Targets))
	for i := range c.Targets {
		names[i] = c.Targets[i].Name
	}
	return names
}

func (c *Command) claims() []string {
	names := make([]string, len(c.Targets))
	for i := range c.Targets {
		names[i] = c.Targets[i].Claim
	}
	return names
}

// advance looks after the commands in flight.
func (s *step) advance() {
	claims := make(map[string]*NodeClaim, len(s.cluster.NodeClaims))
	for _, claim := range s.cluster.NodeClaims {
		claims[claim.Name] = claim
	}
	nodes := 0
	for i := range s.loop.InFlight {
		nodes += len(s.loop.InFlight[i].Targets)
	}
	timeout := CommandTimeout(nodes)
	s.loop.InFlight = slices.DeleteFunc(s.loop.InFlight, func(c Command) bool {
		why := c.failure(claims, s.cluster.Now, timeout)
		switch {
		case why != nil:
			s.act(Untaint, &c, *why)
		case c.ready(claims):
			s.delete(&c)
		default:
			s.wait(&c, c.Started.Add(timeout), CodeReplacements, "the replacements are not initialised yet")
			return false
		}
		return true
	})
}

// failure is why a command must be given up, or nil.
func (c *Command) failure(claims map[string]*NodeClaim, now time.Time, timeout time.Duration) *consolidation.Reason {
	if c.Failed != "" {
		return &consolidation.Reason{Code: CodeFailed, Message: c.Failed}
	}
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
	p := s.loop.Pending
	if p != nil && len(p.Commands) > 0 {
		if until := p.Since.Add(ValidationDelay); s.cluster.Now.Before(until) {
			s.wait(&p.Commands[0], until, CodeValidation, "the decision is validated then")
			return nil
		}
	}
	pass, err := Prepare(&s.cluster, s.options)
	if err != nil {
		return err
	}
	s.loop.Pending = nil
	if p != nil && len(p.Commands) > 0 {
		if s.validate(pass, p) {
			return nil
		}
		// A failed validation ends its method; those after it are asked.
		methods = methods[slices.Index(methods, p.Commands[0].Method)+1:]
	}
	s.ask(ctx, pass, methods)
	return nil
}

// allMethods are those that the host wants to be asked.
func (s *step) allMethods() []consolidation.Method {
	if s.options.Methods != nil {
		return s.options.Methods
	}
	return Methods()
}

// methods leaves consolidation out while nothing has changed since it found
// nothing.
func (s *step) methods() []consolidation.Method {
	seen := s.loop.Consolidated
	if seen == nil || s.generation == 0 || seen.Generation != s.generation || s.cluster.Now.Sub(seen.At) >= ConsolidatedFor {
		return s.allMethods()
	}
	return slices.DeleteFunc(slices.Clone(s.allMethods()), func(m consolidation.Method) bool { return m.BudgetReason() != string(budget.Drifted) })
}

// validate judges the pending commands again; those that hold are started.
func (s *step) validate(pass *Pass, p *Pending) (started bool) {
	for _, command := range p.Commands {
		v := pass.Validate(command.move(&s.cluster), 0)
		if !v.Valid {
			s.act(Drop, &command, v.Reasons...)
			continue
		}
		command.Targets = slices.DeleteFunc(slices.Clone(command.Targets), func(t Target) bool { return !slices.Contains(v.Nodes, t.Name) })
		s.start(command)
		started = true
	}
	return started
}

// start taints, launches and, where nothing has to come first, deletes.
func (s *step) start(c Command) {
	c.Started = s.cluster.Now
	s.act(Taint, &c)
	deleteNow := c.TerminateFirst || len(c.Launches) == 0
	if deleteNow {
		s.delete(&c)
	}
	for i := range c.Launches {
		s.act(LaunchNode, &c).Index = i
	}
	if !deleteNow {
		s.loop.InFlight = append(s.loop.InFlight, c)
	}
	s.remember(&c)
}

// remember adds a command to the history.
func (s *step) remember(c *Command) {
	past := consolidation.PastMove{At: c.Started, Method: c.Method}
	for i := range c.Targets {
		past.Nodes = append(past.Nodes, c.Targets[i].PastNode)
	}
	s.loop.History.Moves = append(slices.Clip(s.loop.History.Moves), past)
}

// ask decides anew.
func (s *step) ask(ctx context.Context, pass *Pass, methods []consolidation.Method) {
	pass.options.Methods, pass.options.AllMethods, pass.options.NotReached = methods, false, s.loop.NotReached
	plan := &Plan{Now: s.cluster.Now}
	var outcomes []consolidation.Outcome
	if !s.options.SkipUnlaunched || len(pass.fleet.unlaunched) == 0 {
		outcomes = pass.ask(ctx, plan)
	}
	s.loop.NotReached = plan.NotReached
	commands := make([]Command, len(plan.Moves))
	for i := range plan.Moves {
		s.loop.LastID++
		commands[i] = pass.command(s.loop.LastID, plan.Moves[i].Move)
	}
	switch {
	case len(commands) == 0:
		if plan.Interrupted == "" && len(outcomes) == len(s.allMethods()) && !budgetsBound(outcomes) {
			s.loop.Consolidated = &Consolidated{Generation: s.generation, At: s.cluster.Now}
		}
	case plan.Method.BudgetReason() == string(budget.Drifted):
		for _, c := range commands {
			s.start(c)
		}
	default:
		s.loop.Pending = &Pending{Since: s.cluster.Now, Commands: commands}
		s.wait(&commands[0], s.cluster.Now.Add(ValidationDelay), CodeValidation, "the decision is validated then")
	}
}

// budgetsBound reports whether a budget kept a node from being looked at: then
// time alone can bring a move, and the cluster is not done.
func budgetsBound(outcomes []consolidation.Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o consolidation.Outcome) bool {
		return slices.ContainsFunc(o.Stays, func(s consolidation.Stay) bool {
			return slices.ContainsFunc(s.Reasons, func(r consolidation.Reason) bool { return r.Code == consolidation.BudgetSpent })
		})
	})
}

// command writes a move down as data.
func (p *Pass) command(id int, m *consolidation.Move) Command {
	c := Command{ID: id, Method: m.Method, Decision: m.Decision, TerminateFirst: m.TerminateFirst, Savings: m.Savings}
	past := consolidation.History{}.Record(m, time.Time{}).Moves[0]
	for _, node := range past.Nodes {
		candidate, _ := p.planner.Fleet().Candidate(node.Name)
		c.Targets = append(c.Targets, Target{PastNode: node, Claim: candidate.Facts().Claim.Name})
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
	m := &consolidation.Move{Method: c.Method, Decision: c.Decision, Nodes: c.nodes(), Savings: c.Savings}
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
