package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/node-disruption/disruption/termination"
)

// picture is the forecast with all that is said about it.
type picture struct {
	forecast termination.Forecast
	waves    termination.Waves
	findings []termination.Finding
	alike    []int // how many findings more have the same cure, by finding
	recovery time.Duration
	from, to time.Time // what the timeline shows
	width    int       // of the longest name of a pod, in characters
}

func newPicture(in *input, s *settings, now time.Time) (*picture, error) {
	nodes, err := in.nodes(s.nodes, now)
	if err != nil {
		return nil, err
	}
	ledger := in.ledger()
	rules := termination.RulesFor("")
	p := &picture{recovery: s.recovery, from: now}
	p.forecast = termination.ForecastDrain(nodes, now, termination.ForecastOptions{Ledger: ledger, Recovery: s.recovery})
	var pods []termination.NodePods
	for _, node := range nodes {
		pods = append(pods, termination.NodePods{Name: node.Name, Pods: node.Pods})
	}
	p.waves = termination.PlanWaves(ledger, pods, rules, s.recovery, now)
	p.lint(in, nodes, ledger, now)
	p.to = p.end()
	for _, node := range p.forecast.Nodes {
		for _, pod := range node.Pods {
			p.width = min(longest, max(p.width, utf8.RuneCountInString(short(pod.Pod))))
		}
	}
	return p, nil
}

// lint finds what is wrong with each node's settings; what has the same cure is
// said once.
func (p *picture) lint(in *input, nodes []termination.DrainNode, ledger *termination.Ledger, now time.Time) {
	first := map[string]int{} // by code and cure
	said := map[string]bool{}
	for _, node := range nodes {
		settings := termination.Settings{TerminationGracePeriod: node.GracePeriod, Pods: node.Pods, Ledger: ledger}
		for _, n := range in.cluster.Nodes {
			if claim := in.claimOf(n); n.Name == node.Name && claim != nil {
				settings.ExpireAfter = claim.Spec.ExpireAfter.Duration
			}
		}
		for _, f := range termination.Lint(settings, now) {
			cure := string(f.Code) + f.Fix
			at, known := first[cure]
			switch {
			case said[f.String()]:
			case known:
				p.alike[at]++
			default:
				first[cure] = len(p.findings)
				p.findings, p.alike = append(p.findings, f), append(p.alike, 0)
			}
			said[f.String()] = true
		}
	}
}

// end is the last instant that is known, and a bit more for what never ends.
func (p *picture) end() time.Time {
	end := p.from.Add(time.Minute)
	for _, node := range p.forecast.Nodes {
		for _, t := range []*time.Time{node.Deadline, node.Earliest, node.Latest} {
			end = latest(end, t)
		}
		for _, pod := range node.Pods {
			end = latest(latest(end, pod.Slow.Gone), pod.Slow.Told)
		}
	}
	return end.Add(end.Sub(p.from) / 20)
}

func latest(a time.Time, b *time.Time) time.Time {
	if b != nil && b.After(a) {
		return *b
	}
	return a
}

// at is the place of an instant on a line of some length, within its ends.
func (p *picture) at(t time.Time, length int) int {
	part := float64(t.Sub(p.from)) / float64(p.to.Sub(p.from))
	return int(float64(length) * min(1, max(0, part)))
}

// step is the distance of the marks on the time axis.
func (p *picture) step() time.Duration {
	for _, step := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour} {
		if p.to.Sub(p.from) <= 8*step {
			return step
		}
	}
	return max(24*time.Hour, (p.to.Sub(p.from) / 8).Truncate(24*time.Hour))
}

const (
	line    = 60 // characters of a timeline
	longest = 48 // characters of a pod's name; longer ones are cut
)

func (p *picture) writeText(out *bytes.Buffer, feasible *termination.Feasibility) {
	fmt.Fprintf(out, "Drain from %s, if a pod is replaced by a healthy one within %s\n", stamp(p.from), p.recovery)
	fmt.Fprintf(out, "· waits   ▒ has its grace   █ deleted by force   | deadline   > never goes by itself\n")
	for _, node := range p.forecast.Nodes {
		p.writeNode(out, node)
	}
	p.writeBlocks(out)
	p.writeWaves(out)
	if len(p.findings) > 0 {
		out.WriteString("\nFindings\n")
	}
	for i, f := range p.findings {
		more := ""
		if n := p.alike[i]; n > 0 {
			more = fmt.Sprintf(" (and %d more like it)", n)
		}
		fmt.Fprintf(out, "  %s%s\n", f, more)
	}
	if feasible != nil {
		fmt.Fprintf(out, "\nThe drain %s\n", feasible)
	}
}

// writeWaves says which nodes can be drained at the same time.
func (p *picture) writeWaves(out *bytes.Buffer) {
	fmt.Fprintf(out, "\nBy evictions alone, each node having all that its pods need: %s\n", p.waves)
	for i, round := range p.waves.Rounds {
		names := make([]string, len(round))
		for j, name := range round {
			names[j] = name
			if slices.Contains(p.waves.PodByPod, name) {
				names[j] += " (pod by pod)"
			}
		}
		fmt.Fprintf(out, "  round %d: %s\n", i+1, strings.Join(names, ", "))
	}
	for _, stuck := range p.waves.Never {
		fmt.Fprintf(out, "  never: %s, for %s (%s)\n", stuck.Node, short(stuck.Pod), stuck.Why.Code)
	}
}

func (p *picture) writeNode(out *bytes.Buffer, node termination.NodeForecast) {
	fmt.Fprintf(out, "\n%s: %s\n", node.Name, p.bounds(node))
	fmt.Fprintf(out, "  %-*s %s\n", p.width, "", p.axis())
	for _, pod := range node.Pods {
		fmt.Fprintf(out, "  %-*s %s %s\n", p.width, clip(short(pod.Pod), longest), p.bar(pod.Slow, node.Deadline), p.how(pod))
	}
}

// bounds is when the node is drained, in words.
func (p *picture) bounds(node termination.NodeForecast) string {
	text := ""
	switch {
	case node.Earliest == nil:
		text = "never drained"
	case node.Latest == nil:
		text = "drained at " + p.clock(*node.Earliest) + " at the earliest, perhaps never"
	case node.Earliest.Equal(*node.Latest):
		text = "drained at " + p.clock(*node.Latest)
	default:
		text = "drained between " + p.clock(*node.Earliest) + " and " + p.clock(*node.Latest)
	}
	if node.Deadline != nil {
		return text + ", deadline " + p.clock(*node.Deadline)
	}
	return text + ", no deadline"
}

func (p *picture) axis() string {
	marks := []rune(strings.Repeat(" ", line+12))
	for t := p.from; !t.After(p.to); t = t.Add(p.step()) {
		copy(marks[p.at(t, line):], []rune(p.mark(t)))
	}
	return strings.TrimRight(string(marks), " ")
}

// mark is the label of an instant on the axis.
func (p *picture) mark(t time.Time) string {
	switch step := p.step(); {
	case step < time.Minute:
		return t.Format(time.TimeOnly)
	case step < 24*time.Hour:
		return t.Format("15:04")
	}
	return t.Format("Jan 2")
}

// bar is the slow course of a pod.
func (p *picture) bar(d termination.Departure, deadline *time.Time) string {
	cells := []rune(strings.Repeat(" ", line))
	paint := func(from, to time.Time, r rune) {
		for i := p.at(from, line); i <= min(line-1, p.at(to, line)); i++ {
			cells[i] = r
		}
	}
	switch {
	case d.Told == nil:
		paint(p.from, p.to, '·')
		cells[line-1] = '>'
	default:
		paint(p.from, *d.Told, '·')
		paint(*d.Told, *d.Gone, map[bool]rune{true: '█', false: '▒'}[d.Forced])
	}
	if deadline != nil {
		if i := p.at(*deadline, line); i >= 0 && i < line && cells[i] == ' ' {
			cells[i] = '|'
		}
	}
	return string(cells)
}

// how is what happens to a pod, in words.
func (p *picture) how(pod termination.PodForecast) string {
	d := pod.Slow
	if d.Told == nil {
		if pod.Fast.Told != nil {
			return "may go at " + p.clock(*pod.Fast.Told) + ", or never: " + string(d.Held.Code)
		}
		return "never goes: " + string(d.Held.Code)
	}
	text := p.told(pod) + fmt.Sprintf(", %s of grace", d.Grace)
	if d.Lost > 0 {
		text += fmt.Sprintf(", loses %s", d.Lost)
	}
	if d.Held.Code != "" {
		text += ": " + string(d.Held.Code)
	}
	return text
}

// told is how and when the pod is told to go, in either course.
func (p *picture) told(pod termination.PodForecast) string {
	fast, slow := pod.Fast, pod.Slow
	if fast.Told != nil && fast.Told.After(*slow.Told) {
		fast, slow = slow, fast
	}
	switch {
	case termination.IsTerminating(pod.Pod):
		return "terminating"
	case fast.Told == nil || fast.Told.Equal(*slow.Told):
		return verb(slow) + " at " + p.clock(*slow.Told)
	case fast.Forced != slow.Forced:
		return verb(fast) + " at " + p.clock(*fast.Told) + " or " + verb(slow) + " at " + p.clock(*slow.Told)
	}
	return verb(slow) + " between " + p.clock(*fast.Told) + " and " + p.clock(*slow.Told)
}

func verb(d termination.Departure) string {
	if d.Forced {
		return "deleted by force"
	}
	return "evicted"
}

// writeBlocks says what holds pods, and what would help.
func (p *picture) writeBlocks(out *bytes.Buffer) {
	out.WriteString("\nWhat is in the way\n")
	none := true
	for _, node := range p.forecast.Nodes {
		for _, pod := range node.Pods {
			held := pod.Slow.Held
			if held.Code == "" || held.Code == termination.EarlierTier {
				continue
			}
			none = false
			fmt.Fprintf(out, "  %s on %s\n", held, node.Name)
			if lift := held.Lift(); lift != "" {
				fmt.Fprintf(out, "    to lift it: %s\n", lift)
			}
		}
	}
	if none {
		out.WriteString("  nothing\n")
	}
}

// writeJSON is the answer for machines.
func (p *picture) writeJSON(out *bytes.Buffer, feasible *termination.Feasibility) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Forecast    termination.Forecast     `json:"forecast"`
		Waves       termination.Waves        `json:"waves"`
		Findings    []termination.Finding    `json:"findings"`
		Feasibility *termination.Feasibility `json:"feasibility,omitempty"`
	}{p.forecast, p.waves, p.findings, feasible})
}

func stamp(t time.Time) string { return t.Format(time.RFC3339) }

// clock shows an instant by its time of day, and by its date if that isn't the
// first day's.
func (p *picture) clock(t time.Time) string {
	if t.Sub(p.from.Truncate(24*time.Hour)) < 24*time.Hour {
		return t.Format(time.TimeOnly)
	}
	return t.Format("Jan 2 15:04:05")
}

func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
