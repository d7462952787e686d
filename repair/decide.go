package repair

import "time"

// decide takes one due node through the gates, in the order of the codes.
func (p *pass) decide(ob *observation) {
	f := &ob.finding
	f.Until = nil
	switch {
	case len(ob.node.Claims) == 0:
		f.Code = CodeNoClaim
	case ob.claim == nil:
		f.Code = CodeSeveralClaims
	case p.forbidden(ob) || p.onLadder(ob) || p.tooMany(ob) || p.tooFast(ob):
	default:
		p.take(ob)
	}
}

// forbidden asks those who may say no for reasons of their own.
func (p *pass) forbidden(ob *observation) bool {
	f, veto := &ob.finding, p.options.VetoAnnotation
	if ob.settings.Paused {
		f.Code = CodePaused
		return true
	}
	if veto != "" && ob.node.Node.Annotations[veto] == "true" {
		f.Code, f.Detail = CodeVetoed, veto
		return true
	}
	if p.options.Hold == nil {
		return false
	}
	if f.Detail = p.options.Hold(ob.node); f.Detail != "" {
		f.Code = CodeHeld
	}
	return f.Code == CodeHeld
}

// onLadder picks the step to take, and reports whether there is none to take
// now. A claim that is being deleted has left the ladder: what remains is to
// pull its deadline forward, unless that has been done.
func (p *pass) onLadder(ob *observation) bool {
	f, act := &ob.finding, &Action{Node: ob.name(), Claim: ob.claim.Name, Pool: ob.claim.Pool, Match: ob.match}
	if !ob.claim.Deleting {
		step, until, ok := next(ob.policy().Ladder, p.next.Nodes[ob.name()].Attempts, p.now)
		f.Until = until
		if !ok {
			f.Code = CodeExhausted
			return true
		}
		if until != nil {
			f.Code = CodeInProgress
			return true
		}
		act.Step = step
	}
	if act.Step.Remedy == Replace {
		act.Delete = !ob.claim.Deleting
		act.Deadline = deadline(ob.policy(), ob.claim, p.now)
		if !act.Delete && act.Deadline == nil {
			f.Code = CodeInProgress
			return true
		}
	}
	ob.action = act
	return false
}

// deadline returns the termination timestamp to write, nil for none. It never
// moves one later, and a Forceful one in the past stays.
func deadline(p *Policy, c *Claim, now time.Time) *time.Time {
	if p.Ending == Graceful {
		return nil
	}
	end := now
	if p.Ending == Within {
		end = now.Add(p.GracePeriod)
	}
	if c.Deadline != nil && !c.Deadline.After(end) {
		return nil
	}
	return &end
}

// tooMany asks the breaker, and whether its storm is over.
func (p *pass) tooMany(ob *observation) bool {
	f, g := &ob.finding, p.groups[ob.group]
	count := g.count
	if p.options.Strict && !ob.countedIn(ob.group) {
		count.Leaving++
	}
	retry := p.now.Add(RetryAfter)
	switch {
	case !count.Allowed():
		f.Code, f.Count, f.Until = CodeHeldByBreaker, &count, &retry
	case g.storm && g.stormEnd != nil:
		f.Code, f.Count, f.Until = CodeHeldByStorm, &count, g.stormEnd
	case g.storm:
		f.Code, f.Count, f.Until = CodeHeldByStorm, &count, &retry
	default:
		return false
	}
	ob.action = nil
	return true
}

// tooFast asks the limits. A node that is under repair already needs no slot.
func (p *pass) tooFast(ob *observation) bool {
	g, f := p.groups[ob.group], &ob.finding
	switch pool, fleet := ob.settings.MaxInFlight, p.options.MaxInFlightTotal; {
	case ob.claim.Deleting:
		return false
	case pool > 0 && g.inFlight >= pool:
		f.InFlight, f.Limit = g.inFlight, pool
	case fleet > 0 && p.inFlight >= fleet:
		f.InFlight, f.Limit = p.inFlight, fleet
	default:
		return false
	}
	f.Code, ob.action = CodeHeldByLimit, nil
	return true
}

func (ob *observation) countedIn(g Group) bool {
	for _, in := range ob.countsIn {
		if in == g {
			return true
		}
	}
	return false
}

// take carries the node through: it is counted where it wasn't yet, takes a
// slot, and its attempt is remembered.
func (p *pass) take(ob *observation) {
	ob.finding.Code = CodeRepair
	if p.options.Strict && !ob.countedIn(ob.group) {
		p.groups[ob.group].count.Leaving++
	}
	if !ob.claim.Deleting {
		p.groups[ob.group].inFlight++
		p.inFlight++
	}
	step := ob.action.Step
	if step.Remedy == Replace {
		return
	}
	state := p.next.Nodes[ob.name()]
	state.LastSick = p.at()
	state.Attempts = append(state.Attempts, Attempt{step.Remedy, step.Name, p.now})
	p.next.setNode(ob.name(), state)
	if step.Timeout > 0 {
		end := p.now.Add(step.Timeout)
		ob.finding.Until = &end
	}
}
