package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/node-disruption/disruption/budget"
)

// picture is what is drawn of one pool.
type picture struct {
	config
	pool
	rows     []row
	findings []budget.Finding
}

// row is one reason on one day.
type row struct {
	day    time.Time
	reason budget.Reason
	spans  []budget.Interval // of the day, in order
	cells  [24]cell          // by the hour of the clock on the wall
}

// cell is the least and the most that is allowed within an hour.
type cell struct {
	low, high int
	skipped   bool // the clock skips this hour
}

func newPicture(c config, p pool) picture {
	pic := picture{config: c, pool: p}
	set, _ := budget.Compile(p.budgets, nil)
	spans := map[budget.Reason][]budget.Interval{}
	for _, reason := range reasons() {
		for i := range set.Forecast(c.from, c.to, reason, budget.Usage{Total: p.nodes}) {
			spans[reason] = append(spans[reason], i)
		}
	}
	for day := c.from; day.Before(c.to); day = nextDay(day) {
		for _, reason := range reasons() {
			pic.rows = append(pic.rows, newRow(day, reason, spans[reason]))
		}
	}
	zone := ""
	if c.zone != time.UTC {
		zone = c.zone.String()
	}
	pic.findings = budget.Lint(p.budgets, c.from, budget.LintOptions{Nodes: p.nodes, TimeZone: zone, TerminationGracePeriod: p.grace})
	return pic
}

// nextDay is when the next day begins, which is not midnight where the clock
// skips that.
func nextDay(day time.Time) time.Time { return hourOf(day, 24) }

func newRow(day time.Time, reason budget.Reason, spans []budget.Interval) row {
	r := row{day: day, reason: reason, spans: cut(spans, day, nextDay(day))}
	for hour := range r.cells {
		r.cells[hour] = newCell(cut(r.spans, hourOf(day, hour), hourOf(day, hour+1)))
	}
	return r
}

// hourOf is the first instant of a day at which the clock shows hour or later.
func hourOf(day time.Time, hour int) time.Time {
	t := time.Date(day.Year(), day.Month(), day.Day(), hour, 0, 0, 0, day.Location())
	begin, end := t.ZoneBounds()
	want := time.Date(day.Year(), day.Month(), day.Day(), hour, 0, 0, 0, time.UTC)
	shown := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	switch {
	case shown.After(want): // the hour is skipped, and time.Date went forward
		return begin
	case shown.Before(want): // or back
		return end
	}
	if first := t.Add(-time.Hour); first.Hour() == t.Hour() {
		return first // the hour comes twice
	}
	return t
}

// cut returns the parts of the spans within [from, to).
func cut(spans []budget.Interval, from, to time.Time) []budget.Interval {
	var parts []budget.Interval
	for _, s := range spans {
		if s.From.Before(from) {
			s.From = from
		}
		if s.To.After(to) {
			s.To = to
		}
		if s.From.Before(s.To) {
			parts = append(parts, s)
		}
	}
	return parts
}

func newCell(spans []budget.Interval) cell {
	if len(spans) == 0 {
		return cell{skipped: true}
	}
	c := cell{low: budget.Unlimited}
	for _, s := range spans {
		c.low, c.high = min(c.low, s.Allowed), max(c.high, s.Allowed)
	}
	return c
}

// text is the cell as printed: a + says that more are allowed for part of the
// hour.
func (c cell) text() string {
	if c.skipped {
		return ""
	}
	text := symbol(c.low)
	if c.high > c.low {
		text += "+"
	}
	return text
}

// symbol is the number of nodes that may go, or ∞.
func symbol(allowed int) string {
	if allowed >= budget.Unlimited {
		return "∞"
	}
	return fmt.Sprint(allowed)
}

// print draws the picture as text.
func (p picture) print(out io.Writer, color bool) error {
	var text strings.Builder
	p.printHead(&text)
	width := p.cellWidth()
	fmt.Fprintf(&text, "\n%-15s", "")
	for hour := range 24 {
		fmt.Fprintf(&text, "%*s", width, fmt.Sprintf("%02d", hour))
	}
	text.WriteString("\n")
	for i, r := range p.rows {
		if i%len(reasons()) == 0 {
			fmt.Fprintf(&text, "%s\n", r.day.Format("Mon 2 Jan"))
		}
		fmt.Fprintf(&text, "  %-13s", r.reason)
		for _, c := range r.cells {
			text.WriteString(paint(fmt.Sprintf("%*s", width, c.text()), c, color))
		}
		text.WriteString("\n")
	}
	p.printFindings(&text)
	_, err := io.WriteString(out, text.String())
	return err
}

func (p picture) printHead(text *strings.Builder) {
	fmt.Fprintf(text, "NodePool %s, %d nodes (%s)\n", p.name, p.nodes, p.sizedBy)
	for i, b := range p.budgets {
		fmt.Fprintf(text, "  budgets[%d]  %s\n", i, b)
	}
	if p.byDefault {
		text.WriteString("  (it has no budgets; this is the API's default)\n")
	}
	if len(p.budgets) == 0 {
		text.WriteString("  no budgets\n")
	}
	text.WriteString("\n" + p.summary())
	fmt.Fprintf(text, "\nNodes that may be disrupted at once, hour by hour, in %s (+: more for part of the hour):\n", p.zone)
}

func (p picture) cellWidth() int {
	width := 3
	for _, r := range p.rows {
		for _, c := range r.cells {
			width = max(width, len([]rune(c.text()))+1)
		}
	}
	return width
}

// paint colors a cell: red for none, green for some, yellow for no limit.
func paint(text string, c cell, color bool) string {
	if !color || c.skipped {
		return text
	}
	code := "42;30"
	switch {
	case c.low >= budget.Unlimited:
		code = "43;30"
	case c.low <= 0:
		code = "41;97"
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// summary says per reason for how much of the time what is allowed.
func (p picture) summary() string {
	var text strings.Builder
	for _, reason := range reasons() {
		var closed, limited, unlimited time.Duration
		for _, r := range p.rows {
			if r.reason != reason {
				continue
			}
			for _, s := range r.spans {
				switch length := s.To.Sub(s.From); {
				case s.Limit >= budget.Unlimited:
					unlimited += length
				case s.Allowed <= 0:
					closed += length
				default:
					limited += length
				}
			}
		}
		total := float64(p.to.Sub(p.from)) / 100
		fmt.Fprintf(&text, "  %-13s  none %3.0f%%   limited %3.0f%%   ∞ (no limit) %3.0f%% of the time\n", reason, float64(closed)/total, float64(limited)/total, float64(unlimited)/total)
	}
	return text.String()
}

func (p picture) printFindings(text *strings.Builder) {
	if len(p.findings) == 0 {
		text.WriteString("\nNothing to complain about.\n")
		return
	}
	shown := map[string]bool{}
	for _, f := range p.findings {
		fmt.Fprintf(text, "\n%s: %s\n", f.Severity, f.Code)
		text.WriteString(wrap(f.Message, "  ", 96))
		text.WriteString(wrap(f.Fix, "  → ", 96))
		instead := toYAML(f.Instead)
		switch {
		case instead == "":
		case shown[instead]:
			text.WriteString("    (the budgets proposed above would do)\n")
		default:
			shown[instead] = true
			text.WriteString("    Most likely meant:\n" + indent(instead, "      "))
		}
	}
}

// wrap breaks a sentence into lines; further lines are indented as far as lead.
func wrap(sentence, lead string, width int) string {
	var text strings.Builder
	line := lead
	for _, word := range strings.Fields(sentence) {
		if len([]rune(line))+len([]rune(word)) > width {
			text.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", len([]rune(lead)))
		}
		line += word + " "
	}
	return text.String() + strings.TrimRight(line, " ") + "\n"
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}

// toYAML writes budgets as they stand in a NodePool.
func toYAML(budgets []budget.Budget) string {
	var text strings.Builder
	for _, b := range budgets {
		fmt.Fprintf(&text, "- nodes: %q\n", b.Nodes)
		if b.Reasons != nil {
			names := make([]string, len(b.Reasons))
			for i, r := range b.Reasons {
				names[i] = string(r)
			}
			fmt.Fprintf(&text, "  reasons: [%s]\n", strings.Join(names, ", "))
		}
		if b.Schedule != nil {
			fmt.Fprintf(&text, "  schedule: %q\n", *b.Schedule)
		}
		if b.Duration != nil {
			fmt.Fprintf(&text, "  duration: %s\n", shortDuration(b.Duration.Duration))
		}
	}
	return text.String()
}

// shortDuration writes 48h rather than 48h0m0s.
func shortDuration(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		return strings.TrimSuffix(text, "0m")
	}
	return text
}
