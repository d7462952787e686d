package main

import (
	"bytes"
	"fmt"
	"html"
	"time"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/drift"
)

// Sizes of the drawing, in pixels.
const (
	margin   = 24
	left     = 170 // where time begins
	wide     = 620 // of the time shown
	right    = left + wide
	page     = right + 290
	rowHigh  = 24
	lineHigh = 19
)

// writeSVG draws the pools one below the other: a row a node, a bar for the time
// in which it is replaced, and what the budgets allow above them.
func writeSVG(out *bytes.Buffer, rollouts []rollout) {
	var body bytes.Buffer
	y := margin
	for i := range rollouts {
		y = rollouts[i].svg(&body, y) + margin
	}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="#1f2328">`+"\n", page, y, page, y)
	out.WriteString(`<defs><pattern id="closed" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="8" height="8" fill="#f6f8fa"/><rect width="2" height="8" fill="#d1d9e0"/></pattern></defs>` + "\n")
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", page, y)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
}

// svg draws one pool from y on down, and returns where it ends.
func (r *rollout) svg(out *bytes.Buffer, y int) int {
	y += lineHigh
	label(out, margin, y, `font-size="17" font-weight="bold"`, "NodePool "+r.pool)
	y += lineHigh + 2
	label(out, margin, y, "", r.summary())
	for _, line := range r.notes() {
		y += lineHigh
		label(out, margin, y, `fill="#59636e"`, line)
	}
	for _, c := range r.preflight.Changes {
		y += lineHigh
		label(out, margin, y, `font-family="DejaVu Sans Mono, monospace" font-size="11"`, c.String())
	}
	y += lineHigh + 14
	rows, axis := r.rows(), r.axis()
	r.svgBudgets(out, y, axis, len(rows))
	y += rowHigh
	for _, row := range rows {
		row.svg(out, y, axis)
		y += rowHigh
	}
	return y
}

// axis maps time to x.
type axis struct{ from, to time.Time }

// axis shows all that is replaced, with some room, and at least an hour.
func (r *rollout) axis() axis {
	end := r.now.Add(time.Hour)
	for _, s := range r.timeline.Slots {
		if s.End.After(end) {
			end = s.End
		}
	}
	return axis{r.now, end.Add(end.Sub(r.now) / 20)}
}

func (a axis) x(t time.Time) float64 {
	return left + wide*min(1, max(0, float64(t.Sub(a.from))/float64(a.to.Sub(a.from))))
}

// step is the time between two ticks: the shortest that leaves room for labels.
func (a axis) step() time.Duration {
	for _, step := range []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour} {
		if a.to.Sub(a.from)/step < 8 {
			return step
		}
	}
	return 48 * time.Hour
}

// svgBudgets draws the ticks, and above and behind the rows how many nodes may go.
func (r *rollout) svgBudgets(out *bytes.Buffer, y int, a axis, rows int) {
	bottom := y + rowHigh*(rows+1) - 4
	label(out, margin, y+15, `fill="#59636e" font-size="11"`, "may go at once")
	for span := range r.budgets.Forecast(a.from, a.to, budget.Drifted, r.usage) {
		from, to := a.x(span.From), a.x(span.To)
		text, fill := budget.FormatLimit(span.Allowed), "#eaf5ee"
		if span.Allowed == 0 {
			text, fill = "closed", "url(#closed)"
		}
		fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s to %s UTC: %s</title></rect>`+"\n",
			from, y, to-from, bottom-y, fill, show(span.From), show(span.To), text)
		if to-from > 50 {
			label(out, int(from+to)/2, y+15, `text-anchor="middle" font-size="11" fill="#59636e"`, text)
		}
	}
	step, last := a.step(), ""
	for t := a.from.Truncate(step); !t.After(a.to); t = t.Add(step) {
		if t.Before(a.from) {
			continue
		}
		x := a.x(t)
		fmt.Fprintf(out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#1f2328" stroke-opacity="0.15"/>`+"\n", x, y, x, bottom)
		text := t.UTC().Format("15:04")
		if day := t.UTC().Format("Mon 2 Jan"); day != last {
			text, last = day+" "+text, day
		}
		label(out, int(x), y-5, `text-anchor="middle" font-size="10" fill="#59636e"`, text)
	}
}

func (r row) svg(out *bytes.Buffer, y int, a axis) {
	fill := ""
	if !r.replaced() {
		fill = `fill="#818b98"`
	}
	label(out, margin, y+15, fill, fmt.Sprintf("%s (%d pods)", r.Node, r.ReschedulablePods))
	label(out, right+10, y+15, `font-size="11" fill="#59636e"`, r.note())
	if r.slot == nil {
		return
	}
	from, to := a.x(r.slot.Start), a.x(r.slot.End)
	fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="3" fill="%s"><title>%s: %s, %s</title></rect>`+"\n",
		from, y+2, max(2, to-from), rowHigh-6, r.color(), html.EscapeString(r.Node), r.when(), html.EscapeString(r.why()))
}

// note is what the picture says at the right of a row.
func (r row) note() string {
	switch {
	case r.waiting:
		return "held: " + r.PodsBlock
	case !r.replaced():
		return "stays"
	case r.Already():
		return string(r.Before.Reason) + ", before the edit"
	case r.After.Mismatch != nil && r.After.Mismatch.Undefined:
		return fmt.Sprintf("%s, it lacks %s", r.After.Reason, r.After.Mismatch.Key)
	}
	return string(r.After.Reason)
}

// color tells the reasons apart.
func (r row) color() string {
	reason := r.After.Reason
	if r.Already() {
		reason = r.Before.Reason
	}
	switch reason {
	case drift.NodePoolDrifted:
		return "#0969da"
	case drift.RequirementsDrifted:
		return "#8250df"
	case drift.InstanceTypeNotFound:
		return "#bc4c00"
	}
	return "#bf8700"
}

func label(out *bytes.Buffer, x, y int, attributes, text string) {
	fmt.Fprintf(out, `<text x="%d" y="%d" %s xml:space="preserve">%s</text>`+"\n", x, y, attributes, html.EscapeString(text))
}
