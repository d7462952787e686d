package drift

import (
	"fmt"
	"slices"
	"time"
)

// Rollout is how carefully a pool's nodes are replaced, beyond its budgets. The
// zero value is Karpenter v1.14: no canary, no breaker, no back-off.
type Rollout struct {
	// Paused starts no replacement; those under way go on.
	Paused bool
	// Canary, unless 0, is how many replacements must be healthy before any
	// further node is replaced.
	Canary int
	// Soak is for how long a canary must have been healthy.
	Soak time.Duration
	// MaxFailures, unless 0, stops the roll-out once as many replacements have
	// failed within Window; 0 for Window means ever since the roll-out began, so
	// that it stays stopped until the target changes.
	MaxFailures int
	Window      time.Duration
	// Backoff waits after a failed replacement, longer after each one in a row.
	Backoff Backoff
}

// Backoff doubles a wait from Base up to Max. The zero value is none.
type Backoff struct {
	Base, Max time.Duration
}

// DefaultBackoff waits a minute, then two, four, eight, then ten.
func DefaultBackoff() Backoff { return Backoff{Base: time.Minute, Max: 10 * time.Minute} }

// After returns the wait after so many failures in a row.
func (b Backoff) After(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	wait := b.Base
	for range failures - 1 {
		if wait >= b.Max || wait > b.Max-wait {
			return b.Max
		}
		wait *= 2
	}
	return min(wait, b.Max)
}

// Progress is the memory of one pool's roll-out. It is a value that encodes as
// JSON; the methods that add to it return another.
type Progress struct {
	// Target is what is rolled out, such as the hash of the pool's template.
	Target string `json:"target"`
	// Replacements in the order in which they were started.
	Replacements []Replacement `json:"replacements,omitempty"`
}

// Replacement is one node that was replaced.
type Replacement struct {
	// Node that goes, which names the replacement.
	Node    string    `json:"node"`
	Started time.Time `json:"started"`
	// Healthy is when all that replaces it was ready, Failed when that was given
	// up. At most one of them is set.
	Healthy *time.Time `json:"healthy,omitempty"`
	Failed  *time.Time `json:"failed,omitempty"`
}

// Towards returns the progress of a roll-out to target: this one, or one that is
// only beginning if it was for another target.
func (p Progress) Towards(target string) Progress {
	if p.Target == target {
		return p
	}
	return Progress{Target: target}
}

// Start records that a node is being replaced.
func (p Progress) Start(node string, at time.Time) Progress {
	p.Replacements = append(slices.Clip(p.Replacements), Replacement{Node: node, Started: at})
	return p
}

// MarkHealthy records that the node's replacement is ready.
func (p Progress) MarkHealthy(node string, at time.Time) Progress {
	return p.end(node, func(r *Replacement) { r.Healthy = &at })
}

// MarkFailed records that the node's replacement was given up.
func (p Progress) MarkFailed(node string, at time.Time) Progress {
	return p.end(node, func(r *Replacement) { r.Failed = &at })
}

// end changes the node's latest replacement, if that still runs.
func (p Progress) end(node string, set func(*Replacement)) Progress {
	p.Replacements = slices.Clone(p.Replacements)
	for i := len(p.Replacements) - 1; i >= 0; i-- {
		if r := &p.Replacements[i]; r.Node == node && r.Healthy == nil && r.Failed == nil {
			set(r)
			break
		}
	}
	return p
}

// GateCode says what holds a roll-out back.
type GateCode string

// The codes.
const (
	GateOpen    GateCode = "Open"
	GatePaused  GateCode = "Paused"  // somebody paused it
	GateCanary  GateCode = "Canary"  // canaries are not healthy yet, or not for long enough
	GateBackoff GateCode = "Backoff" // the last replacement failed a short while ago
	GateStopped GateCode = "Stopped" // too many replacements failed
)

// Gate is how many more nodes of a pool may be replaced now, whatever its budgets
// say, and why not more.
type Gate struct {
	// Allowed is [Unlimited] where nothing holds the roll-out back.
	Allowed int      `json:"allowed"`
	Code    GateCode `json:"code"`
	// Until is when the answer changes by itself, nil if it won't.
	Until *time.Time `json:"until,omitempty"`
	// Healthy, Failed and Running count replacements: canaries that count as
	// healthy, failures that count for the breaker or the back-off, and those
	// without an end.
	Healthy int `json:"healthy"`
	Failed  int `json:"failed"`
	Running int `json:"running"`
}

// Unlimited is what an open gate allows.
const Unlimited = 1<<31 - 1

// Open reports whether at least one node may be replaced.
func (g Gate) Open() bool { return g.Allowed > 0 }

// String is a sentence for a human.
func (g Gate) String() string {
	var text string
	switch g.Code {
	case GatePaused:
		text = "the roll-out is paused"
	case GateStopped:
		text = "the roll-out stopped: " + count(g.Failed, "replacement") + " failed"
	case GateBackoff:
		text = count(g.Failed, "replacement") + " failed in a row"
	case GateCanary:
		text = fmt.Sprintf("canaries first: %d healthy, %d under way, %d more now", g.Healthy, g.Running, g.Allowed)
	default:
		return "nothing holds the roll-out back"
	}
	if g.Until != nil {
		text += ", until " + g.Until.UTC().Format(time.RFC3339)
	}
	return text
}

// count reads "1 pod" or "2 pods".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Evaluate reports what the roll-out's memory allows at now: nothing while it is
// paused or stopped, else nothing while it backs off, else as many canaries as are
// missing, else any number.
func (r Rollout) Evaluate(p Progress, now time.Time) Gate {
	if r.Paused {
		return Gate{Code: GatePaused}
	}
	if g := r.stopped(p, now); g != nil {
		return *g
	}
	if g := r.Backoff.evaluate(p.Replacements, now); g != nil {
		return *g
	}
	if g := r.canary(p, now); g != nil {
		return *g
	}
	return Gate{Allowed: Unlimited, Code: GateOpen}
}

func (r Rollout) stopped(p Progress, now time.Time) *Gate {
	var failures []time.Time
	for i := range p.Replacements {
		f := p.Replacements[i].Failed
		if f != nil && (r.Window == 0 || now.Sub(*f) < r.Window) {
			failures = append(failures, *f)
		}
	}
	if r.MaxFailures <= 0 || len(failures) < r.MaxFailures {
		return nil
	}
	g := &Gate{Code: GateStopped, Failed: len(failures)}
	if r.Window > 0 {
		slices.SortFunc(failures, time.Time.Compare)
		// Once this one is out of the window, too few are left in it.
		end := failures[len(failures)-r.MaxFailures].Add(r.Window)
		g.Until = &end
	}
	return g
}

// Evaluate reports whether one node may be replaced at now, or backs off because
// its own replacement failed: with such a gate, a node that fails again and again
// lets others go before it.
func (b Backoff) Evaluate(p Progress, node string, now time.Time) Gate {
	own := slices.DeleteFunc(slices.Clone(p.Replacements), func(r Replacement) bool { return r.Node != node })
	if g := b.evaluate(own, now); g != nil {
		return *g
	}
	return Gate{Allowed: Unlimited, Code: GateOpen}
}

func (b Backoff) evaluate(replacements []Replacement, now time.Time) *Gate {
	n, last := failuresInARow(replacements)
	end := last.Add(b.After(n))
	if n == 0 || !now.Before(end) {
		return nil
	}
	return &Gate{Code: GateBackoff, Failed: n, Until: &end}
}

// failuresInARow counts those since the last success, by when they ended.
func failuresInARow(replacements []Replacement) (n int, last time.Time) {
	var success time.Time
	for i := range replacements {
		if h := replacements[i].Healthy; h != nil && h.After(success) {
			success = *h
		}
	}
	for i := range replacements {
		if f := replacements[i].Failed; f != nil && f.After(success) {
			n++
			if f.After(last) {
				last = *f
			}
		}
	}
	return n, last
}

func (r Rollout) canary(p Progress, now time.Time) *Gate {
	g := &Gate{Code: GateCanary}
	for i := range p.Replacements {
		switch c := &p.Replacements[i]; {
		case c.Failed != nil:
		case c.Healthy == nil:
			g.Running++
		case now.Sub(*c.Healthy) >= r.Soak:
			g.Healthy++
		default:
			g.Running++
			if end := c.Healthy.Add(r.Soak); g.Until == nil || end.Before(*g.Until) {
				g.Until = &end
			}
		}
	}
	if g.Healthy >= r.Canary {
		return nil
	}
	g.Allowed = max(0, r.Canary-g.Healthy-g.Running)
	return g
}
