package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"time"

	"github.com/node-disruption/disruption/termination"
)

// Sizes of the drawing, in pixels.
const (
	margin  = 24
	wide    = 560 // how long it is
	words   = 430 // room for the text to its right
	rowHigh = 24
)

// Colours of what a pod is doing.
const (
	waits  = "#d0d7de"
	graced = "#54aeff"
	forced = "#cf222e"
	dim    = "#59636e"
)

// names is where the timelines begin: to the right of the longest name.
func (p *picture) names() int {
	width := 7*p.width + 10
	for _, node := range p.forecast.Nodes {
		width = max(width, 9*len(node.Name)+10)
	}
	return margin + width
}

func (p *picture) writeSVG(out *bytes.Buffer) {
	page := p.names() + wide + words + margin
	var body bytes.Buffer
	y := p.svgHead(&body)
	for _, node := range p.forecast.Nodes {
		y = p.svgNode(&body, node, y+margin)
	}
	y += margin
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="#1f2328">`+"\n", page, y, page, y)
	fmt.Fprintf(out, `<defs><pattern id="never" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="8" height="8" fill="%s"/><rect width="3" height="8" fill="#afb8c1"/></pattern></defs>`+"\n", waits)
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", page, y)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
}

func (p *picture) svgHead(out *bytes.Buffer) int {
	y := margin + 12
	label(out, margin, y, `font-size="17" font-weight="bold"`, "Drain from "+stamp(p.from))
	y += 20
	label(out, margin, y, `fill="`+dim+`"`, fmt.Sprintf("if every pod takes all of its grace, and is replaced by a healthy one within %s", p.recovery))
	y += 16
	x := margin
	for _, entry := range []struct{ fill, text string }{{waits, "waits"}, {graced, "has its grace"}, {forced, "deleted by force"}, {"url(#never)", "never goes by itself"}} {
		box(out, x, y, 14, 14, entry.fill)
		label(out, x+20, y+11, `fill="`+dim+`"`, entry.text)
		x += 40 + 8*len(entry.text)
	}
	return y + 14
}

func (p *picture) svgNode(out *bytes.Buffer, node termination.NodeForecast, y int) int {
	y += 12
	label(out, margin, y, `font-size="14" font-weight="bold"`, node.Name)
	label(out, p.names(), y, "", p.bounds(node))
	y += 24
	top := y
	for t := p.from; !t.After(p.to); t = t.Add(p.step()) {
		x := p.names() + p.at(t, wide)
		label(out, x, y, `font-size="10" text-anchor="middle" fill="`+dim+`"`, p.mark(t))
		fmt.Fprintf(out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#eaeef2"/>`+"\n", x, top+4, x, top+6+rowHigh*len(node.Pods))
	}
	y += 6
	for _, pod := range node.Pods {
		p.svgPod(out, pod, y)
		y += rowHigh
	}
	if node.Deadline != nil {
		x := p.names() + p.at(*node.Deadline, wide)
		fmt.Fprintf(out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="1.5" stroke-dasharray="4 3"/>`+"\n", x, top+4, x, y, forced)
	}
	return y
}

func (p *picture) svgPod(out *bytes.Buffer, pod termination.PodForecast, y int) {
	label(out, p.names()-10, y+15, `text-anchor="end"`, clip(short(pod.Pod), longest))
	d := pod.Slow
	bar := func(from, to time.Time, fill string, least int) {
		x := p.at(from, wide)
		box(out, p.names()+x, y+4, max(least, p.at(to, wide)-x), rowHigh-8, fill)
	}
	if d.Told == nil {
		bar(p.from, p.to, "url(#never)", 0)
	} else {
		if d.Told.After(p.from) {
			bar(p.from, *d.Told, waits, 0)
		}
		bar(*d.Told, *d.Gone, map[bool]string{true: forced, false: graced}[d.Forced], 3)
	}
	label(out, p.names()+wide+12, y+15, `font-size="10.5" fill="`+dim+`"`, p.how(pod))
}

func box(out *bytes.Buffer, x, y, w, h int, fill string) {
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`+"\n", x, y, w, h, fill)
}

func label(out *bytes.Buffer, x, y int, attributes, text string) {
	fmt.Fprintf(out, `<text x="%d" y="%d" %s>`, x, y, attributes)
	_ = xml.EscapeText(out, []byte(text)) // writing to a buffer can't fail
	out.WriteString("</text>\n")
}
