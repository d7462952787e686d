package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/node-disruption/disruption/budget"
)

// Sizes of the drawing, in pixels.
const (
	left     = 110 // where the hours begin
	hourWide = 34
	rowHigh  = 22
	lineHigh = 18
	margin   = 20
	right    = left + 24*hourWide
	page     = right + margin
)

// writeSVG draws the pictures one below the other.
func writeSVG(out *bytes.Buffer, pictures []picture) {
	var body bytes.Buffer
	y := margin
	for _, p := range pictures {
		y = p.svg(&body, y) + 2*margin
	}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="#1f2328">`+"\n", page, y, page, y)
	out.WriteString(`<defs><pattern id="unlimited" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="8" height="8" fill="#ffd33d"/><rect width="3" height="8" fill="#f9c513"/></pattern></defs>` + "\n")
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", page, y)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
}

// svg draws one picture from y on down, and returns where it ends.
func (p picture) svg(out *bytes.Buffer, y int) int {
	y += lineHigh
	label(out, margin, y, `font-size="17" font-weight="bold"`, "NodePool "+p.name)
	y += lineHigh
	label(out, margin, y, `fill="#59636e"`, fmt.Sprintf("nodes that may be disrupted at once, of %d (%s), in %s", p.nodes, p.sizedBy, p.zone))
	for i, b := range p.budgets {
		y += lineHigh
		label(out, margin, y, `font-family="DejaVu Sans Mono, monospace" font-size="11"`, fmt.Sprintf("budgets[%d]  %s", i, b))
	}
	y = p.svgLegend(out, y+lineHigh)
	for _, group := range p.groups() {
		y = p.svgGroup(out, y+margin, group)
	}
	return p.svgFindings(out, y+lineHigh)
}

func (p picture) svgLegend(out *bytes.Buffer, y int) int {
	x := margin
	for _, entry := range []struct {
		allowed int
		text    string
	}{{0, "none may go"}, {1, "some may go"}, {budget.Unlimited, "no limit at all"}} {
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="14" height="14" fill="%s" rx="2"/>`+"\n", x, y, fill(entry.allowed))
		label(out, x+20, y+11, `fill="#59636e"`, entry.text)
		x += 130
	}
	return y + 14
}

// group is a set of reasons that look the same all the time.
type group struct {
	title string
	rows  []row
}

// groups puts reasons together that share every span.
func (p picture) groups() []group {
	var groups []group
	for _, reason := range reasons() {
		var rows []row
		for _, r := range p.rows {
			if r.reason == reason {
				rows = append(rows, r)
			}
		}
		i := 0
		for i < len(groups) && !sameRows(groups[i].rows, rows) {
			i++
		}
		if i == len(groups) {
			groups = append(groups, group{title: string(reason), rows: rows})
			continue
		}
		groups[i].title += ", " + string(reason)
	}
	return groups
}

func sameRows(a, b []row) bool {
	for i := range a {
		if len(a[i].spans) != len(b[i].spans) {
			return false
		}
		for k := range a[i].spans {
			if s, t := a[i].spans[k], b[i].spans[k]; s.Allowed != t.Allowed || !s.From.Equal(t.From) {
				return false
			}
		}
	}
	return true
}

// svgGroup draws a table of days and hours.
func (p picture) svgGroup(out *bytes.Buffer, y int, g group) int {
	y += lineHigh
	label(out, margin, y, `font-weight="bold" font-size="13"`, g.title)
	y += lineHigh
	for hour := 0; hour <= 24; hour += 2 {
		label(out, left+hour*hourWide, y-4, `text-anchor="middle" font-size="10" fill="#59636e"`, fmt.Sprintf("%02d", hour))
	}
	for _, r := range g.rows {
		label(out, margin, y+15, "", r.day.Format("Mon 2 Jan"))
		for _, s := range r.spans {
			p.svgSpan(out, y, r.day, s)
		}
		y += rowHigh
	}
	for hour := 0; hour <= 24; hour += 6 {
		x := left + hour*hourWide
		fmt.Fprintf(out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#1f2328" stroke-opacity="0.25"/>`+"\n", x, y-rowHigh*len(g.rows), x, y-2)
	}
	return y
}

// svgSpan draws one interval of a day. It is placed by the clock on the wall,
// so that a day of 23 or 25 hours fills its row as well.
func (p picture) svgSpan(out *bytes.Buffer, y int, day time.Time, s budget.Interval) {
	from, to := place(day, s.From), place(day, s.To)
	wide := to - from
	if wide <= 0 {
		return
	}
	fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s to %s: %s</title></rect>`+"\n", from, y, wide, rowHigh-2, fill(s.Allowed),
		s.From.In(p.zone).Format("Mon 15:04"), s.To.In(p.zone).Format("Mon 15:04"), symbol(s.Allowed))
	if text := symbol(s.Allowed); wide >= float64(8*len([]rune(text))+2) {
		label(out, int(from+wide/2), y+14, `text-anchor="middle" font-weight="bold" fill="`+ink(s.Allowed)+`"`, text)
	}
}

// place is the x of an instant in the row of a day.
func place(day, at time.Time) float64 {
	at = at.In(day.Location())
	if !at.Before(nextDay(day)) {
		return right
	}
	hours := float64(at.Hour()) + float64(at.Minute())/60 + float64(at.Second())/3600
	return left + hours*hourWide
}

func fill(allowed int) string {
	switch {
	case allowed >= budget.Unlimited:
		return "url(#unlimited)"
	case allowed <= 0:
		return "#c93c37"
	}
	return "#2da44e"
}

func ink(allowed int) string {
	if allowed >= budget.Unlimited {
		return "#1f2328"
	}
	return "#ffffff"
}

func (p picture) svgFindings(out *bytes.Buffer, y int) int {
	line := func(attributes, text string) {
		y += lineHigh
		label(out, margin, y, attributes, text)
	}
	if len(p.findings) == 0 {
		line(`fill="#1a7f37"`, "Nothing to complain about.")
	}
	shown := map[string]bool{}
	for _, f := range p.findings {
		line(`font-weight="bold" fill="`+severityInk(f.Severity)+`"`, string(f.Severity)+": "+string(f.Code))
		for text := range strings.Lines(wrap(f.Message, "", 125) + wrap(f.Fix, "→ ", 125)) {
			line("", strings.TrimSuffix(text, "\n"))
		}
		if instead := toYAML(f.Instead); instead != "" && !shown[instead] {
			shown[instead] = true
			line(`fill="#59636e"`, "Most likely meant:")
			for text := range strings.Lines(instead) {
				line(`font-family="DejaVu Sans Mono, monospace" font-size="11"`, "    "+strings.TrimSuffix(text, "\n"))
			}
		}
		y += 6
	}
	return y
}

func severityInk(s budget.Severity) string {
	switch s {
	case budget.SeverityError:
		return "#c93c37"
	case budget.SeverityWarning:
		return "#9a6700"
	}
	return "#0969da"
}

// label writes text that keeps its blanks.
func label(out *bytes.Buffer, x, y int, attributes, text string) {
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	fmt.Fprintf(out, `<text x="%d" y="%d" xml:space="preserve" %s>%s</text>`+"\n", x, y, attributes, escaped)
}
